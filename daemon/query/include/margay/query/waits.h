// Whom resources waited for in a stretch of time: from the raw events, which name the partner of
// point-to-point calls and the root of collectives. `margay alerts show` and the window ask it of those that
// an alert affects.
//
// Counted is the time in MPI calls of the resources below `nodes` that are not below `except`, within
// [from, to) (kLongest at most), by the partner of the outermost call: that which it completed with, or that
// which it was posted for. Partners are known where the call names one, in MPI_COMM_WORLD: of other
// communicators the archive does not know who is who. MPI_Wait and its kin, MPI_ANY_SOURCE that never
// completed, and collectives without a root wait for an unknown partner; `unknown` is their share.
//
// Nothing where the raw events are not kept. Errors: those of Archive::read_raw; kCorrupt; kTimeout (go_on).
// Thread safety: functions are safe. Cost: decoding the raw blocks of these leaves (at most kMostWaiting of
// them) in the stretch and kBefore before it. Memory: a block, and a number per partner.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "margay/base/result.h"
#include "margay/base/time.h"
#include "margay/store/archive.h"

namespace margay::daemon {

struct WaitsQuery {
  static constexpr DurationNs kLongest = seconds(60);
  // Calls that were entered before `from`: looked for so far back.
  static constexpr DurationNs kBefore = seconds(10);
  static constexpr std::size_t kMostWaiting = 256;  // leaves looked at, in their order
  static constexpr std::size_t kMostPartners = 8;

  std::vector<std::string> nodes, except;  // paths; none of `nodes`: no one waits
  TimeNs from{}, to{};                     // trace time, half-open
  std::function<bool()> go_on;             // asked now and then: false ends the reading
};

struct WaitedFor {
  std::string resource;  // path
  DurationNs time{};
  double share = 0;  // of all time waited
  bool operator==(const WaitedFor&) const = default;
};

struct Waits {
  std::size_t leaves = 0;           // that waited
  DurationNs waited{};              // summed over them
  std::vector<WaitedFor> partners;  // most first, kMostPartners at most
  double unknown = 0;               // share of the time whose partner is unknown
};

// `resume` is what load() says of the archive.
Result<Waits> read_waits(const store::Archive& archive, const store::Resume& resume, const WaitsQuery& query);

}  // namespace margay::daemon
