#include "lengths_lately.h"

#include <algorithm>
#include <numeric>

#include "grid.h"

namespace margay::detect {
namespace {

constexpr std::int64_t kLately = 64;  // slices

}  // namespace

void LengthsLately::reach(std::size_t leaves, std::size_t columns) {
  if (columns > columns_) {
    kinds_ = widened(kinds_, 1, lengths_of_column_, columns_, columns);
    columns_ = columns;
  } else if (leaves <= leaves_) {
    return;
  }
  leaves_ = std::max(leaves_, leaves);
  for (Kind& k : kinds_) {
    k.leaves[0] += static_cast<std::uint32_t>(leaves_ - k.most.size());
    k.most.resize(leaves_), k.newest.resize(leaves_);
  }
}

double LengthsLately::part(std::uint32_t kind, float log) const {
  const Kind& k = kinds_[kind];
  const std::size_t bin = UsualLengths::bin_of(log);
  if (bin == 0 || bin > k.common) return 0;
  std::uint64_t beyond = 0;
  for (std::size_t b = bin; b <= k.longest; ++b) beyond += k.now[b] + k.before[b];
  return static_cast<double>(beyond) / static_cast<double>(k.visits);
}

void LengthsLately::add(std::span<const UsualLengths::Visit> visits, const std::vector<char>& there) {
  for (const UsualLengths::Visit& v : visits) {
    Kind& k = kinds_[v.kind];
    const std::uint16_t bin = UsualLengths::bin_of(v.log);
    k.now[bin] += 1, k.visits += 1;
    k.newest[v.leaf] = std::max(k.newest[v.leaf], bin);
    if (bin <= k.most[v.leaf]) continue;
    k.longest = std::max(k.longest, bin);
    k.leaves[k.most[v.leaf]] -= 1, k.leaves[bin] += 1;
    k.most[v.leaf] = bin;
  }
  const auto all = there.size() - static_cast<std::size_t>(std::count(there.begin(), there.end(), 0));
  const std::size_t most = std::max(all / 2, static_cast<std::size_t>(UsualLengths::kFewest) - 1);
  for (Kind& k : kinds_) {
    std::size_t leaves = 0;
    k.common = 0;
    for (std::uint16_t b = k.longest; b > 0 && k.common == 0; --b)
      if ((leaves += k.leaves[b]) > most) k.common = b;
  }
  if (++slices_ % kLately != 0) return;
  for (Kind& k : kinds_) {
    k.before = k.now, k.now = {}, k.leaves = {};
    k.most = k.newest;
    std::fill(k.newest.begin(), k.newest.end(), 0);
    for (const std::uint16_t b : k.most) k.leaves[b] += 1;
    k.longest = k.most.empty() ? 0 : *std::max_element(k.most.begin(), k.most.end());
    k.visits = std::accumulate(k.before.begin(), k.before.end(), std::uint64_t{0});
  }
}

}  // namespace margay::detect
