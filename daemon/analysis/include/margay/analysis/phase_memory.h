// Phases that outlive the slices they were learned from: each phase's signature is written into the archive
// once, when its first stretch is over, as the signature "phase/NAME". Their stretches are there anyway.
//
// A daemon that is started again looks back over the newest slices (history.h). Where that is not the whole
// run, it is told what was known before them, and names go on. Written once, so that a replay, which comes by
// the same place later, is told the same. Signatures above kLargestSignature are not written, nor more than
// 64 that wait for an archive that cannot be written: such phases get new names then.
//
// Errors: what does not read is left out. Thread safety: pure. Cost: linear in the signatures.
#pragma once

#include <optional>
#include <string_view>

#include "margay/detect/known_phase.h"
#include "margay/store/records.h"

namespace margay::daemon {

inline constexpr std::size_t kLargestSignature = 1 << 20;  // bytes

std::optional<store::Blob> to_blob(const detect::KnownPhase& phase);
std::optional<detect::KnownPhase> from_blob_untrusted(const store::Blob& blob);

// Of all that the archive knows, of all levels, what was known before slice `first` of the finest level.
detect::PhaseMemory phase_memory(const store::Resume& resume, SliceIndex first);

}  // namespace margay::daemon
