// A made-up MPI job, slice by slice: phases with state distributions, noise, stops, stalls and lost events,
// as the slicer would hand it to the detector. Deterministic in the seed. No events, no files, no clock.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "margay/detect/topology.h"
#include "margay/model/slice_column.h"

namespace margay::test {

// Shares of Compute, MPI_Send, MPI_Recv, MPI_Allreduce, MPI_Wait; sum 1.
using Shares = std::vector<double>;
inline constexpr StateId kJobWait{6};

struct JobPhase {
  std::int64_t ms = 0;  // how long
  Shares shares;        // of every rank
  std::string region;   // what the program calls it
  Shares visits = {};   // how the visits divide, without noise; none: as the shares
};

struct JobFault {
  enum Kind {
    kStop,     // SIGSTOP: the ranks do nothing, the others wait for them
    kSection,  // the ranks compute and use CPU, the others wait for them
    kHang,     // the ranks wait for something that never comes, and so do the others
    kLoss,     // events of the ranks are lost: Unknown
  } kind = kStop;
  std::vector<std::uint32_t> ranks;
  std::int64_t begin_ms = 0, end_ms = 0;
};

struct JobPlan {
  std::uint32_t ranks = 8;
  std::uint32_t ranks_per_host = 4;
  DurationNs slice = milliseconds(100);
  std::vector<JobPhase> phases;
  std::vector<JobFault> faults;
  // Effective samples per cell: rows are Dirichlet with this concentration. 0: no noise.
  double n_eff = 50;
  // Standard deviation of a log-normal factor on every share of a slice, alike for all ranks (an
  // oversubscribed node), and of one for each rank. Heavy-tailed: one slice in fifty has three times the
  // deviation.
  double common_noise = 0, own_noise = 0;
  std::uint32_t visits = 20;  // per rank and slice
  bool evidence = true;
  double sample_missing = 0;  // probability that a slice has no sample
  // Ranks that begin later than the job or end before it, ms; 0: with the job.
  std::vector<std::int64_t> join_ms, leave_ms;
  std::uint32_t seed = 1;
};

// The job begins at slice 1'000'000 of its level.
inline constexpr SliceIndex kJobFirst{1'000'000};
TimeNs job_time(const JobPlan& plan, std::int64_t ms);

std::shared_ptr<const detect::Topology> job_topology(const JobPlan& plan);
std::vector<model::SliceColumn> make_job(const JobPlan& plan);

}  // namespace margay::test
