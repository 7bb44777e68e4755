#include "surprise_sums.h"

#include <algorithm>

namespace margay::detect {

void SurpriseSums::lay_out(std::size_t items, std::size_t columns) {
  items_ = items;
  columns_ = std::max(columns, columns_);
  stretches_.lay_out(items, columns_);
  for (Grid* g : {&slice_.evidence, &slice_.told, &slice_.lost, &slice_.ratio}) g->reach(items, columns_);
  slice_.busy.resize(items);
  slice_.there.resize(items);
}

void SurpriseSums::take(std::size_t leaves) {
  std::vector<float> all(columns_);
  float there = 0;
  for (std::size_t i = 0; i < leaves; ++i) {
    there += slice_.there[i];
    for (std::size_t x = 0; x < columns_; ++x) all[x] += slice_.evidence[i][x];
  }
  stretches_.begin_slice();
  for (std::size_t i = 0; i < items_; ++i) {
    float sum_e = 0, sum_lost = 0, sum_told = 0, ratio = 0;
    const auto add = [&](std::size_t x, float e, float lost, float r, float told) {
      stretches_.add(i, x, {std::min(e, kMostOfSlice), lost, slice_.busy[i], r, told});
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

}  // namespace margay::detect
