#include "machine.h"

#include <algorithm>
#include <cmath>
#include <numeric>

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

void MachineTest::take(const Contrast& contrast) {
  if (run_ == 0) ring_.clear();
  ring_.resize(contrast.leaves());
  for (std::size_t l = 0; l < ring_.size(); ++l)
    for (std::size_t x = 0; x < Contrast::kMachine; ++x) {
      Recent& of = ring_[l][x];
      std::copy_backward(of.begin(), of.end() - 1, of.end());
      of[0] = contrast.departure()[l][x];
    }
  ++run_;
}

std::vector<MachineTest::Taken> MachineTest::taken(const Contrast& contrast) const {
  std::vector<Taken> out;
  for (std::uint32_t l = 0; l < ring_.size(); ++l) {
    if (contrast.machine_slices(l) < kMachineSlices) continue;
    const auto& recent = ring_[l];
    Recent cpu{};
    for (std::size_t k = 0; k < kLong; ++k)
      cpu[k] = recent[Contrast::kDenied][k] + recent[Contrast::kStopped][k];
    const float* const variance = contrast.machine_variance(l);
    for (const auto& [slices, least] : kMachineSpans) {
      if (run_ < slices) break;
      // Whoever stops a process means it. What else runs for an instant, now and then something does, or one
      // write that takes long, falls into a slice or two.
      const bool stopped =
          times(recent[Contrast::kStopped], slices, variance[Contrast::kStopped], least / 2) > 1;
      float most = 0;
      if (stopped || in_most(cpu, slices))
        most = times(cpu, slices, variance[Contrast::kDenied] + variance[Contrast::kStopped], least);
      if (in_most(recent[Contrast::kBlocked], slices))
        most = std::max(most, times(recent[Contrast::kBlocked], slices, variance[Contrast::kBlocked], 0));
      if (most > 1) out.push_back({l, static_cast<std::uint32_t>(slices), most});
    }
  }
  return out;
}

// How many times the least that is told; 0 if it is not so in both halves: something that runs for an instant
// is no matter.
float MachineTest::times(const Recent& recent, std::size_t slices, float variance, float least) const {
  const auto span = static_cast<float>(slices);
  const auto middle = recent.begin() + static_cast<std::ptrdiff_t>(slices / 2);
  const float newer = std::accumulate(recent.begin(), middle, 0.0f);
  const float all = std::accumulate(middle, recent.begin() + static_cast<std::ptrdiff_t>(slices), newer);
  least = std::max({least_, least, kTakenDeviations * std::sqrt(variance / span)});
  const float half = kInEachHalf * least * span / 2;
  return newer > half && all - newer > half ? all / span / least : 0;
}

// Is half of it left without the two slices that had the most of it?
bool MachineTest::in_most(const Recent& recent, std::size_t slices) const {
  if (slices <= kLeftOut) return false;
  float all = 0, most = 0, second = 0;
  for (std::size_t k = 0; k < slices; ++k) {
    all += recent[k];
    second = std::max(second, std::min(most, recent[k]));
    most = std::max(most, recent[k]);
  }
  const float others = (all - most - second) / static_cast<float>(slices - kLeftOut);
  return others > kInOthers * std::max(all / static_cast<float>(slices), least_);
}

}  // namespace margay::detect
