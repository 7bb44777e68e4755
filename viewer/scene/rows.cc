#include "margay/scene/rows.h"

#include <algorithm>
#include <cmath>

#include "margay/scene/point_of_view.h"

namespace margay::scene {
namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// `needle` in lower case.
bool contains(std::string_view text, std::string_view needle) {
  const auto same = [](char a, char b) { return lower(a) == b; };
  return std::search(text.begin(), text.end(), needle.begin(), needle.end(), same) != text.end();
}

// What a search leaves of the nodes.
struct Found {
  std::vector<std::uint8_t> below;    // it, or something below it, is what is searched for
  std::vector<std::uint8_t> visible;  // or something above it
};

Found find(const ViewData& data, const std::string& search) {
  const std::size_t n = data.nodes.size();
  Found found{std::vector<std::uint8_t>(n, 0), std::vector<std::uint8_t>(n, search.empty() ? 1 : 0)};
  if (search.empty()) return found;
  std::string needle = search;
  std::transform(needle.begin(), needle.end(), needle.begin(), lower);
  const bool paths = needle.find('/') != std::string::npos;
  std::vector<std::uint8_t> above(n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    const Node& node = data.nodes[i];
    found.below[i] = contains(paths ? node.path : node.name, needle) ? 1 : 0;
    above[i] = found.below[i] | (i > 0 ? above[node.parent] : 0);
  }
  for (std::size_t i = n; i-- > 1;) found.below[data.nodes[i].parent] |= found.below[i];
  for (std::size_t i = 0; i < n; ++i) found.visible[i] = found.below[i] | above[i];
  return found;
}

}  // namespace

Rows rows_of(const ViewData& data, const Folding& folding) {
  const std::size_t n = data.nodes.size();
  const Found found = find(data, folding.search);
  Rows out;
  out.first_row.assign(n, 0);
  out.last_row.assign(n, 0);
  out.is_row.assign(n, 0);
  for (std::uint32_t i = 0; i < n;) {
    const Node& node = data.nodes[i];
    const auto count = static_cast<std::uint32_t>(out.rows.size());
    const bool has_children = node.end > i + 1;
    Row row{i, node.depth, out.height, 1, false, found.below[i] != 0};
    const bool fold = has_children && (node.depth >= folding.most_depth ||
                                       (!folding.folded.empty() && folding.folded.contains(node.path)));
    out.first_row[i] = count;
    if (found.visible[i] != 0 && has_children && !fold) {
      out.spans.push_back(row);
      ++i;
      continue;
    }
    std::uint32_t end = count;  // of a node left out there are no rows
    if (found.visible[i] != 0) {
      row.folded = fold;
      row.height = folding.unit == RowUnit::kLeaf ? static_cast<double>(node.leaf_count) : 1;
      out.height += row.height;
      out.rows.push_back(row);
      out.is_row[i] = 1;
      end = count + 1;
    }
    for (; i < node.end; ++i) {
      out.first_row[i] = count;
      out.last_row[i] = end;
    }
  }
  for (std::size_t i = n; i-- > 1;)  // those of a span end where its last child's end
    if (std::uint32_t& last = out.last_row[data.nodes[i].parent]; last < out.last_row[i])
      last = out.last_row[i];
  for (Row& span : out.spans) {
    span.y = out.rows[out.first_row[span.node]].y;
    const Row& last = out.rows[out.last_row[span.node] - 1];
    span.height = last.y + last.height - span.y;
  }
  return out;
}

std::int64_t row_at(const Rows& rows, double y) {
  if (rows.rows.empty()) return -1;
  const auto after = std::upper_bound(rows.rows.begin() + 1, rows.rows.end(), y,
                                      [](double at, const Row& row) { return at < row.y; });
  return after - rows.rows.begin() - 1;
}

std::int64_t row_of(const Rows& rows, std::uint32_t node) {
  return rows.shows(node) ? std::int64_t{rows.first_row[node]} : -1;
}

std::int64_t next_row(const Rows& rows, std::int64_t row, std::int64_t by) {
  const auto last = static_cast<std::int64_t>(rows.rows.size()) - 1;
  if (last < 0) return -1;
  if (row < 0 || row > last) return by < 0 ? last : 0;
  if (by >= last - row) return last;
  return by <= -row ? 0 : row + by;
}

std::int64_t next_match(const Rows& rows, std::int64_t row, bool forward) {
  const auto n = static_cast<std::int64_t>(rows.rows.size());
  if (n == 0) return -1;
  if (row < 0 || row >= n) row = forward ? -1 : n;
  for (std::int64_t k = 1; k <= n; ++k) {
    const std::int64_t at = ((forward ? row + k : row - k) % n + n) % n;
    if (rows.rows[static_cast<std::size_t>(at)].match) return at;
  }
  return -1;
}

std::vector<std::uint32_t> path_to(const ViewData& data, std::uint32_t node) {
  std::vector<std::uint32_t> path;
  if (node >= data.nodes.size()) return path;
  path.resize(data.nodes[node].depth + 1);
  for (std::size_t i = path.size(); i-- > 0; node = data.nodes[node].parent) path[i] = node;
  return path;
}

std::int64_t node_at(const ViewData& data, std::string_view path) {
  if (data.nodes.empty()) return -1;
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  if (path.empty()) path = "/";
  // Names may hold a '/' themselves: a child leads on if its path is the one wanted, or a beginning of it.
  const auto leads = [&](std::uint32_t node) {
    const std::string& at = data.nodes[node].path;
    if (!path.starts_with(at)) return false;
    return path.size() == at.size() || at.ends_with('/') || path[at.size()] == '/';
  };
  std::uint32_t node = 0;
  if (!leads(node)) return -1;
  while (data.nodes[node].path.size() < path.size()) {
    const auto children = data.children_of(node);
    const auto next = std::find_if(children.begin(), children.end(), leads);
    if (next == children.end()) return -1;
    node = *next;
  }
  return node;
}

namespace {

// Nodes all of whose leaves are among these, which ascend; the highest of each.
std::vector<std::uint32_t> cover(const ViewData& data, const std::vector<std::uint32_t>& leaves) {
  std::vector<std::uint32_t> out;
  for (std::size_t i = 0; i < leaves.size();) {
    // As far up as what is below goes on without a hole.
    std::uint32_t node = leaves[i];
    std::size_t next = i + 1;
    while (node != 0) {
      const Node& above = data.nodes[data.nodes[node].parent];
      if (above.leaf_count > leaves.size() - i || above.first_leaf != data.nodes[leaves[i]].first_leaf) break;
      const std::uint32_t last = leaves[i + above.leaf_count - 1];
      if (data.nodes[last].first_leaf != above.first_leaf + above.leaf_count - 1) break;
      node = data.nodes[node].parent;
      next = i + above.leaf_count;
    }
    out.push_back(node);
    i = next;
  }
  return out;
}

}  // namespace

std::vector<std::uint32_t> nodes_named(const ViewData& data, std::string_view path) {
  if (const std::int64_t node = node_at(data, path); node >= 0) return {static_cast<std::uint32_t>(node)};
  std::vector<std::uint32_t> leaves;
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  const std::string below = std::string(path) + '/';
  const auto from = [&](std::string_view text) {
    return std::lower_bound(data.by_resource.begin(), data.by_resource.end(), text,
                            [&](std::uint32_t n, std::string_view t) { return data.nodes[n].resource < t; });
  };
  // A leaf of that path, or all below it.
  if (const auto at = from(path); at != data.by_resource.end() && data.nodes[*at].resource == path)
    return {*at};
  for (auto at = from(below); at != data.by_resource.end() && data.nodes[*at].resource.starts_with(below);
       ++at)
    leaves.push_back(*at);
  std::sort(leaves.begin(), leaves.end());
  return cover(data, leaves);
}

std::int64_t node_over(const ViewData& data, std::span<const std::uint32_t> nodes) {
  if (nodes.empty()) return -1;
  std::uint32_t over = nodes[0];
  for (const std::uint32_t n : nodes)
    while (over != 0 && (n < over || n >= data.nodes[over].end)) over = data.nodes[over].parent;
  return over;
}

std::int64_t same_node(const ViewData& of, std::uint32_t node, const ViewData& in) {
  if (view_of(of.question.view()) == view_of(in.question.view())) return node_at(in, of.nodes[node].path);
  std::vector<std::uint32_t> leaves;
  for (std::uint32_t n = node; n < of.nodes[node].end; ++n) {
    if (of.nodes[n].end != n + 1) continue;
    const std::vector<std::uint32_t> there = nodes_named(in, of.name_of(n));
    if (there.size() != 1) return -1;
    leaves.push_back(there[0]);
  }
  const std::int64_t over = node_over(in, leaves);
  return over >= 0 && in.nodes[static_cast<std::size_t>(over)].leaf_count == leaves.size() ? over : -1;
}

void toggle(Folding& folding, const ViewData& data, std::uint32_t node) {
  if (node >= data.nodes.size() || data.children_of(node).empty()) return;
  const Node& it = data.nodes[node];
  const bool was_folded = folding.folded.erase(it.path) > 0;
  if (it.depth < folding.most_depth) {
    if (!was_folded) folding.folded.insert(it.path);
    return;
  }
  // The others that deep stay folded, and what comes to light is one level.
  const std::uint32_t depth = folding.most_depth;
  for (std::uint32_t i = 0; i < data.nodes.size(); ++i) {
    const Node& other = data.nodes[i];
    const bool below = i > node && i < it.end;
    if (i != node && other.depth == (below ? it.depth + 1 : depth) && !data.children_of(i).empty())
      folding.folded.insert(other.path);
  }
  folding.most_depth = kMostDepth;
}

Scroll whole(const Rows& rows) {
  return {0, rows.height};
}

Scroll within(const Rows& rows, Scroll scroll) {
  const double height = scroll.bottom - scroll.top;
  if (!(height > 0) || !std::isfinite(height) || height >= rows.height) return whole(rows);
  const double top = std::clamp(scroll.top, 0.0, rows.height - height);
  return {top, top + height};
}

Scroll showing(const Rows& rows, Scroll scroll, std::uint32_t node) {
  scroll = within(rows, scroll);
  if (!rows.shows(node)) return scroll;
  const double top = rows.rows[rows.first_row[node]].y;
  const Row& last = rows.rows[rows.last_row[node] - 1];
  const double height = scroll.bottom - scroll.top;
  if (last.y + last.height > scroll.bottom) scroll.top = last.y + last.height - height;
  if (top < scroll.top) scroll.top = top;
  return within(rows, {scroll.top, scroll.top + height});
}

Scroll zoomed(const Rows& rows, Scroll scroll, double factor, double y, double least) {
  scroll = within(rows, scroll);
  const double height = scroll.bottom - scroll.top;
  if (!(factor > 0) || !std::isfinite(factor) || !std::isfinite(y) || !(height > 0)) return scroll;
  const double wanted = std::clamp(height * factor, std::min(least, rows.height), rows.height);
  const double top = y - (y - scroll.top) * (wanted / height);
  return within(rows, {top, top + wanted});
}

}  // namespace margay::scene
