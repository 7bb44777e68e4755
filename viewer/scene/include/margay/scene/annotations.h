// What programs and traces tell beside states, in the rows of their resources: regions as brackets along the
// upper edge, marks as ticks below it, variables as curves in the lower half.
//
// A variable has the scale of its name: from the least to the largest value that any resource has in the
// data. It holds from one value to the next, and of before the first nothing is known. Of a pixel that has
// many values the curve has the first, the least, the largest and the last (as M4 does; Jugel et al., VLDB
// 2014), so that it looks as if each were drawn; of several marks in a pixel there is one tick.
//
// Thread safety: pure. Cost: linear in annotations and rows.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "margay/scene/layout.h"
#include "margay/scene/rows.h"
#include "margay/scene/view_data.h"

namespace margay::scene {

struct MarkTick {
  double x = 0, y0 = 0, y1 = 0;  // pixels
  std::uint32_t annotation = 0;  // index; of several in a pixel the first
  std::uint32_t count = 1;       // so many
};
struct RegionBracket {
  double x0 = 0, x1 = 0, y = 0;     // pixels, clipped to the viewport
  bool begins = true, ends = true;  // in sight
  std::uint32_t annotation = 0;     // index
};
struct VariableCurve {
  std::vector<std::pair<double, double>> points;  // pixels, to be joined by lines
  std::uint32_t name = 0;                         // ViewData::annotation_names
};

struct AnnotationLayout {
  std::vector<MarkTick> ticks;
  std::vector<RegionBracket> brackets;  // outer ones first
  std::vector<VariableCurve> curves;
  bool empty() const { return ticks.empty() && brackets.empty() && curves.empty(); }
};

// Empty where there are none, or the viewport shows none. Rows that are folded have none.
AnnotationLayout annotations(const ViewData& data, const Rows& rows, const Viewport& viewport);

// Those of the node that hold at `time`: regions that are open, outer ones first, the last value of each
// variable, and marks at most `near` before or after: indices.
std::vector<std::uint32_t> annotations_at(const ViewData& data, std::uint32_t node, TimeNs time,
                                          DurationNs near);

}  // namespace margay::scene
