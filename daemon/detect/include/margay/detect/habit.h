// How long something has lasted before, and what is beyond that: once is no habit. Pure.
//
// Memory: 16 numbers. Thread safety: none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>

namespace margay::detect {

class Habit {
 public:
  // Slices of which nothing was out of order, before which none can be.
  static constexpr std::size_t kKnown = 20;

  void add(std::uint32_t slices) {
    over_.push_back(slices);
    if (over_.size() > kMost) over_.pop_front();
  }
  // Twice the second longest of the last 16 times; at least so much.
  std::uint32_t patience(std::uint32_t least) const {
    std::uint32_t longest = 0, second = 0;
    for (const std::uint32_t s : over_) {
      second = std::max(second, std::min(s, longest));
      longest = std::max(longest, s);
    }
    return std::max(least, 2 * second);
  }

 private:
  static constexpr std::size_t kMost = 16;
  std::deque<std::uint32_t> over_;  // the newest last
};

}  // namespace margay::detect
