// The archive of a made-up job (synthetic_job.h): what its daemon would say of the run, and cuts of slices.
#pragma once

#include <span>

#include "margay/store/archive.h"
#include "support/synthetic_job.h"

namespace margay::test {

// Run "r" from the job's first slice on, with its slices and ones ten times as long.
store::RunMeta job_run(const JobPlan& plan);

// What a first cut tells: the states, and the leaves, each a source of its own.
void add_job(const JobPlan& plan, store::Cut& cut);

// These slices of the plan's level, up to the last of which all are closed.
void add_slices(std::span<const model::SliceColumn> slices, store::Cut& cut);

// The first cut of the archive, with these slices.
store::Cut job_cut(const JobPlan& plan, std::span<const model::SliceColumn> slices);

}  // namespace margay::test
