#include "stretch_sums.h"

#include <algorithm>

namespace margay::detect {

void StretchSums::lay_out(std::size_t items, std::size_t columns) {
  columns_ = std::max(columns, columns_);
  items_ = items;
  for (Grid* g : sums()) g->reach_before_last(items, columns_ + 1);
  ended_.resize(items);
}

void StretchSums::clear_from(std::size_t item) {
  for (Grid* g : sums())
    if (g->rows() > item) g->clear_from(item);
}

void StretchSums::restart() {
  for (Grid* g : sums()) g->fill(0);
  ended_.assign(items_, {});
}

void StretchSums::restart(std::size_t item) {
  for (Grid* g : sums()) std::fill_n((*g)[item], g->columns(), 0.0f);
}

StretchSums::Score StretchSums::at(std::size_t i, std::size_t x) const {
  const float busy = busy_[i][x], told = told_[i][x];
  return {sum_[i][x], static_cast<std::uint32_t>(std::max(1.0f, since_[i][x])),
          busy > 0 ? std::max(0.0f, lost_[i][x]) / busy : 0, told > 0 ? ratio_[i][x] / told : 0, x};
}

void StretchSums::end(std::size_t i, std::size_t x) {
  if (peak_[i][x] > ended_[i].score) ended_[i].score = peak_[i][x], ended_[i].effect = effect_[i][x];
  for (Grid* g : sums()) (*g)[i][x] = 0;
}

bool StretchSums::add(std::size_t i, std::size_t x, const Told& t) {
  float& s = sum_[i][x];
  if (s <= 0 && (t.told <= 0 || t.nats <= 0)) return false;  // no stretch, and none begins
  s += t.nats;
  since_[i][x] = s < kBegins ? 1 : since_[i][x] + 1;
  lost_[i][x] += t.lost;
  busy_[i][x] += t.busy;
  ratio_[i][x] += t.ratio;
  told_[i][x] += t.told;
  if (s > peak_[i][x]) peak_[i][x] = s, effect_[i][x] = at(i, x).effect;
  if (s > 0 && s > peak_[i][x] - kFallsBack) return true;
  end(i, x);
  return false;
}

StretchSums::Score StretchSums::strongest(std::size_t item) const {
  Score best;
  for (std::size_t x = 0; x <= columns_; ++x)
    if (sum_[item][x] > best.score) best = at(item, x);
  return best;
}

StretchSums::Score StretchSums::of(std::size_t item, const std::vector<char>& among) const {
  Score best;
  for (std::size_t x = 0; x < columns_; ++x)
    if (among[x] && sum_[item][x] > best.score) best = at(item, x);
  return best;
}

}  // namespace margay::detect
