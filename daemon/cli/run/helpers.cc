#include "helpers.h"

#include <sys/wait.h>

#include <algorithm>
#include <utility>

#include "closing.h"

namespace margay::daemon {
namespace {

constexpr DurationNs kLongestPause = seconds(10);
constexpr DurationNs kLongLived = seconds(60);  // what then dies is started again without delay

}  // namespace

std::vector<Helper*> Helpers::all() {
  std::vector<Helper*> all{&daemon, &node};
  for (Helper& h : readers) all.push_back(&h);
  return all;
}

void Helpers::start(Helper& helper) {
  auto pid = process::spawn(helper.options);
  helper.started = clock_.monotonic();
  if (!pid) {
    say(pid.error().message);
    helper.pid = -1;
    return;
  }
  helper.pid = *pid;
}

void Helpers::start_again_if_due() {
  for (Helper* h : all()) {
    if (h->pid > 0 || h->done || clock_.monotonic() < h->restart_at) continue;
    ++h->restarts;
    if (h == &daemon) {
      auto& a = h->options.arguments;
      if (const auto it = std::find(a.begin(), a.end(), "--restarts"); it != a.end()) a.erase(it, it + 2);
      a.insert(a.end(), {"--restarts", std::to_string(h->restarts)});
    }
    start(*h);
    if (h->pid < 0) h->restart_at = clock_.monotonic() + h->pause;
  }
}

Helper* Helpers::running_as(pid_t pid) {
  for (Helper* h : all())
    if (h->pid == pid) return h;
  return nullptr;
}

std::string Helpers::ended(Helper& helper, int status, bool job_ended) {
  helper.pid = -1;
  if (std::exchange(helper.told_to_end, false)) {
    helper.restart_at = TimeNs();
    return "";
  }
  const TimeNs now = clock_.monotonic();
  helper.pause =
      now - helper.started > kLongLived ? kRestartPause : std::min(helper.pause * 2, kLongestPause);
  helper.restart_at = now + helper.pause;
  // Those that bring events end by themselves when all they had to deliver is in the archive.
  if (&helper != &daemon && job_ended && WIFEXITED(status) && WEXITSTATUS(status) == 0) helper.done = true;
  return helper.what + " ended unexpectedly (" +
         (WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status))
                              : "exit code " + std::to_string(process::exit_code_of(status))) +
         "); it is started again" +
         (&helper == &daemon ? "; what it had not committed is sent to it again"
                             : "; what it had not delivered is lost, and counted");
}

}  // namespace margay::daemon
