// What recording may cost the job of this node, and who is to sum instead (collector/probe/SUMS.md).
//
// The budget is a share of the cores that the job has here. A record has a price (kRecordNs): what the probe
// takes to make it, and the agent to pass it on. Each process gets its fair share (max-min): those that need
// less are recorded call by call, and those that need more than what is left for each of them are summed.
// Who is summed stays so for two seconds at least, and until it needs clearly less.
//
// Pure: time is given. Thread safety: none. Cost: O(processes log processes), five times a second;
// O(processes) at each look.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "margay/base/time.h"
#include "margay/wire/ingest.pb.h"

namespace margay::node {

// Measured (collector/probe/SUMS.md): 25 ns in the process, the rest in the agent.
inline constexpr double kRecordNs = 70;

// The events per second that each may have, so that min(rate, limit) sums up to `allowed`; infinite where all
// of them have room.
double fair_limit(std::vector<double> rates, double allowed);

class Budget {
 public:
  struct Process {
    std::uint64_t events = 0;  // that it had so far, recorded or summed
    bool floods = false;       // its ring fills faster than it is drained
    bool summing = false;      // what is decided
    // The rest is the budget's own.
    std::uint64_t before = 0;
    bool known = false;
    TimeNs since{};  // it has been summing, or needed more than half of its share
  };

  explicit Budget(std::uint32_t cores) : cores_(cores) {}

  // What the collector says. True if the grid is another one now.
  bool tell(const wire::Slices& slices);
  // The grid for the probes: slices, or equal parts of them, so that order is lost over a tenth of a second
  // at most. 0: not told yet, or each call is to be recorded.
  DurationNs slice() const { return slice_; }
  TimeNs origin() const { return origin_; }

  // Looks at how many events there were since the last time, if that is long enough ago.
  void decide(TimeNs now, std::span<Process* const> processes);

 private:
  std::uint32_t cores_;
  double share_ = 0;
  DurationNs slice_{};
  TimeNs origin_{};
  TimeNs looked_{};
};

}  // namespace margay::node
