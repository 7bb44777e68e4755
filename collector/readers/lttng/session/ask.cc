#include "ask.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <lttng/lttng.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <future>
#include <mutex>
#include <system_error>
#include <thread>

namespace margay::lttng {
namespace {

std::timed_mutex& turn() {
  static auto* const mutex = new std::timed_mutex;  // a thread may hang in it to the end
  return *mutex;
}

Status enter_mounts_of(pid_t pid) {
  const int ns = ::open(("/proc/" + std::to_string(pid) + "/ns/mnt").c_str(), O_RDONLY | O_CLOEXEC);
  if (ns < 0)
    return fail(ErrorCode::kUnavailable, "the session daemon (process " + std::to_string(pid) + ") is gone");
  const bool in = ::unshare(CLONE_FS) == 0 && ::setns(ns, CLONE_NEWNS) == 0;
  const int error = errno;
  ::close(ns);
  if (!in)
    return fail(ErrorCode::kUnavailable, "the mounts of the session daemon (process " + std::to_string(pid) +
                                             ") cannot be entered: " + std::strerror(error));
  return {};
}

// It writes what goes wrong to stderr, which is the job's as well; errors are returned anyway.
void be_quiet() {
  if (void* quiet = ::dlsym(RTLD_DEFAULT, "lttng_opt_quiet")) *static_cast<int*>(quiet) = 1;
}

// REQUIRES: it is our turn.
void look_below(const std::string& home) {
  const char* now = std::getenv("LTTNG_HOME");
  if (home.empty()) {
    if (now != nullptr) ::unsetenv("LTTNG_HOME");
  } else if (now == nullptr || home != now) {
    ::setenv("LTTNG_HOME", home.c_str(), 1);
  }
  // Members of this group are given root's daemon wherever there is one, whatever LTTNG_HOME says.
  lttng_set_tracing_group(home.empty() ? "tracing" : "margay has no such group");
}

}  // namespace

Status ask(const Daemons& daemons, DurationNs patience, const std::string& what,
           std::function<Status()> request) {
  auto promise = std::make_shared<std::promise<Status>>();
  std::future<Status> answer = promise->get_future();
  const auto limit = std::chrono::nanoseconds(patience.value);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // the thread is to get no signal of ours
  bool begun = true;
  try {
    std::thread([promise, daemons, limit, request = std::move(request)] {
      std::unique_lock lock(turn(), limit);
      if (!lock.owns_lock()) {
        promise->set_value(
            fail(ErrorCode::kTimeout, "an earlier request to a session daemon has no answer yet"));
        return;
      }
      be_quiet();
      Status status;
      if (daemons.own_mounts)
        status = enter_mounts_of(daemons.sessiond);
      else if (::getuid() != 0)  // root's are in one place
        look_below(daemons.home);
      if (status) status = request();
      lock.unlock();
      promise->set_value(std::move(status));
    }).detach();
  } catch (const std::system_error&) {
    begun = false;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!begun) return fail(ErrorCode::kLimit, what + ": no thread could be started");
  if (answer.wait_for(2 * limit) != std::future_status::ready)
    return fail(ErrorCode::kTimeout, what + ": the session daemon did not answer within " +
                                         std::to_string(2 * patience.value / 1'000'000) + " ms");
  Status status = answer.get();
  if (!status) return fail(status.error(), what);
  return status;
}

}  // namespace margay::lttng
