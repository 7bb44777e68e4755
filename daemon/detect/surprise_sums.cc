#include "surprise_sums.h"

#include <algorithm>
#include <utility>

namespace margay::detect {

void SurpriseSums::lay_out(std::size_t items, std::size_t columns) {
  if (columns > columns_) {
    // The last is that of all together.
    for (Grid* g : sums())
      if (columns_ > 0) {
        g->reach(g->rows(), columns + 1);
        for (std::size_t i = 0; i < g->rows(); ++i) (*g)[i][columns] = std::exchange((*g)[i][columns_], 0.0f);
      }
    columns_ = columns;
  }
  items_ = items;
  for (Grid* g : sums()) g->reach(items, columns_ + 1);
  for (Grid* g : {&slice_.evidence, &slice_.told, &slice_.lost, &slice_.ratio}) g->reach(items, columns_);
  slice_.busy.resize(items);
  slice_.there.resize(items);
  ended_.resize(items);
}

void SurpriseSums::clear_from(std::size_t item) {
  for (Grid* g : sums())
    if (g->rows() > item) g->clear_from(item);
}

void SurpriseSums::restart() {
  for (Grid* g : sums()) g->fill(0);
  ended_.assign(items_, {});
}

void SurpriseSums::restart(std::size_t item) {
  for (Grid* g : sums()) std::fill_n((*g)[item], g->columns(), 0.0f);
}

SurpriseSums::Score SurpriseSums::at(std::size_t i, std::size_t x) const {
  const float busy = busy_[i][x], told = told_[i][x];
  return {sum_[i][x], static_cast<std::uint32_t>(std::max(1.0f, since_[i][x])),
          busy > 0 ? std::max(0.0f, lost_[i][x]) / busy : 0, told > 0 ? ratio_[i][x] / told : 0};
}

void SurpriseSums::end(std::size_t i, std::size_t x) {
  if (peak_[i][x] > ended_[i].score) ended_[i].score = peak_[i][x], ended_[i].effect = effect_[i][x];
  for (Grid* g : sums()) (*g)[i][x] = 0;
}

void SurpriseSums::take(std::size_t leaves) {
  std::vector<float> all(columns_);
  float there = 0;
  for (std::size_t i = 0; i < leaves; ++i) {
    there += slice_.there[i];
    for (std::size_t x = 0; x < columns_; ++x) all[x] += slice_.evidence[i][x];
  }
  for (std::size_t i = 0; i < items_; ++i) {
    ended_[i] = {};
    float sum_e = 0, sum_lost = 0, sum_told = 0, ratio = 0;
    const auto add = [&](std::size_t x, float e, float lost, float r, float n) {
      float& s = sum_[i][x];
      if (s <= 0 && (n <= 0 || e <= 0)) return;  // no stretch, and none begins
      s += std::min(e, kMostOfSlice);
      since_[i][x] = s < kBegins ? 1 : since_[i][x] + 1;
      lost_[i][x] += lost;
      busy_[i][x] += slice_.busy[i];
      ratio_[i][x] += r;
      told_[i][x] += n;
      if (s > peak_[i][x]) peak_[i][x] = s, effect_[i][x] = at(i, x).effect;
      if (s <= 0 || s <= peak_[i][x] - kFallsBack) end(i, x);
    };
    for (std::size_t x = 0; x < columns_; ++x) {
      const float told = slice_.told[i][x], others = there - slice_.there[i];
      float e = slice_.evidence[i][x];
      // Also of those that have no visit: it may be that they have been spared, or have done with it.
      if (others > 0) e -= std::max(0.0f, (all[x] - e) / others) * slice_.there[i];
      add(x, e, slice_.lost[i][x], slice_.ratio[i][x], told);
      sum_e += e, sum_lost += slice_.lost[i][x], sum_told += told, ratio += slice_.ratio[i][x];
    }
    add(columns_, sum_e, sum_lost, ratio, sum_told);
  }
}

SurpriseSums::Score SurpriseSums::strongest(std::size_t item) const {
  Score best;
  for (std::size_t x = 0; x <= columns_; ++x)
    if (sum_[item][x] > best.score) best = at(item, x);
  return best;
}

SurpriseSums::Score SurpriseSums::of(std::size_t item, const std::vector<char>& among) const {
  Score best;
  for (std::size_t x = 0; x < columns_; ++x)
    if (among[x] && sum_[item][x] > best.score) best = at(item, x);
  return best;
}

}  // namespace margay::detect
