// Sums of cells over time, per node, for a sliding window. Private to the module.
//
// FIXED POINT. A cell's states, its weight and its information are integers of 2^-bits. Sums of integers are
// exact: any interval's sum is the difference of two prefix sums, which may wrap and never have to be
// rebased, an amended cell is added to the prefix sums behind it, and the sums of a node are those of its
// children, whatever the order and the history. With n the weight of the whole window, bits = 57 - ceil(log2
// n) (50 where only 32-bit tables are made from it), so a cell is off by less than 2^-58 * n of its slice.
//
// Layout: per slot (a node's place) a ring of blocks of eight slices; in a block, for each row (state 0 to
// X-1, weight) the eight sums of all slices before slice i, contiguous. So the measures of eight intervals
// that end together are read from one place. Behind it, a ring of eight sums a block for the row that no
// measure needs: information.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "cell_check.h"
#include "kernels.h"

namespace margay::partition::internal {

class PrefixSums {
 public:
  using Count = std::uint64_t;  // slices, from 0, never wrapped

  // most: the largest weight a window can have.
  PrefixSums(std::size_t slots, std::size_t states, std::size_t window, double most, bool precise)
      : states_(states),
        ring_(blocks_of(window)),
        bits_((precise ? 57 : 50) - static_cast<int>(std::ceil(std::log2(std::max(most, 1.0))))) {
    grow(slots);
  }
  void grow(std::size_t slots) { sums_.resize(slots * slot_words(), 0); }

  static std::size_t blocks_of(std::size_t window) { return (window + kRows - 1) / kRows + 1; }
  static std::uint64_t memory(std::uint64_t slots, std::size_t states, std::size_t window) {
    return sat_mul(slots, sat_mul((states + 2) * kRows * sizeof(std::uint64_t), blocks_of(window)));
  }

  // Of a cell: states, weight, information.
  std::size_t rows() const { return states_ + 2; }
  // Of a block.
  std::size_t measured_rows() const { return states_ + 1; }
  std::size_t ring() const { return ring_; }
  double unit() const { return std::ldexp(1.0, -bits_); }
  double unit_log2() const { return -bits_; }

  const std::uint64_t* blocks(std::size_t slot) const { return sums_.data() + slot * slot_words(); }
  // Sum of row x over the slices before slice i.
  std::uint64_t& before(std::size_t slot, std::size_t x, Count i) { return sums_[index(slot, x, i)]; }
  std::uint64_t before(std::size_t slot, std::size_t x, Count i) const { return sums_[index(slot, x, i)]; }
  // Over [first, last].
  std::int64_t sum(std::size_t slot, std::size_t x, Count first, Count last) const {
    return static_cast<std::int64_t>(before(slot, x, last + 1) - before(slot, x, first));
  }
  double real(std::int64_t sum) const { return static_cast<double>(sum) * unit(); }

  // The cell as integers: X states, weight, information. `scale` is its leaf's weight times its slice's
  // duration.
  void convert(const Kernels& kernels, std::span<const double> v, double w, double scale,
               std::int64_t* cell) const {
    kernels.convert(v.data(), states_, w, std::ldexp(scale, bits_), cell);
  }
  // Slice n is what it was before it, plus the cell.
  void append(std::size_t slot, Count n, const std::int64_t* cell) {
    const std::uint64_t* const from = &sums_[index(slot, 0, n)];
    std::uint64_t* const to = &sums_[index(slot, 0, n + 1)];
    for (std::size_t x = 0; x <= states_; ++x)
      to[x * kRows] = from[x * kRows] + static_cast<std::uint64_t>(cell[x]);
    const std::size_t information = states_ + 1;
    before(slot, information, n + 1) =
        before(slot, information, n) + static_cast<std::uint64_t>(cell[information]);
  }
  // Adds to slice t, in a window that ends at `end`.
  void add(std::size_t slot, Count t, Count end, const std::int64_t* change) {
    for (Count i = t + 1; i <= end; ++i)
      for (std::size_t x = 0; x < rows(); ++x) before(slot, x, i) += static_cast<std::uint64_t>(change[x]);
  }
  // The sums up to the end of slice j of the measured rows, for the kernels.
  void column(std::size_t slot, Count j, std::uint64_t* out) const {
    const std::uint64_t* const from = &sums_[index(slot, 0, j + 1)];
    for (std::size_t x = 0; x <= states_; ++x) out[x] = from[x * kRows];
  }

 private:
  std::size_t slot_words() const { return ring_ * rows() * kRows; }
  std::size_t index(std::size_t slot, std::size_t x, Count i) const {
    const std::size_t block = static_cast<std::size_t>(i / kRows % ring_);
    const std::size_t row = x <= states_ ? block * measured_rows() + x : ring_ * measured_rows() + block;
    return slot * slot_words() + row * kRows + static_cast<std::size_t>(i % kRows);
  }

  std::size_t states_, ring_;
  int bits_;
  std::vector<std::uint64_t> sums_;
};

}  // namespace margay::partition::internal
