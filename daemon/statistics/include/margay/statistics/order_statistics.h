// The n-th smallest of some values, exactly. Pure.
//
// A value is found bit by bit, from the highest: how many are less than what has been found so far? That is
// 32 passes without a branch, which vectors do several values at once; of some dozens of values, which is
// what a slice has of leaves, it takes a fifth of the time of a selection that compares and swaps, and of
// very many no more. Thread safety: none. Memory: 4 bytes of each value, kept.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace margay::statistics {

class OrderStatistics {
 public:
  void clear() { keys_.clear(); }
  // Not a number is none.
  void add(float value) { keys_.push_back(turn(std::bit_cast<std::int32_t>(value))); }
  std::size_t size() const { return keys_.size(); }
  // The smallest for `n` 0; `n` < size().
  float smallest(std::size_t n) const { return std::bit_cast<float>(turn(key(n))); }
  // The mean of the two in the middle of an even number; 0 of none.
  float median() const {
    const std::size_t n = keys_.size();
    if (n == 0) return 0;
    const std::int32_t upper = key(n / 2);
    std::int32_t lower = upper;
    if (n % 2 == 0 && less_than(upper) == n / 2) {
      lower = INT32_MIN;
      for (const std::int32_t k : keys_) lower = std::max(lower, k < upper ? k : INT32_MIN);
    }
    return n % 2 == 0 ? (std::bit_cast<float>(turn(upper)) + std::bit_cast<float>(turn(lower))) / 2
                      : std::bit_cast<float>(turn(upper));
  }

 private:
  // Bits of floats, to integers in the same order, and back.
  static std::int32_t turn(std::int32_t bits) { return bits ^ (bits >> 31 & INT32_MAX); }
  std::size_t less_than(std::int32_t key) const {
    std::int32_t less = 0;
    for (const std::int32_t k : keys_) less += k < key ? 1 : 0;
    return static_cast<std::size_t>(less);
  }
  std::int32_t key(std::size_t n) const {
    std::uint32_t found = 0;  // of keys, from the least on
    for (std::uint32_t bit = 1u << 31; bit != 0; bit >>= 1)
      if (less_than(static_cast<std::int32_t>((found | bit) ^ 1u << 31)) <= n) found |= bit;
    return static_cast<std::int32_t>(found ^ 1u << 31);
  }

  std::vector<std::int32_t> keys_;
};

}  // namespace margay::statistics
