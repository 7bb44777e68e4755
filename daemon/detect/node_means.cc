#include "node_means.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "margay/statistics/order_statistics.h"
#include "moderated.h"
#include "vectors.h"

namespace margay::detect {
namespace {

constexpr std::size_t kMeasures = Contrast::kMeasures;
// No standard deviation is believed to be below this (shares of a slice).
constexpr float kLeastDeviation = 0.012f;
// The part of a common shift that single leaves may miss.
constexpr float kImperfect = 0.15f;
constexpr float kMeanMemory = 256;         // slices
constexpr float kKeeps = 3;                // slices, in a new mode
constexpr std::size_t kMostPooled = 4096;  // nodes that a depth's variance is taken of, in a slice
constexpr double kNearlyIndependent = 1.5;
constexpr double kYoungMode = 32;  // slices
// A median of fewer leaves says nothing of their spread; of it and of a normal deviation.
constexpr std::size_t kLeastSample = 4;
constexpr float kDeviationOfMedian = 1.4826f;
constexpr float kNearly = 0.999f;  // rounding does not make up for the rest
constexpr std::uint64_t kRebase = 1024;

// -ln of the p-value of t, squared, with so many degrees of freedom; to some hundredths (Wallace, Bounds on
// normal approximations to Student's and the chi-square distributions, 1959).
float nats(float t2, float freedom) {
  const float wide = (8 * freedom + 1) / (8 * freedom + 3);
  const float z2 = freedom * std::log1p(t2 / freedom) * wide * wide, z = std::sqrt(z2);
  return z2 / 2 + 0.9189f + std::log((z + std::sqrt(z2 + 2.5465f)) / 2);
}

}  // namespace

float NodeMeans::least_deviation() const {
  return kLeastDeviation / finer_;
}

void NodeMeans::lay_out(const NodeItems& items, std::size_t columns, std::size_t keep) {
  if (columns > columns_) {
    for (Grid& g : ring_) g.widen(kMeasures, columns);
    long_.widen(kMeasures, columns);
    variance_.widen(kMeasures, columns);
    siblings_.widen(kMeasures, columns);
    const auto widen = [&](auto& v) {
      std::remove_reference_t<decltype(v)> wider(kMeasures * columns);
      for (std::size_t c = 0; c < v.size(); ++c) wider[c / columns_ * columns + c % columns_] = v[c];
      v = std::move(wider);
    };
    for (auto& c : common_) widen(c);
    for (auto& spans : pooled_)
      for (auto& of : spans) widen(of);
    columns_ = columns;
  }
  size_ = items.size(), leaves_ = items.leaves(), groups_ = std::max(groups_, items.groups());
  const std::size_t cells = kMeasures * columns_;
  if (variance_.rows() > keep) variance_.clear_from(keep);
  for (Grid& g : ring_) g.reach(size_, cells);
  long_.reach(size_, cells);
  variance_.reach(size_, cells);
  if (keep < size_) siblings_ = Grid(), siblings_n_.clear();
  siblings_.reach(size_, cells);
  siblings_n_.resize(size_, 0.0f);
  if (n_.size() > keep) n_.resize(keep);
  n_.resize(size_, 0.0f);
  for (auto& c : common_) c.resize(cells);
  pooled_.resize(groups_);
  pooled_n_.resize(groups_, 0.0);
  for (auto& spans : pooled_)
    for (auto& of : spans) of.resize(cells);
}

void NodeMeans::restart() {
  long_.fill(0);
  run_ = 0;
}

void NodeMeans::begin_mode() {
  restart();
  for (float& n : n_) n = std::min(n, kKeeps);
  for (float& n : siblings_n_) n = 0;
  for (double& n : pooled_n_) n = std::min<double>(n, kKeeps);
}

void NodeMeans::forget(std::size_t item) {
  n_[item] = 0;
  std::fill_n(variance_[item], kMeasures * columns_, 0.0f);
}

MARGAY_VECTORS void NodeMeans::take(const NodeItems& items, const Contrast& contrast) {
  const std::size_t slot = taken_ % kLong, cells = kMeasures * columns_;
  const Grid& leaves = contrast.departure();
  Grid& now = ring_[slot];
  for (std::size_t i = 0; i < size_; ++i) {
    float *const to = now[i], *const sum = long_[i];
    // What falls out of the longest span lies where the new slice will.
    for (std::size_t c = 0; c < cells && run_ >= kLong; ++c) sum[c] -= to[c];
    if (i < leaves_ && i < leaves.rows())
      std::copy_n(leaves[i], cells, to);
    else
      std::fill_n(to, cells, 0.0f);
    float known = 0;
    for (const LeafIndex l : i < leaves_ ? std::span<const LeafIndex>() : items.below(i)) {
      if (l.value >= leaves.rows() || !contrast.known(l.value)) continue;
      known += 1;
      const float* const from = leaves[l.value];
      for (std::size_t c = 0; c < cells; ++c) to[c] += from[c];
    }
    for (std::size_t c = 0; c < cells && known > 0; ++c) to[c] /= known;
    for (std::size_t c = 0; c < cells; ++c) sum[c] += to[c];
  }
  common_[slot] = contrast.common();
  ++taken_, ++run_;
  // Sums that are added to and taken from for days would drift.
  if (taken_ % kRebase != 0) return;
  long_.fill(0);
  for (std::size_t i = 0; i < size_; ++i) add_last(i, std::min<std::uint64_t>(kLong, run_), long_[i]);
}

void NodeMeans::add_last(std::size_t item, std::size_t slices, float* to) const {
  for (std::size_t k = 0; k < slices; ++k) {
    const float* const from = ago(item, k);
    for (std::size_t c = 0; c < kMeasures * columns_; ++c) to[c] += from[c];
  }
}

// How far the leaves spread in a span, robustly: cells. 0 where it is less than `floor`, and says nothing.
std::vector<float> NodeMeans::spread(const Contrast& contrast, std::size_t w,
                                     const std::vector<float>& floor) const {
  std::vector<float> out(kMeasures * columns_, 0.0f), enough(out.size());
  statistics::OrderStatistics values;
  const auto& sample = contrast.sample();
  const std::size_t n = sample.size();
  if (n < kLeastSample) return out;
  const auto span = static_cast<float>(kSpans[w]);
  // Of most columns it is less: that more than half are less is told without the median.
  for (std::size_t c = 0; c < out.size(); ++c) enough[c] = kNearly * floor[c] * span / kDeviationOfMedian;
  std::vector<std::uint32_t> more(out.size());
  for (const std::uint32_t l : sample) {
    const float* const from = w == 0 ? newest(l) : long_[l];
    for (std::size_t c = 0; c < out.size(); ++c) more[c] += std::abs(from[c]) > enough[c];
  }
  for (std::size_t c = 0; c < out.size(); ++c) {
    if (more[c] < n - n / 2) continue;
    values.clear();
    for (const std::uint32_t l : sample) values.add(std::abs((w == 0 ? newest(l) : long_[l])[c]));
    out[c] = kDeviationOfMedian * values.smallest(n / 2) / span;
  }
  return out;
}

float NodeMeans::siblings_say(const NodeItems& items, std::size_t i) const {
  const std::uint32_t parent = items.parent(i);
  if (i >= leaves_ || parent == NodeItems::kNone || siblings_n_[parent] <= 0) return 0;
  return siblings_n_[parent] / (siblings_n_[parent] + kOwnSamples);
}

const float* NodeMeans::prior(const NodeItems& items, std::size_t i, const float* pooled,
                              std::vector<float>& room) const {
  const float theirs = siblings_say(items, i);
  if (theirs == 0) return pooled;
  const float* const of = siblings_[items.parent(i)];
  for (std::size_t c = 0; c < room.size(); ++c) room[c] = theirs * of[c] + (1 - theirs) * pooled[c];
  return room.data();
}

MARGAY_VECTORS void NodeMeans::score(const NodeItems& items, const Contrast& contrast,
                                     const std::vector<char>& left_out) {
  const std::size_t cells = kMeasures * columns_;
  const auto history = static_cast<float>(std::max(1.0, contrast.history()));
  for (std::size_t w = 0; w < kSpans.size(); ++w) {
    Scored& s = scored_[w];
    s.most.assign(groups_ * cells, 0.0f);
    s.who.assign(groups_ * cells, 0);
    if (run_ < kSpans[w]) continue;
    const auto span = static_cast<float>(kSpans[w]);
    const float one = 1 / span, young = 1 + span / history;
    const float floor = least_deviation() * least_deviation() * young;
    const std::vector<float> spreads = spread(contrast, w, std::vector<float>(cells, std::sqrt(floor)));
    s.moved.assign(cells, 0.0f);
    for (std::size_t k = 0; k < kSpans[w]; ++k)
      for (std::size_t c = 0; c < cells; ++c)
        s.moved[c] += kImperfect * one * common_[(taken_ + kLong - 1 - k) % kLong][c];
    for (float& m : s.moved) m *= m;
    // A node's mean spreads the less the more leaves it has; of a depth the smallest node is taken. Once
    // nodes have been seen in the mode for a while their variance tells better: a fault may hit many leaves.
    const bool new_mode = contrast.history() < kYoungMode;
    s.base.assign(groups_ * cells, 0.0f);
    s.lasts = s.least = s.base;
    for (std::size_t g = 0; g < items.groups(); ++g)
      for (std::size_t c = 0; c < cells; ++c) {
        const double all = pooled_[g][0][c];
        s.base[g * cells + c] = static_cast<float>(all);
        s.lasts[g * cells + c] = young * (all > 0 ? static_cast<float>(pooled_[g][w][c] / all) : one);
        const float smallest = std::max(1.0f, items.smallest(g));
        s.least[g * cells + c] =
            g == 0 || new_mode ? std::max(floor, spreads[c] * spreads[c] / smallest) : floor;
      }
    // What the machine does is judged by itself.
    for (std::size_t g = 0; g < groups_; ++g)
      for (std::size_t x = 0; x < Contrast::kMachine; ++x)
        s.least[g * cells + x] = std::numeric_limits<float>::max();
    std::vector<float> room(cells);
    const float* b = nullptr;
    std::uint32_t of = 0;  // a leaf's parent, that it is of; siblings mostly follow each other
    for (std::size_t i = 0; i < size_; ++i) {
      const std::size_t g = items.group(i);
      if (pooled_n_[g] < 1 || (!left_out.empty() && left_out[i])) continue;
      if (i >= leaves_ || b == nullptr || items.parent(i) != of) {
        b = prior(items, i, &s.base[g * cells], room);
        of = items.parent(i);
      }
      const float own = n_[i] / (n_[i] + kOwnSamples), others = 1 - own;
      const float *const d = w == 0 ? newest(i) : long_[i], *const v = variance_[i];
      const float *const t = &s.lasts[g * cells], *const f = &s.least[g * cells], *const m = s.moved.data();
      float* const most = &s.most[g * cells];
      std::uint32_t* const who = &s.who[g * cells];
      const auto item = static_cast<std::uint32_t>(i);
      for (std::size_t c = 0; c < cells; ++c) {
        const float more = std::max(0.0f, d[c]);
        const float term = more * more / (std::max((own * v[c] + others * b[c]) * t[c], f[c]) + m[c]);
        who[c] = term > most[c] ? item : who[c];
        most[c] = std::max(most[c], term);
      }
    }
  }
}

NodeMeans::Greatest NodeMeans::greatest(std::size_t group, std::size_t w, std::size_t cell) const {
  const std::size_t at = group * kMeasures * columns_ + cell;
  const auto span = static_cast<float>(kSpans[w]);
  const Scored& s = scored_[w];
  if (s.most[at] <= 0) return {};
  return {margay::detect::nats(s.most[at] / (span * span), kOwnSamples + n_[s.who[at]]), s.who[at]};
}

float NodeMeans::nats(const NodeItems& items, std::size_t i, std::size_t w, std::size_t c) const {
  if (run_ < kSpans[w]) return 0;
  const Scored& s = scored_[w];
  const std::size_t at = items.group(i) * kMeasures * columns_ + c;
  const float own = n_[i] / (n_[i] + kOwnSamples), theirs = siblings_say(items, i);
  const float base =
      theirs > 0 ? theirs * siblings_[items.parent(i)][c] + (1 - theirs) * s.base[at] : s.base[at];
  const float variance =
      std::max((own * variance_[i][c] + (1 - own) * base) * s.lasts[at], s.least[at]) + s.moved[c];
  const auto span = static_cast<float>(kSpans[w]);
  const float more = std::max(0.0f, (w == 0 ? newest(i) : long_[i])[c]) / span;
  return more > 0 ? margay::detect::nats(more * more / variance, kOwnSamples + n_[i]) : 0;
}

// The time, as a share, that goes elsewhere than usual.
double NodeMeans::effect(const float* sum, std::size_t slices) const {
  float more = 0, less = 0, longer = 0;
  const float* const share = sum + Contrast::kShare * columns_;
  const float* const excess = sum + Contrast::kExcess * columns_;
  for (std::size_t x = 0; x < columns_; ++x) {
    more += std::max(0.0f, share[x]);
    less += std::max(0.0f, -share[x]);
    longer += std::max(0.0f, excess[x]);
  }
  return std::max({more, less, longer}) / static_cast<float>(slices);
}

float NodeMeans::deviation(std::size_t l, std::size_t c, float slices) const {
  const float own = n_[l] / (n_[l] + kOwnSamples), least = least_deviation();
  const auto base = static_cast<float>(pooled_[0][0][c]);
  const float v = std::max(own * variance_[l][c] + (1 - own) * base, least * least);
  const float lasts = base > 0 ? static_cast<float>(pooled_[0].back()[c]) / base : 1.0f;
  return std::sqrt(v * std::max(lasts, 1 / slices));
}

MARGAY_VECTORS void NodeMeans::learn(const NodeItems& items, const Contrast& contrast) {
  const std::size_t cells = kMeasures * columns_;
  // Of each depth: the variance of means over each span. Of very many nodes, of some.
  const std::size_t stride = size_ / kMostPooled + 1;
  std::vector<double> count(groups_, 0.0), squares(groups_ * cells);
  for (std::size_t i = 0; i < size_; ++i)
    if (i % stride == taken_ % stride || i >= leaves_) count[items.group(i)] += 1;
  for (std::size_t w = 0; w < kSpans.size(); ++w) {
    const std::size_t span = kSpans[w];
    std::fill(squares.begin(), squares.end(), 0.0);
    const float one = 1 / static_cast<float>(span);
    for (std::size_t i = 0; i < size_; ++i) {
      if (i % stride != taken_ % stride && i < leaves_) continue;
      double* const to = &squares[items.group(i) * cells];
      const float* const sum = w == 0 ? newest(i) : long_[i];
      for (std::size_t c = 0; c < cells; ++c) {
        const float d = sum[c] * one;
        to[c] += static_cast<double>(d * d);
      }
    }
    for (std::size_t g = 0; g < groups_; ++g) {
      if (count[g] == 0) continue;
      const double n = std::min(pooled_n_[g], static_cast<double>(kMeanMemory));
      for (std::size_t c = 0; c < cells; ++c) {
        double& p = pooled_[g][w][c];
        const double s = squares[g * cells + c] / count[g];
        if (run_ < span)  // not seen yet: as if slices were nearly independent
          p = pooled_[g][0][c] * kNearlyIndependent / static_cast<double>(span);
        else
          p += (std::min(s, n > kFreeSamples ? kMostSquare * std::max(p, 1e-6) : s) - p) / (n + 1);
      }
    }
  }
  for (std::size_t g = 0; g < groups_; ++g) pooled_n_[g] += count[g] > 0;
  std::vector<float> base(groups_ * cells);
  for (std::size_t g = 0; g < groups_; ++g)
    for (std::size_t c = 0; c < cells; ++c) base[g * cells + c] = static_cast<float>(pooled_[g][0][c]);
  for (std::size_t i = 0; i < size_; ++i) {
    if (i < leaves_ && (i >= contrast.leaves() || !contrast.known(i))) continue;
    const float rate = 1 / (std::min(n_[i], kMeanMemory) + 1);
    const float winsor = n_[i] > kFreeSamples ? kMostSquare : std::numeric_limits<float>::max();
    const float *const d = newest(i), *const b = &base[items.group(i) * cells];
    float* const v = variance_[i];
    for (std::size_t c = 0; c < cells; ++c)
      v[c] += rate * (std::min(d[c] * d[c], winsor * std::max({v[c], b[c], 1e-9f})) - v[c]);
    n_[i] += 1;
  }
  for (std::size_t i = leaves_; i < size_; ++i) {
    float* const of = siblings_[i];
    std::fill_n(of, cells, 0.0f);
    float n = 0;
    for (const LeafIndex l : items.below(i)) {
      n += n_[l.value];
      for (std::size_t c = 0; c < cells; ++c) of[c] += n_[l.value] * variance_[l.value][c];
    }
    for (std::size_t c = 0; c < cells && n > 0; ++c) of[c] /= n;
    siblings_n_[i] = n;
  }
}

}  // namespace margay::detect
