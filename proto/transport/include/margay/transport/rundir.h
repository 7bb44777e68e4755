// Where the processes of one run meet: a directory that only the user can enter.
//
//   BASE/margay-UID/RUN/          0700
//     ingest.ipc  reports.ipc  control.ipc     ZeroMQ endpoints of the daemon
//     rings/                                   shared memory of the probes, one file per process
//     lock, owner.pid                          whose it is (run_claim.h)
//
// BASE is $MARGAY_RUNTIME_DIR, or /dev/shm (the rings must lie in memory, and the path must stay short enough
// for a socket: 107 bytes).
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
Result<RunDirectory> open_run_directory(const std::string& run);
// Runs that a process holds, the one that began last first; without those whose name begins with a dot: they
// are somebody's own.
std::vector<std::string> list_runs();
// Removes what make_run_directory made, and what lies in it.
void remove_run_directory(const RunDirectory& dir);

}  // namespace margay::transport
