#include "margay/scene/time_axis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace margay::scene {
namespace time_axis_test {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kS = 1'000'000'000;
constexpr std::int64_t kMin = 60 * kS;
constexpr std::int64_t kH = 60 * kMin;
constexpr std::int64_t kD = 24 * kH;
using Limits = std::numeric_limits<std::int64_t>;

std::vector<std::string> labels(const Axis& axis) {
  std::vector<std::string> out;
  for (const Tick& t : axis.ticks)
    if (!t.label.empty()) out.push_back(t.label);
  return out;
}

Axis axis_of(std::int64_t from, std::int64_t to, double width, std::int64_t zero = 0) {
  AxisOptions o;
  o.width = width;
  return time_axis({TimeNs(from), TimeNs(to)}, Times{TimeNs(zero)}, o);
}

TEST(TimeAxis, LabelsOnWholeSteps) {
  EXPECT_THAT(labels(axis_of(0, 10 * kS, 400)), ElementsAre("0 s", "2 s", "4 s", "6 s", "8 s", "10 s"));
  EXPECT_THAT(labels(axis_of(0, 2 * kS, 300)), ElementsAre("0 s", "500 ms", "1 s", "1.5 s", "2 s"));
  EXPECT_THAT(labels(axis_of(0, 90 * kS, 400)), ElementsAre("0 s", "20 s", "40 s", "1 min", "1 min 20 s"));
}

TEST(TimeAxis, IsInTheUnitThatSomebodyChose) {
  const auto in = [](TimeUnit unit, std::int64_t from, std::int64_t to, std::int64_t zero = 0) {
    Times times{TimeNs(zero)};
    times.unit = unit;
    AxisOptions o;
    o.width = 400;
    return labels(time_axis({TimeNs(from), TimeNs(to)}, times, o));
  };
  EXPECT_THAT(in(TimeUnit::kMilliseconds, 0, 2 * kS),
              ElementsAre("0 ms", "500 ms", "1000 ms", "1500 ms", "2000 ms"));
  EXPECT_THAT(in(TimeUnit::kSeconds, 0, 90 * kS),
              ElementsAre("0 s", "10 s", "20 s", "30 s", "40 s", "50 s", "60 s", "70 s", "80 s", "90 s"));
  EXPECT_THAT(in(TimeUnit::kMinutes, 0, 90 * kS), ElementsAre("0 min", "0.5 min", "1 min", "1.5 min"));
  EXPECT_THAT(in(TimeUnit::kHours, 0, 90 * kS),
              ElementsAre("0 h", "0.005 h", "0.01 h", "0.015 h", "0.02 h", "0.025 h"));
  EXPECT_THAT(in(TimeUnit::kMicroseconds, -kMs, kMs),
              ElementsAre("-1000 µs", "-500 µs", "0 µs", "500 µs", "1000 µs"));
  EXPECT_THAT(in(TimeUnit::kAuto, 0, 10 * kS), ElementsAre("0 s", "2 s", "4 s", "6 s", "8 s", "10 s"));
  // However little is seen of how much, there are no more ticks, and each label is what its tick is.
  for (const TimeUnit unit : kTimeUnits)
    for (const std::int64_t length : {std::int64_t{5}, std::int64_t{1000}, kS, 400 * kD}) {
      Times times;
      times.unit = unit;
      AxisOptions o;
      o.width = 600;
      const Axis axis = time_axis({TimeNs(kD), TimeNs(kD + length)}, times, o);
      EXPECT_LE(axis.ticks.size(), 200u);
      for (const Tick& t : axis.ticks) {
        if (t.label.empty()) continue;
        const auto back = parse_duration(t.label);
        ASSERT_TRUE(back) << t.label;
        EXPECT_NEAR(static_cast<double>((*back - (t.time - TimeNs())).value), 0, 1) << t.label;
      }
    }
  Times clock{TimeNs(0), 0, true};
  clock.unit = TimeUnit::kMilliseconds;
  EXPECT_THAT(labels(time_axis({TimeNs(0), TimeNs(2 * kMin)}, clock, {400})), testing::Contains("00:01:00"));
}

TEST(TimeAxis, UnitsHaveAWord) {
  for (const TimeUnit unit : kTimeUnits) EXPECT_EQ(unit_of_word(unit_word(unit)), unit);
  EXPECT_EQ(unit_word(TimeUnit::kMicroseconds), "us");
  EXPECT_FALSE(unit_of_word("parsec"));
  EXPECT_FALSE(unit_of_word(""));
}

TEST(TimeAxis, CountsFromZero) {
  const std::int64_t zero = 1'700'000'000'123'456'789;
  const Axis axis = axis_of(zero - 3 * kS, zero + 3 * kS, 300, zero);
  EXPECT_THAT(labels(axis), ElementsAre("-3 s", "-2 s", "-1 s", "0 s", "1 s", "2 s", "3 s"));
  for (const Tick& t : axis.ticks)
    if (t.label == "0 s") {
      EXPECT_EQ(t.time, TimeNs(zero));
      EXPECT_DOUBLE_EQ(t.x, 150);
    }
}

TEST(TimeAxis, FromNanosecondsToDays) {
  EXPECT_EQ(axis_of(0, 10, 400).step, DurationNs(2));
  EXPECT_EQ(axis_of(0, 100'000, 400).step, DurationNs(20'000));
  EXPECT_EQ(axis_of(0, 1 * kMin, 400).step, DurationNs(10 * kS));
  EXPECT_EQ(axis_of(0, 1 * kH, 400).step, DurationNs(10 * kMin));
  EXPECT_EQ(axis_of(0, 1 * kD, 400).step, DurationNs(6 * kH));
  EXPECT_EQ(axis_of(0, 100 * kD, 400).step, DurationNs(20 * kD));
  EXPECT_THAT(labels(axis_of(0, 2 * kD, 400)), ElementsAre("0 s", "12 h", "1 d", "1 d 12 h", "2 d"));
  EXPECT_EQ(axis_of(0, 1, 400).step, DurationNs(1));
  const Axis all = axis_of(Limits::min(), Limits::max(), 1000);
  EXPECT_EQ(all.step, DurationNs(20'000 * kD));
}

TEST(TimeAxis, LongLabelsHaveRoom) {
  // A nanosecond of an hour: each label says it in full, and there are few.
  const Axis axis = axis_of(kH, kH + 10, 1000);
  ASSERT_GE(labels(axis).size(), 2u);
  EXPECT_EQ(labels(axis)[1], "1 h 0.000000002 s");
}

TEST(TimeAxis, NothingToDraw) {
  EXPECT_TRUE(axis_of(5, 5, 100).ticks.empty());
  EXPECT_TRUE(axis_of(6, 5, 100).ticks.empty());
  EXPECT_TRUE(axis_of(0, 5, 0).ticks.empty());
  EXPECT_TRUE(axis_of(0, 5, std::nan("")).ticks.empty());
  EXPECT_TRUE(axis_of(0, 5, std::numeric_limits<double>::infinity()).ticks.empty());
}

std::size_t characters(const std::string& text) {
  std::size_t n = 0;
  for (const char c : text) n += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return n;
}

TEST(TimeAxis, AnyRangeHasTicksInOrderWhoseLabelsDoNotOverlap) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 rng(seed);
    const auto length = static_cast<std::int64_t>(std::exp2(std::uniform_real_distribution(0.0, 62.0)(rng)));
    const std::int64_t from = static_cast<std::int64_t>(rng() >> (rng() % 60 + 2));
    const std::int64_t zero = rng() % 2 == 0 ? from : static_cast<std::int64_t>(rng() >> (rng() % 60 + 2));
    const double width = std::uniform_real_distribution(50.0, 4000.0)(rng);
    if (from > Limits::max() - length) continue;
    const Axis axis = axis_of(from, from + length, width, zero);
    ASSERT_LE(axis.ticks.size(), kMostTicks);
    double free = -1e9;  // up to where labels are written
    std::int64_t last = 0;
    bool first = true;
    for (const Tick& t : axis.ticks) {
      ASSERT_GE(t.time.value, from);
      ASSERT_LE(t.time.value, from + length);
      ASSERT_GE(t.x, -1e-6);
      ASSERT_LE(t.x, width + 1e-6);
      ASSERT_TRUE(first || t.time.value > last);
      last = t.time.value;
      first = false;
      if (t.label.empty()) continue;
      ASSERT_EQ((static_cast<__int128>(t.time.value) - zero) % axis.step.value, 0);
      const double half = 7.0 * static_cast<double>(characters(t.label)) / 2;
      ASSERT_GE(t.x - half, free - 1e-6);
      free = t.x + half;
    }
  }
}

TEST(DurationText, Exact) {
  const auto text = [](std::int64_t ns) { return exact_text(DurationNs(ns)); };
  EXPECT_EQ(text(0), "0 s");
  EXPECT_EQ(text(1), "1 ns");
  EXPECT_EQ(text(1500), "1.5 µs");
  EXPECT_EQ(text(250 * kMs), "250 ms");
  EXPECT_EQ(text(12'500 * kMs), "12.5 s");
  EXPECT_EQ(text(59'999'999'999), "59.999999999 s");
  EXPECT_EQ(text(90 * kS), "1 min 30 s");
  EXPECT_EQ(text(90 * kS + 500 * kMs), "1 min 30.5 s");
  EXPECT_EQ(text(kMin), "1 min");
  EXPECT_EQ(text(2 * kH + 5 * kMin), "2 h 5 min");
  EXPECT_EQ(text(kH + 1), "1 h 0.000000001 s");
  EXPECT_EQ(text(3 * kD + 4 * kH), "3 d 4 h");
  EXPECT_EQ(text(-90 * kS), "-1 min 30 s");
  EXPECT_EQ(text(Limits::min()), "-106751 d 23 h 47 min 16.854775808 s");
}

TEST(DurationText, ToThreeDigits) {
  const auto text = [](std::int64_t ns) { return duration_text(DurationNs(ns)); };
  EXPECT_EQ(text(0), "0 s");
  EXPECT_EQ(text(1234), "1.23 µs");
  EXPECT_EQ(text(1235), "1.24 µs");
  EXPECT_EQ(text(249'999'999), "250 ms");
  EXPECT_EQ(text(999'600'000), "1 s");
  EXPECT_EQ(text(12'543 * kMs), "12.5 s");
  EXPECT_EQ(text(59'960 * kMs), "1 min");
  EXPECT_EQ(text(90'499 * kMs), "1 min 30 s");
  EXPECT_EQ(text(59 * kMin + 59'700 * kMs), "1 h");
  EXPECT_EQ(text(2 * kH + 5 * kMin + 29 * kS), "2 h 5 min");
  EXPECT_EQ(text(3 * kD + 4 * kH + 31 * kMin), "3 d 5 h");
  EXPECT_EQ(text(-12'543 * kMs), "-12.5 s");
  EXPECT_EQ(text(Limits::max()), "106751 d 23 h 47 min 16.854775807 s");  // no rounding up beyond 64 bits
}

TEST(DurationText, Ranges) {
  EXPECT_EQ(range_text({TimeNs(12'500 * kMs + 7), TimeNs(90 * kS + 7)}, Times{TimeNs(7)}),
            "12.5 s to 1 min 30 s (1 min 18 s)");
}

TEST(DurationText, Typed) {
  const auto ns = [](const char* text) { return parse_duration(text)->value; };
  EXPECT_EQ(ns("12.5"), 12'500 * kMs);
  EXPECT_EQ(ns("12.5 s"), 12'500 * kMs);
  EXPECT_EQ(ns("12,5s"), 12'500 * kMs);
  EXPECT_EQ(ns(" 1 min 30 s "), 90 * kS);
  EXPECT_EQ(ns("1min30s"), 90 * kS);
  EXPECT_EQ(ns("2h"), 2 * kH);
  EXPECT_EQ(ns("3 d 4 h"), 3 * kD + 4 * kH);
  EXPECT_EQ(ns("250 ms"), 250 * kMs);
  EXPECT_EQ(ns("1.5us"), 1500);
  EXPECT_EQ(ns("1.5µs"), 1500);
  EXPECT_EQ(ns("7 ns"), 7);
  EXPECT_EQ(ns("-2 s"), -2 * kS);
  EXPECT_EQ(ns("0"), 0);
  for (const char* text :
       {"", " ", "-", "s", "1 2", "1 min 30", "1 parsec", "1..2 s", "1e3 s", "99999999999 d", "\xff"}) {
    const auto d = parse_duration(text);
    ASSERT_FALSE(d) << text;
    EXPECT_THAT(d.error().message, HasSubstr("times look like")) << text;
  }
  EXPECT_THAT(parse_duration("1 parsec").error().message, HasSubstr("an unknown unit, parsec"));
}

TEST(DurationText, WhatIsWrittenReadsBack) {
  std::mt19937_64 rng(1);
  for (int i = 0; i < 2000; ++i) {
    const auto ns = static_cast<std::int64_t>(rng() >> (rng() % 52 + 12));  // as far as doubles are exact
    const auto back = parse_duration(exact_text(DurationNs(ns)));
    ASSERT_TRUE(back) << exact_text(DurationNs(ns));
    ASSERT_EQ(back->value, ns) << exact_text(DurationNs(ns));
  }
}

}  // namespace time_axis_test
}  // namespace margay::scene
