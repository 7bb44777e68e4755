#include "margay/live/analysis_failures.h"

#include <new>

#include "margay/log/log.h"

namespace margay::daemon {
namespace {

constexpr DurationNs kSaid = seconds(60);

}  // namespace

void AnalysisFailures::say(const std::string& sentence, TimeNs now) {
  last_ = sentence;
  if (now < next_said_) return;
  next_said_ = now + kSaid;
  log::error(sentence + "; the daemon goes on: please report this");
}

void AnalysisFailures::met(const char* doing, const std::exception& e, TimeNs now) {
  ++failures_;
  try {
    say(std::string("analysis: an error in ") + doing + ": " + e.what(), now);
  } catch (const std::bad_alloc&) {
    // It is counted.
  }
}

void AnalysisFailures::amid_slice(SliceIndex slice, const std::string& where, const std::string& what,
                                  TimeNs now) {
  ++not_analysed_;
  skipped_.insert(slice);
  if (skipped_.size() > kMostSkipped) skipped_.erase(skipped_.begin());
  say("analysis: an error in " + where + ": " + what, now);
}

void AnalysisFailures::amid(const std::string& where, const std::string& what, TimeNs now) {
  ++failures_;
  say("analysis: an error in " + where + ": " + what, now);
}

void AnalysisFailures::set(observe::Values& v) const {
  using observe::Id;
  v.set(Id::slices_not_analysed, not_analysed_);
  v.explain(Id::slices_not_analysed, not_analysed_ == 0 ? std::string() : last_);
  v.set(Id::analysis_failures, failures_);
  v.explain(Id::analysis_failures, failures_ == 0 ? std::string() : last_);
}

}  // namespace margay::daemon
