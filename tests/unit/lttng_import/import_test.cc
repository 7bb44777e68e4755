// Recorded traces of LTTng become records of threads, and archives.
#include "margay/lttng_import/import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "import/import_command.h"
#include "margay/store/archive.h"
#include "support/ctf_writer.h"
#include "support/decoder_leaks.h"

namespace margay::lttng_import {
namespace import_test {

using test_support::CtfBytes;
using test_support::CtfOptions;
using test_support::CtfTrace;
using test_support::DecoderLeaks;
using testing::HasSubstr;

struct Recorder final : trace::Consumer {
  std::vector<trace::Name> names;
  std::vector<trace::Leaf> leaves;
  std::map<std::uint32_t, std::vector<EventRecord>> records;
  TimeNs covered{};
  Status on_name(std::uint16_t index, const trace::Name& name) override {
    EXPECT_EQ(index, names.size());
    names.push_back(name);
    return {};
  }
  Status on_leaf(LeafIndex index, const trace::Leaf& leaf) override {
    EXPECT_EQ(index.value, leaves.size());
    leaves.push_back(leaf);
    return {};
  }
  Status on_records(LeafIndex leaf, std::span<const EventRecord> more) override {
    for (const EventRecord& r : more) records[leaf.value].push_back(r);
    return {};
  }
  Status on_covered(TimeNs t) override {
    covered = std::max(covered, t);
    return {};
  }
  std::uint32_t leaf(const std::string& process, const std::string& thread) const {
    for (std::uint32_t i = 0; i < leaves.size(); ++i)
      if (leaves[i].attributes.at("path1") == process && leaves[i].attributes.at("path2") == thread) return i;
    ADD_FAILURE() << process << "/" << thread;
    return 0;
  }
};

struct ImportTest : testing::Test {
  std::string place = testing::TempDir() + "lttng_import_" + std::to_string(getpid()) + "_" +
                      testing::UnitTest::GetInstance()->current_test_info()->name();
  void SetUp() override {
    std::filesystem::remove_all(place);
    std::filesystem::create_directories(place);
  }
  void TearDown() override { std::filesystem::remove_all(place); }

  // Two threads that wait 1 ms for a mutex, again and again; `more` classes behind the two.
  std::unique_ptr<CtfTrace> locks(const CtfOptions& options = {}) {
    auto trace = std::make_unique<CtfTrace>(
        place + "/trace", options,
        std::vector<test_support::CtfClass>{{"lttng_ust_pthread:pthread_mutex_lock_req", {{"mutex", "u64"}}},
                                            {"lttng_ust_pthread:pthread_mutex_lock_acq", {{"mutex", "u64"}}},
                                            {"my_app:unknown", {{"n", "i32"}}}});
    for (std::uint64_t i = 0; i < 50; ++i)
      for (int thread = 0; thread < 2; ++thread) {
        const auto who = [&] {
          return CtfBytes().i32(100).i32(100 + thread).comm(thread == 0 ? "app" : "helper");
        };
        const std::uint64_t at = 10'000'000'000 + i * 10'000'000;
        const auto cpu = static_cast<std::uint32_t>(thread);
        trace->event(cpu, at, 0, who(), CtfBytes().u64(7));
        trace->event(cpu, at + 1'000'000, 1, who(), CtfBytes().u64(7));
      }
    trace->event(0, 20'000'000'000, 2, CtfBytes().i32(100).i32(100).comm("app"), CtfBytes().i32(1));
    return trace;
  }
};

TEST_F(ImportTest, StatesOfThreadsInWallClockTime) {
  ASSERT_TRUE(locks()->finish());
  Recorder seen;
  std::vector<std::string> said;
  trace::ReadOptions options;
  options.problem = [&](const std::string& sentence) { said.push_back(sentence); };
  const auto done = read(place, {}, options, seen);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->events, 201u);
  EXPECT_EQ(done->used, 200u);
  EXPECT_EQ(done->unmatched, 1u);
  EXPECT_EQ(done->events, done->used + done->ignored + done->unmatched + done->other);
  EXPECT_THAT(said, testing::Contains(HasSubstr("no rule is for 1 events my_app:unknown")));
  ASSERT_EQ(seen.leaves.size(), 2u);
  const auto& records = seen.records[seen.leaf("app:100", "helper:101")];
  ASSERT_EQ(records.size(), 102u);  // BEGIN, 50 times ENTER and LEAVE, END
  EXPECT_EQ(records.front().kind, MARGAY_BEGIN);
  EXPECT_EQ(records.back().kind, MARGAY_END);
  const std::int64_t wall = 1'700'000'000'000'000'000 + 10'000'000'000;
  EXPECT_EQ(records[1].time_ns, wall);
  EXPECT_EQ(records[1].kind, MARGAY_ENTER);
  EXPECT_EQ(records[2].time_ns, wall + 1'000'000);
  EXPECT_EQ(records[2].kind, MARGAY_LEAVE);
  EXPECT_EQ(seen.names[records[1].state].text, "mutex wait");
  EXPECT_EQ(seen.names[records[1].state].family, model::StateFamily::kWait);
}

TEST_F(ImportTest, LossesAreGaps) {
  auto trace = locks();
  trace->end_packet(1, 20'500'000'000);
  trace->lose(1, 5);
  trace->event(1, 21'000'000'000, 0, CtfBytes().i32(100).i32(101).comm("helper"), CtfBytes().u64(7));
  ASSERT_TRUE(trace->finish());
  Recorder seen;
  const auto done = read(place, {}, {}, seen);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->discarded, 5u);
  std::uint64_t told = 0;
  for (const auto& [leaf, records] : seen.records)
    for (const EventRecord& r : records)
      if (r.kind == MARGAY_GAP) told += r.bytes;
  EXPECT_EQ(told, 5u);
}

TEST_F(ImportTest, ADamagedStreamIsToldAndReadAsFarAsItGoes) {
  CtfOptions small;
  small.packet_bytes = 1024;
  auto trace = locks(small);
  ASSERT_TRUE(trace->finish());
  const auto size = std::filesystem::file_size(trace->stream_file(1));
  std::filesystem::resize_file(trace->stream_file(1), size - size / 3);
  const DecoderLeaks leaks;
  Recorder strict;
  const auto refused = read(place, {}, {}, strict);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kCorrupt);
  EXPECT_THAT(refused.error().message, HasSubstr("--keep-going"));
  Recorder seen;
  trace::ReadOptions options;
  options.keep_going = true;
  const auto done = read(place, {}, options, seen);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->damaged_streams, 1u);
  EXPECT_GT(done->used, 100u);
  EXPECT_LT(done->used, 200u);
  EXPECT_EQ(seen.leaves.size(), 2u);
}

// One machine, two traces: what a thread says, and what the kernel does with it.
TEST_F(ImportTest, UserSpaceAndTheKernelInOneView) {
  CtfTrace ust(place + "/trace/ust/uid/1000/64-bit", {},
               {{"lttng_ust_pthread:pthread_mutex_lock_req", {{"mutex", "u64"}}},
                {"lttng_ust_pthread:pthread_mutex_lock_acq", {{"mutex", "u64"}}}});
  CtfOptions of_kernel;
  of_kernel.domain = "kernel";
  of_kernel.uuid = 2;
  of_kernel.context = {{"pid", "i32"}, {"tid", "i32"}};
  CtfTrace kernel(place + "/trace/kernel", of_kernel,
                  {{"sched_switch",
                    {{"prev_comm", "comm"},
                     {"prev_tid", "i32"},
                     {"prev_state", "i64"},
                     {"next_comm", "comm"},
                     {"next_tid", "i32"}}},
                   {"syscall_entry_futex", {{"uaddr", "u64"}}},
                   {"syscall_exit_futex", {{"ret", "i64"}}}});
  const auto who = [] { return CtfBytes().i32(100).i32(101).comm("worker"); };
  const auto kernels = [](int pid, int tid) { return CtfBytes().i32(pid).i32(tid); };
  for (std::uint64_t i = 0; i < 10; ++i) {  // it asks for a mutex, sleeps in the kernel for 4 ms, and has it
    const std::uint64_t at = 10'000'000'000 + i * 10'000'000;
    ust.event(0, at, 0, who(), CtfBytes().u64(7));
    kernel.event(0, at + 1'000'000, 1, kernels(100, 101), CtfBytes().u64(7));
    kernel.event(0, at + 2'000'000, 0, kernels(100, 101),
                 CtfBytes().comm("worker").i32(101).i64(1).comm("swapper/0").i32(0));
    kernel.event(0, at + 6'000'000, 0, kernels(0, 0),
                 CtfBytes().comm("swapper/0").i32(0).i64(0).comm("worker").i32(101));
    kernel.event(0, at + 6'500'000, 2, kernels(100, 101), CtfBytes().i64(0));
    ust.event(0, at + 7'000'000, 1, who(), CtfBytes().u64(7));
  }
  ASSERT_TRUE(ust.finish());
  ASSERT_TRUE(kernel.finish());
  Recorder seen;
  const auto done = read(place, {}, {}, seen);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->events, 60u);
  EXPECT_EQ(done->used, 60u);
  const auto& records = seen.records[seen.leaf("worker:100", "worker:101")];
  std::vector<std::string> second;  // of the second round: what it entered and left
  for (const EventRecord& r : records)
    if (r.time_ns >= 1'700'000'000'000'000'000 + 10'010'000'000 &&
        r.time_ns < 1'700'000'000'000'000'000 + 10'018'000'000)
      second.push_back((r.kind == MARGAY_ENTER ? "+" : "-") + seen.names[r.state].text);
  EXPECT_THAT(second,
              testing::ElementsAre("+mutex wait", "+futex", "+Blocked", "-Blocked", "-futex", "-mutex wait"));
}

TEST_F(ImportTest, EightThousandThreads) {
  CtfTrace trace(place + "/trace", {},
                 {{"lttng_ust_pthread:pthread_mutex_lock_req", {{"mutex", "u64"}}},
                  {"lttng_ust_pthread:pthread_mutex_lock_acq", {{"mutex", "u64"}}}});
  for (int i = 0; i < 8000; ++i) {
    const auto at = 1'000'000'000 + static_cast<std::uint64_t>(i) * 100'000;
    trace.event(0, at, 0, CtfBytes().i32(1).i32(1 + i).comm("t"), CtfBytes().u64(7));
    trace.event(0, at + 50'000, 1, CtfBytes().i32(1).i32(1 + i).comm("t"), CtfBytes().u64(7));
  }
  ASSERT_TRUE(trace.finish());
  Recorder seen;
  const auto done = read(place, {}, {}, seen);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->used, 16'000u);
  EXPECT_EQ(seen.leaves.size(), 8000u);
}

TEST_F(ImportTest, NoTraceIsAnError) {
  Recorder seen;
  const auto done = read(place, {}, {}, seen);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr(place));
}

TEST_F(ImportTest, TheCommandMakesAnArchive) {
  ASSERT_TRUE(locks()->finish());
  daemon::ImportRequest r;
  r.file = place;
  r.archive = place + ".margay";
  std::filesystem::remove_all(r.archive);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  EXPECT_EQ(daemon::import_command(r), 0);
  EXPECT_THAT(testing::internal::GetCapturedStdout(), HasSubstr("201 events: 200 used by rules"));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("my_app:unknown"));
  {
    const auto archive = store::Archive::open(r.archive, store::Mode::kReadOnly);
    ASSERT_TRUE(archive) << archive.error().message;
    const auto resume = (*archive)->load();
    ASSERT_TRUE(resume) << resume.error().message;
    EXPECT_EQ(resume->leaves.size(), 2u);
    std::int64_t waited = 0;
    std::optional<std::uint16_t> wait;
    for (std::uint16_t i = 0; i < resume->states.size(); ++i)
      if (resume->states[StateId(i)].name == "mutex wait") wait = i;
    ASSERT_TRUE(wait);
    const DurationNs slice = resume->run.levels[0];
    const SliceIndex first = slice_of(resume->run.begin, slice);
    ASSERT_TRUE((*archive)->scan_columns(LevelIndex(0), first, first + 1000, [&](model::SliceColumn&& c) {
      for (std::uint32_t l = 0; l < c.leaves(); ++l)
        if (*wait < c.states()) waited += c.duration_ns(LeafIndex(l))[*wait];
      return true;
    }));
    EXPECT_EQ(waited, 2 * 50 * 1'000'000);
  }
  std::filesystem::remove_all(r.archive);
}

}  // namespace import_test
}  // namespace margay::lttng_import
