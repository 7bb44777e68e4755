// A rectangle of the picture that somebody marked, a stretch of time of some rows, to see what is in it
// without going there; and where it is in a picture.
//
// It is kept by paths and times, for the next answer may number its nodes and slices otherwise.
//
// Thread safety: values and pure functions. Cost: marked_area() and place_of() are linear in the nodes of the
// picture at most.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "margay/base/result.h"
#include "margay/scene/rows.h"
#include "margay/scene/statistics.h"
#include "margay/scene/view_data.h"

namespace margay::scene {

// That a rectangle is of: rows of which a node has no others count as that node.
inline constexpr std::size_t kMostMarkedNodes = 128;

struct MarkedArea {
  TimeRange time;
  std::vector<std::string> nodes;  // paths, none below another, in the order of the tree; one at least
  bool operator==(const MarkedArea&) const = default;
};

// Rows [first_row, last_row) and slices [first, last) of the picture. What reaches beyond it is cut off.
// kInvalidArgument of nothing, kLimit of more than kMostMarkedNodes, with a sentence.
Result<MarkedArea> marked_area(const ViewData& data, const Rows& rows, std::size_t first_row,
                               std::size_t last_row, std::size_t first, std::size_t last);
// The smallest rectangle of rows and slices that has both.
struct RowsAndSlices {
  std::size_t first_row = 0, last_row = 0;  // [first_row, last_row)
  std::size_t first = 0, last = 0;          // slices, likewise
  void add(const RowsAndSlices& other);
};
// Where it is among these rows; nothing of it: all are 0. With rows between that are not part of it.
RowsAndSlices rows_of(const ViewData& data, const Rows& rows, const MarkedArea& area);

// Nodes that the picture has, and the slices that overlap; of what it does not show there are none.
Region place_of(const ViewData& data, const MarkedArea& area);

// Whose it is, for people: "/node1/rank6", "/node1/rank6 and 3 others".
std::string who_text(const MarkedArea& area);
// The lowest path at or above all of them: "/node1"; "/": that is all.
std::string above_all(const std::vector<std::string>& paths);

}  // namespace margay::scene
