// Jobs in which nothing goes wrong, for as long as one likes: whether the detector stays silent. Made up
// event by event and cut into slices as they come (stream.h); deterministic in the seed.
//
//  - "coupled": ranks that exchange with their neighbours, and meet in collectives (8 states)
//  - "tails": the same; steps of single ranks take several times as long, seldom
//  - "phases": the same; A-B-A-C, each of 20 s to 10 min
//  - "drift": the same; ranks get slower or faster over hours
//  - "rare": the same; all write a checkpoint every 10 min, one rank at a time keeps house
//  - "clusters": the same; half of the machines are of another kind
//  - "clock": the same; clocks of machines drift, and are put right now and then
//  - "shared": the same; cores are shared with others, so that steps take longer now and then
//  - "polling": the same; who waits polls, in a few or in hundreds of short visits
//  - "steady": the same, of a quarter of the noise that lasts, as CG and LAMMPS have been recorded
//  (README.md); not
//    one of kinds()
//  - "free": ranks whose calls do not wait for each other
//  - "services": workers that take requests; the load changes over minutes and over the day. Idle is declared
//  - "tasks": workers that read, compute for seconds to minutes, and write. Idle is declared
//
// Cost: 0.1 ms or so for a slice of 64 ranks. Memory: a few slices. Thread safety: none.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "margay/detect/topology.h"
#include "margay/model/slice_column.h"

namespace margay::bench {

class QuietJob {
 public:
  static const std::vector<std::string>& kinds();
  // `kind`: one of kinds(), or "steady".
  QuietJob(std::string kind, std::uint32_t ranks, std::uint64_t seed, DurationNs slice = seconds(1));
  std::shared_ptr<const detect::Topology> topology() const { return topology_; }
  // States in which being is no work.
  const std::set<std::string>& idle_states() const { return idle_; }
  // Not quiet: these ranks of a job that exchanges ("coupled" and its like) or is "free" compute for so much
  // of the time longer, from one time to the other (s).
  struct Slowed {
    std::set<std::uint32_t> ranks;
    double begin_s = 0, end_s = 0, share = 0;
    double at(std::uint32_t rank, double t) const {
      return t >= begin_s && t < end_s && ranks.contains(rank) ? share : 0;
    }
  };
  void slow(Slowed slowed) { slowed_ = std::move(slowed); }
  // Tells that many slices from the first on. A second call plays the same again.
  void play(std::int64_t slices, const std::function<void(const model::SliceColumn&)>& each) const;

 private:
  std::string kind_;
  std::uint32_t ranks_, machines_, clusters_;
  std::uint64_t seed_;
  DurationNs slice_;
  std::shared_ptr<const detect::Topology> topology_;
  std::set<std::string> idle_;
  Slowed slowed_;
};

}  // namespace margay::bench
