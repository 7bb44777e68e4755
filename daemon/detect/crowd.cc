#include "crowd.h"

#include <algorithm>
#include <map>

#include "blame.h"

namespace margay::detect {
namespace {

bool crowd(const Contrast& contrast, std::uint32_t leaf, std::uint32_t other) {
  return leaf != other && contrast.cpus().shared(leaf, other) && crowded(contrast, other);
}

}  // namespace

bool crowded(const Contrast& contrast, std::size_t leaf) {
  return contrast.usually_denied(leaf) >= kTaken && contrast.cpus().taken_by_others(leaf) < kTaken;
}

std::size_t count_crowded(const Contrast& contrast) {
  std::map<std::uint32_t, std::size_t> on;  // CPUs
  for (std::size_t l = 0; l < contrast.leaves(); ++l)
    if (const auto cpus = contrast.cpus().of(l); cpus && contrast.there(l) && crowded(contrast, l))
      ++on[*cpus];
  std::size_t out = 0;
  for (const auto& [cpus, leaves] : on) out += leaves > 1 ? leaves : 0;
  return out;
}

bool in_crowds(const Contrast& contrast, const std::set<std::uint32_t>& leaves) {
  const auto in_one = [&](std::uint32_t l) {
    for (std::uint32_t m = 0; m < contrast.leaves(); ++m)
      if (crowd(contrast, l, m)) return true;
    return false;
  };
  return std::all_of(leaves.begin(), leaves.end(),
                     [&](std::uint32_t l) { return crowded(contrast, l) && in_one(l); });
}

std::set<std::uint32_t> slowed_together(const Contrast& contrast, const std::set<std::uint32_t>& leaves,
                                        const std::function<float(std::uint32_t)>& longer) {
  std::set<std::uint32_t> out = leaves;
  for (const std::uint32_t l : leaves) {
    if (!crowded(contrast, l)) return {};
    // Who is blamed for what others wait for need not be seen to work longer.
    const float as_much = kBelongs * longer(l);
    bool alone = true;
    for (std::uint32_t m = 0; m < contrast.leaves(); ++m) {
      if (as_much <= 0 || !crowd(contrast, l, m) || longer(m) < as_much) continue;
      out.insert(m), alone = false;
    }
    if (alone) return {};
  }
  return out;
}

}  // namespace margay::detect
