// What differs between runs, and how sure that is. Pure.
//
// Of each phase, state and node of the hierarchy: the time that the node's resources spent in the state, each
// in the mean, in the baseline (a; of several runs their mean) and in the run (b). The phase is cut into
// blocks of equal work, and each block of the run is held against that of the baseline. Their differences'
// trimmed mean, a fifth cut off at each end, is what has typically changed: a burst, which alerts tell of, is
// no change of the program. Its error comes from the winsorised variance (Tukey and McLaughlin, Less
// vulnerable confidence and significance procedures for location, 1963), and what makes neighbours alike
// from their products (Newey and West, A simple, positive semi-definite, heteroskedasticity and
// autocorrelation consistent covariance matrix, 1987) where these make it more. Of two and more runs of the
// baseline it is also estimated from what these differ by, and the larger of the two counts: a block knows
// nothing of a machine that is slower today. Student's t makes intervals and chances of it.
//
// What is told is sure at once: with probability `false_alarm` anything at all is told of runs that are
// equal (Bonferroni, over all that was looked at). Of a part of the machine is told what sets it apart from
// the rest, so that what slows all ranks alike is told of all and not of each: the node that is set apart
// most, then, without it, the next one.
//
// Thread safety: functions of their arguments. Cost: nodes x states x phases x kBlocks, for each that is set
// apart. Memory: resources x runs x kBlocks x 8 bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "margay/compare/run_in_blocks.h"
#include "margay/model/hierarchy.h"

namespace margay::compare {

enum class Per {
  kRun,     // seconds of the run
  kSecond,  // seconds of each second: for stretches that are not all of a run
};

struct ChangeOptions {
  double false_alarm = 0.01;  // 0 to 1, both outside
  // What is less than this part of the phase's time, or changes by less than that part of itself, is not
  // told: runs differ by so much without a reason that anybody would look for. Of a baseline of kManyRuns
  // and more a quarter of it, for then it is known by how much these do.
  double least_of_phase = 0.015;
  double least_of_itself = 0.03;
  static constexpr std::size_t kManyRuns = 4;
  // The state that stands for time in which resources were ready to run and not let, beside what they were in
  // then; -1: there is none. What is no more than that changed by in the same resources is not reported: it
  // was the machine.
  std::int32_t waiting = -1;
  Per per = Per::kRun;
  bool same_work = false;                        // the runs make the same calls
  static constexpr std::size_t kMostApart = 64;  // nodes that are set apart in a phase and state
};

// One measure in the baseline and in the run.
struct Change {
  std::uint32_t phase = 0;               // 0: all of the run
  std::int32_t state = -1;               // -1: the phase's own time, which all resources have alike
  std::vector<std::uint32_t> resources;  // ascending; empty: all
  double a = 0, b = 0;                   // seconds of each resource
  bool known = false;                    // the following: not of phases that are too short
  double typical = 0;                    // what b - a is without bursts
  double of = 0;                         // what a is without bursts
  double low = 0, high = 0;              // the typical difference lies between, in 95 of 100 cases
  double apart = 0;                      // of some: what sets them apart from the others, seconds
  double chance = 1;                     // that it would be so great if nothing had changed, by itself
  double least_told = 0;                 // seconds: a smaller change would not have been sure
  double change() const { return b - a; }
  // As parts of what is typical of a; 0 where that is 0.
  double part(double seconds) const { return of > 0 ? seconds / of : 0; }
};

struct Changes {
  // Of all resources: each phase's time and its states, whether or not they changed. By phase, then state;
  // states without time are left out.
  std::vector<Change> overall;
  // What is sure: the greatest first, by the seconds that it makes of the job's mean resource.
  std::vector<Change> told;
  std::vector<Change> machine;  // likewise, of waiting for a CPU: not the program's
  std::uint64_t looked_at = 0;  // measures
};

// `baseline`: one run or several. `hierarchy`: of the resources that the blocks are of. REQUIRES the same
// numbers of phases, resources and states in all.
Changes changes(std::span<const RunInBlocks> baseline, const RunInBlocks& run, std::size_t states,
                const model::Hierarchy& hierarchy, const ChangeOptions& options);

}  // namespace margay::compare
