// The solver with tables of 32 or of 64 bits an entry (T). Its inner loops are in kernels.h. Private to the
// module.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "solver.h"

namespace margay::partition::internal {

inline constexpr std::size_t kCacheLine = 64;

// Not set to anything.
template <class T>
struct Slab {
  struct Free {
    void operator()(T* p) const { ::operator delete[](p, std::align_val_t{kCacheLine}); }
  };
  explicit Slab(std::size_t n)
      : entries(static_cast<T*>(::operator new[](n * sizeof(T), std::align_val_t{kCacheLine}))) {}
  std::unique_ptr<T[], Free> entries;
};

template <class T>
class TableSolver final : public Solver {
 public:
  // How an area is optimal.
  struct Choice {
    enum class Way { kWhole, kInSpace, kInTime } way;
    Count cut = 0;  // kInTime: the last slice of its left part
  };

  // lent: it has no tables of its own (LENT TABLES).
  explicit TableSolver(Ground& ground, bool lent = false);

  void amended(NodeIndex k, Count t) override {
    Changed& c = changed_[k.value];
    c.first = std::min(c.first, t);
    c.last = std::max(c.last, t);
    any_changed_ = true;
  }
  void unknown(NodeIndex k) override {
    if (g_.begin == g_.end) return;
    amended(k, g_.begin);
    amended(k, g_.end - 1);
  }
  void unknown_p(std::size_t q) override {
    only_p_ = q;
    const Count solved = std::exchange(solved_, g_.begin);
    settle();
    solved_ = solved;
    only_p_ = kAllP;
  }
  void reshaped() override;
  void settle() override;
  bool walk(std::size_t q, std::vector<Block>& parts, const GoOn& go_on) override;
  std::uint64_t entries_written() const override { return written_; }

  // LENT TABLES, of 64 bits an entry, of one node at a time (path_solver.cc). A node is solved in `own`
  // (table_entries() long), from `split`, the sums over its children: the rows of each column of the window,
  // one column behind the other (nullptr: a leaf).
  static std::size_t table_entries(std::size_t window) { return RingTriangle(window).size_with_bounds(); }
  static std::size_t split_entries(std::size_t window) { return RingTriangle(window).size(); }
  // At p number q, of all the window. The sums of the node must be complete.
  void solve_lent(std::size_t q, NodeIndex k, T* own, const std::int64_t* split);
  // Adds a child's table to the sums; `first`: these are not set yet.
  void add_lent(const T* child, bool first, std::int64_t* split);
  // REQUIRES: solved, in a window that holds the block.
  Choice choose_lent(std::size_t q, const Block& block, T* own, const std::int64_t* split);

 private:
  static constexpr std::size_t kAllP = ~std::size_t{0};
  static constexpr std::size_t kRests = 12;  // 1, 2, 4, ... slices
  // More than what measures and roundings make the comparison of three values wrong by: in exact tables about
  // 12 units at worst, for their unit is 2^-50 of the largest value and doubles have 53 bits. A margin that
  // is too wide only lets a tile row rest a little shorter.
  static constexpr T kRounding = 32;

  // Amended slices lie in [first, last]; none if first > last.
  struct Changed {
    Count first = std::numeric_limits<Count>::max();
    Count last = 0;
  };
  // Of one thread.
  struct Scratch {
    std::vector<double> a[kMostColumns], b[kMostColumns];
    std::vector<std::int64_t> split;
    std::vector<T> base[kMostColumns], right[kMostColumns], out[kMostColumns], reach[kMostColumns];
    std::vector<std::uint32_t> kept;
    std::vector<std::uint8_t> awake[kMostColumns];  // tile rows
    std::vector<std::uint64_t> column;
    std::vector<std::uint32_t> occurring;
    std::uint64_t written = 0;
    std::size_t cut = kNoCut;
  };
  // How a node's values are kept: units of the node are 2^shift units of the engine.
  struct Scale {
    double to_units;
    int shift;
  };

  Scale scale_of(NodeIndex k) const {
    if constexpr (sizeof(T) == 8) return {std::ldexp(1.0, engine_bits_), 0};
    const int shift = std::max(0, engine_bits_ - (28 - node_bits_[k.value]));
    return {std::ldexp(1.0, engine_bits_ - shift), shift};
  }
  const TableKernels<T>& kernels() const {
    if constexpr (sizeof(T) == 8)
      return g_.kernels->exact;
    else
      return g_.kernels->compact;
  }
  T* table(std::size_t q, NodeIndex k) { return tables_[q][g_.slot_of(k)]; }
  const T* table(std::size_t q, NodeIndex k) const { return tables_[q][g_.slot_of(k)]; }
  T entry(std::size_t q, NodeIndex k, Count i, Count j) const { return table(q, k)[triangle_.at(i, j)]; }

  Scratch make_scratch() const;
  void measure(NodeIndex k, Count j, std::size_t c, Scratch& s) const;
  bool rests(std::size_t q, NodeIndex k, Count row, Count j) const;
  void rest(std::size_t q, NodeIndex k, Count row, Count until);
  Count rest_of(std::size_t q, NodeIndex k, Count row, Count j, T gap) const;
  // Inlined by order: a function that only prefetches is nothing to GCC, which drops its calls.
  [[gnu::always_inline]] inline void prefetch(NodeIndex k, const Scratch& s) const;
  void solve_node(NodeIndex k, Count fresh, Scratch& s);
  void solve_columns(NodeIndex k, Count j, std::size_t n, Count i_max, Scratch& s);
  void solve_columns_at(std::size_t q, NodeIndex k, Count j, std::size_t n, Count i_max, Scratch& s);
  void find_places();
  // Of column j, in sums that were lent.
  std::size_t split_at(Count j) const {
    const Count tiles = j / kTile - g_.begin / kTile;
    return static_cast<std::size_t>((tiles + 1) * (tiles * kTile / 2 + j % kTile) * kRows);
  }
  Choice choose(std::size_t q, const Block& block) const;
  T value_of(std::size_t q, const Block& block) const;
  T split_of(std::size_t q, const Block& block) const;

  Ground& g_;
  RingTriangle triangle_;
  std::vector<Slab<T>> slabs_;
  std::vector<std::vector<T*>> tables_;  // per p and slot: a RingTriangle
  std::vector<std::uint32_t> places_;    // of its tiles, in a window whose oldest tile row is this one:
  Count places_oldest_ = 0;
  int engine_bits_ = 0;                 // a unit of the engine is 2^-engine_bits_ bits
  std::vector<std::int8_t> node_bits_;  // compact: log2 of the largest value of a node, rounded up
  std::vector<double> slice_weight_;    // of each node, the most it weighs in a slice
  std::vector<double> rest_cost_;       // [slices - 1][e]: of 2^e more slices, by p and weight of a slice
  std::vector<Changed> changed_;        // per node
  Count solved_ = 0;                    // columns before it are right, but for what was changed
  bool any_changed_ = false;
  std::size_t only_p_ = kAllP;
  std::uint64_t written_ = 0;
  const bool lent_;
  const std::int64_t* lent_split_ = nullptr;  // of the node that is worked on
  Scratch lent_scratch_;
  // Work for threads: ranges of post_order() made of whole subtrees, and the nodes above them.
  struct Range {
    std::size_t begin, end;
  };
  std::vector<Range> ranges_;
  std::vector<NodeIndex> above_;
};

}  // namespace margay::partition::internal
