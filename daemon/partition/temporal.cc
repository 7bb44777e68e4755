#include "margay/partition/temporal.h"

#include <algorithm>
#include <cmath>
#include <new>
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

  // Sums over the leaves for one interval, in units of 1/scale bits: integers, so that leaves can be taken out
  // and put in again, in any order.
  struct Entry {
    std::int64_t a = 0;  // sum_s sum_x S_sx*log2(S_sx)
    std::int64_t b = 0;  // sum_s S_s*log2(W_s)
  };

  std::size_t leaves, states, window;
  std::vector<double> p;
  SliceIndex origin;
  double tie;
  const internal::Kernels* kernels;
  internal::RingTriangle triangle;
  double scale;  // a power of two
  internal::PrefixSums sums;
  Count begin = 0, end = 0;
  Count solved = 0;  // columns before it are right

  std::vector<std::int64_t> information;  // per ring slot: sum_s I_s, in units of the sums
  std::vector<Entry> entries;             // the triangle
  // Scratch: of one leaf and column the measures, of a pass the sums.
  std::vector<double> a, b;
  std::vector<std::int64_t> sum_a[internal::kMostColumns], sum_b[internal::kMostColumns];
  std::vector<std::uint64_t> column;
  std::vector<std::int64_t> cell;

  explicit Impl(Options& o)
      : leaves(o.leaves),
        states(o.states),
        window(o.window),
        p(std::move(o.p)),
        origin(o.first_slice),
        tie(o.tie_bits ? *o.tie_bits : internal::default_tie(most(leaves, window), states)),
        kernels(internal::kernels_here().back()),
        triangle(window),
        scale(fixed_point_scale(leaves, states, window)),
        sums(leaves, states, window, most(leaves, window), true),
        information(window, 0),
        entries(triangle.size()),
        a(rows_of(window)),
        b(rows_of(window)),
        column(states + 2),
        cell(states + 2) {
    for (auto* columns : {&sum_a, &sum_b})
      for (auto& c : *columns) c.assign(rows_of(window), 0);
  }

  static double most(std::size_t leaves, std::size_t window) {
    return static_cast<double>(leaves) * static_cast<double>(window);
  }
  static std::size_t rows_of(std::size_t window) { return (internal::RingTriangle(window).across() + 1) * kTile; }
  // A leaf's measures stay below 2^50 units (what the kernels round), the sum of all below 2^61.
  static double fixed_point_scale(std::size_t leaves, std::size_t states, std::size_t window) {
    const double one = internal::largest_value(static_cast<double>(window), states);
    const double all = one * static_cast<double>(leaves);
    return std::ldexp(1.0, std::min(50 - static_cast<int>(std::ceil(std::log2(one))),
                                    61 - static_cast<int>(std::ceil(std::log2(all)))));
  }
  std::int64_t number(Count t) const { return origin.value + static_cast<std::int64_t>(t); }
  double bits(std::int64_t value) const { return static_cast<double>(value) / scale; }

  void push_column(const Column& c) {
    if (end - begin == window) ++begin;
    const Count n = end++;
    std::int64_t all = 0;
    for (std::size_t s = 0; s < leaves; ++s) {
      sums.convert(c.v.subspan(s * states, states), c.w[s], 1, cell.data());
      sums.append(s, n, cell.data());
      all += cell[states + 1];
    }
    information[n % window] = all;
  }

  // Adds a leaf's measures of column j to the sums, those of slices before the window as well.
  void add_leaf(std::size_t leaf, Count j, std::int64_t* to_a, std::int64_t* to_b) {
    sums.column(leaf, j, column.data());
    const internal::MeasureIn in{sums.blocks(leaf), sums.ring(), sums.rows(), states,      column.data(),
                                 begin / kTile,     j / kTile,   sums.unit(), sums.unit_log2()};
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
        for (std::size_t c = 0; c < n; ++c) add_leaf(s, j + c, sum_a[c].data(), sum_b[c].data());
      const Count from = begin / kTile * kTile;
      for (std::size_t c = 0; c < n; ++c)
        for (Count i = begin; i <= j + c; ++i)
          entries[triangle.at(i, j + c)] = {sum_a[c][i - from], sum_b[c][i - from]};
    }
    solved = end;
  }

  // Takes a leaf out of the entries that contain slice t, or puts it in.
  void change_entries(Count t, std::size_t leaf, std::int64_t sign) {
    const Count from = begin / kTile * kTile;
    for (Count j = t; j < solved; ++j) {
      std::fill(sum_a[0].begin(), sum_a[0].end(), 0);
      std::fill(sum_b[0].begin(), sum_b[0].end(), 0);
      add_leaf(leaf, j, sum_a[0].data(), sum_b[0].data());
      for (Count i = begin; i <= t; ++i) {
        Entry& e = entries[triangle.at(i, j)];
        e.a += sign * sum_a[0][i - from];
        e.b += sign * sum_b[0][i - from];
      }
    }
  }

  void amend_cell(Count t, std::size_t leaf, std::span<const double> v, double w) {
    change_entries(t, leaf, -1);
    sums.convert(v, w, 1, cell.data());
    for (std::size_t x = 0; x < cell.size(); ++x) cell[x] -= sums.sum(leaf, x, t, t);
    sums.add(leaf, t, end, cell.data());
    information[t % window] += cell[states + 1];
    change_entries(t, leaf, 1);
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
    const double loss = std::max(0.0, sums.real(total) - (bits(e.a) - bits(e.b)));
    return {kAllLeaves, SliceIndex(number(first)), SliceIndex(number(last)), loss, bits(e.b) - loss};
  }

  void measure_exactly(Part& part, Count first, Count last) const {
    double loss = 0, top = 0;
    std::vector<double> s(states);
    for (std::size_t leaf = 0; leaf < leaves; ++leaf) {
      double total = 0;
      for (std::size_t x = 0; x < states; ++x) total += s[x] = sums.real(sums.sum(leaf, x, first, last));
      const double all_w = sums.real(sums.sum(leaf, states, first, last));
      if (all_w > 0) top += total * std::log2(all_w);
      double own = 0;
      for (Count t = first; t <= last; ++t) {
        const double w = sums.real(sums.sum(leaf, states, t, t));
        for (std::size_t x = 0; x < states; ++x) {
          const double v = sums.real(sums.sum(leaf, x, t, t));
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
