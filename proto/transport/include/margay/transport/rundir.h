// Where the processes of one run meet: a directory that only the user can enter.
//
//   BASE/RUN/          0700
//     ingest.ipc  reports.ipc  control.ipc     ZeroMQ endpoints of the daemon
//     rings/                                   shared memory of the probes, one file per process
//     lock, owner.pid                          whose it is (run_claim.h)
//
// BASE, the user's directory of runs, is the first of these that can be had, with a path short enough for a
// socket (107 bytes):
//
//   $MARGAY_RUNTIME_DIR/margay-UID     where that is set, and no other then
//   $XDG_RUNTIME_DIR/margay            where that is the user's own and 0700
//   /dev/shm/margay-UID
//   /dev/shm/margay-UID.XXXXXX         where another user has taken that name; found again by its owner
//
// It is made 0700, opened without following links, and used only where owner and mode are right: nothing that
// somebody else made is read, listed or entered. What the job has to see lies in memory that containers
// share: where BASE is the session's, `rings` leads to /dev/shm/margay-UID/.RUN/rings (local_user.h:
// shared_memory_of). Runs are looked for in all of these places. Whose they are: local_user.h.
#pragma once

#include <string>
#include <vector>

#include "margay/base/result.h"

namespace margay::transport {

struct RunDirectory {
  std::string path;
  std::string ingest_endpoint() const { return "ipc://" + path + "/ingest.ipc"; }
  std::string reports_endpoint() const { return "ipc://" + path + "/reports.ipc"; }
  std::string control_endpoint() const { return "ipc://" + path + "/control.ipc"; }
  std::string rings() const { return path + "/rings"; }
  std::string owner_file() const { return path + "/owner.pid"; }
};

// The user's directory of runs (made, 0700, and checked to belong to the user).
Result<std::string> user_directory();
// The directory of `run` with its rings/, claimed for this process (run_claim.h); for one that has it, the
// same. What is left there by processes that are gone is taken over. Errors: kUnavailable (another process
// has it, which is named), kIo, kInvalidArgument (path too long for a socket).
Result<RunDirectory> make_run_directory(const std::string& run);
// Errors: kNotFound; kInvalidArgument (it is somebody else's, or others can enter it).
Result<RunDirectory> open_run_directory(const std::string& run);
// Runs that a process holds, the one that began last first; without those whose name begins with a dot: they
// are somebody's own.
std::vector<std::string> list_runs();
// Removes what make_run_directory made, and what lies in it.
void remove_run_directory(const RunDirectory& dir);

}  // namespace margay::transport
