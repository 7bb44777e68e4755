// Clocks of other machines: offset, drift, steps, and a network whose delays are not the same both ways.
#include "margay/ingest/clock_map.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

namespace margay::ingest {
namespace clock_map_test {

// A machine whose clock shows `offset` more than trace time at the begin, and gains `ppb` on it.
struct Machine {
  DurationNs offset = seconds(-123'456);
  double ppb = 0;
  TimeNs host(TimeNs trace) const {
    return trace - offset +
           DurationNs(static_cast<std::int64_t>(static_cast<double>(trace.value) * ppb * 1e-9));
  }
};

// Question and answer at trace time `t`: delays there and back; the error is what the asker can know.
ClockSample ask(const Machine& m, TimeNs t, DurationNs there, DurationNs back) {
  return {m.host(t + there), t + DurationNs((there + back).value / 2), DurationNs((there + back).value / 2)};
}

constexpr TimeNs kBegin{1'000'000'000'000};

// Asks once a second for `seconds_`, checks after each answer. Returns the worst error after the first 15 s.
std::int64_t follow(ClockMap& map, const Machine& m, int asks, std::mt19937_64& random, DurationNs mean) {
  std::exponential_distribution<double> delay(1.0 / static_cast<double>(mean.value));
  std::int64_t worst = 0;
  TimeNs before{};
  for (int i = 0; i < asks; ++i) {
    const TimeNs t = kBegin + seconds(i);
    const auto wait = [&] { return DurationNs(50'000 + static_cast<std::int64_t>(delay(random))); };
    map.add(ask(m, t, wait(), wait()));
    for (int k = 0; k < 10; ++k) {
      const TimeNs at = t + milliseconds(100 * k) + milliseconds(50);
      const TimeNs seen = map.to_trace(m.host(at));
      EXPECT_GT(seen, before) << "time ran backwards at " << i;
      before = seen;
      if (i >= 15) worst = std::max(worst, std::abs((seen - at).value));
    }
  }
  return worst;
}

TEST(ClockMap, OffsetAndDriftAreFoundWithinTheRoundTrip) {
  for (const double ppb : {0.0, 20'000.0, -100'000.0, 300'000.0}) {
    SCOPED_TRACE(ppb);
    std::mt19937_64 random(4711);
    Machine m;
    m.ppb = ppb;
    ClockMap map(seconds(0), seconds(1));
    const std::int64_t worst = follow(map, m, 60, random, DurationNs(100'000));
    EXPECT_LT(worst, 150'000) << "ns, with round trips of 0.1 ms and more";
    EXPECT_NEAR(static_cast<double>(map.drift_ppb()), -ppb, 12'000);
    EXPECT_EQ(map.steps(), 0u);
  }
}

TEST(ClockMap, TheFirstAnswerReplacesAGuessAndIsNoStep) {
  const Machine m;
  ClockMap map(seconds(77), seconds(1));
  EXPECT_FALSE(map.known());
  EXPECT_EQ(map.to_trace(TimeNs(5)), TimeNs(5) + seconds(77));
  map.add(ask(m, kBegin, DurationNs(20'000), DurationNs(20'000)));
  EXPECT_TRUE(map.known());
  EXPECT_EQ(map.steps(), 0u);
  EXPECT_EQ(map.error(), DurationNs(20'000));
  const TimeNs later = kBegin + seconds(1);
  EXPECT_LE(std::abs((map.to_trace(m.host(later)) - later).value), 20'000);
}

TEST(ClockMap, ASuspendedMachineIsAStepAndWhatLiesBeforeItKeepsItsTime) {
  std::mt19937_64 random(1);
  Machine m;
  ClockMap map(seconds(0), seconds(1));
  follow(map, m, 20, random, DurationNs(50'000));
  const TimeNs before = kBegin + seconds(19);
  const TimeNs seen_before = map.to_trace(m.host(before));
  const Machine slept{m.offset + seconds(3), 0};  // its clock stood still for 3 s
  const TimeNs after = kBegin + seconds(25);
  map.add(ask(slept, after, DurationNs(30'000), DurationNs(30'000)));
  EXPECT_EQ(map.steps(), 1u);
  const TimeNs then = after + milliseconds(1);
  EXPECT_LE(std::abs((map.to_trace(slept.host(then)) - then).value), 60'000);
  EXPECT_EQ(map.to_trace(m.host(before)), seen_before);
}

TEST(ClockMap, OneSlowAnswerMovesNothing) {
  std::mt19937_64 random(2);
  const Machine m;
  ClockMap map(seconds(0), seconds(1));
  follow(map, m, 20, random, DurationNs(20'000));
  const TimeNs t = kBegin + seconds(20);
  const TimeNs before = map.to_trace(m.host(t));
  map.add(ask(m, t, DurationNs(30'000), milliseconds(800)));  // its middle is 0.4 s off, its error says so
  EXPECT_LE(std::abs((map.to_trace(m.host(t + seconds(2))) - (before + seconds(2))).value), 100'000);
  EXPECT_EQ(map.steps(), 0u);
}

TEST(ClockMap, HostileSamplesKeepItFinite) {
  std::mt19937_64 random(3);
  ClockMap map(seconds(0), seconds(1));
  constexpr std::int64_t kMost = std::int64_t{1} << 60;
  for (int i = 0; i < 2000; ++i) {
    const auto any = [&] { return static_cast<std::int64_t>(random() % (2 * kMost)) - kMost; };
    map.add({TimeNs(any()), TimeNs(any()), DurationNs(static_cast<std::int64_t>(random() % kMost))});
    const std::int64_t seen = map.to_trace(TimeNs(any())).value;
    EXPECT_LE(std::abs(seen), std::int64_t{1} << 61);
    EXPECT_LE(std::abs(map.drift_ppb()), ClockMap::kMostDriftPpb);
  }
}

}  // namespace clock_map_test
}  // namespace margay::ingest
