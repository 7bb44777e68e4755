// What the batch solver and the search for significant p share: the measured model, the plain solution at one
// p, and the walk that finds the parts again. Private to the module.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "batch_kernels.h"
#include "cell_check.h"
#include "lines.h"
#include "margay/partition/batch.h"
#include "margay/partition/spatiotemporal.h"
#include "patience.h"
#include "unidimensional.h"

namespace margay::partition {

namespace internal {

// Doubles that begin on a cache line, not set to anything. Throws std::bad_alloc.
class Triangles {
 public:
  Triangles() = default;
  explicit Triangles(std::size_t count);
  double* data() { return memory_.get(); }
  const double* data() const { return memory_.get(); }
  bool empty() const { return memory_ == nullptr; }

 private:
  struct Free {
    void operator()(double* p) const;
  };
  std::unique_ptr<double[], Free> memory_;
};

// Sums v*log2(ratio), ratio finite and >= 0, in batches.
class WeightedLogs {
 public:
  void add(double v, double ratio) {
    v_[count_] = v;
    ratio_[count_] = ratio;
    if (++count_ == kBatch) flush();
  }
  double total() {
    flush();
    return sum_;
  }

 private:
  static constexpr std::size_t kBatch = 256;
  void flush();
  alignas(64) double ratio_[kBatch];
  alignas(64) double log_[kBatch];
  double v_[kBatch];
  std::size_t count_ = 0;
  double sum_ = 0;
};

}  // namespace internal

struct Batch::Impl {
  // The triangle of one node at some p: left + t*(right - left).
  struct View {
    const double* left;
    const double* right;
    double t;
    double operator()(std::size_t i, std::size_t j) const {
      const std::size_t at = internal::triangle_at(i, j);
      return left[at] + t * (right[at] - left[at]);
    }
  };
  struct Block {
    NodeIndex node;
    std::uint32_t first, last;
    double p;
  };

  Operator op;
  TreeShape tree;
  std::size_t states, slices;
  SliceIndex origin;
  std::uint64_t budget;
  double tie;
  std::size_t entries;  // doubles of one triangle
  // Triangles there is room for; what is not used of it is not touched. Trees over the same leaves seldom
  // have more nodes than these.
  std::size_t places;
  std::vector<double> sums;           // per row and slice: S_0..S_{X-1}, W, I. Rows: nodes, or leaves
  std::vector<double> information;    // temporal: I of all leaves, per slice
  internal::Triangles a, b;           // per node; temporal: one, of all leaves; else none
  internal::Triangles best;           // per node, at the p solved last; made by the first solution
  std::vector<std::uint32_t> place;   // of each node, among the triangles
  std::optional<double> leaves_best;  // the p at which `best` has the leaves'
  internal::Triangles scratch;
  std::optional<internal::Unidimensional> apart;  // kSpatial and kProduct: what these are solved with
  std::unique_ptr<Spatiotemporal> path;           // no tables are kept: in place of sums and triangles

  Impl(Options& options, std::span<const Column> columns, bool one_path);

  bool temporal() const { return op == Operator::kTemporal; }
  bool rows_are_leaves() const { return op != Operator::kSpatiotemporal; }
  std::size_t stride() const { return states + 2; }
  double* cell(std::size_t row, std::size_t t) { return sums.data() + (row * slices + t) * stride(); }
  const double* cell(std::size_t row, std::size_t t) const {
    return sums.data() + (row * slices + t) * stride();
  }
  const double* leaf_cell(LeafPosition leaf, std::size_t t) const {
    return cell(rows_are_leaves() ? leaf.value : tree.leaf_node(leaf).value, t);
  }
  double* of(internal::Triangles& triangles, NodeIndex k) const {
    return triangles.data() + place[k.value] * entries;
  }
  const double* of(const internal::Triangles& triangles, NodeIndex k) const {
    return triangles.data() + place[k.value] * entries;
  }
  // pIC of an area without I, less the price (spatiotemporal.h).
  double value(NodeIndex k, std::size_t i, std::size_t j, double p) const {
    const std::size_t at = place[k.value] * entries + internal::triangle_at(i, j);
    return a.data()[at] - (1 - p) * b.data()[at] - tie;
  }
  // Entries combined by the cuts of one node.
  double work_of_node() const {
    const double t = static_cast<double>(slices);
    return t * t * t / 6 + t * t;
  }

  static bool keeps_triangles(Operator op, bool one_path) {
    return !internal::is_unidimensional(op) && !one_path;
  }
  static Spatiotemporal::Options path_options(const Options& options, std::size_t slices);
  void measure_leaves(std::span<const Column> columns);
  enum class Measured { kAll, kInner };
  void measure_nodes(Measured which);
  // Another tree over the same leaves: leaf i of it is leaf from[i] of this one. False: there is no room.
  bool regroup(TreeShape to, std::span<const LeafPosition> from);
  // Completes the triangle `table` of node k, which holds the sum of its children's (nothing for a leaf).
  void solve_node(NodeIndex k, double p, double* table);
  // Spatiotemporal: all of `best`. False if patience ended.
  bool solve_tables(double p, internal::Patience& patience);
  // Temporal: the optimum of the first j slices, j = 0..T (equation 8 of RR-8524).
  std::vector<double> solve_row(double p) const;

  // The parts at p, without measures. False if patience ended.
  bool find_parts(double p, internal::Patience& patience, std::vector<Part>& parts);
  std::vector<Part> parts_of_row(std::span<const double> row, double p, double slack) const;
  Part part(NodeIndex k, std::size_t first, std::size_t last) const {
    return {k, SliceIndex(origin.value + static_cast<std::int64_t>(first)),
            SliceIndex(origin.value + static_cast<std::int64_t>(last))};
  }
  // Loss and gain from the triangles: O(slices of the part).
  void measure_by_table(Part& part) const;
  // Cell by cell: every term of the loss is small where the cells are alike.
  void measure_exactly(Partition& partition) const;
  void measure_exactly(Part& part) const;
  void measure_area_exactly(Part& part, std::size_t first, std::size_t last) const;
  void measure_interval_exactly(Part& part, std::size_t first, std::size_t last) const;
  internal::Line line_of(std::vector<Part> parts) const;

  // Finds the optimal parts of a block from the top down, by the choices of spatiotemporal.h: the first, in
  // the order of the tie rule, that reaches the block's optimum. tables.p_of(k, p) tells at which p the
  // blocks of node k are to be decided, tables.view(k, p) its triangle there, tables.split(block) the sum
  // over its children; if tables.known(block) they are left alone. take(k, first, last) receives the parts in
  // order.
  template <class Tables, class Take>
  void walk(Tables&& tables, const Block& start, Take&& take) const;
  Block whole_block(double p) const { return {tree.root(), 0, static_cast<std::uint32_t>(slices - 1), p}; }
};

template <class Tables, class Take>
void Batch::Impl::walk(Tables&& tables, const Block& start, Take&& take) const {
  std::vector<Block> stack{start};
  while (!stack.empty()) {
    auto [k, first, last, p] = stack.back();
    stack.pop_back();
    if (tables.known({k, first, last, p})) continue;
    p = tables.p_of(k, p);
    const View own = tables.view(k, p);
    const double target = own(first, last) - tables.slack({k, first, last, p});
    if (value(k, first, last, p) >= target) {
      take(k, first, last);
      continue;
    }
    const auto children = tree.children(k);
    double split = internal::kBatchNever;
    if (!children.empty()) split = tables.split({k, first, last, p});
    // An only child has its parent's leaves: cutting in time first keeps the topmost of the two in the parts.
    std::uint32_t cut = last;  // none
    if (split < target || children.size() == 1) {
      double best_seen = children.size() == 1 ? target : split;
      for (std::uint32_t m = first; m < last; ++m) {
        const double both = own(first, m) + own(m + 1, last);
        if (both >= best_seen) {
          best_seen = both;
          cut = m;
          if (both >= target) break;
        }
      }
    }
    if (cut < last) {
      stack.push_back({k, cut + 1, last, p});
      stack.push_back({k, first, cut, p});
    } else if (!children.empty()) {
      for (std::size_t c = children.size(); c-- > 0;) stack.push_back({children[c], first, last, p});
    } else {
      take(k, first, last);  // a leaf's single slice
    }
  }
}

}  // namespace margay::partition
