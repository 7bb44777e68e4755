// The rectangles of the spatiotemporal picture: each part of the partition as one, coloured by the state it
// has most of, and visual aggregates where parts are too small to be seen (Dosimont et al., Cluster 2014,
// section IV).
//
// VISUAL AGGREGATION. A rectangle is small where it is lower or narrower than `threshold` pixels.
//  - Too low. The children of a node that are lower than the threshold are drawn as one, as the node: over
//    each stretch of time between two cuts that all parts below share. It is marked by a diagonal if the
//    parts below are cut nowhere else, so that they all look like this; and by a cross if they are, in which
//    case there is more to see closer by. Where some children are high enough these are drawn as usual, and
//    the low ones between two of them are drawn as one, as the node, in their own rows only: one odd leaf
//    beside a large machine does not hide that machine. Nor do a thousand low hosts become a single
//    rectangle: where what is drawn as one would be higher than `most_whole` thresholds, it is divided into
//    groups of neighbours that are just high enough. What is below a folded row is drawn as one, however
//    high the row.
//  - Too narrow. A stretch between two parts of a node that its children divide further is drawn as the node
//    if it is narrow. Narrow rectangles that follow each other in the same rows then become one, as many as
//    are wide enough together: diagonal, or cross if one of them is.
//  - What is still small stands alone beside others that are not: a single narrow part, or a few low rows.
//    So no two narrow rectangles touch in the same rows, and there are at most some
//    4 * width * height / threshold^2 rectangles, whatever the size of the model.
//
// NOTHING IS LOST. The rectangles tile the visible part of rows x time: each point of it lies in one
// rectangle, edges of neighbours are the same numbers. What decides which are merged does not depend on where
// the picture is scrolled or panned to, only on its scale.
//
// A visual aggregate's state, strength and known share are those of all it stands for, weighed by visible
// leaves x time.
//
// Thread safety: pure functions. Cost: linear in parts, nodes and rows (each part once for each node above it
// that is drawn), and slices for each node drawn. 1000 rows x 256 slices on 1000 x 1000 pixels: some ms.
#pragma once

#include <cstdint>
#include <vector>

#include "margay/scene/rows.h"
#include "margay/scene/view_data.h"

namespace margay::scene {

// What is looked at, and how large it is on the screen.
struct Viewport {
  double width = 0;  // pixels (logical ones; they need not be whole)
  double height = 0;
  TimeRange time;  // that width is; may reach beyond the data, where nothing is drawn
  Scroll rows;     // that height is, units of the rows
};

enum class Mark : std::uint8_t {
  kNone,      // one part of the partition
  kDiagonal,  // several, which share their cuts in time
  kCross,     // several, which do not
};

struct Rect {
  double x0 = 0, x1 = 0;  // pixels, [0, width]; clipped to the viewport
  double y0 = 0, y1 = 0;  // pixels, [0, height], downwards
  // As Part::mode: kNoState where nothing is known; absent and unknown states only where there is nothing
  // else.
  std::int32_t state = kNoState;
  float strength = 0;  // as Part::strength
  float known = 0;     // share of the known time
  Mark mark = Mark::kNone;
  // Of a visual aggregate the one drawn in place of others; its rows may be some of the node's only.
  std::uint32_t node = 0;
  std::uint32_t first = 0;  // slices [first, last), not clipped
  std::uint32_t last = 0;
  std::uint32_t first_row = 0;  // rows [first_row, last_row), not clipped
  std::uint32_t last_row = 0;
  std::uint32_t parts = 1;      // that it stands for
  std::int64_t part = kNoPart;  // index of the only one; kNoPart if there are several
  bool absent_or_unknown() const { return known <= 0; }
};

inline constexpr double kUsualThreshold = 3;
// What a person may choose: below a pixel nothing is gained, above this nothing is seen.
inline constexpr double kLeastThreshold = 1, kMostThreshold = 64;
// The next larger (by > 0) or smaller of the values from one of these to the other that are far enough apart
// to look different; the last one there is at the ends. Of what is not a number the usual one.
double next_threshold(double threshold, int by);

struct LayoutOptions {
  double threshold = kUsualThreshold;  // pixels; 0: every part is drawn
  // How many thresholds high a node is drawn as one in place of its low children, at least 3. Infinity:
  // however high, as in the article.
  double most_whole = 8;
};

struct Layout {
  std::vector<Rect> rects;     // in no order that matters, the same for the same input
  std::size_t aggregates = 0;  // rects that are one part
  std::size_t visual = 0;      // rects that stand for several
};

// Empty where the viewport has no extent (or is not finite), shows no rows, or no data's time.
Layout layout(const ViewData& data, const Rows& rows, const Viewport& viewport,
              const LayoutOptions& options = {});

// The rectangle at a point, or -1. Linear.
std::int64_t rect_at(const Layout& layout, double x, double y);

// The leaves that a rectangle's rows show, of which proportions() tells more. With a search they may have
// gaps: then this is from the first to the last.
LeafRange leaves_of(const ViewData& data, const Rows& rows, const Rect& rect);

// From pixels and back. Of a viewport without extent all is 0. Times beyond 64 bits are the last there is.
double x_of(const Viewport& viewport, TimeNs time);
TimeNs time_at(const Viewport& viewport, double x);
double y_of(const Viewport& viewport, double row_units);
double row_units_at(const Viewport& viewport, double y);

}  // namespace margay::scene
