// Times of a run as people read and type them: since its begin ("12.5 s"), or by the wall clock ("12:38:05").
//
// Trace time is nanoseconds since the Unix epoch where a run was watched or its trace says so; other traces
// count from a zero of their own. A run that begins in 1999 or earlier is one of these: it has no wall clock.
//
// The time zone is a number of seconds that is handed in, the same for all of a run: where clocks are set
// back or forth during it, its times go on in the zone in which it began.
//
// Thread safety: values and pure functions. Cost: constant, linear in what was typed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "margay/base/result.h"
#include "margay/base/time.h"
#include "margay/scene/view_data.h"

namespace margay::scene {

// In what the times of an axis are written that count from the begin; kAuto: in what fits them.
enum class TimeUnit { kAuto, kHours, kMinutes, kSeconds, kMilliseconds, kMicroseconds };
inline constexpr TimeUnit kTimeUnits[] = {TimeUnit::kAuto,         TimeUnit::kHours,
                                          TimeUnit::kMinutes,      TimeUnit::kSeconds,
                                          TimeUnit::kMilliseconds, TimeUnit::kMicroseconds};
// "auto", "h", "min", "s", "ms", "us": as options have them.
std::string unit_word(TimeUnit unit);
std::optional<TimeUnit> unit_of_word(std::string_view word);

struct Times {
  TimeNs zero{};  // times since the begin are since this: that of the picture
  // East of Greenwich, seconds; nothing: trace time is not that of the wall clock.
  std::optional<std::int64_t> utc_offset_s = std::nullopt;
  bool by_clock = false;            // how they are written, where there is a wall clock
  bool dated = false;               // by the clock, and with the day: of a run that is longer than one
  TimeUnit unit = TimeUnit::kAuto;  // of an axis, where they are not written by the clock
  bool clock() const { return by_clock && utc_offset_s.has_value(); }
  bool operator==(const Times&) const = default;
};

// Whether a run that begins then has the wall clock's times. See above.
bool is_wall_clock(TimeNs begin);
// A sentence, for who asked for the clock of a run that has none.
std::string no_clock_text();

// Exactly: "12.5 s", "12:38:05.25", "2026-11-20 12:38:05".
std::string time_text(TimeNs time, const Times& times);
// For people who look for it: to three digits or so ("12.5 s"), or to the second ("12:38:05").
std::string short_time_text(TimeNs time, const Times& times);
// "12.5 s to 1 min 30 s (1 min 17 s)", "12:38:05 to 12:39:00 (55 s)".
std::string range_text(TimeRange range, const Times& times);
// As it can be typed: "12.5 s..14 s", "12:38:05..12:38:06.5".
std::string typed_text(TimeRange range, const Times& times);

// A stretch of time as it is typed: "34.5..36" is that, and so is "12:38:05..12:39"; "34.5+10 s" 10 s from
// there on; "+10 s" the first and "-10 s" the last 10 s of what is seen; "34.5" or "12:38:05" as much as is
// seen with that in its middle or, where all there is is seen, a tenth of it; "all" is `bounds`. A stretch
// that is typed from its end to its begin is turned round.
//
// A time is a duration since the begin as parse_duration() has it, however times are written; or a time of
// day, with or without seconds and their fraction, and a day before it ("2026-11-20 12:38"). Without a day it
// is the nearest such time to what is seen that lies within `bounds`; behind ".." the next one, or where that
// is behind `bounds` the one of the same day.
//
// `bounds` is all there is, nothing: that is not known. kInvalidArgument with a sentence that names what is
// wrong: no time, a time of day where there is no wall clock, a stretch of nothing, or one that does not
// overlap `bounds`.
Result<TimeRange> parse_time_range(std::string_view typed, TimeRange seen, std::optional<TimeRange> bounds,
                                   const Times& times);

}  // namespace margay::scene
