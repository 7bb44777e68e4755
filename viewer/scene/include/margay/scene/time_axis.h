// An axis of time: where its ticks are and what is written at them, from nanoseconds to days; and text for
// durations.
//
// Ticks lie on whole steps from the begin on, by the clock from midnight on: 1, 2, 5 times a power of ten up
// to 5 s; 10, 20, 30 s; 1, 2, 5, 10, 20, 30 min; 1, 2, 6, 12 h; 1, 2, 5 times a power of ten of days. The
// step is the smallest whose labels have room. In a unit that was chosen (Times::unit) they are 1, 2, 5 times
// a power of ten of it, also below 1.
//
// Thread safety: pure functions. Cost: linear in the ticks, of which there are at most kMostTicks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "margay/base/result.h"
#include "margay/base/time.h"
#include "margay/scene/times.h"
#include "margay/scene/view_data.h"

namespace margay::scene {

inline constexpr std::size_t kMostTicks = 4096;

struct Tick {
  TimeNs time{};
  double x = 0;       // pixels, [0, width]
  std::string label;  // empty for ticks between two labels
};

struct AxisOptions {
  double width = 0;          // pixels, of the whole range
  double character_px = 7;   // how wide a character of a label is, at most
  double gap_px = 16;        // between two labels, at least
  double least_tick_px = 8;  // between two ticks, at least
};

struct Axis {
  std::vector<Tick> ticks;  // ascending; labelled ones and those between
  DurationNs step{};        // from label to label
};

// Empty for a range or a width that is none. Labels count from the begin ("12.5 s", "1 min 30 s", "-2 s"), or
// are in the unit that was chosen ("1500 ms", "0.25 h"), or are times of day ("12:38", "12:38:05.5"; dated:
// "11-20 12:38"); that of the whole range's first tick is in
// full like all others.
Axis time_axis(TimeRange range, const Times& times, const AxisOptions& options);

// Exactly, in the largest units that it has: "1 min 30 s", "12.5 s", "250 ms", "1.5 µs", "2 d 3 h", "0 s".
// Below a minute one unit with a fraction; from there on the parts that are not 0.
std::string exact_text(DurationNs duration);
// To about three digits that count, for people who compare: "12.5 s", "1 min 30 s", "2 h 5 min", "3 d 4 h",
// "250 ms".
std::string duration_text(DurationNs duration);
// What a person typed: "12.5", "12.5 s", "1 min 30 s", "90s", "2h", "250 ms", "1.5us", "-2 s"; without a unit
// seconds. kInvalidArgument with a sentence.
Result<DurationNs> parse_duration(std::string_view text);

}  // namespace margay::scene
