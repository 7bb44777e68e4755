// The processes that serve a run: the daemon, the node agent, the readers. One that dies is started again,
// ever more slowly.
//
// Thread safety: belongs to one thread. None of these ends a process: who owns the run says when.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <list>
#include <string>
#include <vector>

#include "margay/base/time.h"
#include "margay/process/child.h"

namespace margay::daemon {

inline constexpr DurationNs kRestartPause = milliseconds(200);

struct Helper {
  std::string what;  // "the node agent"
  process::ChildOptions options{};
  pid_t pid = -1;  // -1: not running
  std::uint32_t restarts = 0;
  DurationNs pause = kRestartPause;
  TimeNs restart_at{};  // monotonic, as `started`
  TimeNs started{};
  bool done = false;         // ended in order, with nothing left to do
  bool told_to_end = false;  // by us, to be started again
};

class Helpers {
 public:
  explicit Helpers(const Clock& clock) : clock_(clock) {}

  Helper daemon{"the daemon"}, node{"the node agent"};
  std::list<Helper> readers;  // their places stay

  // The daemon first.
  std::vector<Helper*> all();
  // Says it where that fails: `pid` is -1 then.
  void start(Helper& helper);
  // Those that have ended and are not done, after their pause.
  void start_again_if_due();
  // Whose process `pid` is; nullptr: none of these.
  Helper* running_as(pid_t pid);
  // The process of `helper` has ended with `status` (waitpid's). Returns what a user is to know while the job
  // runs; "" where we told it to end.
  std::string ended(Helper& helper, int status, bool job_ended);

 private:
  const Clock& clock_;
};

}  // namespace margay::daemon
