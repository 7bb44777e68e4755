// The (max,+) product of a table and a column, of whose tiles few are read; and the storing of a column,
// which keeps up to date what tells which. Included by kernels.cc, once for each instruction set.
//
// PRUNING. A row is cut at a slice m of some tile column M, and that is worth best(i,m) + base(m+1,j). Two
// bounds of it, from what belongs to the table and changes with it only:
//
//     lead(i)      = max over m of best(i,m) - best(i',m),  i' the first row of the tile row below i's:
//                    no cut at or behind i' is worth more than lead(i) + best(i',j).
//     ceiling(i,M) = max over m in M of best(i,m) - f(m),   f(m) = best(8M,m), the crest,
//     reach(M)     = max over m in M of base(m+1,j) + f(m):
//                    no cut in M is worth more than ceiling(i,M) + reach(M).
//
// How much more one row has than another hardly depends on where both end once a cut lies between, so both
// are close. With the cut of row i' tried first, the first bound mostly settles eight rows without a look at
// any of their tiles; else the second tells which tiles are worth one. Nothing is lost: all are integers, and
// a tile is left out only if it promises none of its rows more than they have. The bounds hold for whatever
// numbers best and f were when they were subtracted, if they are still those that are added: so also for a
// crest that has left the window, and for maxima that an amendment has left higher than they need be.
//
// COST of a column of T rows: O(T) where cuts are clear, O(T^2/2) at worst; bounds take 8*(N^2 + 3N) entries
// beside the 32*N*(N+1) of the triangle (N tile rows).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels.h"
#include "ring_triangle.h"
#include "vector_rows.h"

namespace margay::partition::internal::MARGAY_KERNELS {
namespace {

// Below all that counts, and kNever can be added to it.
template <class T>
constexpr T kHardly = kNever<T> / 2;

// Tile rows and columns count from the oldest.
template <class T, std::size_t kColumns>
class Product {
 public:
  explicit Product(const ProductIn<T>& in)
      : in_(in),
        columns_(static_cast<std::size_t>(in.newest - in.oldest) + 1),
        begin_(static_cast<std::size_t>(in.oldest % in.across)) {}

  // From the newest row to the oldest, for the bound of each needs the next.
  void run() {
    std::size_t row = columns_;
    const std::size_t hint = *in_.cut / kTile < columns_ ? *in_.cut : kNoCut;
    for (std::size_t n = 0; n < kColumns; ++n) below_[n] = kHardly<T>, cut_[n] = hint;
    if (in_.oldest + row > in_.last_row + 1) {
      // The rows below are right, and in the table already.
      while (row > 0 && in_.oldest + row > in_.last_row + 1) find_reach(--row);
      for (std::size_t n = 0; n < kColumns; ++n) below_[n] = in_.below[n];
    }
    while (row-- > 0) {
      find_reach(row);
      Row out[kColumns];
      for (std::size_t n = 0; n < kColumns; ++n) {
        out[n] = Row::from(in_.out[n] + row * kRows);
        if (cut_[n] != kNoCut && cut_[n] / kTile >= row)
          out[n].improve(column(row, cut_[n]), in_.right[n][cut_[n]]);
      }
      if (promises(row, row, out)) improve(row, row, out);
      if (promises_behind(row, out)) search(row, out);
      for (std::size_t n = 0; n < kColumns; ++n) {
        below_[n] = out[n].first();
        out[n].to(in_.out[n] + row * kRows);
      }
    }
    *in_.cut = cut_[0];
  }

 private:
  using Row = Rows<T>;

  std::size_t wrapped(std::size_t at) const { return at < in_.across ? at : at - in_.across; }
  // Of the ring that begins at `ring`.
  Row ring(std::size_t ring, std::size_t row) const {
    return Row::from(in_.table + ring + wrapped(begin_ + row) * kRows);
  }
  Row ceiling(std::size_t row, std::size_t c) const {
    if (row == c) return ring(RingTriangle::diagonal(in_.across), row);
    return ring(RingTriangle::ceilings(in_.across, wrapped(begin_ + c)), row);
  }

  void find_reach(std::size_t c) const {
    const auto crest = ring(RingTriangle::crest(in_.across), c);
    for (std::size_t n = 0; n < kColumns; ++n) {
      const T most = crest.plus(Row::from(in_.right[n] + c * kTile)).largest();
      in_.reach[n][c] = most > kHardly<T> ? most : kHardly<T>;
    }
  }

  // Whether any cut right of the tile on the diagonal could be better than `out`.
  bool promises_behind(std::size_t row, const Row (&out)[kColumns]) const {
    const auto lead = ring(RingTriangle::leads(in_.across), row);
    for (std::size_t n = 0; n < kColumns; ++n)
      if (lead.plus(below_[n]).exceeds(out[n])) return true;
    return false;
  }

  bool promises(std::size_t row, std::size_t c, const Row (&out)[kColumns]) const {
    const auto own = ceiling(row, c);
    for (std::size_t n = 0; n < kColumns; ++n)
      if (own.plus(in_.reach[n][c]).exceeds(out[n])) return true;
    return false;
  }

  // Reads the tiles right of the diagonal that promise any row more than it has; first the one that promises
  // the first row most, for often no other is left then.
  void search(std::size_t row, Row (&out)[kColumns]) {
    for (std::size_t n = 0; n < kColumns; ++n) {
      std::size_t best = row;
      T most = kNever<T>;
      for (std::size_t c = row + 1; c < columns_; ++c) {
        const T first = ceiling(row, c).first() + in_.reach[n][c];
        if (first > most) most = first, best = c;
      }
      if (best > row && promises(row, best, out)) improve(row, best, out);
    }
    std::size_t count = 0;
    for (std::size_t c = row + 1; c < columns_; ++c) {
      in_.kept[count] = static_cast<std::uint32_t>(c);
      count += promises(row, c, out);
    }
    for (std::size_t n = 0; n < count; ++n) prefetch(row, in_.kept[n]);
    for (std::size_t n = 0; n < count; ++n)
      if (promises(row, in_.kept[n], out)) improve(row, in_.kept[n], out);
  }

  const T* tile(std::size_t row, std::size_t c) const {
    return in_.table + std::size_t{in_.places[c * in_.across + row]} * kTileCells;
  }
  // Of the tile row, column m; slices count from the first row of the oldest tile.
  Row column(std::size_t row, std::size_t m) const {
    return Row::from(tile(row, m / kTile) + m % kTile * kRows);
  }
  void prefetch(std::size_t row, std::size_t c) const {
    const char* const from = reinterpret_cast<const char*>(tile(row, c));
    for (std::size_t line = 0; line < kTileCells * sizeof(T); line += 64) __builtin_prefetch(from + line);
  }
  void improve(std::size_t row, std::size_t c, Row (&out)[kColumns]) {
    const T* const from = tile(row, c);
    T before[kColumns];
    for (std::size_t n = 0; n < kColumns; ++n) before[n] = out[n].first();
    for (std::size_t m = 0; m < kTile; ++m) {
      const auto left = Row::from(from + m * kTile);
      for (std::size_t n = 0; n < kColumns; ++n) out[n].improve(left, in_.right[n][c * kTile + m]);
    }
    for (std::size_t n = 0; n < kColumns; ++n) {
      const T first = out[n].first();
      if (first == before[n]) continue;
      for (std::size_t m = 0; m < kTile; ++m)
        if (from[m * kTile] + in_.right[n][c * kTile + m] == first) cut_[n] = c * kTile + m;
    }
  }

  const ProductIn<T>& in_;
  std::size_t columns_, begin_;
  // Of the first row of the tile row below: its value, and the slice at which it is cut.
  T below_[kColumns];
  std::size_t cut_[kColumns];
};

// Also keeps the bounds up to date.
template <class T>
void store_column(T* table, const Place& place, std::uint64_t last_row, bool fresh, const T* rows) {
  using Row = Rows<T>;
  const std::size_t across = place.across;
  const std::size_t newest = static_cast<std::size_t>(place.j / kTile - place.oldest);
  const std::size_t last = last_row - place.oldest < newest ? std::size_t(last_row - place.oldest) : newest;
  const std::uint32_t* const tiles = place.places + newest * across;
  T* const column = table + (place.j % kTile) * kTile;
  T* const ceilings = table + RingTriangle::ceilings(across, place.j / kTile);
  T* const diagonal = table + RingTriangle::diagonal(across);
  T* const leads = table + RingTriangle::leads(across);
  std::size_t at = static_cast<std::size_t>(place.oldest % across);
  const std::size_t end = at + newest < across ? at + newest : at + newest - across;
  T* const crest = table + RingTriangle::crest(across) + end * kRows;
  if (newest == last) {
    if (fresh) {
      std::memset(crest, 0, kTile * sizeof(T));
      std::memset(leads + end * kRows, 0, kRows * sizeof(T));
    }
    crest[place.j % kTile] = rows[newest * kRows];
  }
  const T top = crest[place.j % kTile];
  for (std::size_t row = 0; row <= last; ++row) {
    T* const tile = column + std::size_t{tiles[row]} * kTileCells;
    // A tile is read whole as soon as one of its columns is there, and what else it has must not be near the
    // end of the type.
    if (fresh) std::memset(table + std::size_t{tiles[row]} * kTileCells, 0, kTileCells * sizeof(T));
    const auto now = Row::from(rows + row * kRows);
    now.to(tile);
    T* const ceiling = (row < newest ? ceilings : diagonal) + at * kRows;
    auto most = now.plus(-top);
    if (!fresh) most.improve(Row::from(ceiling), 0);
    most.to(ceiling);
    if (row < newest) {
      const T below = row < last ? rows[(row + 1) * kRows] : column[std::size_t{tiles[row + 1]} * kTileCells];
      auto lead = now.plus(-below);
      // Of the tile row before the newest this is the first.
      if (!fresh || row + 1 < newest) lead.improve(Row::from(leads + at * kRows), 0);
      lead.to(leads + at * kRows);
    }
    if (++at == across) at = 0;
  }
}

}  // namespace
}  // namespace margay::partition::internal::MARGAY_KERNELS
