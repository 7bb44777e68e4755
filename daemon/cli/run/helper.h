// A process that serves the run.
#pragma once

#include <sys/types.h>

#include <string>

#include "margay/base/time.h"
#include "margay/process/child.h"

namespace margay::daemon {

inline constexpr DurationNs kRestartPause = milliseconds(200);

// A helper process of the run: started again when it dies, ever more slowly.
struct Helper {
  std::string what;
  process::ChildOptions options;
  pid_t pid = -1;
  std::uint32_t restarts = 0;
  DurationNs pause = kRestartPause;
  TimeNs restart_at{};
  TimeNs started{};
  bool done = false;         // ended in order, with nothing left to do
  bool told_to_end = false;  // by us, to be started again
};

}  // namespace margay::daemon
