// Whether false alarms are as many as the knob says, on quiet jobs of days.
#include <cstdio>

#include "cases.h"
#include "commands.h"
#include "margay/detect/detector.h"

namespace margay::bench {

int quiet(std::uint32_t ranks, std::int64_t slices, double knob, std::uint64_t seed) {
  for (const bool coupled : {true, false}) {
    QuietJob job(ranks, seed, coupled);
    detect::DetectorOptions o;
    o.run = "r";
    o.window.slice = seconds(1);
    o.window.slices = 16;
    o.false_alarms_per_day = knob;
    o.min_effect = 0.05;
    detect::Detector d(o);
    d.set_topology(job.topology());
    int alarms = 0;
    for (std::int64_t i = 0; i < slices; ++i) {
      const auto& column = job.next();
      for (const auto& a : d.on_slice(column, slice_end(column.index, o.window.slice)))
        alarms += a.status == alert::Status::kFiring && a.kind == alert::Kind::kPerturbation;
    }
    const double days = static_cast<double>(slices) / 86'400;
    std::printf("quiet, %u ranks, %s noise: %.2f days, %d false alarms, %.1f a day; knob %.0f\n", ranks,
                coupled ? "common" : "own", days, alarms, alarms / days, knob);
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace margay::bench
