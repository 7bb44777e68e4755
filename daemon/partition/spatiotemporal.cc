#include "margay/partition/spatiotemporal.h"

#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include "cell_check.h"
#include "ring_triangle.h"

namespace margay::partition {

using internal::kTile;

namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

}  // namespace

// Slices are counted from 0 inside (`Count`); options.first_slice is added only where people see them.
struct Spatiotemporal::Impl {
  using Count = std::uint64_t;

  struct Measures {
    double a;  // sum_x S_x*log2(S_x)
    double b;  // (sum_x S_x)*log2(W)
  };
  struct Block {
    NodeIndex node;
    Count first, last;
  };
  // Amended slices lie in [first, last]; none if first > last.
  struct Amended {
    Count first = std::numeric_limits<Count>::max();
    Count last = 0;

    void add(const Amended& other) {
      first = std::min(first, other.first);
      last = std::max(last, other.last);
    }
  };

  TreeShape tree;
  std::size_t states;
  std::size_t window;
  std::vector<double> p;
  SliceIndex origin;
  double tie;
  internal::RingTriangle triangle;
  Count begin = 0, end = 0;  // the window holds [begin, end)

  // What settle() has still to do: the columns from `solved` on, and what amendments have made wrong before.
  Count solved = 0;
  bool any_amended = false;
  std::vector<Amended> amended;  // per node; for inner ones within settle() only

  // Per node and ring slot: S_0..S_{X-1}, W, I of that node in that one slice.
  std::vector<double> sums;
  // Per p: a triangle of `best` per node.
  std::vector<std::vector<double>> best;
  // Scratch of one column, indexed from the first slice of the oldest tile; kept to push without allocation.
  std::vector<double> running;
  std::vector<double> col_a, col_b, col_base, col_best;

  explicit Impl(Options& o)
      : tree(std::move(o.tree)),
        states(o.states),
        window(o.window),
        p(std::move(o.p)),
        origin(o.first_slice),
        tie(o.tie_bits ? *o.tie_bits : internal::default_tie(tree.leaf_count(), window, states)),
        triangle(window),
        amended(tree.size()),
        sums(tree.size() * window * stride(), 0.0),
        best(p.size(), std::vector<double>(tree.size() * triangle.size(), kNever)),
        running(states) {
    const std::size_t rows = window + 2 * kTile;
    for (auto* column : {&col_a, &col_b, &col_base, &col_best}) column->assign(rows, 0.0);
  }

  std::size_t stride() const { return states + 2; }
  double* cell(NodeIndex k, Count t) { return sums.data() + (k.value * window + t % window) * stride(); }
  const double* cell(NodeIndex k, Count t) const {
    return sums.data() + (k.value * window + t % window) * stride();
  }
  double* table(std::size_t q, NodeIndex k) { return best[q].data() + k.value * triangle.size(); }
  const double* table(std::size_t q, NodeIndex k) const { return best[q].data() + k.value * triangle.size(); }
  std::int64_t number(Count t) const { return origin.value + static_cast<std::int64_t>(t); }

  void set_leaf(NodeIndex k, Count t, std::span<const double> v, double w) {
    double* c = cell(k, t);
    // A cell that weighs nothing says nothing, even if rounding left a trace of a state in it.
    for (std::size_t x = 0; x < states; ++x) c[x] = w > 0 ? v[x] : 0.0;
    c[states] = w;
    c[states + 1] = internal::cell_information(v, w);
  }
  void add_children(NodeIndex k, Count t) {
    double* c = cell(k, t);
    std::fill(c, c + stride(), 0.0);
    for (const NodeIndex child : tree.children(k)) {
      const double* from = cell(child, t);
      for (std::size_t x = 0; x < stride(); ++x) c[x] += from[x];
    }
  }

  // The measures of sums s[0..X-1] over weight w. An area without weight has S = 0.
  Measures measure(const double* s, double w) const {
    double a = 0, total = 0;
    for (std::size_t x = 0; x < states; ++x) {
      a += internal::xlog2x(s[x]);
      total += s[x];
    }
    return {a, w > 0 ? total * std::log2(w) : 0.0};
  }
  double value(const Measures& m, double p_value) const { return m.a - (1 - p_value) * m.b - tie; }

  // One area alone, summed in the order measure_column uses: from the last slice back to the first.
  Measures measure_area(NodeIndex k, Count first, Count last, std::vector<double>& s) const {
    s.assign(states, 0.0);
    double w = 0;
    for (Count i = last + 1; i-- > first;) {
      const double* c = cell(k, i);
      for (std::size_t x = 0; x < states; ++x) s[x] += c[x];
      w += c[states];
    }
    return measure(s.data(), w);
  }

  // col_a, col_b: measures of node k over [i,j] for all i of the window; base: index 0 is slice `from`.
  void measure_column(NodeIndex k, Count j, Count from) {
    std::fill(running.begin(), running.end(), 0.0);
    double w = 0;
    for (Count i = j + 1; i-- > begin;) {
      const double* c = cell(k, i);
      for (std::size_t x = 0; x < states; ++x) running[x] += c[x];
      w += c[states];
      const Measures m = measure(running.data(), w);
      col_a[i - from] = m.a;
      col_b[i - from] = m.b;
    }
  }

  // Column j of best_k for the rows i of the window up to i_max (rows above i_max are known to be right).
  // Needs the columns before j of this node and column j of its children. col_a and col_b are set.
  void solve_column(std::size_t q, NodeIndex k, Count j, Count i_max) {
    const Count oldest = begin / kTile;
    const Count from = oldest * kTile;
    const Count newest = j / kTile;
    for (Count i = begin; i <= j; ++i) {
      col_base[i - from] = value({col_a[i - from], col_b[i - from]}, p[q]);
    }
    const auto children = tree.children(k);
    if (!children.empty()) {
      double* split = col_best.data();
      std::fill(split, split + (j - from + 1), 0.0);
      for (const NodeIndex child : children) {
        const double* entries = table(q, child);
        for (Count row = oldest; row <= newest; ++row) {
          const double* t = entries + triangle.tile(row, newest) + (j % kTile) * kTile;
          const Count lo = std::max(begin, row * kTile), hi = std::min(j, row * kTile + kTile - 1);
          for (Count i = lo; i <= hi; ++i) split[i - from] += t[i % kTile];
        }
      }
      for (Count i = begin; i <= j; ++i) {
        col_base[i - from] = std::max(col_base[i - from], split[i - from]);
      }
    }

    // Rows outside [begin, j] are padding: never better than anything, so that whole tiles can be worked on.
    for (Count i = from; i < begin; ++i) col_base[i - from] = kNever;
    for (Count i = j + 1; i < (newest + 1) * kTile; ++i) col_base[i - from] = kNever;
    std::copy_n(col_base.data(), (newest + 1) * kTile - from, col_best.data());

    double* entries = table(q, k);
    const Count last_row = i_max / kTile;
    for (Count column = oldest; j > begin && column <= (j - 1) / kTile; ++column) {
      const std::size_t lo = column * kTile < begin ? begin % kTile : 0;
      const std::size_t hi = column == (j - 1) / kTile ? (j - 1) % kTile : kTile - 1;
      const double* right = col_base.data() + (column * kTile - from) + 1;  // base(m+1, j)
      for (Count row = oldest; row <= std::min(column, last_row); ++row) {
        const double* t = entries + triangle.tile(row, column);
        double* out = col_best.data() + (row * kTile - from);
        double acc[kTile];
        for (std::size_t e = 0; e < kTile; ++e) acc[e] = out[e];
        for (std::size_t c = lo; c <= hi; ++c) {
          for (std::size_t e = 0; e < kTile; ++e) {
            const double candidate = t[c * kTile + e] + right[c];
            acc[e] = candidate > acc[e] ? candidate : acc[e];
          }
        }
        for (std::size_t e = 0; e < kTile; ++e) out[e] = acc[e];
      }
    }
    // In the diagonal tile the rows below j are padding and are written as such.
    for (Count row = oldest; row <= std::min(newest, last_row); ++row) {
      double* t = entries + triangle.tile(row, newest) + (j % kTile) * kTile;
      std::copy_n(col_best.data() + (row * kTile - from), kTile, t);
    }
  }

  void push_column(const Column& column) {
    if (end - begin == window) ++begin;
    const Count n = end++;
    for (std::size_t s = 0; s < tree.leaf_count(); ++s) {
      set_leaf(tree.leaf_node(LeafPosition(static_cast<std::uint32_t>(s))), n,
               column.v.subspan(s * states, states), column.w[s]);
    }
  }

  // Brings the tables up to date, each node once, children first.
  void settle() {
    if (solved == end && !any_amended) return;
    const Count fresh = std::max(solved, begin);
    const Count from = begin / kTile * kTile;
    for (const NodeIndex k : tree.post_order()) {
      Amended& changed = amended[k.value];
      for (const NodeIndex child : tree.children(k)) changed.add(amended[child.value]);
      const Count first = std::max(changed.first, begin);
      if (!tree.is_leaf(k)) {
        for (Count t = first; t <= changed.last && t < fresh; ++t) add_children(k, t);
        for (Count t = fresh; t < end; ++t) add_children(k, t);
      }
      const bool older = first <= changed.last && first < fresh;
      for (Count j = older ? first : fresh; j < end; ++j) {
        measure_column(k, j, from);
        // Entries that begin after all that was amended, and end before what is fresh, are right.
        const Count i_max = j < fresh ? std::min(j, changed.last) : j;
        for (std::size_t q = 0; q < p.size(); ++q) solve_column(q, k, j, i_max);
      }
    }
    if (any_amended) std::fill(amended.begin(), amended.end(), Amended{});
    any_amended = false;
    solved = end;
  }

  double entry(std::size_t q, NodeIndex k, Count i, Count j) const { return table(q, k)[triangle.at(i, j)]; }

  // What to do with one block of the walk: the first choice, in the order of the tie rule, that reaches its
  // optimum. Only comparing with the stored optimum, never candidates with each other, keeps this stable.
  void decide(std::size_t q, const Block& block, std::vector<Block>& stack, std::vector<Part>& parts,
              std::vector<double>& scratch) const {
    const auto [k, first, last] = block;
    const double target = entry(q, k, first, last) - internal::tie_slack(tie);
    const Measures whole = measure_area(k, first, last, scratch);
    if (value(whole, p[q]) >= target) {
      parts.push_back(part_of(k, first, last, whole));
      return;
    }
    const auto children = tree.children(k);
    double split = kNever;
    if (!children.empty()) {
      split = 0;
      for (const NodeIndex child : children) split += entry(q, child, first, last);
    }
    // An only child has its parent's leaves: cutting in time first keeps the topmost of the two in the parts.
    Count cut = last;  // none
    if (split < target || children.size() == 1) {
      double best_seen = children.size() == 1 ? target : split;
      for (Count m = first; m < last; ++m) {
        const double both = entry(q, k, first, m) + entry(q, k, m + 1, last);
        if (both >= best_seen) {
          best_seen = both;
          cut = m;
          if (both >= target) break;
        }
      }
    }
    if (cut < last) {
      stack.push_back({k, cut + 1, last});
      stack.push_back({k, first, cut});
    } else if (!children.empty()) {
      for (std::size_t c = children.size(); c-- > 0;) stack.push_back({children[c], first, last});
    } else {
      parts.push_back(part_of(k, first, last, whole));  // a leaf's single slice
    }
  }

  Part part_of(NodeIndex k, Count first, Count last, const Measures& m) const {
    double information = 0;
    for (Count i = first; i <= last; ++i) information += cell(k, i)[states + 1];
    // loss = I - sum S*log2(S/W); the difference of two large sums may come out just below 0.
    const double loss = std::max(0.0, information - (m.a - m.b));
    return {k, SliceIndex(number(first)), SliceIndex(number(last)), loss, m.b - loss};
  }

  // The part measured cell by cell: every term of the loss is small where the cells are alike.
  void measure_exactly(Part& part, Count first, Count last) const {
    std::vector<double> s(states, 0.0);
    double w = 0, total = 0;
    const auto leaves = tree.leaves_under(part.node);
    for (const LeafPosition leaf : leaves) {
      for (Count t = first; t <= last; ++t) {
        const double* c = cell(tree.leaf_node(leaf), t);
        for (std::size_t x = 0; x < states; ++x) s[x] += c[x];
        w += c[states];
      }
    }
    for (const double x : s) total += x;
    double loss = 0;
    for (const LeafPosition leaf : leaves) {
      for (Count t = first; t <= last; ++t) {
        const double* c = cell(tree.leaf_node(leaf), t);
        for (std::size_t x = 0; x < states; ++x) {
          if (c[x] > 0) loss += c[x] * std::log2((c[x] / c[states]) * (w / s[x]));
        }
      }
    }
    part.loss = std::max(0.0, loss);
    part.gain = (w > 0 ? total * std::log2(w) : 0.0) - part.loss;
  }
};

Spatiotemporal::Spatiotemporal(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Spatiotemporal::Spatiotemporal(Spatiotemporal&&) noexcept = default;
Spatiotemporal& Spatiotemporal::operator=(Spatiotemporal&&) noexcept = default;
Spatiotemporal::~Spatiotemporal() = default;

std::uint64_t Spatiotemporal::memory_needed(const Options& o) {
  using internal::sat_add;
  using internal::sat_mul;
  const std::uint64_t per_node =
      sat_add(sat_mul(o.p.size(), internal::RingTriangle(o.window).size()),
              sat_add(sat_mul(o.window, o.states + 2), sizeof(Impl::Amended) / sizeof(double)));
  const std::uint64_t scratch = 4 * (std::uint64_t{o.window} + 2 * kTile) + o.states;
  return sat_mul(sizeof(double), sat_add(sat_mul(o.tree.size(), per_node), scratch));
}

Result<Spatiotemporal> Spatiotemporal::create(Options options) {
  if (auto ok = internal::check_options(options.states, options.window, options.p, options.tie_bits); !ok) {
    return tl::unexpected(ok.error());
  }
  const std::uint64_t need = memory_needed(options);
  if (auto ok = internal::check_budget(need, options.memory_budget_bytes); !ok) {
    return tl::unexpected(ok.error());
  }
  try {
    return Spatiotemporal(std::make_unique<Impl>(options));
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kLimit,
                "partition: the system refused " + std::to_string(need) + " bytes for the tables");
  }
}

Status Spatiotemporal::push(const Column& column) {
  return push_all({&column, 1});
}

Status Spatiotemporal::push_all(std::span<const Column> columns) {
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const std::int64_t slice = impl_->number(impl_->end + c);
    if (auto ok = internal::check_column(columns[c], tree().leaf_count(), states(), slice); !ok) return ok;
  }
  for (const Column& column : columns) impl_->push_column(column);
  return {};
}

Status Spatiotemporal::amend(SliceIndex slice, LeafPosition leaf, std::span<const double> v, double w) {
  Impl& m = *impl_;
  if (leaf.value >= tree().leaf_count() || v.size() != states()) {
    return fail(ErrorCode::kInvalidArgument, "partition: amend leaf " + std::to_string(leaf.value) +
                                                 " with " + std::to_string(v.size()) + " states; there are " +
                                                 std::to_string(tree().leaf_count()) + " leaves and " +
                                                 std::to_string(states()) + " states");
  }
  if (slice < first_slice() || slice >= end_slice()) {
    return fail(ErrorCode::kNotFound, "partition: slice " + std::to_string(slice.value) +
                                          " is not in the window [" + std::to_string(first_slice().value) +
                                          ", " + std::to_string(end_slice().value) + ")");
  }
  if (auto ok = internal::check_cell(v, w, leaf.value, slice.value); !ok) return ok;

  const auto t = static_cast<Impl::Count>(slice.value - m.origin.value);
  const NodeIndex k = tree().leaf_node(leaf);
  m.set_leaf(k, t, v, w);
  m.amended[k.value].add({t, t});
  m.any_amended = true;
  return {};
}

Status Spatiotemporal::set_p(std::size_t p_index, double p) {
  Impl& m = *impl_;
  if (p_index >= m.p.size()) {
    return fail(ErrorCode::kInvalidArgument,
                "partition: p number " + std::to_string(p_index) + " of " + std::to_string(m.p.size()));
  }
  if (auto ok = internal::check_p(p); !ok) return ok;
  m.settle();
  m.p[p_index] = p;
  const Impl::Count from = m.begin / kTile * kTile;
  for (const NodeIndex k : tree().post_order()) {
    for (Impl::Count j = m.begin; j < m.end; ++j) {
      m.measure_column(k, j, from);
      m.solve_column(p_index, k, j, j);
    }
  }
  return {};
}

Result<Partition> Spatiotemporal::partition(std::size_t p_index) {
  Impl& m = *impl_;
  if (p_index >= m.p.size()) {
    return fail(ErrorCode::kInvalidArgument,
                "partition: p number " + std::to_string(p_index) + " of " + std::to_string(m.p.size()));
  }
  Partition out;
  out.p = m.p[p_index];
  if (m.begin == m.end) return out;
  m.settle();
  std::vector<Impl::Block> stack{{tree().root(), m.begin, m.end - 1}};
  std::vector<double> scratch;
  while (!stack.empty()) {
    const Impl::Block block = stack.back();
    stack.pop_back();
    m.decide(p_index, block, stack, out.parts, scratch);
  }
  internal::sum_up(out);
  return out;
}

Result<Partition> Spatiotemporal::evaluate(const Partition& partition) const {
  Partition out = partition;
  for (Part& part : out.parts) {
    if (part.node.value >= tree().size() || part.first > part.last || part.first < first_slice() ||
        part.last >= end_slice()) {
      return fail(ErrorCode::kInvalidArgument,
                  "partition: part of node " + std::to_string(part.node.value) + ", slices " +
                      std::to_string(part.first.value) + " to " + std::to_string(part.last.value) +
                      ", is not in the tree and the window [" + std::to_string(first_slice().value) + ", " +
                      std::to_string(end_slice().value) + ")");
    }
    impl_->measure_exactly(part, static_cast<Impl::Count>(part.first.value - impl_->origin.value),
                           static_cast<Impl::Count>(part.last.value - impl_->origin.value));
  }
  internal::sum_up(out);
  return out;
}

std::span<const double> Spatiotemporal::p() const {
  return impl_->p;
}
const TreeShape& Spatiotemporal::tree() const {
  return impl_->tree;
}
std::size_t Spatiotemporal::states() const {
  return impl_->states;
}
std::size_t Spatiotemporal::window() const {
  return impl_->window;
}
std::size_t Spatiotemporal::size() const {
  return static_cast<std::size_t>(impl_->end - impl_->begin);
}
SliceIndex Spatiotemporal::first_slice() const {
  return SliceIndex(impl_->number(impl_->begin));
}
SliceIndex Spatiotemporal::end_slice() const {
  return SliceIndex(impl_->number(impl_->end));
}
double Spatiotemporal::tie_bits() const {
  return impl_->tie;
}

Result<Spatiotemporal> rebuild(Spatiotemporal::Options options, std::span<const Column> columns) {
  auto engine = Spatiotemporal::create(std::move(options));
  if (!engine) return engine;
  if (auto ok = engine->push_all(columns); !ok) return tl::unexpected(ok.error());
  return engine;
}

}  // namespace margay::partition
