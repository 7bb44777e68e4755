// Whose runs are looked at and whose daemons are believed on this machine, and where a run's shared memory
// lies.
//
// Thread safety: all functions, but look_at_runs_of().
#pragma once

#include <sys/types.h>

#include <string>

#include "margay/transport/rundir.h"

namespace margay::transport {

// The directory that holds the rings of a run, in shared memory that containers see: MARGAY_RUN_DIR of the
// job. The run's directory itself, or where its `rings` leads.
std::string shared_memory_of(const RunDirectory& dir);

// A directory that was named by its path (--run-dir), on another machine made by hand: it is
// trusted_user()'s, and nobody else may write it. Errors: kNotFound, kIo; kInvalidArgument, with whose it is
// or what to type.
Status check_run_directory(const RunDirectory& dir);

// From now on runs are those of this user, and its daemons are believed; nothing is made in its directories.
// Else it is the user we are. Before threads begin. Errors: kNotFound (no such user).
Status look_at_runs_of(const std::string& user);
uid_t trusted_user();

}  // namespace margay::transport
