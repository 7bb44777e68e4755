// A daemon on an archive whose oldest slices went by retention.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "margay/analysis/phase_memory.h"
#include "margay/live/pipeline.h"
#include "margay/store/archive.h"
#include "margay/transport/rundir.h"
#include "margay/transport/transport.h"
#include "margay/wire/columns.h"
#include "margay/wire/control.pb.h"
#include "support/control_client.h"
#include "support/runtime_place.h"

namespace margay::daemon {
namespace restart_test {

constexpr DurationNs kSlice = milliseconds(100);

std::string boot_id() {
  std::ifstream in("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(in, id);
  return id;
}

// `slices` whole slices of one leaf that computes, ending now.
void fill(store::Archive& archive, const store::RunMeta& run, std::int64_t slices) {
  store::Cut cut;
  cut.sequence = 1;
  cut.leaves = {{LeafIndex(0), SourceId(1), 0, {{"host", "h"}, {"rank", "0"}}}};
  cut.sources = {{SourceId(1), 1, {{"host", "h"}, {"rank", "0"}}, {StateId(2)}, run.wall_offset, {}, 0, {}}};
  cut.streams = {{SourceId(1), 0, 1, 7, 7, 7, 7}};
  const SliceIndex first = slice_of(run.begin, kSlice);
  for (std::int64_t i = 0; i < slices; ++i) {
    auto c = std::make_shared<model::SliceColumn>(LevelIndex(0), first + i, 1, 3);
    c->duration_ns(LeafIndex(0))[2] = kSlice.value;
    c->longest_ns(LeafIndex(0))[2] = kSlice.value;
    c->visits(LeafIndex(0))[2] = 1;
    c->open(LeafIndex(0)) = {StateId(2), run.begin};
    cut.columns.push_back(std::move(c));
  }
  const SliceIndex last = first + (slices - 1);
  cut.closed = {{LevelIndex(0), last}};
  cut.leaf_states = {{LeafIndex(0), {{StateId(2), run.begin}}, slice_end(last, kSlice), run.begin}};
  cut.phases = {{0, "A", "", run.begin, run.begin + seconds(10), 1, false}};
  ASSERT_TRUE(archive.commit(cut, false));
}

// As `margay run` does at the end of a job: returns when all that is known has been written.
void finish(const std::string& endpoint) {
  const auto reply = test::ControlClient(endpoint).ask(wire::ControlRequest::FINISH);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->error(), "");
}

// A run of some slices, of which retention has left less than the floor allows: only what can still be
// amended, and a little. A daemon is started on it again.
struct Restart : testing::Test {
  static constexpr std::int64_t kSlices = 900;
  const test::RuntimePlace place;
  const SystemClock clock;
  Options o;
  store::RunMeta run;
  SliceIndex first{}, left{};  // of the run; that are left

  void SetUp() override {
    o.run = "r";
    o.archive = place.path + "/archive";
    o.restarts = 1;
    run.run = o.run;
    run.boot_id = boot_id();
    run.levels = o.levels;
    run.begin = clock.realtime() - kSlice * kSlices;
    run.wall_offset = clock.realtime() - clock.monotonic();
    first = slice_of(run.begin, kSlice);
    left = first + (kSlices - 70);
    auto directory = transport::make_run_directory(o.run);
    ASSERT_TRUE(directory) << directory.error().message;
    o.directory = *directory;
  }
  // `more`: what else the archive knows.
  void make_archive(const store::Cut* more = nullptr) const {
    auto archive = store::Archive::create(o.archive, run);
    ASSERT_TRUE(archive) << archive.error().message;
    fill(**archive, run, kSlices);
    if (more != nullptr) {
      ASSERT_TRUE((*archive)->commit(*more, false));
    }
    ASSERT_TRUE((*archive)->drop_columns_before(LevelIndex(0), left));
    EXPECT_EQ(*(*archive)->oldest(store::Shelf::kSlices, LevelIndex(0)), slice_begin(left, kSlice));
  }
  void run_to_its_end() const {
    auto pipeline = Pipeline::start(o);
    ASSERT_TRUE(pipeline) << pipeline.error().message;
    finish(o.directory.control_endpoint());
    (*pipeline)->request_stop();
    (*pipeline)->wait();
  }
  store::Resume kept() const {
    auto archive = store::Archive::open(o.archive, store::Mode::kReadOnly);
    EXPECT_TRUE(archive);
    return *(*archive)->load();
  }
};

TEST_F(Restart, SlicesThatWentByRetentionAreNotMissed) {
  ASSERT_NO_FATAL_FAILURE(make_archive());
  testing::internal::CaptureStderr();
  run_to_its_end();
  const std::string log = testing::internal::GetCapturedStderr();
  ASSERT_FALSE(HasFatalFailure());
  EXPECT_EQ(log.find("warning"), std::string::npos) << log;
  EXPECT_EQ(log.find("error"), std::string::npos) << log;
  const store::Resume resume = kept();
  ASSERT_GE(resume.phases.size(), 1u);
  EXPECT_EQ(resume.phases[0].name, "A") << "what was recognised in slices that are gone stays";
  EXPECT_EQ(resume.phases[0].end, run.begin + seconds(10));
  EXPECT_EQ(resume.streams[0].modelled, 7u) << "retention is not loss";
}

// The same job as before retention took what was learned of it: its name goes on, and another one's is not
// taken again.
TEST_F(Restart, NamesGoOnWhereTheSlicesTheyCameFromAreGone) {
  store::Cut more;
  more.sequence = 2;
  more.phases = {{1, "B", "", run.begin + seconds(10), run.begin + seconds(30), 1, false},
                 {2, "A", "", run.begin + seconds(30), run.begin + seconds(40), 2, false}};
  // Of B it is known that its only leaf computes all the time.
  detect::KnownPhase b{"B", first + 200, {kCompute}, detect::Distribution(1, {50}, {50}, 50)};
  more.signatures = {*to_blob(b)};
  ASSERT_NO_FATAL_FAILURE(make_archive(&more));
  ASSERT_NO_FATAL_FAILURE(run_to_its_end());
  const store::Resume resume = kept();
  ASSERT_GE(resume.phases.size(), 4u);
  EXPECT_EQ(resume.phases[3].name, "B");
  EXPECT_EQ(resume.phases[3].occurrence, 2u);
}

// Damage that the archive's checksums cannot see: it is refused with a sentence, and nothing is written to
// it.
TEST_F(Restart, ALeafOfWhichNobodyKnowsWhereItGoesOnIsDamage) {
  store::Cut more;
  more.sequence = 2;
  more.leaves = {{LeafIndex(1), SourceId(1), 1, {{"host", "h"}, {"rank", "1"}}}};
  ASSERT_NO_FATAL_FAILURE(make_archive(&more));
  auto pipeline = Pipeline::start(o);
  ASSERT_FALSE(pipeline);
  EXPECT_EQ(pipeline.error().code, ErrorCode::kCorrupt);
  EXPECT_NE(pipeline.error().message.find("where leaf 1 goes on from is missing"), std::string::npos)
      << pipeline.error().message;
  EXPECT_NE(pipeline.error().message.find(o.archive), std::string::npos) << pipeline.error().message;
  EXPECT_EQ(kept().sequence, 2u);
}

// The same of coarser levels, each by itself.
TEST_F(Restart, NamesOfCoarserPhasesGoOnToo) {
  o.watch_levels = true;
  store::Cut more;
  more.sequence = 2;
  const TimeNs begin = run.begin;
  more.phases = {{0, "1s:A", "", begin, begin + seconds(20), 1, false, LevelIndex(1)},
                 {1, "1s:B", "", begin + seconds(20), begin + seconds(40), 1, false, LevelIndex(1)},
                 {2, "1s:A", "", begin + seconds(40), begin + seconds(60), 2, false, LevelIndex(1)}};
  detect::KnownPhase b{"1s:B", first + 200, {kCompute}, detect::Distribution(1, {50}, {50}, 50)};
  more.signatures = {*to_blob(b)};
  ASSERT_NO_FATAL_FAILURE(make_archive(&more));
  ASSERT_NO_FATAL_FAILURE(run_to_its_end());
  const store::Resume resume = kept();
  ASSERT_EQ(resume.phases[0].name, "A");
  std::vector<store::PhaseRecord> of_seconds;
  for (const auto& p : resume.coarser_phases)
    if (p.level == LevelIndex(1)) of_seconds.push_back(p);
  ASSERT_GE(of_seconds.size(), 4u);
  EXPECT_EQ(of_seconds[2].occurrence, 2u) << "what was recognised in slices that are gone stays";
  EXPECT_EQ(of_seconds[3].name, "1s:B");
  EXPECT_EQ(of_seconds[3].occurrence, 2u);
}

}  // namespace restart_test
}  // namespace margay::daemon
