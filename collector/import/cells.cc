#include "cells.h"

#include <algorithm>
#include <numeric>

namespace margay::trace {

using model::SliceColumn;

void CoarseCells::put(std::size_t level, const SliceColumn& column, std::vector<SliceColumn>& complete) {
  const std::size_t above = level + 1;
  if (above >= levels_.size()) return;
  const SliceIndex parent = slice_of(slice_begin(column.index, levels_[level]), levels_[above]);
  if (open_[above] && open_[above]->index != parent) give_out(above, complete);
  if (!open_[above])
    open_[above].emplace(LevelIndex(static_cast<std::uint8_t>(above)), parent, column.leaves(),
                         column.states());
  open_[above]->merge(column);
  if (slice_end(column.index, levels_[level]) == slice_end(parent, levels_[above])) give_out(above, complete);
}

void CoarseCells::give_out(std::size_t level, std::vector<SliceColumn>& complete) {
  SliceColumn column = std::move(*open_[level]);
  open_[level].reset();
  column.resize(column.leaves(), 1);
  for (std::uint32_t i = 0; i < column.leaves(); ++i) {
    const LeafIndex leaf(i);
    const auto row = column.duration_ns(leaf);
    const std::int64_t missing =
        levels_[level].value - std::accumulate(row.begin(), row.end(), std::int64_t{0});
    row[kAbsent.value] += missing;
    std::int64_t& longest = column.longest_ns(leaf)[kAbsent.value];
    longest = std::max(longest, missing);
  }
  put(level, column, complete);
  complete.push_back(std::move(column));
}

void CoarseCells::finish(std::vector<SliceColumn>& complete) {
  for (std::size_t level = 1; level < levels_.size(); ++level)
    if (open_[level]) give_out(level, complete);
}

}  // namespace margay::trace
