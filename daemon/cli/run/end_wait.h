// After the job's end: what is still waited for is said from two seconds on, and an interrupt leaves it.
//
// Thread safety: belongs to one thread.
#pragma once

#include <string>

#include "job_signals.h"
#include "margay/base/time.h"

namespace margay::daemon {

class EndWait {
 public:
  EndWait(const Clock& clock, JobSignals& signals) : clock_(clock), signals_(signals) {}
  void begin();  // the job has ended; only the first time counts
  // REQUIRES: begin(). Says it once every ten seconds.
  void say(const std::string& what);
  // The user wants to; an interrupt within the first seconds was meant for the job.
  bool may_leave() const;

 private:
  const Clock& clock_;
  JobSignals& signals_;
  TimeNs began_{}, next_{};  // monotonic
  bool wanted_ = false;
};

}  // namespace margay::daemon
