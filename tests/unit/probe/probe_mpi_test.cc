// The probe in programs in C, under Open MPI: what it records, and what it leaves alone.
#include "mpi_job.h"

namespace margay::node {
namespace probe_mpi_test {

TEST_F(ProbeMpiTest, CountsPeersTagsAndBytesAreRight) {
  const Outcome o = run("counted");
  EXPECT_EQ(o.code, 0);
  EXPECT_EQ(o.out, "hello from 2\n");
  EXPECT_THAT(o.err, testing::Not(HasSubstr("margay")));
  const auto ranks = read();
  expect_counted(ranks);
  if (HasFatalFailure()) return;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const Rank& r = ranks[i];
    EXPECT_EQ(r.identity.environment.at("OMPI_COMM_WORLD_RANK"), std::to_string(i));
    EXPECT_THAT(r.identity.command, HasSubstr("counted"));
    EXPECT_EQ(r.of("MPI_Allreduce", MARGAY_ENTER).size(), 2u);
    EXPECT_EQ(r.of("MPI_Gather", MARGAY_ENTER)[0].bytes, i == 0 ? 0u : 4u);
    EXPECT_EQ(r.of("MPI_Gather", MARGAY_ENTER)[0].peer, 0);
  }
}

TEST_F(ProbeMpiTest, WithoutARunDirectoryOneLineAndNothingElse) {
  const Outcome bare = sh(ranks(2) + MARGAY_WORKLOAD " regions");
  const Outcome o = sh("LD_PRELOAD=" MARGAY_PROBE_FILE " " + ranks(2) + MARGAY_WORKLOAD " regions");
  EXPECT_EQ(o.code, bare.code);
  EXPECT_EQ(o.out, bare.out);
  EXPECT_EQ(o.err, "margay: no collector (MARGAY_RUN_DIR is not set): this job is not recorded\n" + bare.err);
}

TEST_F(ProbeMpiTest, AnUnusableRunDirectoryIsToldOnce) {
  std::filesystem::remove(dir.rings());
  const Outcome o = run("regions");
  EXPECT_EQ(o.code, 0);
  EXPECT_EQ(o.out, "hello from 2\n");
  EXPECT_EQ(o.err,
            "margay: no collector (its rings cannot be made in MARGAY_RUN_DIR): this job is not recorded\n");
}

TEST_F(ProbeMpiTest, TooLittleRoomForFilesIsNoSignal) {
  const Outcome o = sh(watched() + ranks(2) + "sh -c 'ulimit -f 14000; exec " MARGAY_WORKLOAD " regions'");
  EXPECT_EQ(o.code, 0);
  EXPECT_EQ(o.err, "margay: no collector (the limit on file sizes is too low): this job is not recorded\n");
}

// The segment is made while the program is loaded, before anybody knows whether it will call MPI.
TEST_F(ProbeMpiTest, WhatAProgramDoesBeforeMpiInit) {
  for (const char* what : {"closes", "reuses", "child"}) {
    const Outcome o = run(what);
    EXPECT_EQ(o.code, 0) << what << ": " << o.err;
    EXPECT_EQ(o.out, "hello from 2\n") << what;
    EXPECT_EQ(o.err, "") << what;
    const auto ranks = read();
    ASSERT_EQ(ranks.size(), 2u) << what;
    for (const Rank& r : ranks) {
      EXPECT_EQ(r.of("MPI_Finalize", MARGAY_ENTER).size(), 1u) << what;
      expect_nested(r);
    }
    for (const auto& e : std::filesystem::directory_iterator(dir.rings())) std::filesystem::remove(e.path());
  }
}

TEST_F(ProbeMpiTest, ThatIsLinkedWithMpiAndNeverCallsItLeavesNothing) {
  const Outcome o = sh(watched() + MARGAY_WORKLOAD " nothing; echo left: $(ls -A " + dir.rings() + ")");
  EXPECT_EQ(o.out, "no MPI here\nleft:\n");
  EXPECT_EQ(o.err, "");
}

TEST_F(ProbeMpiTest, AFullFileSystemIsToldAndNothingCrashes) {
  const std::string small = dir.path + "/small";
  std::filesystem::create_directory(small);
  // A mount of its own, gone with the command.
  const Outcome o = sh("unshare -m sh -c 'mount -t tmpfs -o size=2m none " + small + " && mkdir -m 700 " +
                       small + "/rings && MARGAY_RUN_DIR=" + small + " LD_PRELOAD=" MARGAY_PROBE_FILE " " +
                       ranks(2) + MARGAY_WORKLOAD " regions && echo left: $(ls " + small + "/rings)'");
  if (o.out.empty()) GTEST_SKIP() << "mounting is not allowed here";
  EXPECT_EQ(o.code, 0);
  EXPECT_EQ(o.out, "hello from 2\nleft:\n");
  EXPECT_EQ(o.err, "margay: no collector (too little shared memory is free): this job is not recorded\n");
}

TEST_F(ProbeMpiTest, AProgramWithoutMpiIsLeftAlone) {
  const Outcome o = sh(watched() + MARGAY_WORKLOAD " nothing");
  EXPECT_EQ(o.code, 3);
  EXPECT_EQ(o.out, "no MPI here\n");
  EXPECT_EQ(o.err, "");
  EXPECT_EQ(sh(watched() + "/bin/echo hi").out, "hi\n");
  EXPECT_TRUE(read().empty());
}

TEST_F(ProbeMpiTest, RegionsHaveNamesAndWildPointersAreHarmless) {
  for (const Rank& r : both_of("regions")) {
    EXPECT_EQ(r.of("solve", MARGAY_REGION_ENTER).size(), 1u);
    EXPECT_EQ(r.of("solve", MARGAY_REGION_LEAVE).size(), 1u);
    EXPECT_EQ(r.of("inner", MARGAY_REGION_ENTER).size(), 1u);
    EXPECT_EQ(r.names.back().family, 9u);
    const auto is_long = [](const SegmentName& n) { return n.name.find("too long") != std::string::npos; };
    EXPECT_TRUE(std::none_of(r.names.begin(), r.names.end(), is_long));
  }
}

TEST_F(ProbeMpiTest, ReceivesAreKnownWhenTheyComplete) {
  expect_received();
}

TEST_F(ProbeMpiTest, ThroughAShellWrapper) {
  {
    std::ofstream script(dir.path + "/wrap.sh");
    script << "#!/bin/bash\necho wrapped | cat\nexec \"$@\"\n";
  }
  const Outcome o = sh(watched() + ranks(2) + "bash " + dir.path + "/wrap.sh " MARGAY_WORKLOAD " code");
  EXPECT_EQ(o.code, 42);
  EXPECT_EQ(read().size(), 2u);
}

TEST_F(ProbeMpiTest, Mpi4py) {
  if (sh("/usr/bin/python3 -c 'import mpi4py'").code != 0) GTEST_SKIP() << "no mpi4py";
  const Outcome o = sh(watched() + ranks(2) +
                       "/usr/bin/python3 -c 'from mpi4py import MPI; c = MPI.COMM_WORLD; c.Barrier(); "
                       "print(c.allreduce(c.rank) if c.rank == 0 else c.allreduce(c.rank) and \"\")'");
  EXPECT_EQ(o.code, 0) << o.err;
  const auto ranks = read();
  ASSERT_EQ(ranks.size(), 2u) << o.err;
  EXPECT_EQ(ranks[0].of("MPI_Barrier", MARGAY_LEAVE).size(), 1u);
  EXPECT_NE(ranks[0].flags & probe::kFinalized, 0u);
  expect_nested(ranks[1]);
}

TEST_F(ProbeMpiTest, AKilledRankLeavesWhatItHadRecorded) {
  EXPECT_NE(run("killed").code, 0);
  const auto ranks = read();
  ASSERT_EQ(ranks.size(), 2u);
  EXPECT_EQ(ranks[1].flags, unsigned{probe::kInitialized});  // neither finalized nor exiting
  EXPECT_EQ(ranks[1].of("MPI_Barrier", MARGAY_LEAVE).size(), 1u);
  EXPECT_EQ(ranks[1].of("MPI_Barrier", MARGAY_ENTER).size(), 1u);
  expect_nested(ranks[1], true);
}

TEST_F(ProbeMpiTest, AbortIsSeenAndItsCodeIsTheJobs) {
  const Outcome bare = sh(ranks(2) + MARGAY_WORKLOAD " abort");
  const Outcome o = run("abort");
  EXPECT_EQ(o.code, bare.code);
  const auto ranks = read();
  ASSERT_EQ(ranks.size(), 2u);
  EXPECT_NE(ranks[1].flags & probe::kAborted, 0u);
  EXPECT_EQ(ranks[1].name(ranks[1].rings[0].back()), "MPI_Abort");
}

TEST_F(ProbeMpiTest, CallsLeftByLongjmpAreClosed) {
  ASSERT_EQ(run("jumps", 1).code, 0);
  const auto ranks = read();
  ASSERT_EQ(ranks.size(), 1u);
  EXPECT_EQ(ranks[0].of("MPI_Send", MARGAY_ENTER).size(), 5u);
  EXPECT_EQ(ranks[0].of("MPI_Send", MARGAY_LEAVE).size(), 5u);
  EXPECT_EQ(ranks[0].of("MPI_Barrier", MARGAY_LEAVE).size(), 1u);
  expect_nested(ranks[0]);
}

TEST_F(ProbeMpiTest, AForkedChildWritesNothing) {
  ASSERT_EQ(run("fork", 1).code, 0);
  const auto ranks = read();
  ASSERT_EQ(ranks.size(), 1u);
  EXPECT_TRUE(ranks[0].of("child", MARGAY_REGION_ENTER).empty());
  expect_nested(ranks[0]);
}

TEST_F(ProbeMpiTest, ThreadsHaveRingsAndTheRestIsCounted) {
  ASSERT_EQ(run("threads", 1).code, 0);
  const auto ranks = read();
  ASSERT_EQ(ranks.size(), 1u);
  EXPECT_LE(ranks[0].rings.size(), 8u);
  EXPECT_GE(ranks[0].rings.size(), 2u);
  // 20 threads of 100 calls: what found no ring is counted, to the record.
  EXPECT_EQ(ranks[0].of("MPI_Iprobe", MARGAY_ENTER).size() * 2 + ranks[0].ringless, 4000u);
  expect_nested(ranks[0]);
}

TEST_F(ProbeMpiTest, AFullRingDropsAndCounts) {
  ASSERT_EQ(run("many 100000", 1).code, 0);
  const auto ranks = read();
  ASSERT_EQ(ranks.size(), 1u);
  EXPECT_EQ(ranks[0].rings[0].size(), probe::kFirstRingRecords);
}

TEST_F(ProbeMpiTest, RingsAreAsSmallAsTheEnvironmentSays) {
  ASSERT_EQ(sh("MARGAY_RING_RECORDS=64 " + watched() + ranks(1) + MARGAY_WORKLOAD " many 1000").code, 0);
  const auto ranks = read();
  ASSERT_EQ(ranks.size(), 1u);
  EXPECT_EQ(ranks[0].rings[0].size(), 64u);
}

TEST_F(ProbeMpiTest, AnImpossibleRingSizeIsSaidOnce) {
  for (const char* size : {"100", "32", "262144", "-64", "64k", "0"}) {
    const Outcome o = sh(std::string("MARGAY_RING_RECORDS=") + size + " " + watched() + this->ranks(2) +
                         MARGAY_WORKLOAD " counted");
    EXPECT_EQ(o.code, 0);
    EXPECT_EQ(
        o.err,
        "margay: no collector (MARGAY_RING_RECORDS is not a power of two from 64 to 131072): this job is "
        "not recorded\n")
        << size;
  }
  EXPECT_TRUE(read().empty());
}

// What the agent says of real processes that have ended: each way to end has its reason, and every record
// arrives.
TEST_F(ProbeMpiTest, TheAgentSaysGoodbyeForEachWayToEnd) {
  const SystemClock clock;
  const auto reasons = [&](const std::string& what) {
    run(what);
    AgentOptions options;
    options.rings = dir.rings();
    Agent agent(options, clock);
    FakeCollector collector;
    const TimeNs begin = clock.monotonic();
    do {
      agent.scan();
      agent.sample();
      agent.drain();
      agent.outbox().flush(clock.monotonic(), [&](const wire::ToCollector& m) {
        collector.take(m);
        return true;
      });
      agent.outbox().on_reply_untrusted(collector.commit(), clock.monotonic());
    } while (agent.sources() > 0 && clock.monotonic() - begin < seconds(20));
    EXPECT_EQ(agent.sources(), 0u);
    std::map<std::string, wire::Goodbye::Reason> by_rank;
    for (const auto& [id, goodbye] : collector.goodbyes) {
      by_rank[collector.hellos.at(id).attributes().at("rank")] = goodbye.reason();
      for (const auto& total : goodbye.streams()) {
        EXPECT_EQ(total.produced(), total.dropped() + total.recorded());
        EXPECT_EQ((collector.streams.at({id, total.stream()}).committed.size()), total.recorded());
      }
    }
    EXPECT_TRUE(read().empty());  // the segments are gone
    return by_rank;
  };
  EXPECT_EQ(reasons("counted"), (std::map<std::string, wire::Goodbye::Reason>{
                                    {"0", wire::Goodbye::FINALIZED}, {"1", wire::Goodbye::FINALIZED}}));
  EXPECT_EQ(reasons("killed").at("1"), wire::Goodbye::KILLED);
  EXPECT_EQ(reasons("abort").at("1"), wire::Goodbye::ABORTED);
}

// And the table of calls that margay/annotate.h looks for.
TEST(ProbeLibrary, NeedsNothingAndExportsOnlyMpi) {
  const auto lines = [](const std::string& command) {
    std::vector<std::string> out;
    FILE* p = popen(command.c_str(), "r");
    char line[512];
    while (p != nullptr && std::fgets(line, sizeof line, p) != nullptr) out.push_back(line);
    if (p != nullptr) pclose(p);
    return out;
  };
  for (const auto& l : lines("readelf -dW " MARGAY_PROBE_FILE))
    EXPECT_THAT(l, testing::Not(HasSubstr("(NEEDED)")));
  int exported = 0, annotate = 0;
  std::set<std::string> mpi, pmpi;
  for (const auto& l : lines("readelf --dyn-syms -W " MARGAY_PROBE_FILE)) {
    std::istringstream in(l);
    std::string number, value, size, type, bind, visibility, section, name;
    if (!(in >> number >> value >> size >> type >> bind >> visibility >> section >> name)) continue;
    if (section == "UND") {
      if (name == "PMPI_Get_library_version")
        continue;  // null without MPI: how the probe sees that there is one
      EXPECT_EQ(name.find("MPI"), std::string::npos) << l;
      EXPECT_EQ(name.find("ompi"), std::string::npos) << l;
    } else if (bind == "GLOBAL" || bind == "WEAK") {
      if (name == "margay_annotate_v1") {
        ++annotate;
        continue;
      }
      ++exported;
      EXPECT_TRUE(name.starts_with("MPI_") || name.starts_with("PMPI_")) << l;
      (name[0] == 'P' ? pmpi : mpi).insert(name.substr(name[0] == 'P' ? 1 : 0));
    }
  }
  EXPECT_EQ(mpi, pmpi) << "each function by both of its names";
  EXPECT_GE(exported, 100);
  EXPECT_EQ(annotate, 1);
  std::printf("%d functions wrapped\n", exported);
}

}  // namespace probe_mpi_test
}  // namespace margay::node
