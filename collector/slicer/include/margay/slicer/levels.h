// Coarser levels of the model, each merged from the one below (100 ms -> 1 s -> 10 s -> 60 s). Pure.
//
// A coarse slice closes when the last finer slice in it has closed. When a finer slice is amended, the coarse
// slices above it are merged anew from what is held, so that they equal a merge of the amended slices
// exactly; for this each level holds all the children of every parent that can still change.
//
// Cost: one merge per closed slice and level. Memory: `retained` + ratio columns per level.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "margay/base/ids.h"
#include "margay/base/result.h"
#include "margay/model/slice_column.h"

namespace margay::slicer {

class Levels {
 public:
  // durations[0] is the slicer's; each is a whole multiple (>= 2) of the one before, which is checked.
  static Result<Levels> make(std::vector<DurationNs> durations, std::uint32_t retained);

  // A closed or amended slice of level 0, in ascending order for closed ones. Appends the coarse columns that
  // closed or changed by it to `out` (copies).
  void update(const model::SliceColumn& fine, std::vector<model::SliceColumn>& out);

  // The slices [first, last] of level 0 are a gap, in which `existed` tells who was there (slicer::Gap).
  // Coarse slices that lie in it as a whole are none; those that it touches hold its time as Unknown and
  // Absent, and are appended as they close. Cost: two merges a level, whatever its length.
  void skip(SliceIndex first, SliceIndex last, const std::vector<bool>& existed,
            std::vector<model::SliceColumn>& out);

  std::size_t count() const { return durations_.size(); }
  DurationNs duration(LevelIndex level) const { return durations_[level.value]; }

 private:
  Levels(std::vector<DurationNs> durations, std::uint32_t retained)
      : durations_(std::move(durations)), retained_(retained), held_(durations_.size()) {}
  void put(std::size_t level, const model::SliceColumn& column, std::vector<model::SliceColumn>& out);
  void skip(std::size_t level, SliceIndex first, SliceIndex last, const std::vector<bool>& existed,
            std::vector<model::SliceColumn>& out);
  model::SliceColumn unwatched(std::size_t level, SliceIndex first, SliceIndex last,
                               const std::vector<bool>& existed) const;

  std::vector<DurationNs> durations_;
  std::uint32_t retained_;
  // [level]: its closed slices, ascending. Where a gap ends or begins inside a coarser slice, its part of
  // that is one of them, by the last of its slices.
  std::vector<std::deque<model::SliceColumn>> held_;
};

}  // namespace margay::slicer
