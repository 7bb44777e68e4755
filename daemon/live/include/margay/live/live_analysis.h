// The analyst of a run that is watched: looks back on what a daemon before this one has seen, takes slices as
// they close, and is made anew from the archive after an error of our own.
//
// Thread safety: none. The archive, options and clock must outlive it.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <optional>

#include "margay/analysis/analyst.h"
#include "margay/analysis/exchange.h"
#include "margay/analysis/history.h"
#include "margay/live/alert_notifier.h"
#include "margay/live/analysis_failures.h"
#include "margay/live/phase_findings.h"

namespace margay::daemon {

class LiveAnalysis {
 public:
  // Where what is found goes.
  struct Out {
    AlertNotifier& notifier;
    AnalysisFailures& failures;
    Findings& findings;
    std::function<bool()> alive;  // called for each message that is looked back on; false: it ends
  };
  LiveAnalysis(const Options& options, const store::Archive& archive, const store::Resume& resume,
               const LookBack& back, const Clock& clock, const Out& out);

  // Detection is a function of what it was shown: shown again, it comes to where it was. What it raised then
  // stands in the archive and is not raised again. Call once, first.
  void look_back();
  // What happened next. True: there are new alerts.
  bool take(const ClosedSlice& message);
  // What the archive is to be told of phases.
  void put_phases_into(Findings& findings) { phases_.put_into(findings, analyst_->levels()); }
  void phases_dropped() { phases_.again(); }

  const Analyst& analyst() const { return *analyst_; }

 private:
  // What a daemon that is started again looks back on: gone when it has.
  struct Past {
    store::Resume resume;
    LookBack back;
    AlertNotifier::Said said;
  };
  void recall(store::Resume resume, const LookBack& back);
  bool take(const ClosedSlice& message, const Past* past);
  void failed_amid(const ClosedSlice& message, const std::string& what, bool past);
  void make_anew(const ClosedSlice& failed);
  bool emit(std::vector<alert::Alert> alerts, const Past* past);

  const Options& options_;
  const store::Archive& archive_;
  const Clock& clock_;
  const TimeNs run_begin_;
  Out out_;
  std::unique_ptr<Analyst> analyst_;  // never nullptr
  PhaseFindings phases_;
  std::unique_ptr<Past> past_;
  SliceIndex first_slice_{std::numeric_limits<std::int64_t>::max()};  // of those that came as they closed
  std::uint64_t looked_at_ = 0;  // the journal's entries up to this number, when it was made anew
  bool making_anew_ = false;
  TimeNs next_anew_{};
};

}  // namespace margay::daemon
