// Joins slices once nothing changes them any more: after each commit it looks whether a level has enough of
// them, and at the end of the run it joins what is left. On the thread that commits, between cuts.
//
// Cost: nothing for most cuts; a join takes 0.5 to 1 us a non-empty cell, and has 2^17 cells at most, empty
// ones with them: some 50 ms for 23 slices of 700 leaves and 8 states, for which a next cut waits. Bounded by
// what a join may be (joined_codec.h). Thread safety: none.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "margay/store/archive.h"

namespace margay::store {

class SliceCompactor {
 public:
  // `amendable`: how many of the newest closed slices of each level may still change.
  SliceCompactor(Archive& archive, std::vector<std::int64_t> amendable)
      : archive_(archive), amendable_(std::move(amendable)) {}
  // Of slices of these levels, of which `fine` of the finest may still change.
  static std::vector<std::int64_t> amendable(const std::vector<DurationNs>& levels, std::int64_t fine);

  // After each cut that was committed. An error is the archive's (a full disk): the next commit will meet it.
  Status after_commit(const Cut& cut);

 private:
  struct Level {
    SliceIndex newest{};                // closed
    std::optional<SliceIndex> through;  // that were looked at, the last time
    std::uint32_t leaves = 0;           // of the newest
    std::size_t cells = 0;              // likewise
    bool measured = false;              // likewise: it has a plane, and is not joined
  };
  std::size_t most(const Level& level) const;

  Archive& archive_;
  const std::vector<std::int64_t> amendable_;
  std::map<std::uint8_t, Level> levels_;
};

}  // namespace margay::store
