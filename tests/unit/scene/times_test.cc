// Times as people read and type them. Days are counted here by a calendar written down by hand, another way.
#include "margay/scene/times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "margay/base/time_of_day.h"
#include "margay/scene/time_axis.h"

namespace margay::scene {
namespace times_test {

using testing::HasSubstr;

constexpr std::int64_t kS = 1'000'000'000, kH = 3600 * kS;
// 2026-11-20 12:38:00 in a place an hour east of Greenwich: 20,777 days and 11:38:00 after 1970.
constexpr std::int64_t kNoon = (20'777LL * 86'400 + 11 * 3600 + 38 * 60) * kS;

TimeNs noon(double s) {
  return TimeNs(kNoon + std::llround(s * 1e9));
}

// A run from 12:38:00 on.
Times by_clock(bool dated = false) {
  return {TimeNs(kNoon), 3600, true, dated};
}

TEST(Times, SinceTheBeginOrByTheClock) {
  EXPECT_EQ(time_text(noon(12.5), Times{TimeNs(kNoon)}), "12.5 s");
  EXPECT_EQ(time_text(noon(12.5), {TimeNs(kNoon), 3600}), "12.5 s") << "nobody asked for the clock";
  EXPECT_EQ(time_text(noon(12.5), {TimeNs(kNoon), {}, true}), "12.5 s") << "there is none";
  EXPECT_EQ(time_text(noon(5.25), by_clock()), "12:38:05.25");
  EXPECT_EQ(time_text(noon(10), by_clock()), "12:38:10") << "zeros of the seconds stay";
  EXPECT_EQ(time_text(noon(-1e-9), by_clock()), "12:37:59.999999999");
  EXPECT_EQ(time_text(noon(12 * 3600), by_clock(true)), "2026-11-21 00:38:00");
  EXPECT_EQ(short_time_text(noon(5.75), by_clock()), "12:38:05");
  EXPECT_EQ(short_time_text(noon(5.7512), Times{TimeNs(kNoon)}), "5.75 s");
  EXPECT_EQ(short_time_text(TimeNs(-1), {TimeNs(0), 0, true}), "23:59:59");
  EXPECT_EQ(range_text({noon(5), noon(60)}, by_clock()), "12:38:05 to 12:39:00 (55 s)");
  EXPECT_EQ(typed_text({noon(5), noon(60)}, by_clock()), "12:38:05..12:39:00");
  EXPECT_EQ(typed_text({noon(5), noon(90)}, Times{TimeNs(kNoon)}), "5 s..1 min 30 s");
}

TEST(Times, OfTracesThatCountFromTheirOwnZeroThereIsNoClock) {
  EXPECT_TRUE(is_wall_clock(TimeNs(kNoon)));
  EXPECT_FALSE(is_wall_clock(TimeNs(0)));
  EXPECT_FALSE(is_wall_clock(TimeNs(10 * 365 * 24 * kH))) << "a machine that has been up for ten years";
}

// Day by day over four centuries, each month as long as the calendar says.
TEST(Times, DaysAreThoseOfTheCalendar) {
  std::int64_t day = 0;
  for (int year = 1970; year < 2262; ++year)
    for (int month = 1; month <= 12; ++month) {
      const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
      const int length = month == 2                                              ? 28 + leap
                         : month == 4 || month == 6 || month == 9 || month == 11 ? 30
                                                                                 : 31;
      for (int d = 1; d <= length; ++d, ++day) {
        char text[32];
        std::snprintf(text, sizeof text, "%04d-%02d-%02d 12:38:00", year, month, d);
        const TimeNs t(day * 24 * kH + 12 * kH + 38 * 60 * kS);
        ASSERT_EQ(time_text(t, {TimeNs(0), 0, true, true}), text);
        const auto back = parse_time_range(std::string(text) + "+1 s", {}, {}, {TimeNs(0), 0});
        ASSERT_TRUE(back) << back.error().message;
        ASSERT_EQ(back->from, t) << text;
      }
    }
}

TEST(TypedTime, OfADayThatThereIsNot) {
  const auto typed = [](const char* text) {
    return parse_time_range(text, {}, {}, {TimeNs(0), 0}).has_value();
  };
  EXPECT_TRUE(typed("2026-02-28 12:39+1 s"));
  EXPECT_FALSE(typed("2026-02-29 12:39+1 s"));
  EXPECT_TRUE(typed("2028-02-29 12:39+1 s"));
  EXPECT_FALSE(typed("2026-02-30 12:39+1 s"));
  EXPECT_FALSE(typed("2026-04-31 12:39+1 s"));
}

TEST(Times, AtTheEndsOfTimeHaveWords) {
  for (const std::int64_t ns : {INT64_MIN, INT64_MIN + 1, INT64_MAX})
    for (const bool by_clock : {false, true}) {
      const Times times{TimeNs(1), 3600, by_clock, true};
      EXPECT_FALSE(short_time_text(TimeNs(ns), times).empty());
      EXPECT_FALSE(range_text({TimeNs(ns), TimeNs(0)}, times).empty());
    }
}

TEST(TypedTime, IsAStretchOrNone) {
  const auto s = [](double t) { return TimeNs(1'000'000'000'000 + std::llround(t * 1e9)); };
  const TimeRange all{s(0), s(40)}, seen{s(10), s(20)};
  const auto typed = [&](const char* text, TimeRange now) {
    const auto range = parse_time_range(text, now, all, Times{s(0)});
    return range ? std::optional(*range) : std::nullopt;
  };
  using Range = std::optional<TimeRange>;
  EXPECT_EQ(typed("12.5..14", seen), Range({s(12.5), s(14)}));
  EXPECT_EQ(typed(" 14 s .. 12.5 ", seen), Range({s(12.5), s(14)})) << "turned round";
  EXPECT_EQ(typed("12.5+10s", seen), Range({s(12.5), s(22.5)}));
  EXPECT_EQ(typed("12.5 + 10 s", seen), Range({s(12.5), s(22.5)}));
  EXPECT_EQ(typed("+10s", seen), Range({s(10), s(20)}));
  EXPECT_EQ(typed("+500 ms", seen), Range({s(10), s(10.5)}));
  EXPECT_EQ(typed("-2", seen), Range({s(18), s(20)}));
  EXPECT_EQ(typed("30", seen), Range({s(25), s(35)})) << "as much as is seen";
  EXPECT_EQ(typed("30", all), Range({s(28), s(32)})) << "a tenth of all";
  EXPECT_EQ(typed("35..50", seen), Range({s(35), s(50)})) << "it overlaps what there is";
  EXPECT_EQ(typed(" all ", seen), Range(all));
  for (const char* none : {"", "rank1", "12..", "..", "+", "50", "50..60", "12..12", "-", "1e400",
                           "99999999999999999999", "9000000000..9100000000", "0..", "12:38", "12+", "+12:38"})
    EXPECT_FALSE(typed(none, seen)) << none;
}

TEST(TypedTime, TimesOfDay) {
  const TimeRange all{noon(0), noon(600)}, seen{noon(60), noon(80)};
  const auto typed = [&](const char* text) {
    const auto range = parse_time_range(text, seen, all, {TimeNs(kNoon), 3600});
    return range ? std::optional(*range) : std::nullopt;
  };
  using Range = std::optional<TimeRange>;
  EXPECT_EQ(typed("12:38:05..12:39"), Range({noon(5), noon(60)}));
  EXPECT_EQ(typed("12:38:05.25 .. 12:38:06"), Range({noon(5.25), noon(6)}));
  EXPECT_EQ(typed("12:39..12:38:05"), Range({noon(5), noon(60)})) << "turned round";
  EXPECT_EQ(typed("12:40:00"), Range({noon(110), noon(130)})) << "as much as is seen";
  EXPECT_EQ(typed("12:40+10 s"), Range({noon(120), noon(130)}));
  EXPECT_EQ(typed("12:39..90 s"), Range({noon(60), noon(90)})) << "of both kinds";
  EXPECT_EQ(typed("5..6"), Range({noon(5), noon(6)})) << "since the begin, however they are written";
  EXPECT_EQ(typed("2026-11-20 12:39..2026-11-20T12:40:00"), Range({noon(60), noon(120)}));
  EXPECT_EQ(typed("12:30..12:39"), Range({noon(-480), noon(60)})) << "it overlaps the run";
  for (const char* none :
       {"12:37", "11:38..11:39", "24:00", "12:60", "12:38:60", "12:3", "12:38:", "12:38:5", "12:38:05.",
        "12:38:05.1234567890", "12:38 h", "2026-11-20", "2026-02-30 12:39..12:40", "2026-13-01 12:39",
        "2027-11-20 12:39", "2026-11-2012:39", "-12:39", "+12:39:00"})
    EXPECT_FALSE(typed(none)) << none;
}

TEST(TypedTime, OfARunOfSeveralDaysTheNearestDay) {
  const TimeRange all{noon(0), noon(3 * 24 * 3600)};
  const auto typed = [&](const char* text, double seen) {
    const auto range =
        parse_time_range(text, {noon(seen), noon(seen + 60)}, all, {TimeNs(kNoon), 3600, true, true});
    return range ? typed_text(*range, by_clock(true)) : range.error().message;
  };
  EXPECT_EQ(typed("13:00..14:00", 0), "2026-11-20 13:00:00..2026-11-20 14:00:00");
  EXPECT_EQ(typed("13:00..14:00", 86'400), "2026-11-21 13:00:00..2026-11-21 14:00:00");
  EXPECT_EQ(typed("12:00..12:10", 0), "2026-11-21 12:00:00..2026-11-21 12:10:00")
      << "there was none that day";
  EXPECT_EQ(typed("23:59..00:01", 0), "2026-11-20 23:59:00..2026-11-21 00:01:00") << "over midnight";
  EXPECT_EQ(typed("2026-11-22 13:00+1 h", 0), "2026-11-22 13:00:00..2026-11-22 14:00:00");
  EXPECT_EQ(typed("2026-11-21 01:00..2026-11-22 01:00", 0), "2026-11-21 01:00:00..2026-11-22 01:00:00");
}

TEST(TypedTime, WhatIsWrongIsASentence) {
  const TimeRange all{noon(0), noon(600)};
  const auto why = [&](const char* text, std::optional<TimeRange> bounds, const Times& times) {
    const auto range = parse_time_range(text, {noon(10), noon(20)}, bounds, times);
    return range ? "none" : range.error().message;
  };
  const Times clock = by_clock(), none{TimeNs(kNoon)};
  EXPECT_THAT(why("", all, clock), HasSubstr("12:38:05..12:39"));
  EXPECT_THAT(why("", all, none), testing::Not(HasSubstr(":38")));
  EXPECT_THAT(why("rank1", all, clock), HasSubstr("\"rank1\" is not a time"));
  EXPECT_THAT(why("12.5..x", all, clock), HasSubstr("\"x\" is not a time"));
  EXPECT_THAT(why("12:99", all, clock), HasSubstr("\"12:99\" is not a time of day"));
  EXPECT_THAT(why("12:38", all, none),
              HasSubstr("\"12:38\" is a time of day, which this run's times do not tell"));
  EXPECT_EQ(why("700..800", all, none),
            "11 min 40 s..13 min 20 s is outside of the run, which has 0 s to 10 min");
  EXPECT_EQ(why("12:37", all, clock), "12:37:00 is outside of the run, which has 12:38:00 to 12:48:00");
  EXPECT_EQ(why("12..12", all, none), "12 s..12 s is no stretch of time: it ends where it begins");
  EXPECT_EQ(why("all", {}, none), "how long the run is is not known yet");
  EXPECT_EQ(why("9000000000", {}, none), "none") << "times that do not fit are the last there is";
}

// Whatever is written can be typed, and is the same stretch.
TEST(TypedTime, WhatIsWrittenCanBeTyped) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 rng(seed);
    const auto within = [&](std::int64_t most) {
      return static_cast<std::int64_t>(rng() % static_cast<std::uint64_t>(most));
    };
    const std::int64_t length = 2 + within(5 * 24 * kH >> within(40));
    const TimeRange all{TimeNs(kNoon), TimeNs(kNoon + length)};
    const std::int64_t from = within(length - 1);
    const TimeRange range{TimeNs(kNoon + from),
                          TimeNs(kNoon + from + 1 + within(length - from - 1 > 0 ? length - from - 1 : 1))};
    for (const bool clock : {false, true}) {
      const Times times{TimeNs(kNoon), -7 * 3600, clock, length > 24 * kH};
      const auto back = parse_time_range(typed_text(range, times), range, all, times);
      ASSERT_TRUE(back) << back.error().message;
      EXPECT_EQ(*back, range) << typed_text(range, times);
    }
  }
}

TEST(ClockAxis, TicksAreWholeMinutesHoursAndDays) {
  const auto labels = [](std::int64_t from, std::int64_t to, const Times& times) {
    AxisOptions o;
    o.width = 500;
    std::vector<std::string> out;
    for (const Tick& t : time_axis({TimeNs(from), TimeNs(to)}, times, o).ticks) {
      if (!t.label.empty()) out.push_back(t.label);
      EXPECT_NEAR(t.x, 500 * static_cast<double>(t.time.value - from) / static_cast<double>(to - from), 1e-6);
    }
    return out;
  };
  using testing::ElementsAre;
  // A run that begins at 12:38:07.3: its clock's seconds are whole all the same.
  const Times odd{TimeNs(kNoon + 7'300'000'000), 3600, true};
  EXPECT_THAT(
      labels(kNoon + 5 * kS, kNoon + 35 * kS, odd),
      ElementsAre("12:38:05", "12:38:10", "12:38:15", "12:38:20", "12:38:25", "12:38:30", "12:38:35"));
  EXPECT_THAT(labels(kNoon, kNoon + kS, odd),
              ElementsAre("12:38:00", "12:38:00.2", "12:38:00.4", "12:38:00.6", "12:38:00.8", "12:38:01"));
  EXPECT_THAT(labels(kNoon, kNoon + kH, odd),
              ElementsAre("12:40", "12:50", "13:00", "13:10", "13:20", "13:30"));
  EXPECT_THAT(labels(kNoon, kNoon + 48 * kH, by_clock(true)),
              ElementsAre("11-21 00:00", "11-21 12:00", "11-22 00:00", "11-22 12:00"));
}

TEST(ClockAxis, AnyTimeHasLabelsThatDoNotOverlap) {
  using Limits = std::numeric_limits<std::int64_t>;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 rng(seed);
    const auto length = static_cast<std::int64_t>(std::exp2(std::uniform_real_distribution(0.0, 61.0)(rng)));
    const auto from = static_cast<std::int64_t>(rng() >> (rng() % 60 + 2));
    if (from > Limits::max() - length) continue;
    AxisOptions o;
    o.width = std::uniform_real_distribution(50.0, 4000.0)(rng);
    const Times times{TimeNs(static_cast<std::int64_t>(rng() >> 2)), -3600, true, rng() % 2 == 0};
    double free = -1e9;
    std::size_t longest = 0;
    for (const Tick& t : time_axis({TimeNs(from), TimeNs(from + length)}, times, o).ticks) {
      if (t.label.empty()) continue;
      const double half = 7.0 * static_cast<double>(t.label.size()) / 2;
      ASSERT_GE(t.x - half, free - 1e-6);
      free = t.x + half;
      longest = std::max(longest, t.label.size());
    }
    ASSERT_LE(longest, 24u);
  }
}

// The example's begin: 2026-11-22 15:15:16.9 UTC.
constexpr TimeNs kBegin(1'795'360'516'900'000'000);

TEST(TypedTimeOfDay, IsThatOfTheRunOrTheNearestToIt) {
  const TimeNs begin = kBegin, end = begin + seconds(36);
  const auto after = [&](const char* text, std::int64_t utc_offset_s = 0) {
    const auto t = moment_of_day(text, begin, end, utc_offset_s);
    EXPECT_TRUE(t) << t.error().message;
    return t ? (*t - begin).value : INT64_MIN;
  };
  EXPECT_EQ(after("15:15:17.9"), 1'000'000'000);
  EXPECT_EQ(after("2026-11-22 15:15:18"), 1'100'000'000);
  EXPECT_EQ(after("2026-11-22T15:15:18.25"), 1'350'000'000);
  EXPECT_EQ(after("16:15:18", 3600), 1'100'000'000) << "east of Greenwich";
  EXPECT_EQ(after("15:15"), -16'900'000'000) << "before the run, and nearest to it";
  EXPECT_EQ(after("15:16"), 43'100'000'000) << "behind it";
  EXPECT_EQ(after("2026-11-23 15:15:16.9"), 86'400'000'000'000);
  for (const char* wrong :
       {"25:00", "12:60", "12", "12:3", "2026-02-30 12:00", "2026-11-22 12", "12:38:05.", "::", "x12:38"})
    EXPECT_FALSE(moment_of_day(wrong, begin, end, 0)) << wrong;
  const auto no_clock = moment_of_day("12:38", TimeNs(0), TimeNs(5), std::nullopt);
  ASSERT_FALSE(no_clock);
  EXPECT_THAT(no_clock.error().message, HasSubstr("which this run's times do not tell"));
}

TEST(TypedTimeOfDay, ThatComesTwiceIsRefusedWithBoth) {
  const TimeNs begin = kBegin;
  const auto twice = moment_of_day("16:00", begin, begin + seconds(3 * 86'400), 0);
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(twice.error().message,
            "\"16:00\" comes more than once in this run: 2026-11-22 16:00:00, and 2026-11-23 16:00:00; give "
            "the day as "
            "well");
  // Once, though the run is longer than a day; and with its day it is no question.
  const auto once = moment_of_day("15:00", begin, begin + seconds(86'400), 0);
  ASSERT_TRUE(once);
  EXPECT_EQ(moment_text(*once, 0), "2026-11-23 15:00:00");
  const auto dated = moment_of_day("2026-11-23 16:00", begin, begin + seconds(3 * 86'400), 0);
  ASSERT_TRUE(dated);
  EXPECT_EQ(moment_text(*dated, 0), "2026-11-23 16:00:00");
  EXPECT_FALSE(moment_of_day("16:00", TimeNs(INT64_MIN), TimeNs(INT64_MAX), 0));
}

}  // namespace times_test
}  // namespace margay::scene
