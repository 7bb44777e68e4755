// Single visits as boxes in the rows of their resources: what a picture shows where the stretch is so short
// that an answer has all of them (ViewData::visits).
//
// A box is as long as its visit. Those inside others are lower: at depth d of a row in which visits are
// nested up to n deep the upper d / (n + 1) is left to what is around them. Visits that are narrower than a
// pixel are drawn together, a pixel each, in the state that has most of their time there (`visit` is kNoPart
// then).
//
// Boxes come in the order in which they are to be drawn. Where a resource has no visit nothing is known of
// it: a gap, if it is a pixel wide. Rows that are folded have neither: what several resources did is an
// aggregate (layout.h).
//
// Messages are arrows from where the sending call begins to where the call ends in which they were there,
// from the middle of one row to that of another. Of a folded row they begin and end at the row; inside it
// there are none. Where more than kMostArrows are in sight, those that took longest are drawn.
//
// Thread safety: pure. Cost: linear in visits, messages and rows.
#pragma once

#include <vector>

#include "margay/scene/annotations.h"
#include "margay/scene/layout.h"
#include "margay/scene/rows.h"
#include "margay/scene/view_data.h"

namespace margay::scene {

struct Gap {
  double x0 = 0, x1 = 0, y0 = 0, y1 = 0;  // pixels, clipped to the viewport
};
struct VisitBox {
  double x0 = 0, x1 = 0, y0 = 0, y1 = 0;  // pixels, clipped to the viewport
  std::uint32_t state = 0;
  std::int64_t visit = kNoPart;  // index; kNoPart: several
};

struct Arrow {
  double x0 = 0, y0 = 0, x1 = 0, y1 = 0;  // pixels; may lie outside the viewport
  std::uint32_t message = 0;              // index
};
inline constexpr std::size_t kMostArrows = 500;

struct Gantt {
  std::vector<VisitBox> boxes;
  std::vector<Gap> gaps;
  std::vector<Arrow> arrows;          // by the time they were sent
  std::size_t messages_in_sight = 0;  // more than arrows where some are left out
  AnnotationLayout annotations;
};

// Empty where there are no visits, or the viewport shows none.
Gantt gantt(const ViewData& data, const Rows& rows, const Viewport& viewport);

// The messages that a visit sent, or that were there when it ended: indices.
std::vector<std::uint32_t> messages_of(const ViewData& data, const Visit& visit);

// The visit at a point of the viewport, the innermost; kNoPart where there is none, or several.
std::int64_t visit_at(const Gantt& gantt, double x, double y);

}  // namespace margay::scene
