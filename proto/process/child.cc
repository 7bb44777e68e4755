#include "margay/process/child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace margay::process {

namespace {

// Where the kernel groups processes by session (sched_autogroup), one session weighs as much as another: ours
// would be due half of each core, though the job has a hundred processes, and the kernel would move the job's
// from core to core to make up for it. With this it is due a quarter. Where there are no such groups,
// nothing.
void weigh_less_than_the_job() {
  constexpr char kNice[] = "5";
  const int group = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
  if (group < 0) return;
  // Of all that ordinary users ask for, the kernel grants one in 0.1 s.
  for (int tries = 0; write(group, kNice, sizeof kNice - 1) < 0 && errno == EAGAIN && tries < 3; ++tries)
    usleep(50'000);
  close(group);
}

}  // namespace

Result<pid_t> spawn(const ChildOptions& o) {
  if (o.arguments.empty()) return fail(ErrorCode::kInvalidArgument, "no command");
  std::vector<char*> argv;
  for (const auto& a : o.arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  int report[2];
  if (pipe2(report, O_CLOEXEC) != 0)
    return fail(ErrorCode::kIo, std::string("pipe: ") + std::strerror(errno));
  const pid_t pid = fork();
  if (pid < 0) {
    const int error = errno;
    close(report[0]);
    close(report[1]);
    return fail(ErrorCode::kIo, o.arguments[0] + ": cannot be started: " + std::strerror(error));
  }
  if (pid == 0) {
    // The child: one thread, about to be replaced.
    if (o.own_session) {
      if (setsid() > 0) weigh_less_than_the_job();
      unsetenv("LD_PRELOAD");  // what the user preloads is for the job
    }
    if (o.null_input) {
      const int null = open("/dev/null", O_RDONLY);
      if (null >= 0) dup2(null, 0);
    }
    if (!o.output.empty()) {
      const int out = open(o.output.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
      if (out >= 0) {
        dup2(out, 1);
        dup2(out, 2);
      }
    }
    for (const auto& [key, value] : o.environment) setenv(key.c_str(), value.c_str(), 1);
    for (const int fd : o.inherited) fcntl(fd, F_SETFD, 0);
    if (o.signals) {
      // Dispositions are as they were given, for this program changes none but SIGCHLD's.
      if (o.signals->child_ignored) signal(SIGCHLD, SIG_IGN);
      pthread_sigmask(SIG_SETMASK, &o.signals->mask, nullptr);
    } else {
      for (int s = 1; s <= SIGRTMAX; ++s) signal(s, SIG_DFL);
      sigset_t blocked;
      sigemptyset(&blocked);
      if (o.block_term) sigaddset(&blocked, SIGTERM);
      pthread_sigmask(SIG_SETMASK, &blocked, nullptr);
    }
    execvp(argv[0], argv.data());
    const int error = errno;
    [[maybe_unused]] const ssize_t n = write(report[1], &error, sizeof error);
    _exit(127);
  }
  close(report[1]);
  int error = 0;
  ssize_t n;
  do n = read(report[0], &error, sizeof error);
  while (n < 0 && errno == EINTR);
  close(report[0]);
  if (n == static_cast<ssize_t>(sizeof error)) {
    waitpid(pid, nullptr, 0);
    return fail(error == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo,
                o.arguments[0] + ": cannot be run: " + std::strerror(error));
  }
  return pid;
}

int exit_code_of(int status) {
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  if (WIFSIGNALED(status)) return 128 + WTERMSIG(status);
  return 1;
}

bool end_child(pid_t pid, DurationNs patience, DurationNs grace) {
  const SystemClock clock;
  const auto gone = [&](DurationNs limit) {
    const TimeNs until = clock.monotonic() + limit;
    for (;;) {
      const pid_t r = waitpid(pid, nullptr, WNOHANG);
      if (r == pid || (r < 0 && errno == ECHILD)) return true;
      if (clock.monotonic() >= until) return false;
      usleep(2000);
    }
  };
  if (gone(patience)) return true;
  kill(pid, SIGTERM);
  kill(pid, SIGCONT);
  if (gone(grace)) return true;
  kill(pid, SIGKILL);
  return gone(seconds(2));
}

}  // namespace margay::process
