// Signals sent to `margay run`: it stands in the job's place, so they are the job's.
//
// All that can be taken are taken as events and passed on, real-time signals with their value. Not passed on
// is what the kernel sends to the whole process group (the terminal's interrupt, quit, stop, hangup: the job
// has it already), what it sends for a limit of this process, and what the job itself sent. An alarm that was
// set before `margay run` took its caller's place is the job's.
//
// A stop (SIGTSTP, SIGTTIN, SIGTTOU) is passed on, and then stops this process as well, so that the shell
// sees it; SIGCONT goes on with both. A second stop that comes after SIGCONT but before this process had the
// processor again stops this process alone: the kernel takes it as more of the first. SIGKILL and SIGSTOP can
// be taken by nobody; SIGSEGV and its like tell of this process' own errors and end it.
//
// Thread safety: none. One a process.
#pragma once

#include <sys/signalfd.h>
#include <sys/types.h>

#include <vector>

#include "margay/process/child.h"

namespace margay::daemon {

class JobSignals {
 public:
  // From here on signals wait to be read. REQUIRES: this process has one thread, so that those to come block
  // them as well.
  JobSignals();
  ~JobSignals();
  JobSignals(const JobSignals&) = delete;
  JobSignals& operator=(const JobSignals&) = delete;

  int descriptor() const { return signals_; }  // readable when signals wait; -1 if the system gives none
  const process::SignalsGiven& given() const { return given_; }

  // Before the job is there: what came is kept for it, whoever sent it.
  void hold();
  // The job is there: it gets what was kept.
  void release(pid_t job);
  // Passes on what waits. Blocks as long as this process is stopped.
  void pass_on(pid_t job);
  // The job has ended: takes what waits. True if there was a wish to end among it.
  bool wish_to_end();

 private:
  std::vector<signalfd_siginfo> take();
  void stop(int number);

  process::SignalsGiven given_;
  int signals_ = -1;
  std::vector<signalfd_siginfo> held_;
};

}  // namespace margay::daemon
