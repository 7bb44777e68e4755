#include "margay/scene/times.h"

#include <algorithm>
#include <cstdio>

#include "clock.h"
#include "durations.h"
#include "margay/scene/time_axis.h"

namespace margay::scene {

using internal::minus;

bool is_wall_clock(TimeNs begin) {
  constexpr std::int64_t kYear2000 = 946'684'800 * internal::kSecond;
  return begin.value >= kYear2000;
}

std::string no_clock_text() {
  return "the times of this run are not those of the wall clock: its trace counts from a zero of its own";
}

std::string time_text(TimeNs time, const Times& times) {
  if (!times.clock()) return exact_text(DurationNs(minus(time.value, times.zero.value)));
  const internal::LocalTime t = internal::local_time(time, *times.utc_offset_s);
  return (times.dated ? internal::day_text(t.day) + " " : "") + internal::of_day_text(t.of_day, true);
}

std::string short_time_text(TimeNs time, const Times& times) {
  if (!times.clock()) return duration_text(DurationNs(minus(time.value, times.zero.value)));
  const std::int64_t past = time.value % internal::kSecond;
  return time_text(TimeNs(time.value - past - (past < 0 ? internal::kSecond : 0)), times);
}

std::string range_text(TimeRange range, const Times& times) {
  return time_text(range.from, times) + " to " + time_text(range.to, times) + " (" +
         duration_text(DurationNs(minus(range.to.value, range.from.value))) + ")";
}

std::string typed_text(TimeRange range, const Times& times) {
  return time_text(range.from, times) + ".." + time_text(range.to, times);
}

namespace internal {

namespace {

std::int64_t floored(std::int64_t a, std::int64_t b) {
  return a / b - (a % b < 0 ? 1 : 0);
}

}  // namespace

LocalTime local_time(TimeNs time, std::int64_t utc_offset_s) {
  const std::int64_t local = plus(time.value, utc_offset_s * kSecond);
  const std::int64_t day = floored(local, kDay);
  return {day, local - day * kDay};
}

TimeNs trace_time(LocalTime t, std::int64_t utc_offset_s) {
  std::int64_t midnight = 0;
  if (__builtin_mul_overflow(t.day, kDay, &midnight)) midnight = t.day < 0 ? INT64_MIN : INT64_MAX;
  return TimeNs(minus(plus(midnight, t.of_day), utc_offset_s * kSecond));
}

// The Gregorian calendar in years that begin in March, so that a leap day is the last of one; 400 years are
// an era of 146,097 days.
Day day_of(std::int64_t since_1970) {
  const std::int64_t days = since_1970 + 719'468;
  const std::int64_t era = floored(days, 146'097), of_era = days - era * 146'097;
  const std::int64_t year = (of_era - of_era / 1460 + of_era / 36'524 - of_era / 146'096) / 365;
  const std::int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
  const std::int64_t month = (5 * of_year + 2) / 153;  // 0: March
  return {year + era * 400 + (month >= 10 ? 1 : 0), static_cast<int>(month < 10 ? month + 3 : month - 9),
          static_cast<int>(of_year - (153 * month + 2) / 5 + 1)};
}

std::int64_t days_of(Day day) {
  const std::int64_t year = day.year - (day.month <= 2 ? 1 : 0);
  const std::int64_t era = floored(year, 400), of_era = year - era * 400;
  const std::int64_t of_year = (153 * (day.month + (day.month > 2 ? -3 : 9)) + 2) / 5 + day.day - 1;
  return era * 146'097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719'468;
}

std::string day_text(std::int64_t since_1970) {
  const Day day = day_of(since_1970);
  char text[40];
  std::snprintf(text, sizeof text, "%04lld-%02d-%02d", static_cast<long long>(day.year), day.month, day.day);
  return text;
}

std::string of_day_text(std::int64_t of_day, bool with_seconds) {
  char text[40];
  const auto part = [&](std::int64_t unit, std::int64_t most) {
    return static_cast<int>(of_day / unit % most);
  };
  std::snprintf(text, sizeof text, "%02d:%02d", part(kHour, 24), part(kMinute, 60));
  std::string out = text;
  if (!with_seconds) return out;
  std::snprintf(text, sizeof text, ":%02d.%09d", part(kSecond, 60), static_cast<int>(of_day % kSecond));
  out += text;
  while (out.ends_with('0')) out.pop_back();
  if (out.ends_with('.')) out.pop_back();
  return out;
}

}  // namespace internal
}  // namespace margay::scene
