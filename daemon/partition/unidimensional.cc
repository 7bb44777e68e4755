#include "unidimensional.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <utility>

#include "cell_check.h"

namespace margay::partition::internal {
namespace {

// Of a model in which the mean over one dimension is one cell.
Batch::Options options_of_space(const Batch::Options& whole) {
  Batch::Options out;
  out.tree = whole.tree;
  out.states = whole.states;
  out.first_slice = whole.first_slice;
  out.memory_budget_bytes = whole.memory_budget_bytes;
  out.tie_bits = whole.tie_bits;
  return out;
}

Batch::Options options_of_time(const Batch::Options& whole) {
  Batch::Options out = options_of_space(whole);
  out.op = Operator::kTemporal;
  out.tree = TreeShape::flat(1);
  return out;
}

// The mean over `count` of cells.
struct MeanCells {
  std::vector<double> v, w;
  MeanCells(std::size_t cells, std::size_t states) : v(cells * states, 0.0), w(cells, 0.0) {}
  void add(std::size_t cell, std::span<const double> values, double weight, double count) {
    // A cell that weighs nothing says nothing, as in batch.cc.
    for (std::size_t x = 0; weight > 0 && x < values.size(); ++x)
      v[cell * values.size() + x] += values[x] / count;
    w[cell] += weight / count;
  }
};

}  // namespace

std::uint64_t Unidimensional::memory_needed(const Batch::Options& o, std::size_t slices) {
  std::uint64_t need =
      sat_mul(sizeof(double), sat_mul(sat_mul(o.tree.size() + 1, slices + 1), sat_add(o.states, 2)));
  need = sat_add(need, Batch::memory_needed(options_of_space(o), 1));
  return o.op == Operator::kProduct ? sat_add(need, Batch::memory_needed(options_of_time(o), slices)) : need;
}

Result<Unidimensional> Unidimensional::create(const Batch::Options& o, std::span<const Column> columns) {
  Unidimensional out;
  out.tree_ = o.tree;
  out.states_ = o.states;
  out.slices_ = columns.size();
  out.origin_ = o.first_slice;
  const std::size_t leaves = o.tree.leaf_count(), stride = o.states + 2;
  MeanCells space(leaves, o.states), time(columns.size(), o.states);
  out.sums_.assign(o.tree.size() * (columns.size() + 1) * stride, 0.0);
  for (std::size_t t = 0; t < columns.size(); ++t) {
    for (std::uint32_t s = 0; s < leaves; ++s) {
      const auto v = columns[t].v.subspan(s * o.states, o.states);
      const double w = columns[t].w[s];
      space.add(s, v, w, static_cast<double>(columns.size()));
      time.add(t, v, w, static_cast<double>(leaves));
      const NodeIndex leaf = o.tree.leaf_node(LeafPosition(s));
      double* sum = out.sums_.data() + (leaf.value * (columns.size() + 1) + t + 1) * stride;
      std::copy_n(sum - stride, stride, sum);
      if (w <= 0) continue;
      for (std::size_t x = 0; x < o.states; ++x) sum[x] += v[x];
      sum[o.states] += w;
      sum[o.states + 1] += cell_information(v, w);
    }
  }
  for (const NodeIndex k : o.tree.post_order()) {
    if (o.tree.parent(k) == kNoParent) continue;
    double* to = out.sums_.data() + o.tree.parent(k).value * (columns.size() + 1) * stride;
    const double* from = out.sums_until(k, 0);
    for (std::size_t i = 0; i < (columns.size() + 1) * stride; ++i) to[i] += from[i];
  }

  const Column whole_time{space.v, space.w};
  auto made = Batch::create(options_of_space(o), std::span(&whole_time, 1));
  if (!made) return tl::unexpected(made.error());
  out.space_ = std::move(*made);
  if (o.op != Operator::kProduct) return out;
  std::vector<Column> all_leaves(columns.size());
  for (std::size_t t = 0; t < columns.size(); ++t)
    all_leaves[t] = {std::span(time.v).subspan(t * o.states, o.states), std::span(time.w).subspan(t, 1)};
  made = Batch::create(options_of_time(o), all_leaves);
  if (!made) return tl::unexpected(made.error());
  out.time_ = std::move(*made);
  return out;
}

std::vector<Part> Unidimensional::parts(double p) {
  const auto nodes = space_->solve(p);
  if (!nodes) throw std::bad_alloc();
  std::vector<Part> times{{kAllLeaves, origin_, origin_ + static_cast<std::int64_t>(slices_) - 1}};
  if (time_) {
    auto cuts = time_->solve(p);
    if (!cuts) throw std::bad_alloc();
    times = std::move(cuts->parts);
  }
  std::vector<Part> out;
  for (const Part& node : nodes->parts)
    for (const Part& time : times) out.push_back({node.node, time.first, time.last});
  return out;
}

void Unidimensional::measure(Part& part) const {
  const double* before = sums_until(part.node, static_cast<std::size_t>(part.first.value - origin_.value));
  const double* until = sums_until(part.node, static_cast<std::size_t>(part.last.value - origin_.value) + 1);
  const double w = until[states_] - before[states_];
  double total = 0, alike = 0;  // sum of S_x, of S_x*log2(S_x/W)
  for (std::size_t x = 0; x < states_; ++x) {
    const double s = until[x] - before[x];
    total += s;
    if (s > 0 && w > 0) alike += s * std::log2(s / w);
  }
  const bool one_cell = tree_.is_leaf(part.node) && part.first == part.last;
  part.loss = one_cell ? 0.0 : std::max(0.0, until[states_ + 1] - before[states_ + 1] - alike);
  part.gain = (w > 0 ? total * std::log2(w) : 0.0) - part.loss;
}

SignificantP Unidimensional::points(std::size_t most, const std::function<bool()>& go_on) {
  SignificantP out;
  std::vector<double> at;
  for (auto* one : {&space_, &time_}) {
    if (!*one) continue;
    const auto found = significant_p(**one, {go_on});
    if (!found) throw std::bad_alloc();
    out.complete = out.complete && found->complete;
    out.solves += found->solves;
    for (const QualityPoint& point : found->points) at.push_back(point.p);
  }
  std::sort(at.begin(), at.end());
  at.erase(std::unique(at.begin(), at.end()), at.end());
  const std::size_t wanted = std::min(at.size(), most);
  out.complete = out.complete && wanted == at.size();
  for (std::size_t k = 0; k < wanted; ++k) {
    if (go_on && !go_on()) {
      out.complete = false;
      break;
    }
    const std::size_t i = wanted < at.size() ? k * (at.size() - 1) / (wanted - 1) : k;
    // In the middle of where it holds: at the step itself both neighbours are optimal.
    const double until = i + 1 < at.size() ? at[i + 1] : 1.0;
    QualityPoint point{at[i], 0, 0, 0};
    for (Part& part : parts(at[i] < 1 ? (at[i] + until) / 2 : 1.0)) {
      measure(part);
      point.gain += part.gain;
      point.loss += part.loss;
      ++point.aggregates;
    }
    out.points.push_back(point);
  }
  return out;
}

}  // namespace margay::partition::internal
