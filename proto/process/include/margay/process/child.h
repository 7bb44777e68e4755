// A child process: started with its own environment, watched, ended by its id only.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "margay/base/result.h"
#include "margay/base/time.h"

namespace margay::process {

// The signal mask this process was started with, and whether it was to ignore the end of its children: what a
// program that takes this one's place would have been given.
struct SignalsGiven {
  sigset_t mask{};
  bool child_ignored = false;
};

struct ChildOptions {
  std::vector<std::string> arguments;                            // [0] is looked for in PATH
  std::vector<std::pair<std::string, std::string>> environment;  // set on top of ours
  // Out of reach of the terminal's signals, due less of the cores, and without what the user has preloaded.
  bool own_session = false;
  std::string output;  // file for stdout and stderr (appended); "" for ours
  bool null_input = false;
  bool block_term = false;  // SIGTERM waits until the program unblocks it
  // The program gets the signals as this process was given them: the mask, and what was ignored stays
  // ignored. Nothing: every signal is at its default and not blocked.
  std::optional<SignalsGiven> signals;
  std::vector<int> inherited;  // descriptors that stay open in the program
};

// Errors: kNotFound (no such program), kIo (not executable, no process); the message names the program.
Result<pid_t> spawn(const ChildOptions& options);

// How a process ended, as a shell tells it: its exit code, or 128 + the signal.
int exit_code_of(int wait_status);

// Waits up to `patience` for our child to end; then SIGTERM (and SIGCONT: a stopped process takes nothing),
// again `grace`, then SIGKILL and 2 s more. False if it is still there: the kernel holds it, on a disk that
// does not answer.
bool end_child(pid_t pid, DurationNs patience, DurationNs grace);

}  // namespace margay::process
