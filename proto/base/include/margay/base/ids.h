// The identifiers that cross module boundaries.
#pragma once

#include <cstdint>

#include "margay/base/strong.h"
#include "margay/base/time.h"

namespace margay {

// A timeslice: slice k of a level with duration d covers trace time [k*d, (k+1)*d).
using SliceIndex = Strong<struct SliceTag, std::int64_t>;
// A slice duration kept by the model; level 0 is the finest.
using LevelIndex = Strong<struct LevelTag, std::uint8_t>;
// A leaf resource, in order of its first appearance in the run. Never reused.
using LeafIndex = Strong<struct LeafTag, std::uint32_t>;
// A node of a hierarchy (a view of the leaves).
using NodeIndex = Strong<struct NodeTag, std::uint32_t>;
// A state of the run's state table. The first three are fixed (see kAbsent...).
using StateId = Strong<struct StateTag, std::uint16_t>;
// A probe process, for the whole archive: a hash of host, pid and its start time.
using SourceId = Strong<struct SourceTag, std::uint64_t>;

inline constexpr StateId kAbsent{0};  // the resource does not exist (not started, ended): shown, never tested
inline constexpr StateId kUnknown{1};  // what happened was lost: weighs nothing
inline constexpr StateId kCompute{2};  // outside MPI

constexpr SliceIndex slice_of(TimeNs t, DurationNs slice) {
  std::int64_t q = t.value / slice.value;
  if (t.value % slice.value < 0) --q;
  return SliceIndex(q);
}
constexpr TimeNs slice_begin(SliceIndex s, DurationNs slice) {
  return TimeNs(s.value * slice.value);
}
constexpr TimeNs slice_end(SliceIndex s, DurationNs slice) {
  return TimeNs((s.value + 1) * slice.value);
}

}  // namespace margay
