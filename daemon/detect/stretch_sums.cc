#include "stretch_sums.h"

#include <algorithm>
#include <utility>

namespace margay::detect {

void StretchSums::lay_out(std::size_t items, std::size_t columns) {
  columns = std::max(columns, columns_);
  const std::size_t before = columns_ + 1, now = columns + 1;
  items_ = items;
  sum_.reach_before_last(items, now);
  if (columns > columns_ && !sums_.empty()) {
    std::vector<Sums> wider(sums_.size() / before * now);
    for (std::size_t k = 0; k < sums_.size(); ++k) {
      const std::size_t x = k % before;
      wider[k / before * now + (x == columns_ ? columns : x)] = sums_[k];
    }
    sums_ = std::move(wider);
  }
  columns_ = columns;
  sums_.resize(std::max(sums_.size(), items * now));
}

void StretchSums::clear_from(std::size_t item) {
  if (sum_.rows() <= item) return;
  sum_.clear_from(item);
  std::fill(sums_.begin() + static_cast<std::ptrdiff_t>(item * (columns_ + 1)), sums_.end(), Sums{});
}

void StretchSums::restart() {
  sum_.fill(0);
  std::fill(sums_.begin(), sums_.end(), Sums{});
  ended_.clear();
}

void StretchSums::restart(std::size_t item) {
  if (item >= sum_.rows()) return;  // nothing has been added yet
  std::fill_n(sum_[item], columns_ + 1, 0.0f);
  std::fill_n(sums_.begin() + static_cast<std::ptrdiff_t>(item * (columns_ + 1)), columns_ + 1, Sums{});
}

StretchSums::Score StretchSums::at(std::size_t i, std::size_t x) const {
  const Sums& s = sums_[i * (columns_ + 1) + x];
  return {sum_[i][x], static_cast<std::uint32_t>(std::max(1.0f, s.since)), s.effect_now(),
          s.told > 0 ? s.ratio / s.told : 0, x};
}

bool StretchSums::go_on(std::size_t i, std::size_t x, const Told& t) {
  float& evidence = sum_[i][x];
  Sums& s = sums_[i * (columns_ + 1) + x];
  evidence += t.nats;
  s.since = evidence < kBegins ? 1 : s.since + 1;
  s.lost += t.lost;
  s.busy += t.busy;
  s.ratio += t.ratio;
  s.told += t.told;
  if (evidence > s.peak) s.peak = evidence, s.effect = s.effect_now();
  if (evidence > 0 && evidence > s.peak - kFallsBack) return true;
  ended_.push_back({i, x, s.peak, s.effect});
  evidence = 0, s = {};
  return false;
}

StretchSums::Score StretchSums::of(std::size_t item, const std::vector<char>& among) const {
  Score best;
  for (std::size_t x = 0; x < columns_; ++x)
    if (among[x] && sum_[item][x] > best.score) best = at(item, x);
  return best;
}

}  // namespace margay::detect
