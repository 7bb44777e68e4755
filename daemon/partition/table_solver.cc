#include "table_solver.h"

#include <algorithm>
#include <utility>

namespace margay::partition::internal {
namespace {

// Fewer nodes than this are not worth a thread's start.
constexpr std::size_t kNodesWorthAThread = 64;
constexpr std::size_t kPrefetchedSums = 1024;  // what follows in order, the hardware sees

int ceil_log2(double x) {
  return static_cast<int>(std::ceil(std::log2(x)));
}

}  // namespace

template <class T>
TableSolver<T>::TableSolver(Ground& ground, bool lent)
    : g_(ground), triangle_(ground.window), tables_(ground.p.size()), lent_(lent) {
  for (std::size_t n = 1; n <= ground.window; ++n)
    for (std::size_t e = 0; e < kRests; ++e) {
      const double now = static_cast<double>(n), more = std::ldexp(1.0, static_cast<int>(e));
      rest_cost_.push_back(now * std::log2(1 + more / now) + more * std::log2(1 + now / more));
    }
  reshaped();
}

template <class T>
void TableSolver<T>::reshaped() {
  const std::size_t nodes = g_.tree.size();
  for (auto& tables : tables_) {
    tables.resize(std::max(tables.size(), nodes), nullptr);
    if (lent_) continue;
    std::size_t missing = 0;
    for (const std::uint32_t slot : g_.slot) missing += tables[slot] == nullptr;
    if (missing == 0) continue;
    const std::size_t each = triangle_.size_with_bounds();
    T* at = slabs_.emplace_back(missing * each).entries.get();
    for (const std::uint32_t slot : g_.slot)
      if (tables[slot] == nullptr) tables[slot] = std::exchange(at, at + each);
  }
  changed_.assign(nodes, {});
  any_changed_ = false;
  // |values| < 2^50 of the engine's units.
  engine_bits_ = 50 - ceil_log2(largest_value(g_.most, g_.states));

  std::vector<double> weight(nodes, 0.0);
  std::vector<std::size_t> below(nodes, 1);
  for (std::uint32_t s = 0; s < g_.tree.leaf_count(); ++s)
    weight[g_.tree.leaf_node(LeafPosition(s)).value] = g_.leaf_weights[s];
  const std::size_t limit = std::max<std::size_t>(1, nodes / (g_.threads * 32));
  node_bits_.assign(nodes, 0);
  slice_weight_.assign(nodes, 0);
  ranges_.clear();
  above_.clear();
  const auto order = g_.tree.post_order();
  for (std::size_t at = 0; at < order.size(); ++at) {
    const NodeIndex k = order[at];
    // Rounded up, so that a sum in another order cannot exceed it.
    node_bits_[k.value] = static_cast<std::int8_t>(
        ceil_log2(largest_value(g_.a_leaf * weight[k.value] * (1 + 1e-9), g_.states)));
    slice_weight_[k.value] = weight[k.value] * g_.longest_slice() * (1 + 1e-6);
    if (below[k.value] > limit) above_.push_back(k);
    if (k != g_.tree.root()) {
      weight[g_.tree.parent(k).value] += weight[k.value];
      below[g_.tree.parent(k).value] += below[k.value];
    }
  }
  // Between two nodes of `above_` the order holds whole subtrees; they are cut where a subtree ends.
  std::size_t from = 0;
  for (std::size_t at = 0; at < order.size(); ++at) {
    const bool is_above = below[order[at].value] > limit;
    const bool ends = at + 1 < order.size() && !is_above &&
                      (below[g_.tree.parent(order[at]).value] > limit) && at + 1 - from >= limit;
    if (is_above && at > from) ranges_.push_back({from, at});
    if (ends) ranges_.push_back({from, at + 1});
    if (is_above || ends) from = at + 1;
  }
  if (from < order.size()) ranges_.push_back({from, order.size()});
}

template <class T>
typename TableSolver<T>::Scratch TableSolver<T>::make_scratch() const {
  Scratch s;
  const std::size_t rows = (triangle_.across() + 1) * kRows;
  for (std::size_t c = 0; c < kMostColumns; ++c) {
    s.a[c].assign(rows, 0.0);
    s.b[c].assign(rows, 0.0);
    for (auto* v : {&s.base[c], &s.right[c], &s.out[c]}) v->assign(rows + kRows, kNever<T>);
    s.reach[c].assign(triangle_.across() + 1, 0);
    s.awake[c].assign(triangle_.across() + 1, 1);
  }
  s.kept.assign(triangle_.across() + 1, 0);
  s.split.assign(rows, 0);
  s.column.assign(g_.states + 2, 0);
  s.occurring.assign(g_.states + 1, 0);
  return s;
}

// Rows of the blocks of the window to j that are awake.
template <class T>
void TableSolver<T>::measure(NodeIndex k, Count j, std::size_t c, Scratch& s) const {
  const std::size_t slot = g_.slot_of(k);
  g_.sums.column(slot, j, s.column.data());
  const MeasureIn in{g_.sums.blocks(slot), g_.sums.ring(), g_.sums.measured_rows(), g_.states,
                     s.column.data(),      g_.begin,       g_.begin / kRows,        j / kRows,
                     s.awake[c].data(),    g_.sums.unit(), g_.sums.unit_log2(),     s.occurring.data()};
  g_.kernels->measure(in, g_.precise, s.a[c].data(), s.b[c].data());
}

// Slices may be counted for longer than an entry has bits.
template <class T>
bool TableSolver<T>::rests(std::size_t q, NodeIndex k, Count row, Count j) const {
  const T until = table(q, k)[RingTriangle::rests(triangle_.across()) + row % triangle_.across()];
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(until) - static_cast<std::uint32_t>(j)) >= 0;
}

template <class T>
void TableSolver<T>::rest(std::size_t q, NodeIndex k, Count row, Count until) {
  table(q, k)[RingTriangle::rests(triangle_.across()) + row % triangle_.across()] =
      static_cast<T>(static_cast<std::int32_t>(static_cast<std::uint32_t>(until)));
}

// How long a tile row need not be measured after slice j, if all its rows then have a better way by `gap`.
template <class T>
typename TableSolver<T>::Count TableSolver<T>::rest_of(std::size_t q, NodeIndex k, Count row, Count j,
                                                       T gap) const {
  const double spare = static_cast<double>(gap - kRounding) / scale_of(k).to_units - g_.tie;
  const Count slices = j + 1 - std::max(row * kTile, g_.begin);
  const double* const cost = rest_cost_.data() + (slices - 1) * kRests;
  Count rest = 0;
  for (std::size_t e = 0; e < kRests && g_.p[q] * slice_weight_[k.value] * cost[e] <= spare; ++e)
    rest = Count{1} << e;
  return rest;
}

// Columns j to j+n-1 of node k, rows up to i_max: those above are right.
template <class T>
void TableSolver<T>::solve_columns(NodeIndex k, Count j, std::size_t n, Count i_max, Scratch& s) {
  const std::size_t q_begin = only_p_ != kAllP ? only_p_ : 0;
  const std::size_t q_end = only_p_ != kAllP ? only_p_ + 1 : g_.p.size();
  const Count oldest = g_.begin / kTile;
  for (std::size_t c = 0; c < n; ++c) {
    for (Count row = oldest; row <= (j + c) / kTile; ++row) {
      bool awake = row >= j / kTile;
      for (std::size_t q = q_begin; q < q_end && !awake; ++q) awake = !rests(q, k, row, j + c);
      s.awake[c][row - oldest] = awake;
    }
    measure(k, j + c, c, s);
  }
  for (std::size_t q = q_begin; q < q_end; ++q) solve_columns_at(q, k, j, n, i_max, s);
}

template <class T>
void TableSolver<T>::solve_columns_at(std::size_t q, NodeIndex k, Count j, std::size_t n, Count i_max,
                                      Scratch& s) {
  const Count oldest = g_.begin / kTile, from = oldest * kTile;
  const std::size_t begin = static_cast<std::size_t>(g_.begin - from);
  const std::size_t most =
      static_cast<std::size_t>((j + n - 1) / kTile - oldest + 1) * kRows;  // rows of the last column
  const auto children = g_.tree.children(k);
  const Scale scale = scale_of(k);
  const std::size_t across = triangle_.across();
  T* const entries = table(q, k);
  BaseIn<T> bases[kMostColumns];
  for (std::size_t c = 0; c < n; ++c) {
    const Count column = j + c;
    const std::size_t blocks = static_cast<std::size_t>(column / kTile - oldest + 1);
    const std::int64_t* split = nullptr;
    if (lent_split_ != nullptr) {
      split = lent_split_ + split_at(column);
    } else if (!children.empty()) {
      split = s.split.data();
      std::fill_n(s.split.begin(), blocks * kRows, 0);
      for (const NodeIndex child : children)
        kernels().gather(table(q, child), {across, places_.data(), oldest, column}, scale_of(child).shift,
                         s.split.data());
    }
    bases[c] = {s.a[c].data(),    s.b[c].data(), split,  1 - g_.p[q], g_.tie,
                scale.to_units,   scale.shift,   blocks, begin,       static_cast<std::size_t>(column - from),
                s.awake[c].data()};
    kernels().base(bases[c], s.base[c].data());
    std::copy_n(s.base[c].begin(), blocks * kRows, s.out[c].begin());
    std::fill(s.out[c].begin() + static_cast<std::ptrdiff_t>(blocks * kRows),
              s.out[c].begin() + static_cast<std::ptrdiff_t>(most), kNever<T>);
    std::fill_n(s.right[c].begin(), most, kNever<T>);
    if (j > g_.begin)
      std::copy_n(s.base[c].begin() + static_cast<std::ptrdiff_t>(begin + 1), j - g_.begin,
                  s.right[c].begin() + static_cast<std::ptrdiff_t>(begin));
  }
  const Count last_row = i_max / kTile;
  if (j > g_.begin) {
    ProductIn<T> in{
        entries, across, places_.data(), oldest, (j - 1) / kTile, last_row, n, {}, {}, s.kept.data(),
        {},      {},     &s.cut};
    for (std::size_t c = 0; c < n; ++c) {
      in.right[c] = s.right[c].data();
      in.reach[c] = s.reach[c].data();
      in.out[c] = s.out[c].data();
      std::fill_n(s.out[c].begin(), begin, kAlways<T>);
      if ((last_row + 1) * kTile <= j + c) in.below[c] = entries[triangle_.at((last_row + 1) * kTile, j + c)];
    }
    kernels().product(in);
  }
  for (std::size_t c = 0; c < n; ++c) {
    const std::size_t last = static_cast<std::size_t>(j + c - from);
    // The cuts at slices of this pass, whose columns are not in the table yet.
    for (std::size_t m = 0; m < c; ++m)
      kernels().cut(s.out[m].data(), s.base[c][last - c + m + 1], s.out[c].data(), most / kRows);
    std::fill_n(s.out[c].begin(), begin, kNever<T>);
    std::fill(s.out[c].begin() + static_cast<std::ptrdiff_t>(last + 1),
              s.out[c].begin() + static_cast<std::ptrdiff_t>(most), kNever<T>);
    const bool fresh = (j + c) % kTile == 0 || j + c == g_.begin;
    kernels().store(entries, {across, places_.data(), oldest, j + c}, last_row, fresh, s.out[c].data());
    s.written += std::min<Count>(i_max, j + c) + 1 - g_.begin;
    for (Count row = oldest; row <= last_row && row * kTile + kTile - 1 <= j + c; ++row)
      if (s.awake[c][row - oldest])
        rest(q, k, row,
             j + c + rest_of(q, k, row, j + c, kernels().gap(bases[c], row - oldest, s.out[c].data())));
  }
}

// What a new slice needs of a node, if it is like the one before: scattered in small pieces, which are in no
// cache where nodes are many. Waiting for one after the other would be most of the time.
template <class T>
void TableSolver<T>::prefetch(NodeIndex k, const Scratch& s) const {
  const auto lines = [](const void* from, std::size_t bytes) __attribute__((always_inline)) {
    for (const char* at = static_cast<const char*>(from); bytes > 0;
         at += 64, bytes -= std::min<std::size_t>(bytes, 64))
      __builtin_prefetch(at);
  };
  const std::size_t across = triangle_.across();
  const Count newest = (g_.end - 1) / kTile, oldest = g_.begin / kTile;
  const std::uint32_t* const tiles = places_.data() + (newest - oldest) * across;
  const std::size_t ring = across * kTile * sizeof(T);
  for (std::size_t q = 0; q < g_.p.size(); ++q) {
    const T* const t = table(q, k);
    lines(t + RingTriangle::diagonal(across), 3 * ring + across * sizeof(T));
    lines(t + RingTriangle::ceilings(across, newest), ring);
    for (std::size_t row = 0; row <= newest - oldest; ++row)
      __builtin_prefetch(t + std::size_t{tiles[row]} * kTileCells + (g_.end - 1) % kTile * kTile, 1);
    if (s.cut != kNoCut)
      for (std::size_t row = 0; row <= s.cut / kTile; ++row)
        __builtin_prefetch(t + std::size_t{places_[s.cut / kTile * across + row]} * kTileCells +
                           s.cut % kTile * kTile);
  }
  const std::uint64_t* const blocks = g_.sums.blocks(g_.slot_of(k));
  const std::size_t words = g_.sums.measured_rows() * kRows;
  for (std::size_t row = 0; row <= newest - oldest; ++row)
    if (s.awake[0][row])
      lines(blocks + (oldest + row) % g_.sums.ring() * words,
            std::min(kPrefetchedSums, words * sizeof(std::uint64_t)));
}

template <class T>
void TableSolver<T>::solve_node(NodeIndex k, Count fresh, Scratch& s) {
  g_.append_waiting(k);
  Changed& changed = changed_[k.value];
  for (const NodeIndex child : g_.tree.children(k)) {
    changed.first = std::min(changed.first, changed_[child.value].first);
    changed.last = std::max(changed.last, changed_[child.value].last);
  }
  const Count first = std::max(changed.first, g_.begin);
  if (first <= changed.last) {
    for (std::size_t q = 0; q < g_.p.size(); ++q)
      for (Count row = g_.begin / kTile; row <= (g_.end - 1) / kTile; ++row) rest(q, k, row, g_.begin - 1);
    for (Count j = first; j < fresh; j += kMostColumns) {
      // Entries that begin after all that was amended are right.
      const std::size_t n = static_cast<std::size_t>(std::min<Count>(kMostColumns, fresh - j));
      solve_columns(k, j, n, std::min(j + n - 1, changed.last), s);
    }
  }
  for (Count j = fresh; j < g_.end; j += kMostColumns) {
    const std::size_t n = static_cast<std::size_t>(std::min<Count>(kMostColumns, g_.end - j));
    solve_columns(k, j, n, j + n - 1, s);
  }
}

// Tiles move with the oldest tile row only.
template <class T>
void TableSolver<T>::find_places() {
  const Count oldest = g_.begin / kTile;
  if (!places_.empty() && places_oldest_ == oldest) return;
  triangle_.places(oldest, places_);
  places_oldest_ = oldest;
}

template <class T>
void TableSolver<T>::solve_lent(std::size_t q, NodeIndex k, T* own, const std::int64_t* split) {
  find_places();
  if (lent_scratch_.kept.empty()) lent_scratch_ = make_scratch();
  tables_[q][g_.slot_of(k)] = own;
  lent_split_ = split;
  only_p_ = q;
  for (Count j = g_.begin; j < g_.end; j += kMostColumns) {
    const std::size_t n = static_cast<std::size_t>(std::min<Count>(kMostColumns, g_.end - j));
    solve_columns(k, j, n, j + n - 1, lent_scratch_);
  }
  only_p_ = kAllP;
  lent_split_ = nullptr;
  written_ += std::exchange(lent_scratch_.written, 0);
}

template <class T>
void TableSolver<T>::add_lent(const T* child, bool first, std::int64_t* split) {
  const Count oldest = g_.begin / kTile;
  find_places();
  for (Count j = g_.begin; j < g_.end; ++j) {
    std::int64_t* const to = split + split_at(j);
    if (first) std::fill_n(to, static_cast<std::size_t>(j / kTile - oldest + 1) * kRows, 0);
    kernels().gather(child, {triangle_.across(), places_.data(), oldest, j}, 0, to);
  }
}

// Each node once, children first; subtrees by all threads, what lies above by this one. Every entry is made
// from the same numbers whoever makes it, so the result does not depend on the threads.
template <class T>
void TableSolver<T>::settle() {
  const Count fresh = std::max(solved_, g_.begin);
  if (fresh == g_.end && !any_changed_) return;
  find_places();
  const auto order = g_.tree.post_order();
  const std::size_t threads =
      std::min({g_.threads, ranges_.size(), std::max<std::size_t>(1, order.size() / kNodesWorthAThread)});
  std::vector<Scratch> scratch;
  for (std::size_t n = 0; n < threads; ++n) scratch.push_back(make_scratch());
  const auto work = [&](std::size_t worker, std::size_t r) {
    for (std::size_t at = ranges_[r].begin; at < ranges_[r].end; ++at) {
      if (fresh < g_.end && at + 1 < ranges_[r].end) prefetch(order[at + 1], scratch[worker]);
      solve_node(order[at], fresh, scratch[worker]);
    }
  };
  if (threads > 1 && g_.parallel) {
    g_.parallel(threads, ranges_.size(), work);
  } else {
    for (std::size_t r = 0; r < ranges_.size(); ++r) work(0, r);
  }
  for (const NodeIndex k : above_) solve_node(k, fresh, scratch[0]);
  for (const Scratch& s : scratch) written_ += s.written;
  if (any_changed_) std::fill(changed_.begin(), changed_.end(), Changed{});
  any_changed_ = false;
  g_.waiting_slices = 0;
  solved_ = g_.end;
}

double largest_value(double weight, std::size_t states) {
  const double n = std::max(weight, 1.0);
  return n * (2 + std::log2(n) + std::log2(static_cast<double>(states)));
}

template class TableSolver<std::int32_t>;
template class TableSolver<std::int64_t>;

std::unique_ptr<Solver> make_compact_solver(Ground& ground) {
  return std::make_unique<TableSolver<std::int32_t>>(ground);
}
std::unique_ptr<Solver> make_exact_solver(Ground& ground) {
  return std::make_unique<TableSolver<std::int64_t>>(ground);
}

std::uint64_t tables_memory(std::uint64_t nodes, std::size_t window, std::size_t p, bool exact) {
  return sat_mul(sat_mul(nodes, p), sat_mul(RingTriangle(window).size_with_bounds(), exact ? 8 : 4));
}

}  // namespace margay::partition::internal
