// A made-up run, the same for the same instant: an iterating solver with two phases, and a rank that is
// disturbed for a while. For tests and demonstrations of the views.
#pragma once

#include "margay/wire/report.pb.h"

namespace margay::support {

struct SyntheticRun {
  int hosts = 1;
  int ranks = 4;  // over all hosts, in blocks
  std::int64_t begin_ns = 1'700'000'000'000'000'000;
  double phase_a_s = 6, phase_b_s = 14;
  double trouble_from_s = 25, trouble_to_s = 33;  // the last rank is slow
  double stop_from_s = 45, stop_to_s = 50;        // rank 1 is stopped
  double loss_at_s = 60;                          // events are lost from here on
  double end_s = 1e9;
};

// The run `at_s` seconds after its beginning.
wire::Report synthetic_report(const SyntheticRun& run, double at_s);

}  // namespace margay::support
