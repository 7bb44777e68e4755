// What is told of sound recorded traces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <fstream>

#include "recorder.h"
#include "support/ctf_writer.h"

namespace margay::lttng::test {
namespace reader_test {

using test_support::CtfBytes;
using test_support::CtfOptions;
using test_support::CtfTrace;
using testing::ElementsAre;
using testing::HasSubstr;

CtfBytes thread(int pid, int tid, const std::string& name = "app") {
  return CtfBytes().i32(pid).i32(tid).comm(name);
}

TEST(TraceReader, NamesFieldsAndContextsOfAClass) {
  const TemporaryFolder place;
  CtfTrace trace(place.path + "/ust", {},
                 {{"app:all",
                   {{"number", "i32"},
                    {"address", "u64"},
                    {"share", "f64"},
                    {"what", "text"},
                    {"kind", "enum"},
                    {"bytes", "u8x4"}}}});
  const std::string longest(400, 'x');
  trace.event(3, 1'000, 0, thread(10, 11, "worker"),
              CtfBytes().i32(-7).u64(UINT64_MAX).f64(0.25).text(longest).i32(1).u32(5));
  ASSERT_TRUE(trace.finish());

  Recorder seen;
  int looked = 0;
  seen.look = [&](const Event& e) {
    ++looked;
    EXPECT_EQ(e.values->integer(0), -7);
    EXPECT_EQ(e.values->integer(1), -1) << "more than 63 bits: the same bits";
    EXPECT_EQ(e.values->real(2), 0.25);
    EXPECT_EQ(e.values->text(3), std::string(255, 'x'));
    EXPECT_EQ(e.values->integer(4), 1);
    EXPECT_EQ(e.values->integer(5), 0) << "an array";
    EXPECT_EQ(e.values->integer(6), 10) << "vpid as a field";
    EXPECT_EQ(e.values->integer(0), -7) << "again";
    EXPECT_EQ(e.values->integer(99), 0) << "no such field";
    EXPECT_EQ(e.values->text(0), "") << "no text";
  };
  auto reader = TraceReader::open_directory(place.path, seen);
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_EQ(read_all(**reader), "");
  ASSERT_EQ(looked, 1);
  ASSERT_EQ(seen.classes.size(), 1U);
  EXPECT_EQ(seen.classes[0].name, "app:all");
  EXPECT_FALSE(seen.classes[0].kernel);
  std::vector<std::string> names;
  std::vector<FieldType> types;
  for (const Field& f : seen.classes[0].fields) {
    names.push_back(f.name);
    types.push_back(f.type);
  }
  EXPECT_THAT(names,
              ElementsAre("number", "address", "share", "what", "kind", "bytes", "vpid", "vtid", "procname"));
  EXPECT_THAT(types, ElementsAre(FieldType::kSigned, FieldType::kUnsigned, FieldType::kReal, FieldType::kText,
                                 FieldType::kSigned, FieldType::kOther, FieldType::kSigned,
                                 FieldType::kSigned, FieldType::kText));
  const Seen& e = seen.events[0];
  EXPECT_EQ(e.at, 1'000);
  EXPECT_EQ(e.cpu, 3);
  EXPECT_EQ(e.vpid, 10);
  EXPECT_EQ(e.vtid, 11);
  EXPECT_EQ(e.procname, "worker");
  EXPECT_EQ((*reader)->host(), "node1");
  EXPECT_TRUE((*reader)->clock().monotonic);
  EXPECT_EQ((*reader)->offset().value, 1'700'000'000'000'000'000);
  EXPECT_EQ((*reader)->counts().damaged_streams, 0U);
}

TEST(TraceReader, MergesStreamsAndTracesByTime) {
  const TemporaryFolder place;
  CtfOptions kernel;
  kernel.domain = "kernel";
  kernel.uuid = 2;
  kernel.packet_bytes = 500;
  kernel.context = {{"pid", "i32"}, {"tid", "i32"}};
  CtfTrace k(place.path + "/session/kernel", kernel,
             {{"sched_switch", {{"next_tid", "i32"}, {"prev_tid", "i32"}}},
              {"syscall_entry_read", {{"fd", "u32"}}}});
  CtfOptions user;
  user.packet_bytes = 700;
  CtfTrace u(place.path + "/session/ust/uid/1000/64-bit", user, {{"app:begin", {}}});
  std::size_t written = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::uint64_t t = 1'000'000 + static_cast<std::uint64_t>(i) * 1'000;
    const auto cpu = static_cast<std::uint32_t>(i * 7 % 5);
    if (i % 3 == 0)
      k.event(cpu, t, 0, CtfBytes().i32(1).i32(i), CtfBytes().i32(i).i32(2));
    else if (i % 3 == 1)
      k.event(cpu, t, 1, CtfBytes().i32(1).i32(i), CtfBytes().u32(3));
    else
      u.event(cpu, t, 0, thread(1, i), {});
    ++written;
  }
  ASSERT_TRUE(k.finish());
  ASSERT_TRUE(u.finish());
  Recorder seen;
  auto reader = TraceReader::open_directory(place.path, seen);
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_EQ(read_all(**reader, 7), "");
  ASSERT_EQ(seen.events.size(), written);
  EXPECT_EQ((*reader)->counts().events, written);
  EXPECT_TRUE(seen.in_order);
  for (int i = 0; i < 3000; ++i) {
    const Seen& e = seen.events[static_cast<std::size_t>(i)];
    ASSERT_EQ(e.at, 1'000'000 + i * 1'000);
    ASSERT_EQ(e.cpu, i * 7 % 5);
    ASSERT_EQ(e.vtid, i) << "tid stands in for vtid";
    ASSERT_EQ(e.name, i % 3 == 0 ? "sched_switch" : i % 3 == 1 ? "syscall_entry_read" : "app:begin");
  }
  ASSERT_EQ(seen.classes.size(), 3U);
  for (const EventClass& c : seen.classes) EXPECT_EQ(c.kernel, c.name != "app:begin");
}

TEST(TraceReader, HandsOverAtMostTheBudget) {
  const TemporaryFolder place;
  CtfTrace trace(place.path, {}, {{"app:x", {}}});
  for (std::uint64_t i = 0; i < 100; ++i)
    trace.event(static_cast<std::uint32_t>(i % 3), i, 0, thread(1, 1), {});
  ASSERT_TRUE(trace.finish());
  Recorder seen;
  auto reader = TraceReader::open_directory(place.path, seen);
  ASSERT_TRUE(reader);
  std::size_t before = 0;
  for (int calls = 0; calls < 1000; ++calls) {
    const auto step = (*reader)->run_once(9);
    ASSERT_TRUE(step);
    EXPECT_LE(seen.events.size() - before, 9U);
    before = seen.events.size();
    if (*step == Step::kEnd) break;
  }
  EXPECT_EQ(before, 100U);
  EXPECT_EQ((*reader)->run_once(9).value(), Step::kEnd) << "and so it stays";
}

TEST(TraceReader, CountsDiscardedEventsExactly) {
  const TemporaryFolder place;
  CtfTrace trace(place.path, {}, {{"app:x", {}}});
  trace.event(0, 100, 0, thread(1, 1), {});
  trace.end_packet(0, 200);
  trace.event(0, 300, 0, thread(1, 1), {});
  trace.lose(0, 17);
  trace.end_packet(0, 400);
  trace.event(2, 350, 0, thread(1, 1), {});
  trace.end_packet(2, 360);
  trace.lose_packets(0, 3);
  trace.event(0, 500, 0, thread(1, 1), {});
  ASSERT_TRUE(trace.finish());
  Recorder seen;
  auto reader = TraceReader::open_directory(place.path, seen);
  ASSERT_TRUE(reader);
  EXPECT_EQ(read_all(**reader), "");
  EXPECT_EQ(seen.events.size(), 4U);
  EXPECT_TRUE(seen.in_order);
  EXPECT_EQ((*reader)->counts().discarded_events, 17U);
  EXPECT_EQ((*reader)->counts().discarded_packets, 3U);
  ASSERT_EQ(seen.discarded.size(), 2U);
  EXPECT_EQ(seen.discarded[0].events, 17U);
  EXPECT_TRUE(seen.discarded[0].exact);
  EXPECT_EQ(seen.discarded[0].cpu, 0);
  EXPECT_EQ(seen.discarded[0].begin.value, 200);
  EXPECT_EQ(seen.discarded[0].end.value, 400);
  EXPECT_EQ(seen.discarded[1].events, 3U);
  EXPECT_FALSE(seen.discarded[1].exact);
  EXPECT_EQ(seen.discarded[1].begin.value, 400);
  EXPECT_EQ(seen.discarded[1].end.value, 500);
}

// As LTTng-UST 2.13 was seen to write them when all its buffers are full.
TEST(TraceReader, CountersOfLossesThatRunBackAreNotCountedTwice) {
  const TemporaryFolder place;
  CtfTrace trace(place.path, {}, {{"app:x", {}}});
  trace.event(0, 100'000, 0, thread(1, 1), {});
  trace.end_packet(0, 200'000);
  std::uint64_t at = 300'000;
  for (const std::int64_t more : {5000, -3000, 500, 2600, -100, 200}) {  // 5000 2000 2500 5100 5000 5200
    trace.event(0, at, 0, thread(1, 1), {});
    trace.lose(0, static_cast<std::uint64_t>(more));
    trace.end_packet(0, at + 100'000);
    at += 200'000;
  }
  ASSERT_TRUE(trace.finish());
  Recorder seen;
  auto reader = TraceReader::open_directory(place.path, seen);
  ASSERT_TRUE(reader);
  EXPECT_EQ(read_all(**reader), "");
  EXPECT_EQ((*reader)->counts().discarded_events, 5200U);
  EXPECT_EQ((*reader)->counts().unknown_discards, 0U);
  ASSERT_EQ(seen.discarded.size(), 3U);
  EXPECT_EQ(seen.discarded[0].events, 5000U);
  EXPECT_EQ(seen.discarded[1].events, 100U);
  EXPECT_EQ(seen.discarded[2].events, 100U);
}

TEST(TraceReader, TellsProgress) {
  const TemporaryFolder place;
  CtfTrace trace(place.path, {}, {{"app:x", {}}});
  for (std::uint64_t i = 0; i < 1000; ++i) trace.event(0, i * 1'000'000, 0, thread(1, 1), {});
  ASSERT_TRUE(trace.finish());
  Recorder seen;
  ReaderOptions options;
  options.progress = milliseconds(100);
  auto reader = TraceReader::open_directory(place.path, seen, options);
  ASSERT_TRUE(reader);
  EXPECT_EQ(read_all(**reader), "");
  ASSERT_EQ(seen.progress.size(), 11U);  // 0, 100 ms, ... 900 ms, the end
  EXPECT_EQ(seen.progress[3], 300'000'000);
  EXPECT_EQ(seen.progress.back(), 999'000'000);
  EXPECT_TRUE(seen.in_order);
}

TEST(TraceReader, ManyThreads) {
  const TemporaryFolder place;
  CtfTrace trace(place.path, {}, {{"app:x", {{"n", "i32"}}}});
  constexpr int kThreads = 8000;
  for (int round = 0; round < 3; ++round)
    for (int t = 0; t < kThreads; ++t) {
      const auto at = static_cast<std::uint64_t>(round * kThreads + t) * 100;
      trace.event(static_cast<std::uint32_t>(t % 16), at, 0, thread(1, 1000 + t, "t" + std::to_string(t)),
                  CtfBytes().i32(t));
    }
  ASSERT_TRUE(trace.finish());
  Recorder seen;
  auto reader = TraceReader::open_directory(place.path, seen);
  ASSERT_TRUE(reader);
  EXPECT_EQ(read_all(**reader), "");
  ASSERT_EQ(seen.events.size(), 3U * kThreads);
  EXPECT_TRUE(seen.in_order);
  for (std::size_t i = 0; i < seen.events.size(); ++i) {
    ASSERT_EQ(seen.events[i].vtid, 1000 + static_cast<std::int64_t>(i % kThreads));
    ASSERT_EQ(seen.events[i].procname, "t" + std::to_string(i % kThreads));
  }
}

// A rotated session: two directories of one trace. What is lost between them is seen.
TEST(TraceReader, ChunksOfOneTraceAreOneTrace) {
  const TemporaryFolder place;
  CtfTrace first(place.path + "/archives/1/ust", {}, {{"app:x", {}}});
  first.event(0, 100, 0, thread(1, 1), {});
  CtfTrace second(place.path + "/archives/2/ust", {}, {{"app:x", {}}, {"app:y", {}}});
  second.lose(0, 5);
  second.lose_packets(0, 1);
  second.event(0, 200, 0, thread(1, 1), {});
  second.event(0, 300, 1, thread(1, 1), {});
  ASSERT_TRUE(first.finish());
  ASSERT_TRUE(second.finish());
  Recorder seen;
  auto reader = TraceReader::open_directory(place.path, seen);
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_EQ(read_all(**reader), "");
  EXPECT_EQ(seen.events.size(), 3U);
  EXPECT_EQ(seen.classes.size(), 2U);
  EXPECT_EQ((*reader)->counts().discarded_events, 5U);
}

// A file is open for each stream.
TEST(TraceReader, MoreStreamsThanFilesMayBeOpen) {
  const TemporaryFolder place;
  CtfTrace trace(place.path, {}, {{"app:x", {}}});
  for (std::uint32_t cpu = 0; cpu < 200; ++cpu) trace.event(cpu, 1'000 + cpu, 0, thread(1, 1), {});
  ASSERT_TRUE(trace.finish());
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit few = before;
  few.rlim_cur = 100;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  Recorder seen;
  auto reader = TraceReader::open_directory(place.path, seen);
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_EQ(read_all(**reader), "");
  EXPECT_EQ(seen.events.size(), 200U);
  EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST(TraceReader, StopEndsIt) {
  const TemporaryFolder place;
  CtfTrace trace(place.path, {}, {{"app:x", {}}});
  for (std::uint64_t i = 0; i < 100; ++i) trace.event(0, i, 0, thread(1, 1), {});
  ASSERT_TRUE(trace.finish());
  Recorder seen;
  auto reader = TraceReader::open_directory(place.path, seen);
  ASSERT_TRUE(reader);
  ASSERT_EQ((*reader)->run_once(10).value(), Step::kMore);
  (*reader)->stop();
  EXPECT_EQ((*reader)->run_once(10).value(), Step::kEnd);
  EXPECT_EQ(seen.events.size(), 10U);
}

TEST(TraceReader, SaysWhatIsNotThere) {
  const TemporaryFolder place;
  Recorder seen;
  auto reader = TraceReader::open_directory(place.path + "/none", seen);
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(reader.error().message, HasSubstr(place.path + "/none"));
  reader = TraceReader::open_directory(place.path, seen);
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(reader.error().message, HasSubstr("no trace"));
  for (const char* url : {"net://x", "file:///x", "net://localhost/host/a", "net:///host/a/b", ""}) {
    const auto live = TraceReader::open_live(url, seen);
    ASSERT_FALSE(live) << url;
    EXPECT_EQ(live.error().code, ErrorCode::kInvalidArgument);
  }
}

// A session that nothing was traced in.
TEST(TraceReader, EmptyTraceEnds) {
  const TemporaryFolder place;
  CtfTrace trace(place.path + "/a", {}, {{"app:x", {}}});
  ASSERT_TRUE(trace.finish());
  std::ofstream(trace.stream_file(0)).close();
  std::filesystem::create_directories(place.path + "/b");
  std::ofstream(place.path + "/b/metadata").close();
  Recorder seen;
  auto reader = TraceReader::open_directory(place.path, seen);
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_EQ(read_all(**reader), "");
  EXPECT_TRUE(seen.events.empty());
  EXPECT_EQ((*reader)->counts().damaged_traces, 0U);
}

}  // namespace reader_test
}  // namespace margay::lttng::test
