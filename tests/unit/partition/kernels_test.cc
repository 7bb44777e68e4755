// The product of a table and a column, which leaves out what its bounds let it: for tables of any numbers,
// pushed, dropped and stored again in part, it is the product that reads all.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "kernels.h"
#include "models.h"
#include "ring_triangle.h"

namespace margay::partition::internal {
namespace kernels_test {

template <class T>
const TableKernels<T>& table_kernels(const Kernels& k) {
  if constexpr (sizeof(T) == 8)
    return k.exact;
  else
    return k.compact;
}

template <class T>
class Window {
 public:
  Window(Rng& rng, const Kernels& kernels, std::size_t slices)
      : rng_(rng),
        kernels_(table_kernels<T>(kernels)),
        slices_(slices),
        triangle_(slices),
        table_(triangle_.size_with_bounds() + kTile, garbage()) {}

  void push() {
    if (end_ - begin_ == slices_) ++begin_;
    columns_.erase(columns_.begin(), columns_.lower_bound(begin_));
    column(end_).assign(end_ + 1, 0);
    fill(end_, end_);
    // Solved before it is there, as the engine does: the product reads what is left of it.
    check(end_, 1 + rng_() % kMostColumns, end_ / kTile);
    store(end_, end_);
    ++end_;
  }

  // As of cells amended in slices first to last: entries that contain one change.
  void amend() {
    const std::uint64_t first = begin_ + rng_() % (end_ - begin_), last = first + rng_() % (end_ - first);
    for (std::uint64_t j = first; j < end_; ++j) {
      const std::uint64_t i_max = std::min(j, last);
      fill(j, i_max);
      if (j > begin_) check(j, 1, i_max / kTile);
      store(j, i_max);
    }
  }

 private:
  // Whatever memory holds: where it is added to, it is better than all.
  static T garbage() { return std::numeric_limits<T>::max(); }
  std::vector<T>& column(std::uint64_t j) { return columns_[j]; }
  T number() { return static_cast<T>(rng_() % 2001) - 1000; }

  // Like optima: what a row has over another is mostly the same in all columns. And some that are not.
  void fill(std::uint64_t j, std::uint64_t i_max) {
    auto& c = column(j);
    const T own = number();
    while (rows_.size() <= j) rows_.push_back(number());
    for (std::uint64_t i = begin_; i <= i_max; ++i) {
      c[i] = own + rows_[i] * 100;
      if (rng_() % 4 == 0) c[i] -= static_cast<T>(rng_() % 50);
      if (rng_() % 60 == 0) c[i] += number() * 50;
    }
  }

  Place place(std::uint64_t j) {
    triangle_.places(begin_ / kTile, places_);
    return {triangle_.across(), places_.data(), begin_ / kTile, j};
  }

  void store(std::uint64_t j, std::uint64_t i_max) {
    const std::uint64_t from = begin_ / kTile * kTile, last_row = i_max / kTile;
    std::vector<T> rows((j / kTile + 1) * kTile - from, kNever<T>);
    for (std::uint64_t i = begin_; i <= j; ++i) rows[i - from] = column(j)[i];
    // What lies behind last_row is not this call's to know.
    for (std::size_t i = (last_row + 1) * kTile - from; i < rows.size(); ++i) rows[i] = number();
    const bool fresh = j % kTile == 0 || j == begin_;
    kernels_.store(table_.data(), place(j), last_row, fresh, rows.data());
  }

  // The product for columns that end at j: cuts at slices before it.
  void check(std::uint64_t j, std::size_t count, std::uint64_t last_row) {
    if (j == begin_) return;
    const std::uint64_t oldest = begin_ / kTile, from = oldest * kTile;
    const std::size_t rows = (triangle_.across() + 1) * kTile, begin = begin_ - from;
    std::vector<std::vector<T>> right(count, std::vector<T>(rows, kNever<T>)), out, reach, wanted;
    std::vector<std::uint32_t> kept(triangle_.across() + 1);
    // An old hint, a good one or none.
    if (rng_() % 3 == 0) cut_ = rng_() % 2 ? kNoCut : rng_() % rows;
    ProductIn<T> in{table_.data(),
                    triangle_.across(),
                    place(j).places,
                    oldest,
                    (j - 1) / kTile,
                    last_row,
                    count,
                    {},
                    {},
                    kept.data(),
                    {},
                    {},
                    &cut_};
    for (std::size_t n = 0; n < count; ++n) {
      const T step = number() % 3;
      for (std::uint64_t m = begin_; m < j; ++m)
        right[n][m - from] = number() * (rng_() % 3 ? 1 : 20) - column(m)[begin_] * step / 2;
      out.emplace_back(rows, kNever<T>);
      for (std::uint64_t i = begin_; i <= j; ++i) out[n][i - from] = number() * 300;
      reach.emplace_back(triangle_.across() + 1);
      wanted.push_back(out[n]);
      for (std::uint64_t i = begin_; i < j; ++i)
        for (std::uint64_t m = i; m < j; ++m)
          wanted[n][i - from] = std::max<T>(wanted[n][i - from], column(m)[i] + right[n][m - from]);
      std::fill_n(out[n].begin(), begin, kAlways<T>);
      if ((last_row + 1) * kTile <= j) in.below[n] = wanted[n][(last_row + 1) * kTile - from];
    }
    for (std::size_t n = 0; n < count; ++n) {
      in.right[n] = right[n].data();
      in.out[n] = out[n].data();
      in.reach[n] = reach[n].data();
    }
    kernels_.product(in);
    for (std::size_t n = 0; n < count; ++n)
      for (std::uint64_t i = begin_; i <= j && i / kTile <= last_row; ++i)
        ASSERT_EQ(out[n][i - from], wanted[n][i - from])
            << "row " << i << " of column " << j << ", window [" << begin_ << ", " << end_ << "), last row "
            << last_row;
  }

  Rng& rng_;
  const TableKernels<T>& kernels_;
  std::size_t slices_;
  RingTriangle triangle_;
  std::vector<T> table_;
  std::vector<std::uint32_t> places_;
  std::map<std::uint64_t, std::vector<T>> columns_;  // (i, j) at [j][i]
  std::vector<T> rows_;
  std::uint64_t begin_ = 0, end_ = 0;
  std::size_t cut_ = kNoCut;
};

template <class T>
void live(Rng& rng, const Kernels& kernels) {
  for (const std::size_t slices : {2u, 8u, 9u, 30u, 65u})
    for (int life = 0; life < 2; ++life) {
      SCOPED_TRACE(std::string(kernels.name) + ", " + std::to_string(8 * sizeof(T)) + " bits, " +
                   std::to_string(slices) + " slices, life " + std::to_string(life));
      Window<T> window(rng, kernels, slices);
      for (std::size_t t = 0; t < 2 * slices + 20; ++t) {
        ASSERT_NO_FATAL_FAILURE(window.push());
        if (rng() % 8 != 0) continue;
        ASSERT_NO_FATAL_FAILURE(window.amend());
      }
    }
}

TEST(Kernels, ProductThatPrunes_IsTheProductOfAll) {
  SeededRng rng(31);
  for (const Kernels* kernels : kernels_here()) {
    ASSERT_NO_FATAL_FAILURE(live<std::int32_t>(rng, *kernels));
    ASSERT_NO_FATAL_FAILURE(live<std::int64_t>(rng, *kernels));
  }
}

}  // namespace kernels_test
}  // namespace margay::partition::internal
