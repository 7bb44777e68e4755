#include "stretch.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace margay::detect {
namespace {

constexpr double kMemory = 256;      // slices
constexpr double kWinsor = 16;       // a square counts as no more than so many times what is usual
constexpr double kPriorVisits = 16;  // of a dispersion of 1
constexpr float kByChance = 1;       // deviations that others are beyond what is usual
constexpr float kTogether = 2.5;     // what states that count together cost

}  // namespace

void Stretch::lay_out(std::size_t items, std::size_t groups, std::size_t columns) {
  if (columns > columns_ || groups > groups_) {
    for (auto* v : {&scatter_, &scatter_block_}) {
      std::vector<Scatter> wider(groups * columns);
      for (std::size_t i = 0; i < v->size(); ++i) wider[i / columns_ * columns + i % columns_] = (*v)[i];
      *v = std::move(wider);
    }
  }
  if (columns > columns_) {
    std::vector<Usual> wider(kFactors * columns);
    for (std::size_t i = 0; i < usual_.size(); ++i) wider[i / columns_ * columns + i % columns_] = usual_[i];
    usual_ = std::move(wider);
  }
  items_ = items, groups_ = groups, columns_ = columns;
  for (auto* of : {&sum_, &since_, &excess_})
    for (Grid& g : *of) g.reach(items, columns);
  for (Grid* g : {&block_, &block_visits_}) g->reach(items, columns);
  for (Grid* g : slice_.grids()) g->reach(items, columns);
  slice_.excess.reach(items, columns);
}

void Stretch::clear_from(std::size_t item) {
  for (auto* of : {&sum_, &since_, &excess_})
    for (Grid& g : *of)
      if (g.rows() > item) g.clear_from(item);
  for (Grid* g : {&block_, &block_visits_})
    if (g->rows() > item) g->clear_from(item);
}

void Stretch::restart() {
  for (auto* of : {&sum_, &since_, &excess_})
    for (Grid& g : *of) g.fill(0);
  for (Grid* g : {&block_, &block_visits_}) g->fill(0);
  in_block_ = 0;
}

float Stretch::dispersion(std::size_t group, std::size_t column) const {
  double most = 1;
  for (const auto* s : {&scatter_, &scatter_block_}) {
    const Scatter& of = (*s)[group * columns_ + column];
    most = std::max(most, (of.squares + kPriorVisits) / (of.visits + kPriorVisits));
  }
  return static_cast<float>(most);
}

void Stretch::take(const std::vector<std::uint32_t>& group) {
  std::vector<float> by(groups_ * columns_), all(kFactors * columns_), at(columns_);
  for (std::size_t g = 0; g < groups_; ++g)
    for (std::size_t x = 0; x < columns_; ++x) by[g * columns_ + x] = 1 / dispersion(g, x);
  for (std::size_t i = 0; i < items_ && group[i] == 0; ++i)
    for (std::size_t x = 0; x < columns_; ++x) {
      at[x] += slice_.at[i][x];
      for (std::size_t k = 0; k < kFactors; ++k) all[k * columns_ + x] += slice_.evidence[k][i][x];
    }
  std::vector<float> mean(kFactors * columns_), deviation(kFactors * columns_);
  for (std::size_t c = 0; c < mean.size(); ++c) {
    const Usual& u = usual_[c];
    mean[c] = static_cast<float>(u.sum / (u.visits + kPriorVisits));
    deviation[c] = static_cast<float>(std::sqrt(u.squares / (u.visits + kPriorVisits)));
  }
  for (std::size_t i = 0; i < items_; ++i) {
    const float* const f = &by[group[i] * columns_];
    for (std::size_t x = 0; x < columns_; ++x) {
      const float mine = slice_.at[i][x], theirs = at[x] - mine;
      if (mine <= 0) continue;
      for (std::size_t k = 0; k < kFactors; ++k) {
        const std::size_t c = k * columns_ + x;
        const float e = slice_.evidence[k][i][x];
        // Of all others, per visit, beyond what is usual and chance makes of as many.
        float others = 0;
        if (theirs > 0)
          others = (all[c] - e) / theirs - mean[c] - kByChance * deviation[c] / std::sqrt(theirs);
        float& s = sum_[k][i][x];
        s += (e - std::max(0.0f, others) * mine) * f[x];
        since_[k][i][x] += 1;
        excess_[k][i][x] += slice_.excess[i][x];
        if (s <= 0) s = 0, since_[k][i][x] = 0, excess_[k][i][x] = 0;
      }
    }
  }
}

void Stretch::learn(const std::vector<std::uint32_t>& group) {
  const auto add = [&](std::vector<Scatter>& scatter, const Grid& far, const Grid& visits, double keep) {
    std::vector<Scatter> now(groups_ * columns_);
    std::vector<double> widest(now.size());
    for (std::size_t c = 0; c < widest.size(); ++c)
      widest[c] = kWinsor * dispersion(c / columns_, c % columns_);
    for (std::size_t i = 0; i < items_; ++i)
      for (std::size_t x = 0; x < columns_; ++x) {
        const double n = visits[i][x];
        if (n <= 0) continue;
        const double most = widest[group[i] * columns_ + x] * n;
        Scatter& to = now[group[i] * columns_ + x];
        to.squares += std::min(static_cast<double>(far[i][x]) * far[i][x], most);
        to.visits += n;
      }
    for (std::size_t c = 0; c < now.size(); ++c) {
      scatter[c].squares = keep * scatter[c].squares + now[c].squares;
      scatter[c].visits = keep * scatter[c].visits + now[c].visits;
    }
  };
  add(scatter_, slice_.far, slice_.ended, 1 - 1 / kMemory);
  for (Usual& u : usual_) u.sum *= 1 - 1 / kMemory, u.squares *= 1 - 1 / kMemory, u.visits *= 1 - 1 / kMemory;
  for (std::size_t i = 0; i < items_ && group[i] == 0; ++i)
    for (std::size_t x = 0; x < columns_; ++x) {
      const double n = slice_.at[i][x];
      if (n <= 0) continue;
      for (std::size_t k = 0; k < kFactors; ++k) {
        Usual& u = usual_[k * columns_ + x];
        const double e = slice_.evidence[k][i][x];
        u.sum += e, u.squares += e * e / n, u.visits += n;
      }
    }
  for (std::size_t i = 0; i < items_; ++i)
    for (std::size_t x = 0; x < columns_; ++x)
      block_[i][x] += slice_.far[i][x], block_visits_[i][x] += slice_.ended[i][x];
  if (++in_block_ < kBlock) return;
  add(scatter_block_, block_, block_visits_, 1 - kBlock / kMemory);
  block_.fill(0);
  block_visits_.fill(0);
  in_block_ = 0;
}

Stretch::Score Stretch::of(std::size_t item) const {
  Score best;
  for (std::size_t k = 0; k < kFactors; ++k) {
    float together = -kTogether, most = 0, since = 1, effect = 0;
    for (std::size_t x = 0; x < columns_; ++x) {
      const float s = sum_[k][item][x];
      if (s <= 0) continue;
      together += s;
      effect += std::max(0.0f, excess_[k][item][x]) / std::max(1.0f, since_[k][item][x]);
      if (s > most) most = s, since = since_[k][item][x];
    }
    if (std::max(most, together) > best.score)
      best = {std::max(most, together), static_cast<std::uint32_t>(std::max(1.0f, since)), effect};
  }
  return best;
}

}  // namespace margay::detect
