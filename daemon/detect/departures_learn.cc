// What a quiet slice teaches: how much is usual, and how high its scores go.
#include <algorithm>
#include <limits>
#include <vector>

#include "departures.h"

namespace margay::detect {
namespace {

constexpr std::size_t kMeasures = Contrast::kMeasures;
constexpr float kMemory = 256;             // slices
constexpr float kWinsor = 9;               // a square moves a variance by no more than so many times it
constexpr float kFreely = 3;               // slices until a variance has to be argued with
constexpr std::size_t kMostPooled = 4096;  // nodes that a depth's variance is taken of, in a slice
constexpr double kNearlyIndependent = 1.5;
constexpr std::size_t kLate = 8;  // slices until a maximum is learned

}  // namespace

// The slice is quiet: what it says of variances, and the greatest scores of a while ago.
void Departures::learn() {
  learn_variances();
  stretch_.learn(group_);
  pending_.push_back(greatest_);
  while (pending_.size() > (has(Ingredient::kLateLearning) ? kLate : 0)) {
    for (std::size_t g = 0; g < pending_.front().size(); ++g)
      if (const Greatest& m = pending_.front()[g]; m.score > 0) limits_[g].add(m.score, m.told);
    pending_.erase(pending_.begin());
  }
}

void Departures::learn_variances() {
  const std::size_t cells = kMeasures * columns_;
  // Of each depth: the variance of means over each span. Of very many nodes, of some.
  const std::size_t stride = items_ / kMostPooled + 1;
  std::vector<double> count(groups_, 0.0), squares(groups_ * cells);
  for (std::size_t i = 0; i < items_; ++i)
    if (i % stride == slices_ % stride || i >= leaves_) count[group_[i]] += 1;
  for (std::size_t w = 0; w < kSpans.size(); ++w) {
    const std::size_t span = kSpans[w];
    std::fill(squares.begin(), squares.end(), 0.0);
    const float one = 1 / static_cast<float>(span);
    for (std::size_t i = 0; i < items_; ++i) {
      if (i % stride != slices_ % stride && i < leaves_) continue;
      double* const to = &squares[group_[i] * cells];
      const float* const sum = w == 0 ? newest(i) : long_[i];
      for (std::size_t c = 0; c < cells; ++c) {
        const float d = sum[c] * one;
        to[c] += static_cast<double>(d * d);
      }
    }
    for (std::size_t g = 0; g < groups_; ++g) {
      if (count[g] == 0) continue;
      const double n = std::min(pooled_n_[g], static_cast<double>(kMemory));
      for (std::size_t c = 0; c < cells; ++c) {
        double& p = pooled_[g][w][c];
        const double s = squares[g * cells + c] / count[g];
        if (run_ + 1 < span)  // not seen yet: as if slices were nearly independent
          p = pooled_[g][0][c] * kNearlyIndependent / static_cast<double>(span);
        else
          p += (std::min(s, n > kFreely ? kWinsor * std::max(p, 1e-6) : s) - p) / (n + 1);
      }
    }
  }
  for (std::size_t g = 0; g < groups_; ++g) pooled_n_[g] += count[g] > 0;
  std::vector<float> base(groups_ * cells);
  for (std::size_t g = 0; g < groups_; ++g)
    for (std::size_t c = 0; c < cells; ++c) base[g * cells + c] = static_cast<float>(pooled_[g][0][c]);
  for (std::size_t i = 0; i < items_; ++i) {
    if (i < leaves_ && (i >= contrast_.leaves() || !contrast_.known(i))) continue;
    const float rate = 1 / (std::min(n_[i], kMemory) + 1);
    const float winsor = n_[i] > kFreely ? kWinsor : std::numeric_limits<float>::max();
    const float *const d = newest(i), *const b = &base[group_[i] * cells];
    float* const v = variance_[i];
    for (std::size_t c = 0; c < cells; ++c)
      v[c] += rate * (std::min(d[c] * d[c], winsor * std::max({v[c], b[c], 1e-9f})) - v[c]);
    n_[i] += 1;
  }
}

void Departures::drop() {
  episode_.reset();
  back_ = 0;
  restart();
}

}  // namespace margay::detect
