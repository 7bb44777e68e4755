// One name, one run: whose a run's directory is, for those who begin one. `make_run_directory` (rundir.h)
// claims as well: for a daemon, which goes on with what it finds.
//
//   RUN/lock         held by the processes of the run, as long as one of them lives
//   RUN/owner.pid    who made it, in words: pid, start time, since when
//
// A directory belongs to the processes that hold its lock (fcntl, of the open file). What nobody holds is
// left from processes that are gone, however they ended; a lock cannot be mistaken as a pid can, that another
// process has now, or that counts in another PID namespace. Where the file system has no locks, owner.pid
// decides.
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include <cstddef>
#include <string>

#include "margay/base/result.h"
#include "margay/transport/rundir.h"

namespace margay::transport {

// The directory of a run that begins, for this process alone, until it ends or remove_run_directory(). What
// is left behind under that name is taken away first, unless a process that it has a ring of still lives.
// Errors: kUnavailable (another process has it, which is named), kIo, kInvalidArgument (path too long for a
// socket).
Result<RunDirectory> new_run_directory(const std::string& run);
// The descriptor that holds the directory for this process: a child that keeps it open holds it as well. -1:
// this process does not have it.
int claim_of(const RunDirectory& dir);
// Whether a process that lives has it.
bool is_live(const RunDirectory& dir);
// Takes away the directories that new_run_directory() would. Returns their number. Cost: a few system calls a
// directory, and one a ring of what is left.
std::size_t clear_stale_runs();

}  // namespace margay::transport
