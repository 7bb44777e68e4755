// Compact cells: what a closed slice keeps of its times, so that a cell takes a byte in an archive and not
// seven. Pure.
//
//   duration           a multiple of slice / 100; off by less than that; the row's sum as it was
//   visits             the 3 highest bits, up to 7 exact; off by less than a quarter
//   longest visit      the duration or the open visit's age, where it was that; else up to a power of 2 of at
//                      least slice / 128: no more than slice / 64, or than twice what it was
//   open visit         its begin down to a multiple of slice / 50
//   CPU time, run delay, stopped, blocked, sampled
//                      a multiple of slice / 10; off by less than that
//
// States, since when a process is stopped or silent, its letter, bytes of storage, lost events and regions
// stay exact.
//
// No bias: what is rounded of the durations are the sums of a row from its first state to each, after an
// offset of less than a unit was added (systematic sampling, Madow and Madow 1944): each duration's mean over
// offsets is what it was, none is negative, and the row's sum is exact by itself. The offset goes evenly
// through the unit (multiples of the golden ratio), a step every 8 slices, so that a steady job gives steady
// cells. Visits and node evidence (but `sampled`, which is rounded to the nearest) have the same offset.
//
// A cell never vanishes: what was visited keeps visits of at least 1, what is open its open visit. Rounding
// what is rounded changes nothing: a slice that a restarted daemon shows again is the one that was shown.
//
// Thread safety: functions are safe. Cost: one pass over the cells.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "margay/base/result.h"
#include "margay/model/slice_column.h"

namespace margay::slicer {

inline constexpr std::int64_t kCompactUnits = 100;         // of duration, in a slice
inline constexpr std::int64_t kCompactSinceUnits = 50;     // of the open visit's begin
inline constexpr std::int64_t kCompactEvidenceUnits = 10;  // of node evidence
inline constexpr unsigned kCompactVisitBits = 3;

// Whether slices of this duration can be: it must be a whole number of units. Errors: kInvalidArgument.
Status check_compact(DurationNs slice);

// REQUIRES: check_compact(slice); `column` is a closed slice of the finest level.
void make_compact(model::SliceColumn& column, DurationNs slice);

// Takes `amount` from state x. Cells restored from a compact archive may hold a little less of
// it than was filled: others then hold that much more, and give it, so that rows keep their sum and nothing
// becomes negative.
void take_from(std::span<std::int64_t> duration, std::size_t x, std::int64_t amount);

}  // namespace margay::slicer
