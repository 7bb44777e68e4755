// A capture of a job that never was: NAS-LU-like, on three clusters of one site, with planted findings after
// case C of the spatiotemporal paper (section V.C): a start-up in MPI_Init, a cluster that is homogeneous,
// one whose slower network makes each of its processes behave differently in space and time, and a rupture at
// a known time that touches the third only.
//
// Time runs from 0 to kEnd, the same whatever the number of events: fewer events are longer calls.
// Deterministic in the seed. Memory: one message.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "margay/base/result.h"
#include "margay/base/time.h"

namespace margay::test {

struct SyntheticCapture {
  std::uint64_t events = 218'000'000;
  std::uint32_t processes = 700;
  std::uint64_t seed = 1;

  static constexpr DurationNs kStartUp = seconds(12);
  static constexpr DurationNs kRuptureBegin = milliseconds(34'500);
  static constexpr DurationNs kRuptureEnd = seconds(36);
  static constexpr DurationNs kEnd = seconds(45);
  // Its clusters, in the order of ranks: /nancy/graphene is homogeneous, /nancy/graphite differs process by
  // process, /nancy/griffon has the rupture.
  struct Cluster {
    const char* name;
    std::uint32_t cores;  // of a machine
    double part;          // of the processes
  };
  static constexpr Cluster kClusters[] = {{"graphene", 4, 0.43}, {"graphite", 16, 0.2}, {"griffon", 8, 0.37}};

  // Calls `sink` with pieces of the file, in order. Errors: kInvalidArgument (fewer than 16 events for each
  // process), those of the sink.
  Status write(const std::function<Status(std::string_view)>& sink) const;
  // The whole file; empty where write() fails.
  std::string bytes() const;
};

}  // namespace margay::test
