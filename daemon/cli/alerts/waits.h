// Whom the resources that an alert affects waited for while it lasted: from the raw events, which name the
// partner of point-to-point calls and the root of collectives.
//
// Counted is the time in MPI calls of the affected leaves that are no likely cause, between onset and end (a
// minute at most), by the partner of the outermost call: that which it completed with, or that which it was
// posted for. Partners are known where the call names one, in MPI_COMM_WORLD: of other communicators the
// archive does not know who is who. MPI_Wait and its kin, MPI_ANY_SOURCE that never completed, and
// collectives without a root wait for somebody who is not told; `untold` is their share.
//
// Not part of the alert: a replay of the slices does not have it. Nothing where the raw events are not kept.
//
// Errors: those of Archive::read_raw; kCorrupt. Thread safety: none. Cost: decoding the raw blocks of the
// affected leaves (at most kMostWaiting of them) around these slices. Memory: a block, and a number per
// partner.
#pragma once

#include <string>
#include <vector>

#include "margay/alert/alert.h"
#include "margay/base/result.h"
#include "margay/store/archive.h"

namespace margay::daemon {

inline constexpr std::size_t kMostWaiting = 256;  // leaves looked at
inline constexpr std::size_t kMostPartners = 8;   // told

struct WaitedFor {
  std::string resource;
  DurationNs time{};
  double share = 0;  // of all time waited
  bool operator==(const WaitedFor&) const = default;
};

struct Waits {
  std::size_t leaves = 0;           // that waited
  DurationNs waited{};              // summed over them
  std::vector<WaitedFor> partners;  // most first
  double untold = 0;                // share of the time whose partner nobody knows
};

Result<Waits> read_waits(const store::Archive& archive, const store::Resume& resume,
                         const alert::Alert& alert);

}  // namespace margay::daemon
