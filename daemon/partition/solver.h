// The tables of the spatiotemporal engine and their recurrence (spatiotemporal.h tells the idea). Private to
// the module.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels.h"
#include "margay/partition/spatiotemporal.h"
#include "prefix_sums.h"
#include "ring_triangle.h"

namespace margay::partition::internal {

// What the tables are made from.
struct Ground {
  using Count = PrefixSums::Count;

  TreeShape tree;
  std::size_t states, window;
  std::vector<double> p;
  SliceIndex origin;
  double tie;
  double most;                       // the largest weight a window can have
  double a_leaf;                     // the largest that a leaf of weight 1 can have in it
  std::vector<double> leaf_weights;  // per position
  std::size_t threads;
  Spatiotemporal::Parallel parallel;
  const Kernels* kernels;
  bool precise;
  PrefixSums sums;
  std::vector<std::uint32_t> slot;      // of each node: where its sums and tables are
  Count begin = 0, end = 0;             // the window holds slices [begin, end)
  std::vector<std::uint32_t> position;  // of each leaf's node
  // The newest slices, not yet in `sums`: as they came, [slice][leaf][state, weight], and as cells of all
  // nodes, [slice][node][row]. settle() makes each node's cells and sums just before it measures it, while
  // they are at hand, children first.
  std::vector<double> arrived = {};
  std::vector<std::int64_t> waiting = {};
  std::array<double, kMostColumns> waiting_durations = {};
  std::size_t waiting_slices = 0;

  double* arrived_at(std::size_t slice) { return arrived.data() + slice * tree.leaf_count() * (states + 1); }
  std::int64_t* waiting_cell(std::size_t slice, NodeIndex k) {
    return waiting.data() + (slice * tree.size() + k.value) * sums.rows();
  }
  void make_room_for_waiting() {
    arrived.assign(kMostColumns * tree.leaf_count() * (states + 1), 0);
    waiting.assign(kMostColumns * tree.size() * sums.rows(), 0);
  }
  static std::uint64_t waiting_memory(std::uint64_t nodes, std::size_t states) {
    return sat_mul(nodes, kMostColumns * (2 * states + 3) * sizeof(std::int64_t));
  }
  void append_waiting(NodeIndex k) {
    for (std::size_t n = 0; n < waiting_slices; ++n) {
      std::int64_t* const cell = waiting_cell(n, k);
      if (tree.is_leaf(k)) {
        const std::size_t leaf = position[k.value];
        const double* const v = arrived_at(n) + leaf * (states + 1);
        sums.convert(*kernels, {v, states}, v[states], leaf_weights[leaf] * waiting_durations[n], cell);
      } else {
        std::fill_n(cell, sums.rows(), 0);
        for (const NodeIndex child : tree.children(k)) {
          const std::int64_t* const below = waiting_cell(n, child);
          for (std::size_t x = 0; x < sums.rows(); ++x) cell[x] += below[x];
        }
      }
      sums.append(slot_of(k), end - waiting_slices + n, cell);
    }
  }
  std::size_t slot_of(NodeIndex k) const { return slot[k.value]; }
  double longest_slice() const { return a_leaf / static_cast<double>(window); }
};

// An upper bound of what an area of weight n can be worth, in bits.
double largest_value(double weight, std::size_t states);

// An area: node k over slices first to last, both inclusive.
struct Block {
  NodeIndex node;
  Ground::Count first, last;
};

// RESTING. Most areas that end with the new slice are worth nothing as one aggregate: their rows lie before
// the last change. How little that can have become better is known. With A = [i,j0], B = [j0+1,j] and pIC as
// in spatiotemporal.h, since the entropy of (S_A,S_B) is at most its cross entropy with (W_A,W_B):
//
//     pIC([i,j]) <= pIC(A) + pIC(B) + tie + p * ( S_A*log2(S/S_A) + S_B*log2(S/S_B) )
//     best(i,j)  >= best(i,j0) + pIC(B)
//
// So if best(i,j0) - pIC(A) exceeds the rest of it, which grows with S_A and S_B and is bounded by what the
// node can weigh, row i is cut better than it is whole. Then pIC([i,j]) is of no use for the rows before it
// either (what is left of i goes on to the better cut), and need not be measured. A tile row rests for 1, 2,
// 4, ... slices, as long as its gap allows; then it is measured again. Nothing that is kept depends on it:
// best is the same to the bit.
class Solver {
 public:
  using Count = Ground::Count;
  virtual ~Solver() = default;

  // What is no longer right: slice t of node k (the nodes above it follow from that).
  virtual void amended(NodeIndex k, Count t) = 0;
  // All of node k.
  virtual void unknown(NodeIndex k) = 0;
  // The value of p number q has changed.
  virtual void unknown_p(std::size_t q) = 0;
  // There are more slots, or another tree.
  virtual void reshaped() = 0;
  // Brings the tables up to date.
  virtual void settle() = 0;
  using GoOn = std::function<bool()>;
  // REQUIRES: settled. The optimal parts, depth first. False: `go_on`, asked now and then, ended it.
  virtual bool walk(std::size_t q, std::vector<Block>& parts, const GoOn& go_on) = 0;
  virtual std::uint64_t entries_written() const = 0;
};

// Tables of 32 or of 64 bits an entry.
std::unique_ptr<Solver> make_compact_solver(Ground& ground);
std::unique_ptr<Solver> make_exact_solver(Ground& ground);
// Of 64 bits, of one path at a time.
std::unique_ptr<Solver> make_path_solver(Ground& ground);
// Bytes of all tables.
std::uint64_t tables_memory(std::uint64_t nodes, std::size_t window, std::size_t p, bool exact);
std::uint64_t path_memory(const TreeShape& tree, std::size_t window);

}  // namespace margay::partition::internal
