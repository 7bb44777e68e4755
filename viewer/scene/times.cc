#include "margay/scene/times.h"

#include <algorithm>
#include <cstdio>

#include "clock.h"
#include "durations.h"
#include "margay/base/calendar.h"
#include "margay/base/pair_table.h"
#include "margay/base/time_of_day.h"
#include "margay/scene/time_axis.h"

namespace margay::scene {

using internal::minus;

namespace {

constexpr std::pair<TimeUnit, const char*> kUnitWords[] = {
    {TimeUnit::kAuto, "auto"}, {TimeUnit::kHours, "h"},         {TimeUnit::kMinutes, "min"},
    {TimeUnit::kSeconds, "s"}, {TimeUnit::kMilliseconds, "ms"}, {TimeUnit::kMicroseconds, "us"}};

}  // namespace

std::string unit_word(TimeUnit unit) {
  return second_of(kUnitWords, unit, "auto");
}

std::optional<TimeUnit> unit_of_word(std::string_view word) {
  for (const auto& [unit, its] : kUnitWords)
    if (word == its) return unit;
  return std::nullopt;
}

bool is_wall_clock(TimeNs begin) {
  return counts_from_epoch(begin);
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
  return time_text(TimeNs(minus(time.value - past, past < 0 ? internal::kSecond : 0)), times);
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
  const std::int64_t rest = local % kDay;
  return {floored(local, kDay), rest < 0 ? rest + kDay : rest};
}

TimeNs trace_time(LocalTime t, std::int64_t utc_offset_s) {
  std::int64_t midnight = 0;
  if (__builtin_mul_overflow(t.day, kDay, &midnight)) midnight = t.day < 0 ? INT64_MIN : INT64_MAX;
  return TimeNs(minus(plus(midnight, t.of_day), utc_offset_s * kSecond));
}

std::string day_text(std::int64_t since_1970) {
  const CalendarDay day = calendar_day(since_1970);
  char text[40];
  std::snprintf(text, sizeof text, "%04d-%02d-%02d", day.year, day.month, day.day);
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
