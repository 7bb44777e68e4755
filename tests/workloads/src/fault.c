/* Faults the program plants in itself. Each acts on one rank, inside compute(), and its true begin and end
 * are taken by that rank's own clock (for `stop`, the end is when the helper sent SIGCONT: the rank itself
 * cannot look at a clock while it is stopped). */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "workload.h"

/* The helper is this program executed anew with an empty environment: no preloaded library, no MPI variables,
 * so that nobody takes it for a rank of the job. It must be forked before MPI_Init (networks do not survive a
 * fork after it) and ends when the rank's side of the socket closes. */
static void start_helper(struct fault* fault) {
  int fds[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) return;
  char exe[4096];
  const ssize_t length = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
  if (length <= 0) return;
  exe[length] = '\0';
  const pid_t pid = fork();
  if (pid == 0) {
    /* mpirun waits until nobody holds the rank's output any more: the helper must not. */
    const int null_fd = open("/dev/null", O_RDWR);
    if (null_fd < 0 || dup2(fds[1], 3) < 0) _exit(127);
    for (int fd = 0; fd < 3; ++fd) dup2(null_fd, fd);
    close_range(4, ~0U, 0);
    fcntl(3, F_SETFD, 0);
    char option[] = "--sigcont-helper";
    char number[] = "3";
    char* const argv[] = {exe, option, number, NULL};
    char* const envp[] = {NULL};
    execve(exe, argv, envp);
    _exit(127);
  }
  close(fds[1]);
  if (pid < 0) {
    close(fds[0]);
    return;
  }
  fault->helper_fd = fds[0];
  fault->helper_pid = pid;
}

static bool is_stopped(pid_t pid) {
  char path[64];
  char text[512];
  snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t length = read(fd, text, sizeof(text) - 1);
  close(fd);
  if (length <= 0) return false;
  text[length] = '\0';
  const char* after_name = strrchr(text, ')');
  return after_name != NULL && after_name[1] == ' ' && after_name[2] == 'T';
}

int fault_helper_main(int fd) {
  const pid_t rank = getppid();
  double seconds;
  while (read(fd, &seconds, sizeof(seconds)) == (ssize_t)sizeof(seconds)) {
    /* A SIGCONT sent before the rank has stopped would be lost and the rank stopped for good. */
    while (getppid() == rank && !is_stopped(rank)) sleep_s(0.0002);
    sleep_s(seconds);
    if (getppid() != rank) return 0;
    const int64_t now = realtime_ns();
    kill(rank, SIGCONT);
    if (write(fd, &now, sizeof(now)) != (ssize_t)sizeof(now)) return 1;
  }
  return 0;
}

static void stop_self(struct fault* fault) {
  if (fault->helper_fd < 0) {
    fprintf(stderr, "margay-workload: no helper to continue rank %d, stop not planted\n", fault->rank);
    return;
  }
  if (write(fault->helper_fd, &fault->for_s, sizeof(fault->for_s)) != (ssize_t)sizeof(fault->for_s)) return;
  fault->begin_ns = realtime_ns();
  raise(SIGSTOP);
  int64_t end = 0;
  ssize_t got;
  do {
    got = read(fault->helper_fd, &end, sizeof(end));
  } while (got < 0 && errno == EINTR);
  fault->end_ns = got == (ssize_t)sizeof(end) ? end : realtime_ns();
}

void fault_prepare(struct workload* w, int rank) {
  signal(SIGPIPE, SIG_IGN);
  for (int i = 0; i < w->fault_count; ++i) {
    struct fault* fault = &w->faults[i];
    fault->helper_fd = -1;
    if (fault->kind == kStop && fault->rank == rank) start_helper(fault);
  }
}

static void finish(struct workload* w, struct fault* fault) {
  fault->done = true;
  if (fault->rank == w->rank) truth_fault(w, fault);
}

double fault_point(struct workload* w) {
  if (w->fault_count == 0) return 1.0;
  const double now = monotonic_s() - w->start_s;
  double factor = 1.0;
  for (int i = 0; i < w->fault_count; ++i) {
    struct fault* fault = &w->faults[i];
    const bool mine = fault->rank == w->rank;
    if (fault->done || now < fault->at_s || (!mine && fault->kind != kImbalance)) continue;
    if (fault->kind == kStop || fault->kind == kSleep) {
      fault->begun = true;
      if (fault->kind == kStop) {
        stop_self(fault);
      } else {
        fault->begin_ns = realtime_ns();
        sleep_s(fault->for_s);
        fault->end_ns = realtime_ns();
      }
      finish(w, fault);
      continue;
    }
    if (!fault->begun) {
      fault->begun = true;
      fault->begun_s = now;
      fault->begin_ns = realtime_ns();
    } else if (now >= fault->begun_s + fault->for_s) {
      fault->end_ns = realtime_ns();
      finish(w, fault);
      continue;
    }
    if (fault->kind == kSlow) {
      factor *= 3.0;
    } else if (mine) {
      factor *= 1.5;
    } else {
      /* The work moves from the others to the rank: the sum stays what it was. */
      factor *= 1.0 - 0.5 / (w->size > 1 ? w->size - 1 : 1);
    }
  }
  return factor;
}

void fault_finish(struct workload* w) {
  for (int i = 0; i < w->fault_count; ++i) {
    struct fault* fault = &w->faults[i];
    if (fault->begun && !fault->done) {
      fault->end_ns = realtime_ns();
      finish(w, fault);
    }
    if (fault->helper_fd < 0) continue;
    close(fault->helper_fd);
    while (waitpid(fault->helper_pid, NULL, 0) == -1 && errno == EINTR) {
    }
  }
}
