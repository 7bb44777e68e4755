// Made-up jobs with and without perturbations, for judging the detector on many. Event by event, then cut
// into slices as the slicer does; deterministic in the seed. No files, no clock.
//
// Kinds: "coupled" ranks that exchange with their neighbours and meet in a collective; "free" ranks whose
// calls do not wait for each other; "service" workers that take requests from queues; "tasks" of a workflow
// that read, compute and write. Faults: a slow rank, machine or cluster, a stopped or hung rank, contention
// of a network, a slow disk, a busy machine. Without one, and besides: phases A-B-A-B, ranks that differ,
// drift, heavy tails, noise that lasts, resources that come and go, checkpoints, clusters of another kind,
// clocks that are put right, cores that are shared, waiting by polling.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "margay/detect/topology.h"
#include "margay/model/slice_column.h"

namespace margay::bench {

struct Truth {
  double begin_s = 0, end_s = 0;
  std::set<std::uint32_t> leaves;
  std::string fault;
  // By the job's own account, whoever looks at it.
  double factor = 1;               // so many times as long takes what is hurt
  double lost = 0, most_lost = 0;  // share of the time of the leaves that it cost: mean, and of the worst
  double signal = 0;               // how far that is from chance, in deviations: limit.cc
  // Others that are as right to be named as `leaves`, where nobody can tell them apart.
  std::vector<std::set<std::uint32_t>> alternatives = {};
};

struct Case {
  std::string group;  // kind of job and fault: "coupled slow_rank"; "service clean"
  std::uint64_t seed = 0;
  double slice_s = 1;
  std::shared_ptr<const detect::Topology> topology;
  std::vector<model::SliceColumn> slices;
  std::set<std::string> idle_states;
  std::vector<Truth> truths;
};

// How many groups there are, and one case of a group.
std::size_t group_count();
// Unhurt, it is the twin of the one with the fault: the same job by the same draws, up to the fault exactly;
// and after it, but where how much is drawn hangs on how long somebody waits (polling, checkpoints), or who
// is free first (tasks). It tells the truths of the other as well, but for what they cost.
Case make_case(std::size_t group, std::uint64_t seed, bool hurt = true);

}  // namespace margay::bench
