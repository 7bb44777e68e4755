// Cuts in time that several parts share: those that none of them lies across. Private to the folder.
//
// Thread safety: exclusive access. Cost: add() constant, ends() linear in the slices asked for.
#pragma once

#include <cstdint>
#include <vector>

namespace margay::scene::internal {

class SharedCuts {
 public:
  explicit SharedCuts(std::size_t slices) : change_(slices + 1) {}

  // A part of slices [first, last).
  void add(std::uint32_t first, std::uint32_t last) {
    ++change_[first + 1];
    --change_[last];
  }
  // Appends to `out` the last slice plus 1 of each stretch of [first, last), and forgets the parts within it.
  // Parts must not lie across its ends.
  void ends(std::uint32_t first, std::uint32_t last, std::vector<std::uint32_t>& out);

 private:
  std::vector<std::int64_t>
      change_;  // how many parts more lie across the begin of this slice than of the one before
};

}  // namespace margay::scene::internal
