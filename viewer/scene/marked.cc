#include "margay/scene/marked.h"

#include <algorithm>

namespace margay::scene {
namespace {

// Nodes that have these rows and, whatever a search leaves out, no others.
class Cover {
 public:
  Cover(const ViewData& data, const Rows& rows, std::size_t first, std::size_t last)
      : data_(data), rows_(rows), first_(first), last_(last), leaves_before_{0} {
    for (const Row& row : rows.rows)
      leaves_before_.push_back(leaves_before_.back() + data.nodes[row.node].leaf_count);
  }

  std::vector<std::uint32_t> nodes() const {
    std::vector<std::uint32_t> out;
    for (std::uint32_t n = 0; n < data_.nodes.size();) {
      const std::size_t from = rows_.first_row[n], to = rows_.last_row[n];
      const bool apart = from >= to || to <= first_ || from >= last_;
      const bool within = !apart && from >= first_ && to <= last_ &&
                          leaves_before_[to] - leaves_before_[from] == data_.nodes[n].leaf_count;
      if (within) out.push_back(n);
      n = apart || within ? data_.nodes[n].end : n + 1;
    }
    return out;
  }

 private:
  const ViewData& data_;
  const Rows& rows_;
  std::size_t first_, last_;
  std::vector<std::uint64_t> leaves_before_;  // of each row
};

std::string parent_of(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos || slash == 0 ? "/" : path.substr(0, slash);
}

bool is_at_or_below(const std::string& path, const std::string& above) {
  return above == "/" || path == above || (path.starts_with(above) && path[above.size()] == '/');
}

}  // namespace

Result<MarkedArea> marked_area(const ViewData& data, const Rows& rows, std::size_t first_row,
                               std::size_t last_row, std::size_t first, std::size_t last) {
  last_row = std::min(last_row, rows.rows.size());
  last = std::min(last, data.slices());
  if (first_row >= last_row || first >= last)
    return fail(ErrorCode::kInvalidArgument, "a rectangle of nothing cannot be marked");
  const std::vector<std::uint32_t> nodes = Cover(data, rows, first_row, last_row).nodes();
  if (nodes.size() > kMostMarkedNodes)
    return fail(ErrorCode::kLimit,
                std::to_string(nodes.size()) + " resources are too many to be marked (at most " +
                    std::to_string(kMostMarkedNodes) + "): take all rows of a node, or fold nodes first");
  MarkedArea out{{data.boundaries[first], data.boundaries[last]}, {}};
  for (const std::uint32_t n : nodes) out.nodes.push_back(data.name_of(n).empty() ? "/" : data.name_of(n));
  return out;
}

void RowsAndSlices::add(const RowsAndSlices& other) {
  if (other.first_row == other.last_row) return;
  if (first_row == last_row) {
    *this = other;
    return;
  }
  first_row = std::min(first_row, other.first_row), last_row = std::max(last_row, other.last_row);
  first = std::min(first, other.first), last = std::max(last, other.last);
}

RowsAndSlices rows_of(const ViewData& data, const Rows& rows, const MarkedArea& area) {
  RowsAndSlices out;
  const Region place = place_of(data, area);
  for (const std::uint32_t n : place.nodes)
    if (rows.shows(n)) out.add({rows.first_row[n], rows.last_row[n], place.first, place.last});
  return out;
}

Region place_of(const ViewData& data, const MarkedArea& area) {
  Region out;
  if (data.empty() || area.time.to <= data.range().from || area.time.from >= data.range().to ||
      area.time.from >= area.time.to)
    return out;
  for (const std::string& path : area.nodes)
    if (const auto at = nodes_named(data, path); !at.empty()) {
      out.nodes.insert(out.nodes.end(), at.begin(), at.end());
    } else if (is_at_or_below(data.nodes[0].path, path)) {
      // The picture is of a part of it.
      out.nodes = {0};
      break;
    }
  if (out.nodes.empty()) return out;
  std::sort(out.nodes.begin(), out.nodes.end());
  out.first = data.slice_at(area.time.from);
  out.last = data.slice_at(TimeNs(area.time.to.value - 1)) + 1;
  return out;
}

std::string who_text(const MarkedArea& area) {
  if (area.nodes.empty()) return {};
  std::string out = area.nodes.front() == "/" ? "everything" : area.nodes.front();
  const std::size_t more = area.nodes.size() - 1;
  if (more > 0) out += " and " + std::to_string(more) + (more == 1 ? " other" : " others");
  return out;
}

std::string above_all(const std::vector<std::string>& paths) {
  if (paths.empty()) return "/";
  std::string above = paths.front();
  for (const std::string& path : paths)
    while (!is_at_or_below(path, above)) above = parent_of(above);
  return above;
}

}  // namespace margay::scene
