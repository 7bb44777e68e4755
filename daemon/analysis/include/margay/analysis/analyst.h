// What the analysis makes of what it is shown: detection, and the content of reports. Live and replay are
// this class, fed the same messages; no thread, socket, file or clock.
//
// Phases and alerts rest on durations. With another operator (Options::op) a second window, fed with the same
// slices, holds what was measured, and is what reports show.
//
// The same messages give the same alerts and the same report content, to the byte, for the same build and
// kind of processor. What depends on when it was computed (wall times, how the daemon is) is outside the
// content. Thread safety: none. Cost: that of detect::Levels, and of a second detect::Window.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "exchange.h"
#include "margay/base/recent_set.h"
#include "margay/detect/levels.h"
#include "margay/settings/options.h"
#include "margay/wire/report.pb.h"
#include "report_builder.h"

namespace margay::daemon {

class Analyst {
 public:
  // `options` must outlive it.
  Analyst(const Options& options, TimeNs run_begin);

  // Before the first message: what was known of phases before what it will be shown.
  void restore(const detect::PhaseMemory& memory) { levels_.restore(memory); }
  // Takes what happened next. Returns alerts that began, changed or ended by it, each word once; each is to
  // be remembered.
  std::vector<alert::Alert> take(const ClosedSlice& message);
  // For reports: the newest alerts. An update takes the place of the update before it.
  void remember(alert::Alert alert);

  // Of all levels, and of the finest.
  const detect::Levels& levels() const { return levels_; }
  const detect::Detector& detector() const { return levels_.detector(); }
  // Why what is measured is not partitioned, or "".
  const std::string& measured_error() const { return measured_error_; }
  const detect::Topology& topology() const { return *topology_; }
  const std::shared_ptr<const detect::Topology>& shared_topology() const { return topology_; }
  TimeNs watermark() const { return watermark_; }
  // The number of the journal's entry that was taken last.
  std::uint64_t position() const { return position_; }
  void set_position(std::uint64_t p) { position_ = p; }
  bool final() const { return final_; }
  TimeNs end() const { return end_; }

  // A report as it stands; what is not content is left empty.
  wire::Report report() const { return build_report(input()); }
  // For the caller to fill in what is not content.
  ReportInput input() const;

 private:
  const Options& options_;
  TimeNs run_begin_{};
  detect::Levels levels_;
  alert::Updates updates_;
  std::optional<detect::Window> measured_;
  std::string measured_error_;
  std::shared_ptr<const detect::Topology> topology_;
  static constexpr std::size_t kMostKnown = 65'536;
  RecentSet<std::string> raised_{kMostKnown};  // id/step
  std::deque<alert::Alert> recent_;            // newest last, bounded; some may be the same alert's
  TimeNs watermark_{};
  std::uint64_t position_ = 0;
  bool final_ = false;
  TimeNs end_{};
};

}  // namespace margay::daemon
