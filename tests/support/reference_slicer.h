// The plain reference slicer: the judge of the clever one. Keeps every interval, and adds each to the slices
// it overlaps. No positions, no taking back, no windows.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "margay/base/ids.h"

namespace margay::test {

struct ReferenceEvent {
  enum Kind { kBegin, kEnter, kLeave, kEnd, kGap, kStack } kind;
  StateId state;
  TimeNs time;
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

}  // namespace margay::test
