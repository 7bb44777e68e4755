// What the machine does to leaves more than usual, as alarms.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "departures.h"

namespace margay::detect {
namespace {

// Share of the last slices, of each span; in usual deviations; and the slices after which usual is known.
constexpr float kTakenDeviations = 4, kMachineSlices = 10;
constexpr float kInEachHalf = 0.6f;
constexpr std::array<std::pair<std::size_t, float>, 3> kMachineSpans = {{{2, 0.4f}, {4, 0.25f}, {8, 0.15f}}};
// A write that takes long, now and then one does, falls into two slices: of what is told so much is left
// without the two in which storage took longest.
constexpr float kInOthers = 0.5f;
constexpr std::size_t kLeftOut = 2;

}  // namespace

// Ready to run and not let, or stopped, or kept waiting by storage. That is a fact, and no matter of chance
// but where it always varies; of a slice or two it is none.
void Departures::machine_alarms(std::vector<Alarm>& alarms) const {
  for (std::uint32_t l = 0; l < leaves_; ++l) {
    if (contrast_.machine_slices(l) < kMachineSlices) continue;
    Recent cpu{}, storage{};
    for (std::size_t k = 0; k < std::min<std::uint64_t>(kLong, run_ + 1); ++k) {
      const float* const then = ring_[(slices_ + kLong - k) % kLong][l];
      cpu[k] = then[Contrast::kDenied] + then[Contrast::kStopped];
      storage[k] = then[Contrast::kBlocked];
    }
    const float* const variance = variance_[l];
    for (const auto& [slices, least] : kMachineSpans) {
      if (run_ + 1 < slices) break;
      float times = taken(cpu, slices, variance[Contrast::kDenied] + variance[Contrast::kStopped], least);
      if (slices > kLeftOut && in_most(storage, slices))
        times = std::max(times, taken(storage, slices, variance[Contrast::kBlocked], 0));
      if (times > 1) alarms.push_back({l, static_cast<std::uint32_t>(slices), static_cast<double>(times), 0});
    }
  }
}

// How many times the least that is told; 0 if it is not so in both halves: something that runs for an instant
// is no matter.
float Departures::taken(const Recent& recent, std::size_t slices, float variance, float least) const {
  const auto span = static_cast<float>(slices);
  const auto middle = recent.begin() + static_cast<std::ptrdiff_t>(slices / 2);
  const float newer = std::accumulate(recent.begin(), middle, 0.0f);
  const float all = std::accumulate(middle, recent.begin() + static_cast<std::ptrdiff_t>(slices), newer);
  least = std::max({machine_effect(), least, kTakenDeviations * std::sqrt(variance / span)});
  const float half = kInEachHalf * least * span / 2;
  return newer > half && all - newer > half ? all / span / least : 0;
}

bool Departures::in_most(const Recent& recent, std::size_t slices) const {
  float all = 0, most = 0, second = 0;
  for (std::size_t k = 0; k < slices; ++k) {
    all += recent[k];
    second = std::max(second, std::min(most, recent[k]));
    most = std::max(most, recent[k]);
  }
  const float least = kInOthers * machine_effect();
  return all - most - second > least * static_cast<float>(slices - kLeftOut);
}

}  // namespace margay::detect
