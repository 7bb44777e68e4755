#include "lengths_lately.h"

#include <numeric>

#include "usual_lengths.h"

namespace margay::detect {
namespace {

constexpr std::int64_t kLately = 64;  // slices

}  // namespace

void LengthsLately::reach(std::size_t leaves, std::size_t kinds) {
  if (kinds_.size() < kinds) kinds_.resize(kinds);
  for (Kind& k : kinds_)
    if (k.most.size() < leaves) {
      k.leaves[0] += static_cast<std::uint32_t>(leaves - k.most.size());
      k.most.resize(leaves), k.newest.resize(leaves);
    }
}

double LengthsLately::part(std::uint32_t kind, float log) const {
  const Kind& k = kinds_[kind];
  const std::uint8_t bin = bin_of(log);
  if (bin == 0 || bin > k.common) return 0;
  std::uint64_t beyond = 0;
  for (std::size_t b = bin; b <= k.longest; ++b) beyond += k.now[b] + k.before[b];
  return static_cast<double>(beyond) / static_cast<double>(k.visits);
}

void LengthsLately::end_slice(const std::vector<char>& there) {
  const auto all = there.size() - static_cast<std::size_t>(std::count(there.begin(), there.end(), 0));
  const std::size_t most = std::max(all / 2, static_cast<std::size_t>(UsualLengths::kFewest) - 1);
  for (Kind& k : kinds_) {
    std::size_t leaves = 0;
    k.common = 0;
    for (std::size_t b = k.longest; b > 0 && k.common == 0; --b)
      if ((leaves += k.leaves[b]) > most) k.common = static_cast<std::uint8_t>(b);
  }
  if (++slices_ % kLately != 0) return;
  for (Kind& k : kinds_) {
    k.before = k.now, k.now = {}, k.leaves = {};
    k.most = k.newest;
    std::fill(k.newest.begin(), k.newest.end(), 0);
    for (const std::uint8_t b : k.most) k.leaves[b] += 1;
    k.longest = k.most.empty() ? 0 : *std::max_element(k.most.begin(), k.most.end());
    k.visits = std::accumulate(k.before.begin(), k.before.end(), std::uint64_t{0});
  }
}

}  // namespace margay::detect
