// Real MPI programs with the probe preloaded; what it left in shared memory is read directly afterwards, with
// no agent.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <fstream>
#include <set>
#include <sstream>

#include "../node/fake_collector.h"
#include "../node/fake_segment.h"
#include "margay/node/agent.h"
#include "margay/node/segment_reader.h"

namespace margay::node {

using testing::HasSubstr;

struct Outcome {
  int code = -1;
  std::string out, err;
};

inline std::string slurp(const std::string& path) {
  std::ifstream in(path);
  std::stringstream s;
  s << in.rdbuf();
  return s.str();
}

struct Rank {
  std::int32_t rank;
  std::int32_t world_size;
  std::uint32_t flags;
  std::vector<SegmentName> names;
  std::vector<std::vector<EventRecord>> rings;
  std::uint64_t ringless;
  SegmentIdentity identity;
  std::uint64_t dropped = 0;  // of its rings

  std::string name(const EventRecord& r) const { return r.state < names.size() ? names[r.state].name : "?"; }
  std::vector<EventRecord> of(const std::string& wanted, int kind) const {
    std::vector<EventRecord> found;
    for (const auto& ring : rings)
      for (const auto& r : ring)
        if (r.kind == kind && name(r) == wanted) found.push_back(r);
    return found;
  }
};

struct ProbeMpiTest : testing::Test {
  ScratchDirectory dir;

  Outcome sh(const std::string& command) {
    const std::string out = dir.path + "/out", err = dir.path + "/err";
    const std::string full =
        "cd " + dir.path + "; export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 " +
        "OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1 TMPDIR=" + dir.path + "; { " +
        command + "; } >" + out + " 2>" + err + " </dev/null";
    const int status = std::system(full.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, slurp(out), slurp(err)};
  }
  std::string watched() const { return "MARGAY_RUN_DIR=" + dir.path + " LD_PRELOAD=" MARGAY_PROBE_FILE " "; }
  std::string mpirun = MARGAY_MPIRUN, workload = MARGAY_WORKLOAD;
  std::string ranks(int n) const { return mpirun + " -np " + std::to_string(n) + " "; }
  Outcome run(const std::string& what, int n = 2) { return sh(watched() + ranks(n) + workload + " " + what); }

  // By rank.
  std::vector<Rank> read() {
    std::vector<Rank> all;
    for (const auto& entry : std::filesystem::directory_iterator(dir.rings())) {
      if (entry.path().filename().string()[0] != 'p') continue;
      auto reader = SegmentReader::open_untrusted(entry.path().string());
      EXPECT_TRUE(reader) << reader.error().message;
      if (!reader) continue;
      Rank r{reader->rank(),     reader->world_size(), reader->flags(), reader->names(), {},
             reader->ringless(), reader->identity()};
      for (std::uint32_t i = 0; i < probe::kRings; ++i) {
        if (!reader->ring_used(i)) continue;
        const auto look = reader->ring(i).look(TimeNs(1));
        EXPECT_TRUE(look);
        EXPECT_EQ(look->produced, look->dropped + look->head);
        r.dropped += look->dropped;
        r.rings.emplace_back();
        reader->ring(i).take(*look, SIZE_MAX, r.rings.back());
      }
      all.push_back(std::move(r));
    }
    std::sort(all.begin(), all.end(), [](const Rank& a, const Rank& b) { return a.rank < b.rank; });
    return all;
  }
  // What the two ranks of a run that ends well have left.
  std::vector<Rank> both_of(const std::string& what) {
    EXPECT_EQ(run(what).code, 0);
    auto all = read();
    EXPECT_EQ(all.size(), 2u);
    return all;
  }
  // What two ranks of `counted` (mpi_workload.c, and the same in other languages) are recorded to have done.
  static void expect_counted(const std::vector<Rank>& all) {
    ASSERT_EQ(all.size(), 2u);
    for (std::size_t i = 0; i < 2; ++i) {
      const Rank& r = all[i];
      EXPECT_EQ(r.rank, static_cast<int>(i));
      EXPECT_EQ(r.world_size, 2);
      EXPECT_EQ(r.flags, unsigned{probe::kInitialized | probe::kFinalized | probe::kExiting});
      expect_nested(r);
      ASSERT_EQ(r.rings.size(), 1u);
      EXPECT_EQ(r.name(r.rings[0].front()), "MPI_Init");
      EXPECT_EQ(r.name(r.rings[0].back()), "MPI_Finalize");
      const auto sends = r.of("MPI_Send", MARGAY_ENTER);
      ASSERT_EQ(sends.size(), i == 0 ? 11u : 10u);
      EXPECT_EQ(sends[0].peer, 1 - static_cast<int>(i));
      EXPECT_EQ(sends[0].tag, 7);
      EXPECT_EQ(sends[0].bytes, 400u);
      EXPECT_EQ(sends[0].comm, r.of("MPI_Barrier", MARGAY_ENTER)[0].comm);
      EXPECT_EQ(r.of("MPI_Recv", MARGAY_LEAVE).size(), i == 0 ? 10u : 11u);
      ASSERT_EQ(r.of("MPI_Barrier", MARGAY_LEAVE).size(), 4u);
      EXPECT_NE(r.of("MPI_Barrier", MARGAY_ENTER)[3].comm, sends[0].comm) << "the duplicate";
      EXPECT_EQ(r.of("MPI_Allreduce", MARGAY_ENTER)[0].bytes, 32u);
      EXPECT_EQ(r.of("MPI_Irecv", MARGAY_ENTER)[0].tag, 11);
      EXPECT_EQ(r.of("MPI_Isend", MARGAY_ENTER)[0].bytes, 400u);
      ASSERT_EQ(r.of("MPI_Waitall", MARGAY_LEAVE).size(), 1u);
      EXPECT_EQ(r.of("MPI_Waitall", MARGAY_LEAVE)[0].bytes, 400u);
      EXPECT_EQ(r.of("MPI_Waitall", MARGAY_LEAVE)[0].tag, 11);
      EXPECT_EQ(r.of("MPI_Comm_dup", MARGAY_ENTER).size(), 1u);
    }
    // Posted with wildcards, completed with what came.
    const auto posted = all[1].of("MPI_Recv", MARGAY_ENTER).back();
    EXPECT_EQ(posted.peer, MARGAY_NO_PEER);
    EXPECT_EQ(posted.tag, MARGAY_NO_TAG);
    EXPECT_EQ(posted.bytes, 400u);
    const auto came = all[1].of("MPI_Recv", MARGAY_LEAVE).back();
    EXPECT_EQ(came.peer, 0);
    EXPECT_EQ(came.tag, 9);
    EXPECT_EQ(came.bytes, 12u);
  }
  // What a rank of `requests` (mpi_workload.c) is recorded to have received, and by which call.
  void expect_received() {
    const auto all = both_of("requests");
    ASSERT_EQ(all.size(), 2u);
    const Rank &receiver = all[1], &sender = all[0];
    const auto came = [](const Rank& r, const char* name) {
      std::uint64_t sum = 0;
      for (const auto& e : r.of(name, MARGAY_LEAVE)) sum += e.bytes;
      return sum;
    };
    EXPECT_EQ(came(receiver, "MPI_Wait"), 5u + 2 * 11);
    EXPECT_EQ(came(receiver, "MPI_Test"), 6u);
    EXPECT_EQ(came(receiver, "MPI_Waitany"), 2u * 7);
    EXPECT_EQ(came(receiver, "MPI_Waitsome"), 3u * 9);
    EXPECT_EQ(came(receiver, "MPI_Testall"), 2u * 10);
    EXPECT_EQ(came(receiver, "MPI_Waitall"), 300u * 64) << "as posted";
    EXPECT_EQ(came(receiver, "MPI_Testany"), 12u);
    EXPECT_EQ(came(receiver, "MPI_Testsome"), 13u);
    EXPECT_EQ(came(receiver, "MPI_Irecv"), 0u) << "all of them were tracked";
    const auto first = receiver.of("MPI_Wait", MARGAY_LEAVE)[0];
    EXPECT_EQ(first.peer, 0);
    EXPECT_EQ(first.tag, 1);
    EXPECT_EQ(came(sender, "MPI_Wait"), 0u) << "a send that completes has received nothing";
    for (const auto& e : sender.of("MPI_Wait", MARGAY_LEAVE)) EXPECT_EQ(e.peer, MARGAY_NO_PEER);
  }
  // Every enter has its leave, one at a time, in order of time.
  static void expect_nested(const Rank& rank, bool may_end_inside = false) {
    for (const auto& ring : rank.rings) {
      std::uint16_t open = 0;
      std::int64_t t = 0;
      for (const auto& r : ring) {
        ASSERT_GE(r.time_ns, t);
        t = r.time_ns;
        if (r.kind == MARGAY_ENTER) {
          ASSERT_EQ(open, 0);
          open = r.state;
        } else if (r.kind == MARGAY_LEAVE) {
          ASSERT_EQ(open, r.state);
          open = 0;
        }
      }
      if (!may_end_inside) {
        EXPECT_EQ(open, 0);
      }
    }
  }
};

}  // namespace margay::node
