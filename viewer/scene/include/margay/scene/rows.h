// What is to be seen of the hierarchy: its nodes as rows from top to bottom, some folded into one row, some
// left out by a search, of which a scrolled window shows a stretch.
//
// Rows are the lowest nodes shown: leaves, and nodes that are folded. The nodes above them are `spans`, each
// as high as the rows below it. Heights are in units: of kRow each row is one unit high, of kLeaf a row is as
// high as it has leaves, so that areas on the screen are resources x time. Turning units into pixels is up to
// layout.h.
//
// Folds are kept by path and not by index, for the next answer may number its nodes otherwise.
//
// Thread safety: values and pure functions. Cost: rows_of() is linear in the nodes and, with a search, in the
// text of their names; of the others as said there.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "margay/scene/view_data.h"

namespace margay::scene {

enum class RowUnit { kRow, kLeaf };

struct Folding {
  std::set<std::string, std::less<>> folded;  // paths; those that do not exist do no harm
  std::uint32_t most_depth = kMostDepth;      // nodes this deep are folded
  // Only nodes whose name contains this, with all above and below them; in a search with a '/' their path.
  // ASCII letters match in both cases. Empty: all nodes.
  std::string search;
  RowUnit unit = RowUnit::kRow;
};

struct Row {
  std::uint32_t node = 0;
  std::uint32_t depth = 0;
  double y = 0;         // units, of the upper edge; the first row's is 0
  double height = 1;    // units
  bool folded = false;  // has children, which are not shown
  bool match = false;   // is what is searched for, or has it below
};

struct Rows {
  std::vector<Row> rows;   // from top to bottom
  std::vector<Row> spans;  // nodes with children that are shown, parents first; `folded` is false
  double height = 0;       // of all rows, units
  // Of each node the rows [first_row, last_row) that are it or below it; for one below a folded row that row;
  // of one that is left out first_row = last_row.
  std::vector<std::uint32_t> first_row;
  std::vector<std::uint32_t> last_row;
  std::vector<std::uint8_t> is_row;  // of each node: it is a row itself

  bool shows(std::uint32_t node) const { return node < first_row.size() && first_row[node] < last_row[node]; }
};

Rows rows_of(const ViewData& data, const Folding& folding);

// The row at y, units; the nearest one above and below all rows. -1 without rows. Cost: logarithmic.
std::int64_t row_at(const Rows& rows, double y);
// The row that shows a node: its own, that of the fold it is in, or the first one below it; -1 if it is left
// out. Cost: constant.
std::int64_t row_of(const Rows& rows, std::uint32_t node);
// `by` rows on (negative: back), staying within the rows; from -1 the first or the last. -1 without rows.
std::int64_t next_row(const Rows& rows, std::int64_t row, std::int64_t by);
// The next row that matches the search, round the end; `forward` or back. -1 if none does. Linear.
std::int64_t next_match(const Rows& rows, std::int64_t row, bool forward);

// From the root to the node, both included; empty for a node that does not exist.
std::vector<std::uint32_t> path_to(const ViewData& data, std::uint32_t node);
// The node of that path; -1 if there is none. "" and "/" are the root unless the root has another path. Cost:
// linear in the children on the way.
std::int64_t node_at(const ViewData& data, std::string_view path);
// What has the resources of that path: the node or, where it is of the usual view and the picture of another,
// the nodes that have them and no others, ascending. Cost: as node_at(), or that of the leaves below it.
std::vector<std::uint32_t> nodes_named(const ViewData& data, std::string_view path);
// The lowest node that has all of these; -1 of none. Cost: linear in the nodes given and in depth.
std::int64_t node_over(const ViewData& data, std::span<const std::uint32_t> nodes);
// The node that has just the resources of another picture's node, maybe of another view; -1 if there is none.
std::int64_t same_node(const ViewData& of, std::uint32_t node, const ViewData& in);

// Folds or unfolds: a node of `folding.folded` leaves it, another one enters it. Leaves do not fold. Of a
// node folded only for its depth, that depth is given up and the others that deep are folded instead.
void toggle(Folding& folding, const ViewData& data, std::uint32_t node);

// A scrolled window, units. `top` < `bottom`, unless there is nothing to see.
struct Scroll {
  double top = 0;
  double bottom = 0;
  bool operator==(const Scroll&) const = default;
};
// All rows.
Scroll whole(const Rows& rows);
// Moved, and shrunk if needed, to lie within the rows; one without height, or that is not finite, is whole().
Scroll within(const Rows& rows, Scroll scroll);
// Moved by as little as shows all of the rows of the node, or their upper end if they do not fit.
Scroll showing(const Rows& rows, Scroll scroll, std::uint32_t node);
// Made `factor` times as high (less than 1: closer) round y, at least `least` units high.
Scroll zoomed(const Rows& rows, Scroll scroll, double factor, double y, double least = 1);

}  // namespace margay::scene
