// Coarser levels of a trace that is never amended: each slice is added to the one above it, which is given
// out when it is complete. The cells are those of slicer::Levels, but one column a level is held, not all
// that could still change; and what a trace does not cover of a slice (before its begin, after its end,
// before a leaf was known) is Absent, so that every row sums to its slice.
//
// Thread safety: none. Cost: one merge per slice and level.
#pragma once

#include <optional>
#include <vector>

#include "margay/base/ids.h"
#include "margay/model/slice_column.h"

namespace margay::trace {

class CoarseCells {
 public:
  // levels[0] is that of the slices added; each a multiple of the one before.
  explicit CoarseCells(std::vector<DurationNs> levels) : levels_(std::move(levels)), open_(levels_.size()) {}

  // The next slice of level 0. Appends the coarse ones that it completes, finer levels first.
  void add(const model::SliceColumn& fine, std::vector<model::SliceColumn>& complete) {
    put(0, fine, complete);
  }
  // No more slices come: gives out what is held.
  void finish(std::vector<model::SliceColumn>& complete);

 private:
  void put(std::size_t level, const model::SliceColumn& column, std::vector<model::SliceColumn>& complete);
  void give_out(std::size_t level, std::vector<model::SliceColumn>& complete);

  std::vector<DurationNs> levels_;
  std::vector<std::optional<model::SliceColumn>> open_;  // [level]; the first is never there
};

}  // namespace margay::trace
