#include "job_signals.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iterator>

namespace margay::daemon {
namespace {

constexpr std::array kOwnErrors{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
constexpr std::array kStops{SIGTSTP, SIGTTIN, SIGTTOU};
constexpr std::array kEnds{SIGINT, SIGTERM, SIGHUP, SIGQUIT};
constexpr std::array kTimers{SIGALRM, SIGVTALRM, SIGPROF};  // they live on in a program that is executed

bool among(int number, const auto& set) {
  return std::find(set.begin(), set.end(), number) != set.end();
}

bool by_kernel(const signalfd_siginfo& s) {
  return s.ssi_code > 0;
}

bool is_for(pid_t job, const signalfd_siginfo& s) {
  const int number = static_cast<int>(s.ssi_signo);
  if (by_kernel(s)) return among(number, kTimers);
  // Of a closed pipe that we wrote to, and of a job that signals its whole group, itself among it.
  const auto from = static_cast<pid_t>(s.ssi_pid);
  return from != getpid() && from != job;
}

void send(pid_t job, const signalfd_siginfo& s) {
  const int number = static_cast<int>(s.ssi_signo);
  if (s.ssi_code == SI_QUEUE) {
    sigval value;
    value.sival_ptr = reinterpret_cast<void*>(s.ssi_ptr);  // NOLINT: the sender's, whatever it means
    sigqueue(job, number, value);
  } else {
    kill(job, number);
  }
}

}  // namespace

JobSignals::JobSignals() {
  sigset_t taken;
  sigfillset(&taken);
  for (const int s : kOwnErrors) sigdelset(&taken, s);
  pthread_sigmask(SIG_BLOCK, &taken, &given_.mask);
  // Where it is ignored nobody can wait for a child.
  struct sigaction child {};
  sigaction(SIGCHLD, nullptr, &child);
  given_.child_ignored = child.sa_handler == SIG_IGN;
  if (given_.child_ignored) signal(SIGCHLD, SIG_DFL);
  signals_ = signalfd(-1, &taken, SFD_NONBLOCK | SFD_CLOEXEC);
}

JobSignals::~JobSignals() {
  if (signals_ >= 0) close(signals_);
}

std::vector<signalfd_siginfo> JobSignals::take() {
  std::vector<signalfd_siginfo> all;
  signalfd_siginfo info;
  while (read(signals_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) all.push_back(info);
  return all;
}

void JobSignals::hold() {
  constexpr std::size_t kMost = 1024;
  for (const signalfd_siginfo& s : take()) {
    const int number = static_cast<int>(s.ssi_signo);
    if (among(number, kStops))
      stop(number);
    else if (number != SIGCHLD && static_cast<pid_t>(s.ssi_pid) != getpid() && held_.size() < kMost)
      held_.push_back(s);
  }
}

void JobSignals::release(pid_t job) {
  for (const signalfd_siginfo& s : held_) send(job, s);
  held_.clear();
}

void JobSignals::pass_on(pid_t job) {
  for (const signalfd_siginfo& s : take()) {
    const int number = static_cast<int>(s.ssi_signo);
    if (is_for(job, s)) send(job, s);
    if (among(number, kStops)) stop(number);
  }
}

bool JobSignals::wish_to_end() {
  bool wish = false;
  for (const signalfd_siginfo& s : take()) {
    const int number = static_cast<int>(s.ssi_signo);
    if (among(number, kEnds)) wish = true;
    if (among(number, kStops)) stop(number);
  }
  return wish;
}

// With the signal itself, so that the kernel decides as it does for the job: not where it is ignored, nor in
// a process group that nobody could continue.
void JobSignals::stop(int number) {
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, number);
  raise(number);
  pthread_sigmask(SIG_UNBLOCK, &one, nullptr);  // here it stops, and goes on
  pthread_sigmask(SIG_BLOCK, &one, nullptr);
}

}  // namespace margay::daemon
