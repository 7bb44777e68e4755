// Where the entry (i,j), i <= j, of a sliding triangle lies. Private to the module.
//
// Slices are counted from 0 and never wrapped. The triangle is cut into 8x8 tiles; inside a tile, columns
// (one j, eight i) are contiguous. Tile (I,M) lies on tile-diagonal D = M-I. A window of T slices meets at
// most N tile rows, so at most N-D tiles of diagonal D are alive, with consecutive I: a ring indexed by I mod
// (N-D). A tile that comes alive takes the place of one that has left the window; nothing is ever moved.
//
// Behind the triangle lies what tells which of its tiles need not be read (pruned_product.h): *ceilings*,
// eight for each tile, a ring of rings by M and I; then, eight for each tile row in rings by I, the ceilings
// of the tiles on the diagonal, the *crest* (entries (8I,8I..8I+7) once more) and the *leads*; and one for
// each tile row, until when it *rests* (solver.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace margay::partition::internal {

inline constexpr std::size_t kTile = 8;
inline constexpr std::size_t kTileCells = kTile * kTile;

class RingTriangle {
 public:
  explicit RingTriangle(std::size_t window) : across_((window + kTile - 2) / kTile + 1) {}

  // N: the tile rows a window meets at most.
  std::size_t across() const { return across_; }
  // Entries to allocate.
  std::size_t size() const { return before(across_, across_); }
  std::size_t size_with_bounds() const { return rests(across_) + (across_ + 15) / 16 * 16; }
  // The first entry of tile-diagonal d. Always inlined, for kernels.cc is compiled for several instruction
  // sets and must leave no function that others could be linked to.
  [[gnu::always_inline]] static std::size_t before(std::size_t across, std::size_t d) {
    return kTileCells * (d * across - d * (d - 1) / 2);  // d == 0: 0 * (2^64-1) is 0
  }
  // The first entry of tile (I,M); entry (i,j) of it is at (j % 8) * 8 + i % 8.
  [[gnu::always_inline]] static std::size_t tile(std::size_t across, std::uint64_t row,
                                                 std::uint64_t column) {
    const std::size_t d = static_cast<std::size_t>(column - row);
    return before(across, d) + kTileCells * static_cast<std::size_t>(row % (across - d));
  }
  // Of tile column M; those of tile row I < M are kTile * (I % across) behind.
  [[gnu::always_inline]] static std::size_t ceilings(std::size_t across, std::uint64_t column) {
    return before(across, across) + kTile * across * static_cast<std::size_t>(column % across);
  }
  // Rings, each kTile * across long.
  [[gnu::always_inline]] static std::size_t diagonal(std::size_t across) {
    return before(across, across) + kTile * across * across;
  }
  [[gnu::always_inline]] static std::size_t crest(std::size_t across) {
    return diagonal(across) + kTile * across;
  }
  [[gnu::always_inline]] static std::size_t leads(std::size_t across) {
    return crest(across) + kTile * across;
  }
  std::size_t tile(std::uint64_t row, std::uint64_t column) const { return tile(across_, row, column); }
  // A ring, across long.
  [[gnu::always_inline]] static std::size_t rests(std::size_t across) {
    return leads(across) + kTile * across;
  }
  // Where the tiles of a window that begins in tile row `oldest` are, by kTileCells: tile (oldest+I,oldest+M)
  // at [M * across + I].
  void places(std::uint64_t oldest, std::vector<std::uint32_t>& out) const {
    out.resize(across_ * across_);
    for (std::size_t m = 0; m < across_; ++m)
      for (std::size_t i = 0; i <= m; ++i)
        out[m * across_ + i] = static_cast<std::uint32_t>(tile(oldest + i, oldest + m) / kTileCells);
  }
  std::size_t at(std::uint64_t i, std::uint64_t j) const {
    return tile(i / kTile, j / kTile) + (j % kTile) * kTile + i % kTile;
  }

 private:
  std::size_t across_;
};

}  // namespace margay::partition::internal
