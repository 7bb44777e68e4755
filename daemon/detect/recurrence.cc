#include "recurrence.h"

#include <algorithm>
#include <utility>

namespace margay::detect {
namespace {

constexpr std::size_t kTold = 3;  // times
constexpr std::size_t kKinds = 32;
constexpr std::int64_t kAtOnce = 4;  // slices: what begins again so soon is the same time
constexpr double kRegular = 1.25;    // the longest gap, in the shortest

}  // namespace

bool Recurrence::usual(const std::set<std::uint32_t>& leaves, std::uint16_t state, SliceIndex now) {
  const auto same = std::find_if(kinds_.begin(), kinds_.end(), [&](const Kind& k) {
    const auto both = static_cast<std::size_t>(
        std::count_if(leaves.begin(), leaves.end(), [&](std::uint32_t l) { return k.leaves.contains(l); }));
    return k.state == state && 2 * both >= leaves.size() + k.leaves.size() - both;
  });
  Kind kind{leaves, state, {}};
  if (same != kinds_.end()) {
    kind.at = std::move(same->at);
    kinds_.erase(same);
  }
  if (kind.at.empty() || now.value - kind.at.back().value > kAtOnce) kind.at.push_back(now);
  while (kind.at.size() > kTold + 1) kind.at.pop_front();
  bool regular = kind.at.size() > kTold;
  std::int64_t least = INT64_MAX, most = 0;
  for (std::size_t k = 1; k < kind.at.size(); ++k) {
    least = std::min(least, kind.at[k].value - kind.at[k - 1].value);
    most = std::max(most, kind.at[k].value - kind.at[k - 1].value);
  }
  regular = regular && static_cast<double>(most) <= kRegular * static_cast<double>(least);
  kinds_.push_back(std::move(kind));
  if (kinds_.size() > kKinds) kinds_.pop_front();
  return regular;
}

}  // namespace margay::detect
