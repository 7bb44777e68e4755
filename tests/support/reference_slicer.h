// The plain reference slicer: the judge of the clever ones. Keeps every interval, and adds each to the slices
// it overlaps. No positions, no taking back, no windows.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "margay/base/ids.h"

namespace margay::test {

struct ReferenceEvent {
  enum Kind { kBegin, kEnter, kLeave, kEnd, kGap, kStack, kVariable } kind;
  StateId state;
  TimeNs time;
  double value = 0;  // of kVariable; there is one variable
};

struct ReferenceCell {
  std::int64_t duration_ns = 0;
  std::int64_t longest_ns = 0;
  std::uint32_t visits = 0;
  bool operator==(const ReferenceCell&) const = default;
};
// (slice, state) -> cell, without empty cells.
using ReferenceCells = std::map<std::pair<std::int64_t, std::uint16_t>, ReferenceCell>;

// Cells of one leaf in [begin, end) from its events in order; Absent before the first.
ReferenceCells reference_cells(const std::vector<ReferenceEvent>& events, TimeNs begin, TimeNs end,
                               DurationNs slice);

// What an operator makes of a variable in each slice (slice -> value; none where it had no value), by its
// definition (margay/slicer/operator.h): of the values that the variable had at one time or another of the
// slice, each as long as it had it there.
struct ReferenceValue {
  double value = 0;
  TimeNs begin, end;  // within the slice; equal: another one followed at once
  bool operator==(const ReferenceValue&) const = default;
};
std::map<std::int64_t, std::vector<ReferenceValue>> reference_values(
    const std::vector<ReferenceEvent>& events, TimeNs end, DurationNs slice);

// By how much the variable grew in each slice (none where it did not), by the same definition.
std::map<std::int64_t, double> reference_growth(const std::vector<ReferenceEvent>& events, TimeNs end,
                                                DurationNs slice);

// Each visit, from its begin to its end, whatever is nested in it, by the same definition.
struct ReferenceVisit {
  StateId state;
  TimeNs begin, end;
};
std::vector<ReferenceVisit> reference_visits(const std::vector<ReferenceEvent>& events, TimeNs end);
// Whether it is one of the visits of [from, to).
inline bool touches(const ReferenceVisit& v, TimeNs from, TimeNs to) {
  return v.begin < to && (v.end > from || v.begin >= from);
}

}  // namespace margay::test
