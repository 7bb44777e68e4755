#include "margay/partition/temporal.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>
#include <numeric>
#include <string>
#include <utility>

#include "cell_check.h"
#include "kernels.h"
#include "prefix_sums.h"
#include "ring_triangle.h"
#include "solver.h"

namespace margay::partition {

using internal::kTile;

struct Temporal::Impl {
  using Count = internal::PrefixSums::Count;

  // Sums over the leaves for one interval, in units of 1/scale bits: integers, so that leaves can be taken
  // out and put in again, in any order.
  struct Entry {
    std::int64_t a = 0;  // sum_s sum_x S_sx*log2(S_sx)
    std::int64_t b = 0;  // sum_s S_s*log2(W_s)
  };

  std::size_t leaves, states, window;
  std::vector<double> leaf_weights;
  double longest_slice;
  double most_leaves;  // the largest sum of leaf weights
  std::uint64_t budget;
  std::vector<double> p;
  SliceIndex origin;
  double tie;
  const internal::Kernels* kernels;
  internal::RingTriangle triangle;
  double scale;  // a power of two
  internal::PrefixSums sums;
  std::vector<std::uint32_t> slot;  // of each leaf, in `sums`
  std::vector<std::uint32_t> free_slots;
  std::size_t slots;
  Count begin = 0, end = 0;
  Count solved = 0;  // columns before it are right

  std::vector<double> durations;          // of the slices, per ring slot
  std::vector<std::int64_t> information;  // per ring slot: sum_s I_s, in units of the sums
  std::vector<Entry> entries;             // the triangle
  // Scratch: of one leaf and column the measures, of a pass the sums.
  std::vector<double> a, b;
  std::vector<std::int64_t> sum_a[internal::kMostColumns], sum_b[internal::kMostColumns];
  std::vector<std::uint64_t> column;
  std::vector<std::uint32_t> occurring;
  std::vector<std::int64_t> cell;

  explicit Impl(Options& o)
      : leaves(o.leaves),
        states(o.states),
        window(o.window),
        leaf_weights(o.leaf_weights.empty() ? std::vector<double>(o.leaves, 1.0) : std::move(o.leaf_weights)),
        longest_slice(o.longest_slice),
        most_leaves(std::max(std::accumulate(leaf_weights.begin(), leaf_weights.end(), 0.0),
                             static_cast<double>(o.most_leaves))),
        budget(o.memory_budget_bytes),
        p(std::move(o.p)),
        origin(o.first_slice),
        tie(o.tie_bits ? *o.tie_bits : internal::default_tie(most(), states)),
        kernels(internal::kernels_here().back()),
        triangle(window),
        scale(fixed_point_scale()),
        sums(leaves, states, window, most(), true),
        slot(leaves),
        slots(leaves),
        durations(window, 1.0),
        information(window, 0),
        entries(triangle.size()),
        a(rows_of(window)),
        b(rows_of(window)),
        column(states + 2),
        occurring(states + 1),
        cell(states + 2) {
    for (std::uint32_t leaf = 0; leaf < leaves; ++leaf) slot[leaf] = leaf;
    for (auto* columns : {&sum_a, &sum_b})
      for (auto& c : *columns) c.assign(rows_of(window), 0);
  }

  double most() const { return most_leaves * static_cast<double>(window) * longest_slice; }
  static std::size_t rows_of(std::size_t window) {
    return (internal::RingTriangle(window).across() + 1) * kTile;
  }
  // A leaf's measures stay below 2^50 units (what the kernels round), the sum of all below 2^61.
  double fixed_point_scale() const {
    const double heaviest = std::max(1.0, *std::max_element(leaf_weights.begin(), leaf_weights.end()));
    const double one =
        internal::largest_value(heaviest * static_cast<double>(window) * longest_slice, states);
    const double all = internal::largest_value(most(), states);
    return std::ldexp(1.0, std::min(50 - static_cast<int>(std::ceil(std::log2(one))),
                                    61 - static_cast<int>(std::ceil(std::log2(all)))));
  }
  std::int64_t number(Count t) const { return origin.value + static_cast<std::int64_t>(t); }
  double bits(std::int64_t value) const { return static_cast<double>(value) / scale; }

  void push_column(const Column& c) {
    if (end - begin == window) ++begin;
    const Count n = end++;
    durations[n % window] = c.duration;
    std::int64_t all = 0;
    for (std::size_t s = 0; s < leaves; ++s) {
      sums.convert(*kernels, c.v.subspan(s * states, states), c.w[s], leaf_weights[s] * c.duration,
                   cell.data());
      sums.append(slot[s], n, cell.data());
      all += cell[states + 1];
    }
    information[n % window] = all;
  }

  // Adds a leaf's measures of column j to the sums, those of slices before the window as well.
  void add_leaf(std::size_t at, Count j, std::int64_t* to_a, std::int64_t* to_b) {
    sums.column(at, j, column.data());
    const internal::MeasureIn in{sums.blocks(at), sums.ring(), sums.measured_rows(), states,
                                 column.data(),   begin,       begin / kTile,        j / kTile,
                                 nullptr,         sums.unit(), sums.unit_log2(),     occurring.data()};
    kernels->measure(in, true, a.data(), b.data());
    const std::size_t blocks = static_cast<std::size_t>(j / kTile - begin / kTile + 1);
    kernels->accumulate(a.data(), scale, to_a, blocks);
    kernels->accumulate(b.data(), scale, to_b, blocks);
  }

  // Several columns in one pass over the leaves.
  void settle() {
    for (Count j = std::max(solved, begin); j < end; j += internal::kMostColumns) {
      const std::size_t n = static_cast<std::size_t>(std::min<Count>(internal::kMostColumns, end - j));
      for (std::size_t c = 0; c < n; ++c) {
        std::fill(sum_a[c].begin(), sum_a[c].end(), 0);
        std::fill(sum_b[c].begin(), sum_b[c].end(), 0);
      }
      for (std::size_t s = 0; s < leaves; ++s)
        for (std::size_t c = 0; c < n; ++c) add_leaf(slot[s], j + c, sum_a[c].data(), sum_b[c].data());
      const Count from = begin / kTile * kTile;
      for (std::size_t c = 0; c < n; ++c)
        for (Count i = begin; i <= j + c; ++i)
          entries[triangle.at(i, j + c)] = {sum_a[c][i - from], sum_b[c][i - from]};
    }
    solved = end;
  }

  // Takes the leaf at a slot out of the entries that begin by slice `last` and end from slice `first` on, or
  // puts it in.
  void change_entries(Count first, Count last, std::size_t at, std::int64_t sign) {
    const Count from = begin / kTile * kTile;
    for (Count j = first; j < solved; ++j) {
      std::fill(sum_a[0].begin(), sum_a[0].end(), 0);
      std::fill(sum_b[0].begin(), sum_b[0].end(), 0);
      add_leaf(at, j, sum_a[0].data(), sum_b[0].data());
      for (Count i = begin; i <= last && i <= j; ++i) {
        Entry& e = entries[triangle.at(i, j)];
        e.a += sign * sum_a[0][i - from];
        e.b += sign * sum_b[0][i - from];
      }
    }
  }

  void amend_cell(Count t, std::size_t leaf, std::span<const double> v, double w) {
    const std::size_t at = slot[leaf];
    change_entries(t, t, at, -1);
    sums.convert(*kernels, v, w, leaf_weights[leaf] * durations[t % window], cell.data());
    for (std::size_t x = 0; x < cell.size(); ++x) cell[x] -= sums.sum(at, x, t, t);
    sums.add(at, t, end, cell.data());
    information[t % window] += cell[states + 1];
    change_entries(t, t, at, 1);
  }

  static constexpr std::uint32_t kNobody = std::numeric_limits<std::uint32_t>::max();

  void relabel(std::span<const LeafPosition> from, std::vector<double> weights) {
    std::vector<bool> stays(leaves, false);
    for (const LeafPosition old : from)
      if (old.value != kNobody) stays[old.value] = true;
    for (std::size_t leaf = 0; leaf < leaves; ++leaf) {
      if (stays[leaf]) continue;
      const std::size_t at = slot[leaf];
      if (end > begin) change_entries(begin, end - 1, at, -1);
      for (Count t = begin; t < end; ++t) information[t % window] -= sums.sum(at, states + 1, t, t);
      free_slots.push_back(slot[leaf]);
    }
    std::vector<std::uint32_t> now;
    for (const LeafPosition old : from) {
      if (old.value != kNobody) {
        now.push_back(slot[old.value]);
        continue;
      }
      // Absent so far: it adds nothing to any entry.
      if (free_slots.empty()) {
        sums.grow(++slots);
        free_slots.push_back(static_cast<std::uint32_t>(slots - 1));
      }
      now.push_back(free_slots.back());
      free_slots.pop_back();
      for (Count t = begin; t <= end; ++t)
        for (std::size_t x = 0; x < cell.size(); ++x) sums.before(now.back(), x, t) = 0;
    }
    slot = std::move(now);
    leaves = slot.size();
    leaf_weights = std::move(weights);
  }

  // pIC without I, as in the spatiotemporal engine.
  double value(const Entry& e, double p_value) const { return bits(e.a) - (1 - p_value) * bits(e.b) - tie; }

  Partition solve(double p_value) const {
    Partition out;
    out.p = p_value;
    const std::size_t n = static_cast<std::size_t>(end - begin);
    // best[j]: the optimum of the j oldest slices.
    std::vector<double> best(n + 1, 0.0);
    for (std::size_t j = 1; j <= n; ++j) {
      double top = -std::numeric_limits<double>::infinity();
      for (std::size_t i = 0; i < j; ++i) {
        top = std::max(top, best[i] + value(entries[triangle.at(begin + i, begin + j - 1)], p_value));
      }
      best[j] = top;
    }
    // Backwards, taking the longest part that reaches the optimum (the tie rule). The last candidate is the
    // one that must, so there always is one.
    for (std::size_t j = n; j > 0;) {
      std::size_t i = 0;
      while (i + 1 < j && best[i] + value(entries[triangle.at(begin + i, begin + j - 1)], p_value) <
                              best[j] - internal::tie_slack(tie)) {
        ++i;
      }
      out.parts.push_back(part_of(begin + i, begin + j - 1));
      j = i;
    }
    std::reverse(out.parts.begin(), out.parts.end());
    internal::sum_up(out);
    return out;
  }

  Part part_of(Count first, Count last) const {
    const Entry& e = entries[triangle.at(first, last)];
    std::int64_t total = 0;
    for (Count t = first; t <= last; ++t) total += information[t % window];
    const double loss = internal::real_loss(sums.real(total) - (bits(e.a) - bits(e.b)), tie);
    return {kAllLeaves, SliceIndex(number(first)), SliceIndex(number(last)), loss, bits(e.b) - loss};
  }

  void measure_exactly(Part& part, Count first, Count last) const {
    double loss = 0, top = 0;
    std::vector<double> s(states);
    for (std::size_t leaf = 0; leaf < leaves; ++leaf) {
      double total = 0;
      for (std::size_t x = 0; x < states; ++x)
        total += s[x] = sums.real(sums.sum(slot[leaf], x, first, last));
      const double all_w = sums.real(sums.sum(slot[leaf], states, first, last));
      if (all_w > 0) top += total * std::log2(all_w);
      double own = 0;
      for (Count t = first; t <= last; ++t) {
        const double w = sums.real(sums.sum(slot[leaf], states, t, t));
        for (std::size_t x = 0; x < states; ++x) {
          const double v = sums.real(sums.sum(slot[leaf], x, t, t));
          if (v > 0) own += v * std::log2((v / w) * (all_w / s[x]));
        }
      }
      loss += std::max(0.0, own);
    }
    part.loss = loss;
    part.gain = top - loss;
  }
};

Temporal::Temporal(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Temporal::Temporal(Temporal&&) noexcept = default;
Temporal& Temporal::operator=(Temporal&&) noexcept = default;
Temporal::~Temporal() = default;

std::uint64_t Temporal::memory_needed(const Options& o) {
  using internal::sat_add;
  using internal::sat_mul;
  return sat_add(sat_mul(sizeof(Impl::Entry), internal::RingTriangle(o.window).size()),
                 internal::PrefixSums::memory(o.leaves, o.states, o.window));
}

Result<Temporal> Temporal::create(Options options) {
  if (auto ok = internal::check_options(options.states, options.window, options.p, options.tie_bits); !ok) {
    return tl::unexpected(ok.error());
  }
  if (options.leaves == 0) return fail(ErrorCode::kInvalidArgument, "partition: no leaves");
  if (auto ok = internal::check_weights(options.leaf_weights, options.leaves, options.longest_slice); !ok)
    return tl::unexpected(ok.error());
  const std::uint64_t need = memory_needed(options);
  if (auto ok = internal::check_budget(need, options.memory_budget_bytes); !ok) {
    return tl::unexpected(ok.error());
  }
  try {
    return Temporal(std::make_unique<Impl>(options));
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kLimit,
                "partition: the system refused " + std::to_string(need) + " bytes for the tables");
  }
}

Status Temporal::push(const Column& column) {
  return push_all({&column, 1});
}

Status Temporal::push_all(std::span<const Column> columns) {
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const std::int64_t slice = impl_->number(impl_->end + c);
    if (auto ok = internal::check_column(columns[c], leaves(), states(), slice); !ok) return ok;
    if (auto ok = internal::check_duration(columns[c].duration, impl_->longest_slice, slice); !ok) return ok;
  }
  for (const Column& column : columns) impl_->push_column(column);
  return {};
}

Status Temporal::amend(SliceIndex slice, LeafPosition leaf, std::span<const double> v, double w) {
  if (leaf.value >= leaves() || v.size() != states()) {
    return fail(ErrorCode::kInvalidArgument, "partition: amend leaf " + std::to_string(leaf.value) +
                                                 " with " + std::to_string(v.size()) + " states; there are " +
                                                 std::to_string(leaves()) + " leaves and " +
                                                 std::to_string(states()) + " states");
  }
  if (slice < first_slice() || slice >= end_slice()) {
    return fail(ErrorCode::kNotFound, "partition: slice " + std::to_string(slice.value) +
                                          " is not in the window [" + std::to_string(first_slice().value) +
                                          ", " + std::to_string(end_slice().value) + ")");
  }
  if (auto ok = internal::check_cell(v, w, leaf.value, slice.value); !ok) return ok;
  impl_->amend_cell(static_cast<Impl::Count>(slice.value - impl_->origin.value), leaf.value, v, w);
  return {};
}

Status Temporal::relabel(std::span<const LeafPosition> from, std::vector<double> leaf_weights) {
  if (from.empty()) return fail(ErrorCode::kInvalidArgument, "partition: no leaves");
  if (leaf_weights.empty()) leaf_weights.assign(from.size(), 1.0);
  if (auto ok = internal::check_weights(leaf_weights, from.size(), 1); !ok) return ok;
  const double all = std::accumulate(leaf_weights.begin(), leaf_weights.end(), 0.0);
  if (all > impl_->most_leaves)
    return fail(ErrorCode::kLimit, "partition: leaves of weight " + std::to_string(all) +
                                       " in all; this engine was made for " +
                                       std::to_string(impl_->most_leaves));
  Options now;
  now.leaves = std::max(from.size(), impl_->slots);  // places of leaves that leave are kept for others
  now.states = states();
  now.window = window();
  if (auto ok = internal::check_budget(memory_needed(now), impl_->budget); !ok) return ok;
  std::vector<bool> used(leaves(), false);
  for (std::size_t s = 0; s < from.size(); ++s) {
    const std::uint32_t old = from[s].value;
    if (old == Impl::kNobody) continue;
    if (old >= leaves() || used[old])
      return fail(ErrorCode::kInvalidArgument,
                  "partition: leaf " + std::to_string(s) + " was leaf " + std::to_string(old) +
                      (old >= leaves() ? ", which does not exist" : ", and so was another"));
    if (impl_->leaf_weights[old] != leaf_weights[s])
      return fail(ErrorCode::kInvalidArgument, "partition: leaf " + std::to_string(s) + " was leaf " +
                                                   std::to_string(old) + " of another weight");
    used[old] = true;
  }
  impl_->relabel(from, std::move(leaf_weights));
  return {};
}

Status Temporal::set_p(std::size_t p_index, double p) {
  if (p_index >= impl_->p.size()) {
    return fail(ErrorCode::kInvalidArgument,
                "partition: p number " + std::to_string(p_index) + " of " + std::to_string(impl_->p.size()));
  }
  if (auto ok = internal::check_p(p); !ok) return ok;
  impl_->p[p_index] = p;
  return {};
}

void Temporal::settle() {
  impl_->settle();
}

Result<Partition> Temporal::partition(std::size_t p_index) {
  if (p_index >= impl_->p.size()) {
    return fail(ErrorCode::kInvalidArgument,
                "partition: p number " + std::to_string(p_index) + " of " + std::to_string(impl_->p.size()));
  }
  impl_->settle();
  return impl_->solve(impl_->p[p_index]);
}

Result<Partition> Temporal::partition_at(double p) {
  if (auto ok = internal::check_p(p); !ok) return tl::unexpected(ok.error());
  impl_->settle();
  return impl_->solve(p);
}

Result<Partition> Temporal::evaluate(const Partition& partition) const {
  Partition out = partition;
  for (Part& part : out.parts) {
    if (part.node != kAllLeaves || part.first > part.last || part.first < first_slice() ||
        part.last >= end_slice()) {
      return fail(ErrorCode::kInvalidArgument,
                  "partition: part of slices " + std::to_string(part.first.value) + " to " +
                      std::to_string(part.last.value) + " is no interval of the window [" +
                      std::to_string(first_slice().value) + ", " + std::to_string(end_slice().value) + ")");
    }
    impl_->measure_exactly(part, static_cast<Impl::Count>(part.first.value - impl_->origin.value),
                           static_cast<Impl::Count>(part.last.value - impl_->origin.value));
  }
  internal::sum_up(out);
  return out;
}

std::span<const double> Temporal::p() const {
  return impl_->p;
}
std::size_t Temporal::leaves() const {
  return impl_->leaves;
}
std::size_t Temporal::states() const {
  return impl_->states;
}
std::size_t Temporal::window() const {
  return impl_->window;
}
std::size_t Temporal::size() const {
  return static_cast<std::size_t>(impl_->end - impl_->begin);
}
SliceIndex Temporal::first_slice() const {
  return SliceIndex(impl_->number(impl_->begin));
}
SliceIndex Temporal::end_slice() const {
  return SliceIndex(impl_->number(impl_->end));
}
double Temporal::tie_bits() const {
  return impl_->tie;
}

Result<Temporal> rebuild(Temporal::Options options, std::span<const Column> columns) {
  auto engine = Temporal::create(std::move(options));
  if (!engine) return engine;
  if (auto ok = engine->push_all(columns); !ok) return tl::unexpected(ok.error());
  return engine;
}

}  // namespace margay::partition
