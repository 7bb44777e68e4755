// What the machine does to leaves more than usual, as alarms.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "departures.h"

namespace margay::detect {
namespace {

// Share of the last slices, of each span; in usual deviations; and the slices after which usual is known,
// and no more what it was while the job began.
constexpr float kTakenDeviations = 4, kMachineSlices = 32;
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
    std::array<Recent, Contrast::kMachine> recent{};
    Recent cpu{};
    for (std::size_t k = 0; k < std::min<std::uint64_t>(kLong, machine_run_ + 1); ++k) {
      const float* const then = ring_[(slices_ + kLong - k) % kLong][l];
      for (std::size_t x = 0; x < recent.size(); ++x) recent[x][k] = then[x];
      cpu[k] = then[Contrast::kDenied] + then[Contrast::kStopped];
    }
    const float* const variance = contrast_.machine_variance(l);
    for (const auto& [slices, least] : kMachineSpans) {
      if (machine_run_ + 1 < slices) break;
      // Whoever stops a process means it. What else runs for an instant, now and then something does, or one
      // write that takes long, falls into a slice or two.
      const bool stopped =
          taken(recent[Contrast::kStopped], slices, variance[Contrast::kStopped], least / 2) > 1;
      float times = 0;
      if (stopped || in_most(cpu, slices))
        times = taken(cpu, slices, variance[Contrast::kDenied] + variance[Contrast::kStopped], least);
      if (in_most(recent[Contrast::kBlocked], slices))
        times = std::max(times, taken(recent[Contrast::kBlocked], slices, variance[Contrast::kBlocked], 0));
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

// Is half of it left without the two slices that had the most of it?
bool Departures::in_most(const Recent& recent, std::size_t slices) const {
  if (slices <= kLeftOut) return false;
  float all = 0, most = 0, second = 0;
  for (std::size_t k = 0; k < slices; ++k) {
    all += recent[k];
    second = std::max(second, std::min(most, recent[k]));
    most = std::max(most, recent[k]);
  }
  const float others = (all - most - second) / static_cast<float>(slices - kLeftOut);
  return others > kInOthers * std::max(all / static_cast<float>(slices), machine_effect());
}

}  // namespace margay::detect
