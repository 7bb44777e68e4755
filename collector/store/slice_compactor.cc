#include "margay/store/slice_compactor.h"

#include <algorithm>
#include <limits>

#include "margay/store/joined_codec.h"

namespace margay::store {
namespace {

constexpr std::size_t kCells = std::size_t{1} << 17;  // in a join: what it takes its time for
constexpr std::size_t kSlices = 256;
constexpr std::size_t kLeast = 16;  // slices; fewer are joined at the end only

}  // namespace

std::vector<std::int64_t> SliceCompactor::amendable(const std::vector<DurationNs>& levels,
                                                    std::int64_t fine) {
  std::vector<std::int64_t> all;
  for (const DurationNs level : levels) all.push_back(fine * levels[0].value / level.value + 2);
  return all;
}

std::size_t SliceCompactor::most(const Level& level) const {
  return std::clamp(kCells / std::max<std::size_t>(1, level.cells), kLeast, kSlices);
}

Status SliceCompactor::after_commit(const Cut& cut) {
  for (const auto& column : cut.columns) {
    Level& level = levels_[column->level.value];
    level.leaves = column->leaves();
    level.measured = column->plane() != model::Plane::kNone;
    level.cells = std::size_t{column->leaves()} * column->states();
    if (column->level != LevelIndex(0)) level.newest = std::max(level.newest, column->index);
  }
  for (const ClosedThrough& c : cut.closed) levels_[c.level.value].newest = c.through;
  const bool end = cut.run && cut.run->end;
  for (auto& [number, level] : levels_) {
    if (number >= amendable_.size()) continue;
    const LevelIndex index(number);
    const SliceIndex through =
        end ? SliceIndex(std::numeric_limits<std::int64_t>::max()) : level.newest - amendable_[number];
    const std::size_t many = most(level);
    // A look that finds too few reads these: not with every cut. The large are not joined at all.
    const bool soon =
        level.through && through.value - level.through->value < static_cast<std::int64_t>(many / 4);
    if (level.measured || (!end && (soon || level.leaves > kMostJoinedLeaves))) continue;
    for (bool more = true; more;) {
      // At the end twice as many, so that no few are left that would pay for a join of their own.
      const auto joined = archive_.join_columns(index, through, end ? 2 : many, end ? 2 * many : many);
      if (!joined) return tl::unexpected(joined.error());
      more = *joined != 0;
    }
    level.through = through;
  }
  return {};
}

}  // namespace margay::store
