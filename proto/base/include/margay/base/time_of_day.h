// Times of day as people type them, for commands and the window alike: "12:38", "12:38:05", "12:38:05.25",
// with a day before them "2026-11-20 12:38".
//
// The time zone is a number of seconds that is handed in, the same for all of a run (margay/base/zone.h).
//
// Thread safety: pure functions. Cost: linear in the text; moment_of_day() in the days of the run, of which
// it looks at kMostDays.
#pragma once

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "margay/base/calendar.h"
#include "margay/base/result.h"
#include "margay/base/text.h"
#include "margay/base/time.h"

namespace margay {

inline constexpr std::int64_t kNsPerSecond = 1'000'000'000, kNsPerDay = 86'400 * kNsPerSecond;

// Trace time is nanoseconds since the Unix epoch where a run was watched or its trace says so; other traces
// count from a zero of their own. A run that begins in 1999 or earlier is one of these: it has no wall clock.
inline bool counts_from_epoch(TimeNs begin) {
  constexpr std::int64_t kYear2000 = 946'684'800 * kNsPerSecond;
  return begin.value >= kYear2000;
}

struct TypedTimeOfDay {
  std::optional<std::int64_t> day;  // since 1970-01-01; nothing: it was not typed
  std::int64_t of_day = 0;          // ns, [0, a day)
};

namespace typed {

// A number of so many digits off the front, from least to most.
inline std::optional<int> digits(std::string_view& text, std::size_t fewest, std::size_t most, int least,
                                 int last) {
  int value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const auto length = static_cast<std::size_t>(stop - text.data());
  if (error != std::errc() || text.front() == '-' || length < fewest || length > most || value < least ||
      value > last)
    return std::nullopt;
  text.remove_prefix(length);
  return value;
}

inline bool skip(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

inline std::optional<std::int64_t> of_day(std::string_view text) {
  const auto hour = digits(text, 1, 2, 0, 23);
  if (!hour || !skip(text, ':')) return std::nullopt;
  const auto minute = digits(text, 2, 2, 0, 59);
  if (!minute) return std::nullopt;
  std::int64_t ns = (*hour * 3600 + *minute * 60) * kNsPerSecond;
  if (text.empty()) return ns;
  const auto second = skip(text, ':') ? digits(text, 2, 2, 0, 59) : std::nullopt;
  if (!second) return std::nullopt;
  ns += *second * kNsPerSecond;
  if (text.empty()) return ns;
  if (!skip(text, '.') || text.empty() || text.size() > 9) return std::nullopt;
  std::int64_t unit = kNsPerSecond;
  for (; !text.empty(); text.remove_prefix(1)) {
    if (text.front() < '0' || text.front() > '9') return std::nullopt;
    ns += (text.front() - '0') * (unit /= 10);
  }
  return ns;
}

// "2026-11-20", with blanks or a T behind it, off the front.
inline std::optional<std::int64_t> day(std::string_view& text) {
  const auto year = digits(text, 4, 4, 1970, 2262);
  if (!year || !skip(text, '-')) return std::nullopt;
  const auto month = digits(text, 2, 2, 1, 12);
  if (!month || !skip(text, '-')) return std::nullopt;
  const auto day_of_month = digits(text, 2, 2, 1, 31);
  if (!day_of_month || !(skip(text, ' ') || skip(text, 'T'))) return std::nullopt;
  const CalendarDay found{*year, *month, *day_of_month};
  if (!is_calendar_day(found)) return std::nullopt;
  while (skip(text, ' ') || skip(text, '\t')) {
  }
  return days_since_1970(found);
}

}  // namespace typed

// Whether it is meant as a time of day: durations have no colon.
inline bool looks_like_time_of_day(std::string_view text) {
  return text.find(':') != std::string_view::npos;
}
// kInvalidArgument with a sentence that has the text and examples.
inline Result<TypedTimeOfDay> parse_time_of_day(std::string_view text) {
  std::string_view rest = text;
  TypedTimeOfDay out;
  if (text.find('-') != std::string_view::npos) out.day = typed::day(rest);
  const auto of_day = typed::of_day(rest);
  if (!of_day || (!out.day && rest.size() != text.size()))
    return fail(ErrorCode::kInvalidArgument,
                "\"" + clean_utf8(text, 60) +
                    "\" is not a time of day; those look like 12:38, 12:38:05.25 or 2026-11-20 12:38");
  out.of_day = *of_day;
  return out;
}

// When it is that time on that day, in a zone so many seconds east of Greenwich; beyond 64 bits the last
// there is.
inline TimeNs time_on_day(std::int64_t day, std::int64_t of_day, std::int64_t utc_offset_s) {
  const __int128 ns = static_cast<__int128>(day) * kNsPerDay + of_day - utc_offset_s * kNsPerSecond;
  return TimeNs(ns > INT64_MAX ? INT64_MAX : ns < INT64_MIN ? INT64_MIN : static_cast<std::int64_t>(ns));
}
inline std::int64_t day_of(TimeNs time, std::int64_t utc_offset_s) {
  const std::int64_t local = time.value + utc_offset_s * kNsPerSecond;
  return local / kNsPerDay - (local % kNsPerDay < 0 ? 1 : 0);
}
// "2026-11-20 12:38:05".
inline std::string moment_text(TimeNs time, std::int64_t utc_offset_s) {
  const std::int64_t day = day_of(time, utc_offset_s);
  const CalendarDay d = calendar_day(day);
  const std::int64_t s = (time.value + utc_offset_s * kNsPerSecond - day * kNsPerDay) / kNsPerSecond;
  char text[64];
  std::snprintf(text, sizeof text, "%04d-%02d-%02d %02d:%02d:%02d", d.year, d.month, d.day,
                static_cast<int>(s / 3600), static_cast<int>(s / 60 % 60), static_cast<int>(s % 60));
  return text;
}

inline constexpr std::int64_t kMostDays = 400;

// The time of a run [begin, end) that somebody typed as a time of day. Without a day it is the one that the
// run has or, where it has none, the nearest to it, before or after. `utc_offset_s`: nothing, its times are
// not those of the wall clock. kInvalidArgument with a sentence: it is no time of day, the run has no wall
// clock, or it is that time more than once in it; then the sentence names the first two.
inline Result<TimeNs> moment_of_day(std::string_view text, TimeNs begin, TimeNs end,
                                    std::optional<std::int64_t> utc_offset_s) {
  if (!utc_offset_s)
    return fail(
        ErrorCode::kInvalidArgument,
        "\"" + clean_utf8(text, 60) +
            "\" is a time of day, which this run's times do not tell: they count from its begin, as in "
            "12.5 s");
  const auto typed = parse_time_of_day(text);
  if (!typed) return tl::unexpected(typed.error());
  if (typed->day) return time_on_day(*typed->day, typed->of_day, *utc_offset_s);
  const std::int64_t first = day_of(begin, *utc_offset_s) - 1;
  std::vector<TimeNs> within;
  TimeNs nearest{};
  std::int64_t least = INT64_MAX;
  for (std::int64_t day = first; day <= first + kMostDays; ++day) {
    const TimeNs t = time_on_day(day, typed->of_day, *utc_offset_s);
    if (t >= begin && t <= end) within.push_back(t);
    const std::int64_t off = t < begin ? begin.value - t.value : t > end ? t.value - end.value : 0;
    if (off < least) nearest = t, least = off;
    if (t > end || within.size() == 2) break;
  }
  if (within.size() < 2) return nearest;
  return fail(ErrorCode::kInvalidArgument,
              "\"" + clean_utf8(text, 60) +
                  "\" comes more than once in this run: " + moment_text(within[0], *utc_offset_s) + ", and " +
                  moment_text(within[1], *utc_offset_s) + "; give the day as well");
}

}  // namespace margay
