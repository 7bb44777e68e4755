// How long phases last: what is usual of each, when the current one will end and what comes then, and an
// alert when it lasts unusually long or ended unusually early. A function of the tracker's stretches and of
// which slices were disturbed: the same slices give the same.
//
// A duration is without its disturbed slices (another alert explains those), and of a stretch that was
// disturbed for more than a tenth nothing is learned. Of each phase the newest 16 are remembered, so that
// drift is followed. Durations are taken for log-normal: mean and deviation of their logarithms, of six and
// more without those that lie far off by the median and the median absolute deviation; the deviation has a
// floor. With n of them the next one follows Student's t with n - 1 degrees of freedom, which is wide where n
// is small.
//
//  - *Too long*: beyond the quantile that makes `false_alarms_per_day` of all stretches, beyond 1.5 times the
//    usual, beyond what came twice among those remembered, and by as much as boundaries are found late. Said
//    at once, resolved when the phase ends; its onset is when the usual duration was over.
//  - *Ended early*: likewise below, of at least eight, less than half the usual, and what followed was what
//    usually follows (a stretch that something new cuts in two is not meant). Fired and resolved at once.
//  - *Forecast*: the quantiles of the end, given that it has not ended so far.
//
// Cost per slice: O(1); where a stretch is over, a few hundred evaluations of a distribution. Memory: bounded
// by the phases known. Thread safety: none.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "margay/alert/alert.h"
#include "margay/detect/phases.h"

namespace margay::detect {

struct PhaseDurationOptions {
  std::string run;
  DurationNs slice = milliseconds(100);
  double false_alarms_per_day = 1;  // 0: no alerts
  std::uint32_t least_times = 4;    // durations, 3 or more, known before anything is said of the next
};

// What is known of a phase's duration, of stretches that are over.
struct DurationStatistics {
  std::uint32_t times = 0;   // learned from; those remembered are fewer
  DurationNs usual{};        // median of those remembered
  DurationNs low{}, high{};  // half of those remembered lie between
  DurationNs last{};         // the newest
  bool operator==(const DurationStatistics&) const = default;
};

struct PhaseForecast {
  static constexpr double kConfidence = 0.8;
  std::string phase;
  TimeNs end{};                 // as probably earlier as later
  TimeNs earliest{}, latest{};  // between them with a probability of kConfidence
  std::uint32_t times = 0;      // durations it rests on
  std::string next;             // the phase that follows, or "" where that is not clear
  double next_share = 0;        // how often it did
  bool overdue = false;         // it lasts unusually long; an alert may be open
  bool operator==(const PhaseForecast&) const = default;
};

// Logarithms of seconds: what the next one is expected to be.
struct LogEstimate {
  double mean = 0, deviation = 0;
  double n = 0;  // that they rest on
  double scale() const;
  double survival(double log_s) const;
  double quantile(double survival) const;
};

class PhaseDurations {
 public:
  static constexpr std::size_t kRemembered = 16;

  explicit PhaseDurations(PhaseDurationOptions options) : options_(std::move(options)) {}

  // Before the first slice: stretches that were over before it, oldest first. The first that comes then may
  // have begun earlier: of its duration nothing is learned.
  void restore(const std::vector<PhaseSpan>& before);
  // Slices [from, to] are explained by something else.
  void disturb(SliceIndex from, SliceIndex to);
  // After phases.update() of `slice`. Alerts that begin or end are appended, raised at `watermark`, of a
  // partition at `p`.
  void on_slice(const PhaseTracker& phases, SliceIndex slice, TimeNs watermark, double p,
                std::vector<alert::Alert>& out);
  // The run is over at `t`.
  void finish(TimeNs t, TimeNs watermark, std::vector<alert::Alert>& out);

  // By name, of the phases that have ended at least once.
  std::map<std::string, DurationStatistics> statistics() const;
  std::optional<DurationStatistics> statistics(const std::string& phase) const;
  // Nothing before the current phase has come often enough, or in its first slices.
  // Cost: some three hundred evaluations of a distribution, about 50 us.
  std::optional<PhaseForecast> forecast() const;

 private:
  struct History {
    std::deque<std::pair<std::uint32_t, double>> logs;  // index of the stretch, log seconds; newest last
    std::uint32_t times = 0;
    std::map<std::string, std::uint32_t> next;  // how often which phase followed
    std::optional<LogEstimate> estimate;        // of these; nothing while they are too few
    double too_long = 0, too_short = 0;         // limits, log seconds
  };
  // A stretch that is over for good, or nearly.
  struct Taken {
    std::uint32_t index = 0;
    std::string phase, before;
    bool learned = false;
  };
  static std::string named(const PhaseSpan& span);
  DurationNs disturbed_in(TimeNs begin, TimeNs end) const;
  void take(const PhaseSpan& span, const std::string& next, TimeNs watermark, double p,
            std::vector<alert::Alert>& out);
  void take_back(std::uint32_t from);
  void learn(History& h) const;
  DurationNs late() const;
  void follows(const std::string& phase);
  bool usually_follows(const History& h, const std::string& next) const;
  void reach(alert::Alert& alert, TimeNs end) const;
  alert::Alert alert_of(const PhaseSpan& span, const History& h, TimeNs onset, DurationNs lasted,
                        double limit, TimeNs watermark, double p) const;
  void look_at_current(const PhaseSpan& span, TimeNs now, TimeNs watermark, double p,
                       std::vector<alert::Alert>& out);
  void resolve(TimeNs end, TimeNs watermark, std::vector<alert::Alert>& out);

  PhaseDurationOptions options_;
  std::map<std::string, History> histories_;
  std::deque<Taken> taken_;                                  // the newest few
  std::uint32_t next_index_ = 0;                             // of the stretch to be taken next
  std::string before_;                                       // the phase taken last
  std::deque<std::pair<SliceIndex, SliceIndex>> disturbed_;  // [first, last], ascending, apart
  std::deque<DurationNs> late_;                              // how late boundaries were found
  std::uint32_t newest_seen_ = 0;
  TimeNs first_begin_{};
  std::uint64_t stretches_ = 0;
  double mean_stretch_s_ = 0;
  bool restored_ = false;
  std::optional<alert::Alert> open_;
  std::uint32_t open_index_ = 0;
  TimeNs open_begin_{};
  std::string open_name_;
  std::optional<std::uint32_t> told_;  // the stretch that was said to be too long last
  // The current stretch, once it has lasted a while and enough is known of its phase.
  struct Current {
    std::string phase;
    TimeNs begin;
    DurationNs disturbed, surely;  // and how long it has lasted for sure without that
    bool overdue;
  };
  std::optional<Current> current_;
};

}  // namespace margay::detect
