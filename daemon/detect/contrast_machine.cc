// What the machine does to a leaf's process, and what storage does, beside what is usual.
#include <algorithm>

#include "contrast.h"
#include "moderated.h"

namespace margay::detect {
namespace {

constexpr float kOftenStorage = 0.5f;  // of the slices
constexpr float kStorageMemory = 512;  // slices
constexpr float kLeastVariance = 1e-4f;

}  // namespace

// The time, as a share, that a leaf waits for storage longer than it does for so many bytes. Not known is how
// long is usual for more than it mostly has to do (a checkpoint), and what a wait without any bytes is for
// (what was written before is synced, a long wait goes on).
float Contrast::blocked_longer(const Storage& usual) const {
  const auto& now = usual.now;
  if (usual.slices < kStorageSlices || usual.often < kOftenStorage || usual.usual_bytes <= 0) return 0;
  if (now.bytes <= 0 || usual.more(now.bytes)) return 0;
  return std::max(-1.0f, now.blocked - usual.blocked / usual.usual_bytes * now.bytes);
}

void Contrast::take_sample(std::size_t l, const model::NodeEvidence& evidence) {
  const float of_samples = sampled_[l] ? 1 / static_cast<float>(evidence.sampled_ns) : 0;
  const auto share = [&](std::int64_t ns) {
    return std::clamp(static_cast<float>(ns) * of_samples, 0.0f, 1.0f);
  };
  row_[l][kDenied] = process_[l].ready = share(evidence.run_delay_ns);
  row_[l][kStopped] = share(evidence.stopped_ns);
  cpus_.add(l, static_cast<float>(evidence.cpu_ns) * of_samples);
  storage_[l].now = {
      static_cast<float>(evidence.storage_bytes) * of_samples * static_cast<float>(slice_.value),
      share(evidence.blocked_ns)};
  row_[l][kBlocked] = blocked_longer(storage_[l]);
}

void Contrast::learn_machine(std::size_t l) {
  Process& p = process_[l];
  p.slices = std::min(p.slices + 1, static_cast<float>(CpuSupply::kMemory));
  for (std::size_t x = 0; x < kMachine; ++x) {
    float& v = machine_variance_[l][x];
    const float d = departure_[l][x];
    const float most = p.slices > kFreeSamples ? kMostSquare * std::max(v, kLeastVariance) : d * d;
    v += (std::min(d * d, most) - v) / p.slices;
    machine_[l][x] += (row_[l][x] - machine_[l][x]) / p.slices;
  }
  p.usually_ready += (p.ready - p.usually_ready) / p.slices;
  p.usually_counts += (p.counts - p.usually_counts) / p.slices;
}

void Contrast::learn_storage(std::size_t l) {
  Storage& s = storage_[l];
  const auto& now = s.now;
  s.often += ((now.bytes > 0 ? 1.0f : 0.0f) - s.often) / process_[l].slices;
  if (now.bytes <= 0) return;
  const float keep = 1 - 1 / kStorageMemory;
  const bool more = s.more(now.bytes);
  s.slices = keep * s.slices + 1;
  s.bytes = keep * s.bytes + now.bytes;
  if (more) return;
  s.usual_bytes = keep * s.usual_bytes + now.bytes;
  s.blocked = keep * s.blocked + now.blocked;
}

// What the machine does to all leaves is nobody's, but for what somebody else was seen to take; to most of
// few it may well be.
void Contrast::machine_departures() {
  for (Grid* g : {&machine_, &machine_variance_}) g->reach(there_.size(), kMachine);
  for (std::size_t x = 0; x < kMachine; ++x) {
    float least = 1;
    for (const std::uint32_t l : sample_)
      if (sampled_[l] && process_[l].slices > 0) least = std::min(least, row_[l][x] - machine_[l][x]);
    least = sample_.size() > 1 ? std::max(0.0f, least) : 0;
    for (std::size_t l = 0; l < there_.size(); ++l) {
      const float others = x == kDenied ? cpus_.taken_by_others(l) : 0;
      if (sampled_[l] && process_[l].slices > 0)
        departure_[l][x] = row_[l][x] - machine_[l][x] - std::max(0.0f, least - others);
    }
  }
  cpus_.leave_taken(departure_, kDenied);
  for (std::size_t l = 0; l < there_.size(); ++l)
    if (sampled_[l] && process_[l].slices > 0)
      departure_[l][kDenied] = std::max(departure_[l][kDenied], kept_by_others(l));
}

// Who polls for others is kept from the CPU as well where they are, for whom he waits: that is what he is
// kept from beyond what is usual, whatever he does, but at most what all that share these CPUs have less of,
// and what those who are not of the job were seen to take.
float Contrast::kept_by_others(std::size_t l) const {
  const Process& p = process_[l];
  return std::min({p.ready - p.usually_ready, cpus_.taken_by_others(l), cpus_.missing(l)}) * p.usually_counts;
}

}  // namespace margay::detect
