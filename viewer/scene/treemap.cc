#include "margay/scene/treemap.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace margay::scene {
namespace {

// The worst of a row's aspect ratios: of rectangles of these areas along a side of this length.
double worst(double smallest, double largest, double sum, double side) {
  const double s = sum * sum, w = side * side;
  return std::max(w * largest / s, s / (w * smallest));
}

struct Child {
  std::uint32_t node;
  double size;
};

// Those that have a size, largest first, and of equal ones the first first.
std::vector<Child> children_by_size(const ViewData& data, std::uint32_t node, std::span<const double> sizes) {
  std::vector<Child> out;
  for (const std::uint32_t c : data.children_of(node))
    if (sizes[c] > 0 && std::isfinite(sizes[c])) out.push_back({c, sizes[c]});
  std::stable_sort(out.begin(), out.end(), [](const Child& a, const Child& b) { return a.size > b.size; });
  return out;
}

// What is left for a node's children. What has no name needs no room for it.
Rectangle inside(const ViewData& data, const TreemapCell& cell, const TreemapOptions& o) {
  const bool named = !data.nodes[cell.node].name.empty();
  const double head = named && cell.height >= 3 * o.head ? o.head : 0;
  const double frame = 4 * o.frame <= std::min(cell.width, cell.height - head) ? o.frame : 0;
  return {cell.x + frame, cell.y + std::max(frame, head), std::max(0.0, cell.width - 2 * frame),
          std::max(0.0, cell.height - std::max(frame, head) - frame)};
}

}  // namespace

TreemapContents contents_of(const ViewData& data, std::size_t first, std::size_t last) {
  TreemapContents out;
  const std::size_t n = data.nodes.size(), states = data.states.size();
  out.states = states;
  out.shares.assign(n * states, 0);
  out.known.assign(n, 0);
  last = std::min(last, data.slices());
  if (first >= last) return out;
  // Of parts that are the node's own, and of all at or below it: the states, what is known, and the area they
  // are of.
  const std::size_t row = states + 2, known = states, area = states + 1;
  std::vector<double> own(n * row);
  for (const Part& p : data.parts) {
    const std::size_t from = std::max<std::size_t>(p.first, first), to = std::min<std::size_t>(p.last, last);
    if (from >= to) continue;
    const double of = data.seconds(from, to) * data.nodes[p.node].leaf_count * p.weight;
    double* sums = own.data() + p.node * row;
    for (const StateShare& s : data.shares_of(p)) sums[s.state] += s.share * of;
    sums[known] += p.known * of;
    sums[area] += of;
  }
  std::vector<double> below = own, above(n * row);  // above: that parts of nodes above say of a leaf
  for (std::size_t i = n; i-- > 1;)
    for (std::size_t x = 0; x < row; ++x) below[data.nodes[i].parent * row + x] += below[i * row + x];
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t parent = data.nodes[i].parent;
    for (std::size_t x = 0; x < row && i > 0; ++x)
      above[i * row + x] = above[parent * row + x] +
                           own[parent * row + x] / static_cast<double>(data.nodes[parent].leaf_count);
    const double leaves = data.nodes[i].leaf_count;
    const auto sum = [&](std::size_t x) { return below[i * row + x] + above[i * row + x] * leaves; };
    if (!(sum(area) > 0)) continue;
    for (std::size_t x = 0; x < states; ++x)
      out.shares[i * states + x] = static_cast<float>(std::min(1.0, sum(x) / sum(area)));
    out.known[i] = static_cast<float>(std::min(1.0, sum(known) / sum(area)));
  }
  return out;
}

bool has_room_for_contents(const ViewData& data) {
  return data.nodes.size() <= kMostContents / (data.states.size() + 2);
}

std::vector<double> treemap_sizes(const ViewData& data, const TreemapContents& contents, TreemapSize by) {
  std::vector<double> out;
  out.reserve(data.nodes.size());
  for (std::uint32_t n = 0; n < data.nodes.size(); ++n) {
    double size = data.nodes[n].leaf_count;
    if (by == TreemapSize::kAmount) {
      const auto shares = contents.of(n);
      double amount = 0;
      for (std::size_t x = 0; x < contents.states; ++x)
        if (data.states[x].known()) amount += shares[x];
      size *= std::max(0.0, amount);
    }
    out.push_back(size);
  }
  return out;
}

std::vector<Rectangle> squarified(const Rectangle& in, std::span<const double> sizes) {
  std::vector<Rectangle> out;
  out.reserve(sizes.size());
  const double all = std::accumulate(sizes.begin(), sizes.end(), 0.0);
  if (!(all > 0)) return out;
  const double scale = in.width * in.height / all;
  Rectangle room = in;
  for (std::size_t i = 0; i < sizes.size();) {
    const double side = std::min(room.width, room.height);
    if (!(side > 0) || !(scale > 0)) {
      out.resize(sizes.size(), {room.x, room.y, 0, 0});
      break;
    }
    const double largest = sizes[i] * scale;
    double sum = largest, ratio = worst(largest, largest, sum, side);
    std::size_t end = i + 1;
    for (; end < sizes.size(); ++end) {
      const double next = sizes[end] * scale, with = worst(next, largest, sum + next, side);
      if (with > ratio) break;
      sum += next, ratio = with;
    }
    // Along the left edge of what is wider than high, else along the upper one.
    const bool upright = room.width >= room.height;
    const double depth = end == sizes.size() ? (upright ? room.width : room.height) : sum / side;
    double at = 0;
    for (; i < end; ++i) {
      const double length = i + 1 == end ? side - at : sizes[i] * scale / sum * side;
      out.push_back(upright ? Rectangle{room.x, room.y + at, depth, length}
                            : Rectangle{room.x + at, room.y, length, depth});
      at += length;
    }
    if (upright)
      room.x += depth, room.width = std::max(0.0, room.width - depth);
    else
      room.y += depth, room.height = std::max(0.0, room.height - depth);
  }
  return out;
}

std::vector<TreemapCell> treemap(const ViewData& data, std::span<const double> sizes,
                                 const TreemapOptions& o) {
  std::vector<TreemapCell> out;
  if (data.empty() || sizes.size() != data.nodes.size() || !(sizes[0] > 0) || !(o.width > 0) ||
      !(o.height > 0))
    return out;
  const std::size_t most = std::min(o.most, kMostContents / (data.states.size() + 2));
  std::vector<TreemapCell> pending{{0, 0, 0, 0, o.width, o.height, false}};
  std::vector<double> areas;
  while (!pending.empty()) {
    TreemapCell cell = pending.back();
    pending.pop_back();
    const Rectangle room = inside(data, cell, o);
    const bool small = std::min(room.width, room.height) < o.least;
    cell.filled = small || cell.depth >= o.depth || data.children_of(cell.node).empty();
    std::vector<Child> children;
    if (!cell.filled) children = children_by_size(data, cell.node, sizes);
    const double each =
        children.empty() ? 0 : room.width * room.height / static_cast<double>(children.size());
    if (each < o.least * o.least || children.empty() ||
        out.size() + pending.size() + children.size() + 1 > most)
      cell.filled = true;
    out.push_back(cell);
    if (cell.filled) continue;
    areas.clear();
    for (const Child& c : children) areas.push_back(c.size);
    const std::vector<Rectangle> rooms = squarified(room, areas);
    for (std::size_t i = children.size(); i-- > 0;)
      pending.push_back(
          {children[i].node, cell.depth + 1, rooms[i].x, rooms[i].y, rooms[i].width, rooms[i].height, false});
  }
  return out;
}

std::vector<std::int32_t> filled_cells(const ViewData& data, std::span<const TreemapCell> cells) {
  std::vector<std::int32_t> out(data.nodes.size(), -1);
  for (std::size_t i = 0; i < cells.size(); ++i)
    if (cells[i].filled)
      std::fill(out.begin() + cells[i].node, out.begin() + data.nodes[cells[i].node].end,
                static_cast<std::int32_t>(i));
  return out;
}

std::vector<float> cell_shares(const ViewData& data, std::span<const TreemapCell> cells,
                               std::span<const std::int32_t> filled, std::size_t first, std::size_t last) {
  const std::size_t states = data.states.size(), row = states + 1, area = states;
  std::vector<float> out(cells.size() * states);
  last = std::min(last, data.slices());
  if (first >= last || cells.empty()) return out;
  // Of a filled cell all that is at or below its node; of a divided one what parts of its node say of a leaf.
  std::vector<double> sums(cells.size() * row);
  std::vector<std::int32_t> divided(cells.size() < data.nodes.size() ? data.nodes.size() : cells.size(), -1);
  for (std::size_t i = 0; i < cells.size(); ++i)
    if (!cells[i].filled) divided[cells[i].node] = static_cast<std::int32_t>(i);
  for (const Part& p : data.parts) {
    if (p.first >= last || p.last <= first) continue;
    const std::size_t from = std::max<std::size_t>(p.first, first), to = std::min<std::size_t>(p.last, last);
    const std::int32_t own = filled[p.node], at = own >= 0 ? own : divided[p.node];
    if (at < 0) continue;
    const double of = data.seconds(from, to) * p.weight * (own >= 0 ? data.nodes[p.node].leaf_count : 1);
    double* to_row = sums.data() + static_cast<std::size_t>(at) * row;
    for (const StateShare& s : data.shares_of(p)) to_row[s.state] += s.share * of;
    to_row[area] += of;
  }
  // Parents come first: what is said of a leaf above goes on downwards.
  for (std::size_t i = 1; i < cells.size(); ++i) {
    const std::int32_t above = divided[data.nodes[cells[i].node].parent];
    const double leaves = cells[i].filled ? data.nodes[cells[i].node].leaf_count : 1;
    for (std::size_t x = 0; x < row && above >= 0; ++x)
      sums[i * row + x] += leaves * sums[static_cast<std::size_t>(above) * row + x];
  }
  for (std::size_t i = 0; i < cells.size(); ++i)
    if (cells[i].filled && sums[i * row + area] > 0)
      for (std::size_t x = 0; x < states; ++x)
        out[i * states + x] = static_cast<float>(std::min(1.0, sums[i * row + x] / sums[i * row + area]));
  return out;
}

std::int64_t cell_at(std::span<const TreemapCell> cells, double x, double y) {
  std::int64_t at = -1;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const TreemapCell& c = cells[i];
    if (x >= c.x && y >= c.y && x < c.x + c.width && y < c.y + c.height) at = static_cast<std::int64_t>(i);
  }
  return at;
}

}  // namespace margay::scene
