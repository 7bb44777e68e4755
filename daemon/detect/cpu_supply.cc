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
}

void CpuSupply::begin_slice() {
  for (Shared& s : shared_) {
    std::copy_backward(s.last.begin(), s.last.end() - 1, s.last.end());
    s.last[0] = 0;
  }
}

void CpuSupply::add(std::size_t leaf, float cpus) {
  if (leaf < cpus_of_.size()) shared_[cpus_of_[leaf]].last[0] += cpus;
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
