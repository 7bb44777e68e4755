#include "tempo.h"

#include <algorithm>
#include <cmath>

namespace margay::detect {
namespace {

constexpr double kMemory = 256;      // slices
constexpr double kFew = 4;           // visits, as many as the usual ratio counts in a slice
constexpr double kWinsor = 16;       // a square counts as no more than so many times what is usual
constexpr double kPriorVisits = 16;  // of a dispersion of 1

}  // namespace

void Tempo::lay_out(std::size_t items, std::size_t groups, std::size_t columns) {
  if (columns > columns_ || groups > groups_) {
    const auto widen = [&](auto& v) {
      std::remove_reference_t<decltype(v)> wider(groups * columns);
      for (std::size_t i = 0; i < v.size(); ++i) wider[i / columns_ * columns + i % columns_] = v[i];
      v = std::move(wider);
    };
    widen(scatter_);
    widen(scatter_block_);
    usual_.resize(columns, 1.0);
  }
  items_ = items, groups_ = groups, columns_ = columns;
  for (auto* of : {&sum_, &since_})
    for (Grid& g : *of) g.reach(items, columns);
  for (Grid* g : {&expected_, &ended_, &block_, &block_expected_}) g->reach(items, columns);
}

void Tempo::clear_from(std::size_t item) {
  for (auto* of : {&sum_, &since_})
    for (Grid& g : *of)
      if (g.rows() > item) g.clear_from(item);
  for (Grid* g : {&block_, &block_expected_})
    if (g->rows() > item) g->clear_from(item);
}

void Tempo::restart() {
  for (auto* of : {&sum_, &since_})
    for (Grid& g : *of) g.fill(0);
  for (Grid* g : {&block_, &block_expected_}) g->fill(0);
  in_block_ = 0;
}

float Tempo::dispersion(std::size_t group, std::size_t column) const {
  double most = 1;
  for (const auto* s : {&scatter_, &scatter_block_}) {
    const Scatter& of = (*s)[group * columns_ + column];
    most = std::max(most, (of.squares + kPriorVisits) / (of.expected + kPriorVisits));
  }
  return static_cast<float>(most);
}

void Tempo::take(const Grid& passed, const Grid& ended, const std::vector<std::uint32_t>& group) {
  all_passed_.assign(columns_, 0.0);
  all_ended_.assign(columns_, 0.0);
  for (std::size_t i = 0; i < items_; ++i) {
    if (group[i] != 0) break;  // leaves come first
    for (std::size_t x = 0; x < columns_; ++x) all_passed_[x] += passed[i][x], all_ended_[x] += ended[i][x];
  }
  std::vector<float> ratio(columns_), by(groups_ * columns_);
  for (std::size_t x = 0; x < columns_; ++x) {
    const double now = (all_ended_[x] + kFew * usual_[x]) / (all_passed_[x] + kFew);
    ratio[x] = static_cast<float>(std::min(now, usual_[x]));
  }
  for (std::size_t g = 0; g < groups_; ++g)
    for (std::size_t x = 0; x < columns_; ++x) by[g * columns_ + x] = 1 / dispersion(g, x);
  for (std::size_t i = 0; i < items_; ++i) {
    const float* const f = &by[group[i] * columns_];
    for (std::size_t x = 0; x < columns_; ++x) {
      const float e = passed[i][x] * ratio[x], n = ended[i][x];
      expected_[i][x] = e;
      ended_[i][x] = n;
      if (e <= 0 && n <= 0) continue;
      for (std::size_t k = 0; k < kFactors.size(); ++k) {
        float& s = sum_[k][i][x];
        s += ((1 - 1 / kFactors[k]) * e - std::log(kFactors[k]) * n) * f[x];
        since_[k][i][x] += 1;
        if (s <= 0) s = 0, since_[k][i][x] = 0;
      }
    }
  }
}

void Tempo::learn(const std::vector<std::uint32_t>& group) {
  const auto add = [&](std::vector<Scatter>& scatter, Grid& difference, Grid& expected, double keep) {
    std::vector<Scatter> now(groups_ * columns_);
    for (std::size_t i = 0; i < items_; ++i)
      for (std::size_t x = 0; x < columns_; ++x) {
        const double e = expected[i][x];
        if (e <= 0) continue;
        const double most = kWinsor * dispersion(group[i], x) * std::max(e, 1.0);
        const double d = difference[i][x];
        Scatter& to = now[group[i] * columns_ + x];
        to.squares += std::min(d * d, most);
        to.expected += e;
      }
    for (std::size_t c = 0; c < now.size(); ++c) {
      scatter[c].squares = keep * scatter[c].squares + now[c].squares;
      scatter[c].expected = keep * scatter[c].expected + now[c].expected;
    }
  };
  for (std::size_t i = 0; i < items_; ++i)
    for (std::size_t x = 0; x < columns_; ++x) {
      const float e = expected_[i][x], n = ended_[i][x];
      block_[i][x] += e - n;
      block_expected_[i][x] += e;
      expected_[i][x] = e;
      ended_[i][x] = e - n;
    }
  add(scatter_, ended_, expected_, 1 - 1 / kMemory);
  if (++in_block_ == kBlock) {
    add(scatter_block_, block_, block_expected_, 1 - kBlock / kMemory);
    block_.fill(0);
    block_expected_.fill(0);
    in_block_ = 0;
  }
  for (std::size_t x = 0; x < columns_; ++x) {
    const double now = (all_ended_[x] + kFew * usual_[x]) / (all_passed_[x] + kFew);
    usual_[x] += (now - usual_[x]) / 64;
  }
}

Tempo::Score Tempo::of(std::size_t item) const {
  Score best;
  for (std::size_t k = 0; k < kFactors.size(); ++k)
    for (std::size_t x = 0; x < columns_; ++x)
      if (sum_[k][item][x] > best.score)
        best = {sum_[k][item][x], static_cast<std::uint32_t>(std::max(1.0f, since_[k][item][x]))};
  return best;
}

}  // namespace margay::detect
