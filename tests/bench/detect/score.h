// How well alerts fit the truth of a made-up case. The rules are those by which detectors are compared
// elsewhere (and by which this one is judged):
//
//  - An alert hits when its [onset, end] overlaps the true interval widened by two slices, and it did not
//    begin to fire (the first line with its id) earlier than two slices before it.
//  - Several alerts on one truth count once; an alert on no truth is a false alarm.
//  - Only perturbations count. A stall and a lost source are free, and may hit a rank that hangs.
//  - The delay is from the true begin to the first detection, in slices; localisation is the Jaccard index
//    of all leaves that the hits report with the true ones, or with those that cannot be told from them.
//
// Pure. Cost: that of the detector. Thread safety: none needed, values.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cases.h"
#include "margay/alert/alert.h"
#include "margay/detect/detector.h"

namespace margay::bench {

struct Score {
  int truths = 0, hits = 0, false_alarms = 0, cases = 0;
  double slices = 0, hours = 0;
  std::vector<double> delay, jaccard;  // of each truth that was hit
  void add(const Score& o);
  // 0 where there is nothing to be right or wrong about.
  double f1() const;
  double median_delay() const;
  double mean_jaccard() const;
  double false_per_1000() const;
  void print(const char* name) const;
};

// detect.false_alarms_per_day as it is shipped (config/margay.toml).
inline constexpr double kShippedKnob = 0.5;

// What a user may declare of a case: the slice, and which states are idle.
detect::DetectorOptions options_for(const Case& c);

// Every alert of the case, the newest that was said of each, in the order in which they began; `detected` is
// that of the first.
std::vector<alert::Alert> alerts_of(const Case& c, const detect::DetectorOptions& options);
// Every line in the order said, with the number of slices shown before it, of the first `slices` slices;
// nothing is finished.
struct Said {
  std::size_t slice;
  alert::Alert alert;
};
std::vector<Said> said_until(const Case& c, const detect::DetectorOptions& options, std::size_t slices);

// Nothing, or how the alerts of a case that is cut off after `slices` differ from what the whole said so far.
std::string acausal(const Case& c, std::size_t slices);

// `tell`, if given, is told of every alert and miss in a line.
Score score(const Case& c, const std::vector<alert::Alert>& alerts,
            const std::function<void(const std::string&)>& tell = {});

}  // namespace margay::bench
