// Times of traces with other clocks.
#include <gtest/gtest.h>

#include "recorder.h"
#include "support/ctf_writer.h"

namespace margay::lttng::test {
namespace clocks_test {

using test_support::CtfBytes;
using test_support::CtfOptions;
using test_support::CtfTrace;

std::unique_ptr<TraceReader> read(const std::string& path, Recorder& seen) {
  auto reader = TraceReader::open_directory(path, seen);
  EXPECT_TRUE(reader);
  if (!reader) return nullptr;
  EXPECT_EQ(read_all(**reader), "");
  EXPECT_TRUE(seen.in_order);
  return std::move(*reader);
}

CtfBytes thread(int tid) {
  return CtfBytes().i32(1).i32(tid).comm("x");
}

// LTTng measures the offset anew for each trace; the clock is the same.
TEST(Clocks, SameBootIsTheSameClock) {
  const Place place;
  CtfOptions a;
  CtfOptions b;
  b.uuid = 2;
  b.offset = a.offset + 900;
  CtfTrace first(place.path + "/a", a, {{"app:x", {}}});
  CtfTrace second(place.path + "/b", b, {{"app:x", {}}});
  first.event(0, 1'000, 0, thread(1), {});
  first.event(0, 1'200, 0, thread(3), {});
  second.event(0, 1'100, 0, thread(2), {});
  ASSERT_TRUE(first.finish());
  ASSERT_TRUE(second.finish());
  Recorder seen;
  const auto reader = read(place.path, seen);
  ASSERT_EQ(seen.events.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(seen.events[i].at, 1'000 + 100 * static_cast<std::int64_t>(i));
  EXPECT_EQ(reader->offset().value, a.offset);
}

TEST(Clocks, AnotherHostComesByTheWallClock) {
  const Place place;
  CtfOptions a;
  CtfOptions b;
  b.uuid = 2;
  b.host = "node2";
  b.clock_uuid = "99999999-2222-3333-4444-555555555555";
  b.offset = a.offset - 1'000'000;  // it is up for 1 ms longer
  CtfTrace first(place.path + "/a", a, {{"app:x", {}}});
  CtfTrace second(place.path + "/b", b, {{"app:x", {}}});
  first.event(0, 5'000'000, 0, thread(1), {});
  second.event(0, 6'000'500, 0, thread(2), {});
  ASSERT_TRUE(first.finish());
  ASSERT_TRUE(second.finish());
  Recorder seen;
  const auto reader = read(place.path, seen);
  ASSERT_EQ(seen.events.size(), 2U);
  EXPECT_EQ(seen.events[0].at, 5'000'000);
  EXPECT_EQ(seen.events[1].at, 5'000'500);
  EXPECT_EQ(reader->host(), "node1");
}

TEST(Clocks, OtherFrequencies) {
  const Place place;
  CtfOptions a;
  a.frequency = 3'000'000;
  a.offset = 3'000'000;  // cycles: a second
  a.clock = "tsc";
  CtfTrace trace(place.path, a, {{"app:x", {}}});
  trace.event(0, 3, 0, thread(1), {});
  trace.event(0, 3'000'000'000'000'000, 0, thread(2), {});  // a billion seconds
  ASSERT_TRUE(trace.finish());
  Recorder seen;
  const auto reader = read(place.path, seen);
  ASSERT_EQ(seen.events.size(), 2U);
  EXPECT_EQ(seen.events[0].at, 1'000);
  EXPECT_EQ(seen.events[1].at, 1'000'000'000'000'000'000);
  EXPECT_EQ(reader->offset().value, 1'000'000'000);
  EXPECT_EQ(reader->clock().name, "tsc");
  EXPECT_FALSE(reader->clock().monotonic);
}

}  // namespace clocks_test
}  // namespace margay::lttng::test
