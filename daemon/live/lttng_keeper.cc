#include "lttng_keeper.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "margay/log/log.h"
#include "margay/process/child.h"
#include "margay/process/installation.h"

namespace margay::daemon {
namespace {
constexpr DurationNs kFirstPause = milliseconds(500), kLongestPause = seconds(60);
constexpr DurationNs kHandOver = seconds(15);
}  // namespace

LttngKeeper::LttngKeeper(const Options& options, const Clock& clock) : clock_(clock), pause_(kFirstPause) {
  if (options.lttng.sessions.empty()) return;
  const auto parts = process::find_installation();
  if (!parts || parts->lttng.empty()) {
    log::error("lttng.sessions: " +
               (parts ? std::string("margay-lttng is not installed (it is built where "
                                    "liblttng-ctl and Babeltrace 2 are)")
                      : parts.error().message) +
               "; no session is read");
    return;
  }
  arguments_ = {parts->lttng, "--run-dir",   options.directory.path,   "--run",
                options.run,  "--owner-pid", std::to_string(getpid()), "--attach"};
  arguments_.insert(arguments_.end(), options.lttng.sessions.begin(), options.lttng.sessions.end());
  for (const std::string& file : options.lttng.rules) {
    std::error_code ec;
    arguments_.insert(arguments_.end(), {"--rules-file", std::filesystem::absolute(file, ec).string()});
  }
}

void LttngKeeper::tick() {
  if (arguments_.empty()) return;
  const TimeNs now = clock_.monotonic();
  if (pid_ > 0) {
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) != pid_) return;
    pid_ = -1;
    log::error("margay-lttng ended unexpectedly (" + std::to_string(process::exit_code_of(status)) +
               "); it is started again");
    due_ = now + pause_;
    pause_ = std::min(pause_ * 2, kLongestPause);
  }
  if (now < due_) return;
  process::ChildOptions child;
  child.arguments = arguments_;
  child.null_input = true;
  child.own_session = true;
  auto pid = process::spawn(child);
  if (pid) {
    pid_ = *pid;
    return;
  }
  log::error(pid.error().message);
  due_ = now + pause_;
  pause_ = std::min(pause_ * 2, kLongestPause);
}

void LttngKeeper::stop() {
  if (pid_ > 0) process::end_child(pid_, DurationNs(0), kHandOver);
  pid_ = -1;
  arguments_.clear();
}

}  // namespace margay::daemon
