#include "margay/partition/temporal.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <string>
#include <utility>

#include "cell_check.h"
#include "ring_triangle.h"

namespace margay::partition {

struct Temporal::Impl {
  using Count = std::uint64_t;

  // Sums over the leaves for one interval, in units of `quantum`.
  struct Entry {
    std::int64_t a = 0;  // sum_s sum_x S_sx*log2(S_sx)
    std::int64_t b = 0;  // sum_s S_s*log2(W_s)
  };
  struct Measures {
    double a, b;  // of one leaf, in bits
  };

  std::size_t leaves, states, window;
  std::vector<double> p;
  SliceIndex origin;
  double tie;
  internal::RingTriangle triangle;
  double scale;  // an Entry is bits * scale, a power of two
  Count begin = 0, end = 0;

  std::vector<double> cells;        // per ring slot and leaf: v_0..v_{X-1}, w
  std::vector<double> information;  // per ring slot: sum_s I_s
  std::vector<Entry> entries;       // the triangle
  std::vector<double> running;      // scratch: per leaf S_0..S_{X-1}, W
  std::vector<double> old_cell;     // scratch of amend

  explicit Impl(Options& o)
      : leaves(o.leaves),
        states(o.states),
        window(o.window),
        p(std::move(o.p)),
        origin(o.first_slice),
        tie(o.tie_bits ? *o.tie_bits : internal::default_tie(leaves, window, states)),
        triangle(window),
        scale(fixed_point_scale(leaves, states, window)),
        cells(window * leaves * stride(), 0.0),
        information(window, 0.0),
        entries(triangle.size()),
        running(leaves * stride()),
        old_cell(stride()) {}

  // |a| and |b| of one leaf are at most T*log2(T), or 0.54 per state where sums are below 1 (the minimum of
  // x*log2 x is -0.531); one bit more covers the tolerances, and one the sum of rounding errors.
  static double fixed_point_scale(std::size_t leaves, std::size_t states, std::size_t window) {
    const double t = static_cast<double>(window);
    const double one = std::max(t * std::log2(t), 0.54 * static_cast<double>(states)) + 1;
    return std::ldexp(1.0, 60 - std::ilogb(one * static_cast<double>(leaves)));
  }

  std::size_t stride() const { return states + 1; }
  double* cell(std::size_t leaf, Count t) { return cells.data() + (t % window * leaves + leaf) * stride(); }
  const double* cell(std::size_t leaf, Count t) const {
    return cells.data() + (t % window * leaves + leaf) * stride();
  }
  std::int64_t number(Count t) const { return origin.value + static_cast<std::int64_t>(t); }
  std::int64_t fixed(double in_bits) const { return std::llrint(in_bits * scale); }
  double bits(std::int64_t value) const { return static_cast<double>(value) / scale; }

  void set_cell(std::size_t leaf, Count t, std::span<const double> v, double w) {
    double* c = cell(leaf, t);
    for (std::size_t x = 0; x < states; ++x) c[x] = w > 0 ? v[x] : 0.0;
    c[states] = w;
  }
  void sum_information(Count t) {
    double sum = 0;
    for (std::size_t s = 0; s < leaves; ++s) {
      const double* c = cell(s, t);
      sum += internal::cell_information({c, states}, c[states]);
    }
    information[t % window] = sum;
  }

  // s: S_0..S_{X-1}, W.
  Measures measure(const double* s) const {
    double a = 0, total = 0;
    for (std::size_t x = 0; x < states; ++x) {
      a += internal::xlog2x(s[x]);
      total += s[x];
    }
    return {a, s[states] > 0 ? total * std::log2(s[states]) : 0.0};
  }

  void push_column(const Column& column) {
    if (end - begin == window) ++begin;
    const Count n = end++;
    for (std::size_t s = 0; s < leaves; ++s) {
      set_cell(s, n, column.v.subspan(s * states, states), column.w[s]);
    }
    sum_information(n);
    // As in the spatiotemporal engine, sums run from the last slice back to the first.
    std::fill(running.begin(), running.end(), 0.0);
    for (Count i = n + 1; i-- > begin;) {
      Entry sum;
      for (std::size_t s = 0; s < leaves; ++s) {
        const double* c = cell(s, i);
        double* r = running.data() + s * stride();
        for (std::size_t x = 0; x < stride(); ++x) r[x] += c[x];
        const Measures m = measure(r);
        sum.a += fixed(m.a);
        sum.b += fixed(m.b);
      }
      entries[triangle.at(i, n)] = sum;
    }
  }

  void amend_cell(Count t, std::size_t leaf, std::span<const double> v, double w) {
    std::copy_n(cell(leaf, t), stride(), old_cell.data());
    set_cell(leaf, t, v, w);
    sum_information(t);
    double* before = running.data();
    std::vector<double> after(stride());
    for (Count j = t; j < end; ++j) {
      std::fill(before, before + stride(), 0.0);
      std::fill(after.begin(), after.end(), 0.0);
      for (Count i = j + 1; i-- > begin;) {
        const double* now = cell(leaf, i);
        const double* then = i == t ? old_cell.data() : now;
        for (std::size_t x = 0; x < stride(); ++x) {
          before[x] += then[x];
          after[x] += now[x];
        }
        if (i > t) continue;
        const Measures was = measure(before), is = measure(after.data());
        Entry& e = entries[triangle.at(i, j)];
        e.a += fixed(is.a) - fixed(was.a);
        e.b += fixed(is.b) - fixed(was.b);
      }
    }
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
    double total = 0;
    for (Count t = first; t <= last; ++t) total += information[t % window];
    const double loss = std::max(0.0, total - (bits(e.a) - bits(e.b)));
    return {kAllLeaves, SliceIndex(number(first)), SliceIndex(number(last)), loss, bits(e.b) - loss};
  }

  void measure_exactly(Part& part, Count first, Count last) const {
    double loss = 0, top = 0;
    std::vector<double> s(stride());
    for (std::size_t leaf = 0; leaf < leaves; ++leaf) {
      std::fill(s.begin(), s.end(), 0.0);
      for (Count t = first; t <= last; ++t) {
        const double* c = cell(leaf, t);
        for (std::size_t x = 0; x < stride(); ++x) s[x] += c[x];
      }
      top += measure(s.data()).b;
      double own = 0;
      for (Count t = first; t <= last; ++t) {
        const double* c = cell(leaf, t);
        for (std::size_t x = 0; x < states; ++x) {
          if (c[x] > 0) own += c[x] * std::log2((c[x] / c[states]) * (s[states] / s[x]));
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
  const std::uint64_t table = sat_mul(sizeof(Impl::Entry), internal::RingTriangle(o.window).size());
  const std::uint64_t rows =
      sat_mul(sat_mul(sat_add(o.window, 1), o.leaves), sat_mul(sizeof(double), o.states + 1));
  const std::uint64_t scratch = sizeof(double) * (4 * std::uint64_t{o.window} + 2 * (o.states + 1));
  return sat_add(sat_add(table, rows), scratch);
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

Result<Partition> Temporal::partition(std::size_t p_index) const {
  if (p_index >= impl_->p.size()) {
    return fail(ErrorCode::kInvalidArgument,
                "partition: p number " + std::to_string(p_index) + " of " + std::to_string(impl_->p.size()));
  }
  return impl_->solve(impl_->p[p_index]);
}

Result<Partition> Temporal::partition_at(double p) const {
  if (auto ok = internal::check_p(p); !ok) return tl::unexpected(ok.error());
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
