// Keeps margay-lttng running for the sessions that the configuration names (lttng.sessions). It is a process
// of its own, so that a trace that cannot be read costs the daemon nothing; it is started again when it dies.
//
// Thread safety: none; the thread that calls tick() is the one whose child it is.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "margay/base/time.h"
#include "margay/settings/options.h"

namespace margay::daemon {

class LttngKeeper {
 public:
  // Does nothing where no session is named. REQUIRES: the clock outlives it.
  LttngKeeper(const Options& options, const Clock& clock);
  // Starts it, where it does not run and is due. Cost: a system call.
  void tick();
  // Its readers hand over what they have, for at most 15 s, and it ends. REQUIRES: the daemon still takes it.
  void stop();

 private:
  std::vector<std::string> arguments_;  // none: nothing to keep
  const Clock& clock_;
  pid_t pid_ = -1;
  TimeNs due_{};
  DurationNs pause_;
};

}  // namespace margay::daemon
