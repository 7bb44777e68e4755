#include "surprise_sums.h"
#include "vectors.h"

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

MARGAY_VECTORS void SurpriseSums::take(std::size_t leaves) {
  std::vector<float> all(columns_);
  float there = 0;
  for (std::size_t i = 0; i < leaves; ++i) {
    there += slice_.there[i];
    const float* const evidence = slice_.evidence[i];
    for (std::size_t x = 0; x < columns_; ++x) all[x] += evidence[x];
  }
  stretches_.begin_slice();
  std::vector<float> of(columns_);
  for (std::size_t i = 0; i < items_; ++i) {
    const float *const evidence = slice_.evidence[i], *const told = slice_.told[i],
                       *const lost = slice_.lost[i], *const ratio = slice_.ratio[i];
    // Also of those that have no visit: it may be that they have been spared, or have done with it.
    const float others = there - slice_.there[i], mine = others > 0 ? slice_.there[i] : 0;
    const float share = others > 0 ? others : 1;
    for (std::size_t x = 0; x < columns_; ++x)
      of[x] = evidence[x] - std::max(0.0f, (all[x] - evidence[x]) / share) * mine;
    StretchSums::Told sum{0, 0, slice_.busy[i], 0, 0};
    for (std::size_t x = 0; x < columns_; ++x) {
      stretches_.add(i, x, {std::min(of[x], kMostOfSlice), lost[x], slice_.busy[i], ratio[x], told[x]});
      sum.nats += of[x], sum.lost += lost[x], sum.told += told[x], sum.ratio += ratio[x];
    }
    sum.nats = std::min(sum.nats, kMostOfSlice);
    stretches_.add(i, columns_, sum);
  }
}

}  // namespace margay::detect
