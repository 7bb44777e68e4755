#include "margay/lttng_session/private_network.h"

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace margay::lttng {
namespace {

enum class Step : int { kNone, kUnshare, kMap, kLoopback, kProc };
struct Outcome {
  Step step = Step::kNone;
  int error = 0;
};

bool put(const char* file, const char* text) {
  const int fd = open(file, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool good = write(fd, text, std::strlen(text)) == static_cast<ssize_t>(std::strlen(text));
  const int error = errno;
  close(fd);
  errno = error;
  return good;
}

bool loopback_up() {
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  bool good = ioctl(fd, SIOCGIFFLAGS, &request) == 0;
  request.ifr_flags = static_cast<short>(request.ifr_flags | IFF_UP);
  good = good && ioctl(fd, SIOCSIFFLAGS, &request) == 0;
  const int error = errno;
  close(fd);
  errno = error;
  return good;
}

// System calls only: also for a child of whatever process.
Outcome enter(pid_t outside) {
  const unsigned uid = geteuid(), gid = getegid();
  if (unshare(uid == 0 ? CLONE_NEWNET : CLONE_NEWUSER | CLONE_NEWNET) != 0) return {Step::kUnshare, errno};
  if (uid != 0) {
    char users[64], groups[64];
    std::snprintf(users, sizeof users, "%u %u 1", uid, uid);
    std::snprintf(groups, sizeof groups, "%u %u 1", gid, gid);
    if (!put("/proc/self/setgroups", "deny") || !put("/proc/self/uid_map", users) ||
        !put("/proc/self/gid_map", groups))
      return {Step::kMap, errno};
  }
  if (!loopback_up()) return {Step::kLoopback, errno};
  char file[64];
  std::snprintf(file, sizeof file, "/proc/%d/stat", static_cast<int>(outside));
  if (access(file, R_OK) != 0) return {Step::kProc, errno};
  return {};
}

Status told(const Outcome& o) {
  const char* what = o.step == Step::kUnshare    ? "no network namespace can be made"
                     : o.step == Step::kMap      ? "the user namespace cannot be given its user"
                     : o.step == Step::kLoopback ? "its loopback interface cannot be brought up"
                                                 : "/proc does not show processes outside of it (hidepid)";
  return fail(ErrorCode::kUnavailable, std::string(what) + ": " + std::strerror(o.error));
}

}  // namespace

Status enter_private_network() {
  int report[2];
  if (pipe2(report, O_CLOEXEC) != 0)
    return fail(ErrorCode::kUnavailable, std::string("pipe: ") + std::strerror(errno));
  const pid_t self = getpid();
  const pid_t child = fork();
  if (child == 0) {
    const Outcome o = enter(self);
    _exit(write(report[1], &o, sizeof o) == static_cast<ssize_t>(sizeof o) ? 0 : 1);
  }
  const int error = errno;
  close(report[1]);
  Outcome tried{Step::kUnshare, error};
  if (child > 0) {
    ssize_t n;
    do n = read(report[0], &tried, sizeof tried);
    while (n < 0 && errno == EINTR);
    if (n != static_cast<ssize_t>(sizeof tried)) tried = {Step::kUnshare, ECANCELED};
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  close(report[0]);
  if (tried.step != Step::kNone) return told(tried);
  if (const Outcome o = enter(self); o.step != Step::kNone) return told(o);
  return {};
}

}  // namespace margay::lttng
