// A hash table from two integers to a number, in one array: what is looked up for every event.
//
// Open addressing, linear probing, at most half full. kNone is no value.
// Thread safety: none. Cost: O(1); growing moves all.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace margay::lttng_rules {

class FlatMap {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  FlatMap() : cells_(16) {}

  std::uint32_t find(std::uint64_t a, std::uint64_t b) const {
    for (std::size_t i = home(a, b);; i = next(i)) {
      const Cell& cell = cells_[i];
      if (cell.value == kNone || (cell.a == a && cell.b == b)) return cell.value;
    }
  }

  // Adds, or changes what is there. REQUIRES: value != kNone.
  void set(std::uint64_t a, std::uint64_t b, std::uint32_t value) {
    if ((size_ + 1) * 2 > cells_.size()) grow();
    std::size_t i = home(a, b);
    while (cells_[i].value != kNone && !(cells_[i].a == a && cells_[i].b == b)) i = next(i);
    size_ += cells_[i].value == kNone ? 1 : 0;
    cells_[i] = {a, b, value};
  }

  void erase(std::uint64_t a, std::uint64_t b) {
    std::size_t i = home(a, b);
    while (cells_[i].value != kNone && !(cells_[i].a == a && cells_[i].b == b)) i = next(i);
    if (cells_[i].value == kNone) return;
    --size_;
    // What comes behind is moved up, unless that would be before its home.
    for (std::size_t j = next(i); cells_[j].value != kNone; j = next(j)) {
      const std::size_t h = home(cells_[j].a, cells_[j].b);
      const bool stays = i <= j ? (i < h && h <= j) : (i < h || h <= j);
      if (stays) continue;
      cells_[i] = cells_[j];
      i = j;
    }
    cells_[i] = {};
  }

  void clear() {
    cells_.assign(16, {});
    size_ = 0;
  }
  std::size_t size() const { return size_; }

 private:
  struct Cell {
    std::uint64_t a = 0;
    std::uint64_t b = 0;
    std::uint32_t value = kNone;
  };

  std::size_t home(std::uint64_t a, std::uint64_t b) const {
    std::uint64_t h = (a ^ (b * 0x9e3779b97f4a7c15ULL)) * 0xbf58476d1ce4e5b9ULL;
    h = (h ^ (h >> 32)) * 0x94d049bb133111ebULL;
    return static_cast<std::size_t>(h ^ (h >> 29)) & (cells_.size() - 1);
  }
  std::size_t next(std::size_t i) const { return (i + 1) & (cells_.size() - 1); }

  void grow() {
    std::vector<Cell> old(cells_.size() * 2);
    old.swap(cells_);
    size_ = 0;
    for (const Cell& cell : old)
      if (cell.value != kNone) set(cell.a, cell.b, cell.value);
  }

  std::vector<Cell> cells_;
  std::size_t size_ = 0;
};

}  // namespace margay::lttng_rules
