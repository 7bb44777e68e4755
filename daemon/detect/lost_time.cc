#include "margay/detect/lost_time.h"

#include <algorithm>

namespace margay::detect {

void LostTime::take(const Window& window, SliceIndex first, const Distribution& usual,
                    const std::set<std::uint32_t>& blamed, const Kinds& kinds) {
  if (window.size() == 0) return;
  const SliceIndex from = std::max({next_.value_or(first), first, window.first()});
  for (SliceIndex s = from; s <= window.last(); ++s) {
    double works = 0, usually = 0, waits = 0, busy = 0, there = 0;
    for (std::uint32_t l = 0; l < window.leaves(); ++l) {
      const LeafIndex leaf(l);
      const double weight = window.weight(s, leaf);
      if (weight <= 0) continue;
      const auto row = window.row(s, leaf);
      if (blamed.contains(l)) {
        there += 1;
        for (std::size_t x = 0; x < row.size(); ++x) busy += kinds.work[x] || kinds.waits[x] ? row[x] : 0;
        continue;
      }
      if (usual.weight(leaf) <= 0) continue;
      for (std::size_t x = 0; x < window.columns(); ++x) {
        const double now = x < row.size() ? row[x] : 0, then = weight * usual.share(leaf, x);
        if (kinds.work[x]) works += now, usually += then;
        if (kinds.waits[x]) waits += now + then;
      }
    }
    if (there > 0) busy_ += busy / there;
    if (usually <= 0) continue;
    lost_ += 1 - works / usually;
    waited_ += waits;
    counted_ += 1;
  }
  next_ = window.last() + 1;
}

std::optional<double> LostTime::by_others() const {
  if (counted_ <= 0 || waited_ <= 0) return std::nullopt;
  return lost_;
}

}  // namespace margay::detect
