#include "cpu_supply.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace margay::detect {

void CpuSupply::share(std::vector<std::uint32_t> cpus_of) {
  if (cpus_of == cpus_of_) return;
  cpus_of_ = std::move(cpus_of);
  const auto last = std::max_element(cpus_of_.begin(), cpus_of_.end());
  shared_.assign(last == cpus_of_.end() ? 0 : *last + 1, {});
  sharing_.assign(shared_.size(), 0);
  for (const std::uint32_t cpus : cpus_of_) ++sharing_[cpus];
  others_.assign(cpus_of_.size(), {});
}

void CpuSupply::begin_slice() {
  for (Shared& s : shared_) {
    std::copy_backward(s.last.begin(), s.last.end() - 1, s.last.end());
    s.last[0] = 0;
  }
  for (Others& o : others_) o.slices = std::max(0.0f, o.slices - 1);
}

void CpuSupply::add(std::size_t leaf, float cpus) {
  if (leaf < cpus_of_.size()) shared_[cpus_of_[leaf]].last[0] += cpus;
}

// A leaf that may run on several CPUs is one of those that share them.
void CpuSupply::see(const std::vector<model::Taker>& takers, DurationNs slice) {
  using Kind = model::Taker::Kind;
  for (const model::Taker& t : takers)
    if (t.leaf.value < others_.size())
      others_[t.leaf.value] = {0, 2 * static_cast<float>(t.over_ns) / static_cast<float>(slice.value)};
  for (const model::Taker& t : takers) {
    const bool of_job = t.kind == Kind::kRank || t.kind == Kind::kJob;
    if (of_job || t.leaf.value >= others_.size() || t.over_ns <= 0) continue;
    const float cpus = static_cast<float>(t.cpu_ns) / static_cast<float>(t.over_ns);
    const auto leaves = static_cast<float>(sharing_[cpus_of_[t.leaf.value]]);
    others_[t.leaf.value].cpus += t.cpu >= 0 ? cpus : cpus / leaves;
  }
}

float CpuSupply::taken_by_others(std::size_t leaf) const {
  return leaf < others_.size() && others_[leaf].slices > 0 ? std::min(1.0f, others_[leaf].cpus) : 0.0f;
}

float CpuSupply::missing(std::size_t leaf) const {
  if (leaf >= cpus_of_.size()) return 0;
  const Shared& of = shared_[cpus_of_[leaf]];
  return of.wanted > 0 ? (of.wanted - of.last[0]) / static_cast<float>(sharing_[cpus_of_[leaf]]) : 0;
}

void CpuSupply::learn() {
  for (Shared& s : shared_) {
    const float mean = std::accumulate(s.last.begin(), s.last.end(), 0.0f) / kSlices;
    s.wanted = std::max(mean, s.wanted + (mean - s.wanted) / kMemory);
  }
}

void CpuSupply::leave_taken(Grid& departure, std::size_t denied) const {
  const std::size_t leaves = std::min(departure.rows(), cpus_of_.size());
  std::vector<float> together(shared_.size());
  for (std::size_t l = 0; l < leaves; ++l) together[cpus_of_[l]] += std::max(0.0f, departure[l][denied]);
  for (std::size_t l = 0; l < leaves; ++l) {
    const Shared& of = shared_[cpus_of_[l]];
    float& d = departure[l][denied];
    if (of.wanted > 0 && d > 0)
      d *= std::clamp((of.wanted - of.last[0]) / together[cpus_of_[l]], -1.0f, 1.0f);
  }
}

}  // namespace margay::detect
