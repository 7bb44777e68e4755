// The hierarchy as nested rectangles, each as large as what it stands for: squarified (Bruls, Huizing and van
// Wijk: Squarified Treemaps, 2000), as Triva and Viva draw it.
//
// A node's rectangle is divided among its children in proportion to their sizes, largest first, in rows along
// the shorter side; a row takes the next child as long as that makes its worst rectangle squarer. What is too
// small to be seen, or as deep as wanted, is drawn as one: a cell that stands for all below it.
//
// Thread safety: values and pure functions. Cost: of contents_of(), nodes x states and the parts; of
// treemap(), nodes that are drawn, and a sort of the children of each.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "margay/scene/view_data.h"

namespace margay::scene {

// What each node did in slices [first, last): where a part reaches beyond them, or is of a node above, it is
// taken as the same everywhere in it, as proportions() does. REQUIRES: a spatiotemporal picture, first <
// last.
struct TreemapContents {
  std::size_t states = 0;
  std::vector<float> shares;  // [node][state], of leaves x time
  std::vector<float> known;   // [node], [0, 1]
  std::span<const float> of(std::uint32_t node) const {
    return std::span(shares).subspan(node * states, states);
  }
};
TreemapContents contents_of(const ViewData& data, std::size_t first, std::size_t last);
// Whether that takes no more than kMostContents numbers; an answer may have many nodes and many states.
inline constexpr std::size_t kMostContents = std::size_t{1} << 25;
bool has_room_for_contents(const ViewData& data);

// What a cell's area stands for.
enum class TreemapSize { kResources, kAmount };
// Of each node: its resources; or all of what is measured, summed over its states (of durations: the time
// that is known). Not negative.
std::vector<double> treemap_sizes(const ViewData& data, const TreemapContents& contents, TreemapSize by);

struct TreemapCell {
  std::uint32_t node = 0;
  std::uint32_t depth = 0;  // below the root of the map
  double x = 0, y = 0, width = 0, height = 0;
  bool filled = false;  // it stands for all that is below it; else its children are drawn in it
};
struct TreemapOptions {
  double width = 0, height = 0;                                     // pixels
  std::uint32_t depth = std::numeric_limits<std::uint32_t>::max();  // levels below the root that are divided
  // A node is divided where its shorter side, and that of its children if they were squares, is not less.
  double least = 3;
  double frame = 1;            // that a node keeps round its children, pixels
  double head = 0;             // and above them, for its name; of those that are three times as high
  std::size_t most = 200'000;  // cells; fewer where kMostContents numbers of their states are fewer
};
// Parents before children, siblings largest first; those of size 0 have no cell. All within the root's.
std::vector<TreemapCell> treemap(const ViewData& data, std::span<const double> sizes,
                                 const TreemapOptions& options);
// Of each node the filled cell that stands for it; -1: it is divided, or has none. Cost: nodes.
std::vector<std::int32_t> filled_cells(const ViewData& data, std::span<const TreemapCell> cells);
// [cell][state]: what contents_of() says of the nodes of the filled cells; of the others zeros. Cost: parts,
// and cells x states: of many resources in few cells far less than contents_of().
std::vector<float> cell_shares(const ViewData& data, std::span<const TreemapCell> cells,
                               std::span<const std::int32_t> filled, std::size_t first, std::size_t last);
// The smallest cell there; -1: none. Cost: linear in the cells.
std::int64_t cell_at(std::span<const TreemapCell> cells, double x, double y);

// RFC 4180, a row a node: path, leaves, size, known, the share of each state. As many sizes as nodes.
std::string nodes_csv(const ViewData& data, const TreemapContents& contents, std::span<const double> sizes);

// Rectangles of these areas' proportions, in their order, that fill the given one. REQUIRES: descending,
// positive.
struct Rectangle {
  double x = 0, y = 0, width = 0, height = 0;
};
std::vector<Rectangle> squarified(const Rectangle& in, std::span<const double> sizes);

}  // namespace margay::scene
