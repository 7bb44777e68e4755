// The tables of the spatiotemporal engine and their recurrence (spatiotemporal.h tells the idea). Private to
// the module.
#pragma once

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
  std::vector<std::uint32_t> slot;  // of each node: where its sums and tables are
  Count begin = 0, end = 0;         // the window holds slices [begin, end)
  // The cells of the newest slices of all nodes, not yet in `sums`: settle() puts each node's there just
  // before it measures them, while they are at hand. [slice][node][row].
  std::vector<std::int64_t> waiting = {};
  std::size_t waiting_slices = 0;

  std::int64_t* waiting_cell(std::size_t slice, NodeIndex k) {
    return waiting.data() + (slice * tree.size() + k.value) * sums.rows();
  }
  void append_waiting(NodeIndex k) {
    for (std::size_t n = 0; n < waiting_slices; ++n)
      sums.append(slot_of(k), end - waiting_slices + n, waiting_cell(n, k));
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
  // REQUIRES: settled. The optimal parts, depth first.
  virtual void walk(std::size_t q, std::vector<Block>& parts) const = 0;
  virtual std::uint64_t entries_written() const = 0;
};

// Tables of 32 or of 64 bits an entry.
std::unique_ptr<Solver> make_compact_solver(Ground& ground);
std::unique_ptr<Solver> make_exact_solver(Ground& ground);
// Bytes of all tables.
std::uint64_t tables_memory(std::uint64_t nodes, std::size_t window, std::size_t p, bool exact);

}  // namespace margay::partition::internal
