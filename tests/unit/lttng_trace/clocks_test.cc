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

struct At {
  std::uint64_t time;
  int tid;
};
// A trace with an event of a thread at each of these times.
void make(const std::string& path, const CtfOptions& options, std::initializer_list<At> events) {
  CtfTrace trace(path, options, {{"app:x", {}}});
  for (const At& e : events) trace.event(0, e.time, 0, thread(e.tid), {});
  ASSERT_TRUE(trace.finish());
}

// LTTng measures the offset anew for each trace; the clock is the same.
TEST(Clocks, SameBootIsTheSameClock) {
  const TemporaryFolder place;
  CtfOptions a;
  CtfOptions b;
  b.uuid = 2;
  b.offset = a.offset + 900;
  make(place.path + "/a", a, {{1'000, 1}, {1'200, 3}});
  make(place.path + "/b", b, {{1'100, 2}});
  Recorder seen;
  const auto reader = read(place.path, seen);
  ASSERT_EQ(seen.events.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(seen.events[i].at, 1'000 + 100 * static_cast<std::int64_t>(i));
  EXPECT_EQ(reader->offset().value, a.offset);
}

TEST(Clocks, AnotherHostComesByTheWallClock) {
  const TemporaryFolder place;
  CtfOptions a;
  CtfOptions b;
  b.uuid = 2;
  b.host = "node2";
  b.clock_uuid = "99999999-2222-3333-4444-555555555555";
  b.offset = a.offset - 1'000'000;  // it is up for 1 ms longer
  make(place.path + "/a", a, {{5'000'000, 1}});
  make(place.path + "/b", b, {{6'000'500, 2}});
  Recorder seen;
  const auto reader = read(place.path, seen);
  ASSERT_EQ(seen.events.size(), 2U);
  EXPECT_EQ(seen.events[0].at, 5'000'000);
  EXPECT_EQ(seen.events[1].at, 5'000'500);
  EXPECT_EQ(reader->host(), "node1");
}

TEST(Clocks, OtherFrequencies) {
  const TemporaryFolder place;
  CtfOptions a;
  a.frequency = 3'000'000;
  a.offset = 3'000'000;  // cycles: a second
  a.clock = "tsc";
  make(place.path, a, {{3, 1}, {3'000'000'000'000'000, 2}});  // the second after a billion seconds
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
