// durations_bench [JOBS]     phases of unusual duration: how many are found, and how many false ones are told
//
// Of each kind JOBS (25) made-up jobs A-B-A-B of 48 stretches, three and four seconds long but for a
// log-normal factor (heavy: its logarithm is Student's t with three degrees of freedom, of the same
// deviation); one of the later stretches lasts three times its length. Seeds are fixed. An overrun is found
// if it is told while it lasts; any other alert of the kind is false. What other kinds of alert are told
// shows beside.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "margay/detect/detector.h"
#include "support/synthetic_job.h"

namespace {

using namespace margay;
using test::JobPlan;
using test::Shares;

constexpr int kStretches = 48;
const Shares kA = {0.70, 0.10, 0.10, 0.05, 0.05};
const Shares kB = {0.20, 0.35, 0.35, 0.05, 0.05};

struct Tally {
  std::size_t stretches = 0, slices = 0, found = 0, overruns = 0, early = 0, others = 0;
  double said_after = 0;  // times the usual, summed over those found
};

void run_job(int job, double deviation, bool noisy, bool heavy, Tally& tally) {
  JobPlan plan;
  plan.ranks = 4;
  plan.seed = static_cast<std::uint32_t>(1000 + job);
  plan.n_eff = noisy ? 8 : 50;
  if (noisy) plan.common_noise = plan.own_noise = 0.3;
  std::mt19937 random(static_cast<std::uint32_t>(job * 31 + 7));
  std::normal_distribution<double> normal(0, 1);
  std::student_t_distribution<double> student(3);
  const int planted = 30 + job % 12;
  std::int64_t at = 0, begin = 0, end = 0;
  for (int i = 0; i < kStretches; ++i) {
    const double factor = std::exp(deviation * (heavy ? student(random) / std::sqrt(3.0) : normal(random)));
    const double usual = i % 2 == 0 ? 3000 : 4000;
    const double ms = usual * factor * (i == planted ? 3 : 1);
    plan.phases.push_back({static_cast<std::int64_t>(std::max(600.0, ms)), i % 2 == 0 ? kA : kB, ""});
    if (i == planted) begin = at, end = at + plan.phases.back().ms;
    at += plan.phases.back().ms;
  }
  detect::DetectorOptions options;
  options.run = "r";
  options.window.slice = plan.slice;
  options.window.slices = 128;
  detect::Detector detector(options);
  detector.set_topology(test::job_topology(plan));
  bool found = false;
  for (const auto& column : test::make_job(plan)) {
    ++tally.slices;
    const TimeNs now = slice_end(column.index, plan.slice);
    for (const auto& a : detector.on_slice(column, now)) {
      if (a.status != alert::Status::kFiring) continue;
      if (a.kind != alert::Kind::kPhaseDuration) {
        ++tally.others;
        continue;
      }
      const bool early = a.duration->lasted < a.duration->usual;
      const bool hit =
          !early && now >= job_time(plan, begin) && now <= job_time(plan, end) + milliseconds(500);
      if (hit && !found) {
        found = true;
        const double usual = static_cast<double>(end - begin) / 3;
        tally.said_after += static_cast<double>((now - job_time(plan, begin)).value) * 1e-6 / usual;
      } else {
        ++(early ? tally.early : tally.overruns);
      }
    }
  }
  tally.stretches += detector.phases().spans().size();
  tally.found += found ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  const int jobs = argc > 1 ? std::max(1, std::atoi(argv[1])) : 25;
  std::printf(
      "durations vary by  tails   rows   stretches  slices  found     said after  false overruns  "
      "false early  other alerts\n");
  for (const bool heavy : {false, true})
    for (const double deviation : {0.05, 0.15, 0.3})
      for (const bool noisy : {false, true}) {
        Tally t;
        for (int job = 0; job < jobs; ++job) run_job(job, deviation, noisy, heavy, t);
        std::printf("%17.2f  %-6s  %-6s  %8zu  %6zu  %3zu of %d  %9.2fx  %14zu  %11zu  %12zu\n", deviation,
                    heavy ? "heavy" : "normal", noisy ? "noisy" : "steady", t.stretches, t.slices, t.found,
                    jobs, t.said_after / static_cast<double>(std::max<std::size_t>(1, t.found)), t.overruns,
                    t.early, t.others);
        std::fflush(stdout);
      }
  return 0;
}
