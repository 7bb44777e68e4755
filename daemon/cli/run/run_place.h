// What a run has for itself: its name, the directory where its processes meet, its archive.
//
// Thread safety: none.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "margay/transport/rundir.h"
#include "run_command.h"

namespace margay::daemon {

struct RunPlace {
  std::string run;  // as it was asked for, or with -2, -3 ... where that is another run's
  transport::RunDirectory directory;
  ino_t inode = 0;  // of it
  std::string archive;
  bool archive_made = false;  // here, and empty

  // Takes away what was made, of a run that does not begin.
  void give_up() const;
};

// Takes away what runs that were killed have left, and claims it all. What is called otherwise than was asked
// for is said; nothing, and why is said, if the job is to run without Margay.
std::optional<RunPlace> claim_place(const RunRequest& request);

ino_t inode_of(const std::string& path);  // 0: there is none
// 'T': stopped; 't': by a debugger; '?': not there.
char state_of(pid_t pid);

}  // namespace margay::daemon
