// Processes of LTTng: started, looked at, ended by their ids.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "margay/base/result.h"
#include "margay/base/time.h"

namespace margay::lttng {

// Where LTTng's daemons of root have their sockets.
inline constexpr const char* kSystemPlace = "/var/run/lttng";

struct Launch {
  std::string program;                 // absolute (find_program)
  std::vector<std::string> arguments;  // without the program's name
  std::string home;                    // LTTNG_HOME; "" none
  std::string log;                     // stdout and stderr, appended
  std::string place;  // if not "": in a mount namespace in which kSystemPlace is this directory
};
struct Launched {
  pid_t pid = -1;
  bool no_mounts = false;  // `place` was refused (no privilege): nothing runs
};

// kNotFound, with the package's name. `name` may be a path.
Result<std::string> find_program(const std::string& name);
// In a session of its own, away from the terminal's signals; gets SIGTERM when the calling thread ends.
Result<Launched> launch(const Launch& what);

// Is there, and is no zombie. Cost: three system calls.
bool running(pid_t pid);
// The children of `pid` that run and whose name is `name`; none where /proc does not tell.
std::vector<pid_t> children_named(pid_t pid, const std::string& name);
// The consumer daemons whose sockets are below `place` as they see it, in the mount namespace `mounts`
// (mounts_of); their session daemon may be gone. Cost: a look at every process.
std::vector<pid_t> consumers_in(const std::string& mounts, const std::string& place);
std::string mounts_of(pid_t pid);  // its mount namespace's name; "" not known
bool tells_children();             // /proc does
// Waits until none of them runs, at most `limit`. Our children are reaped.
bool ended(const std::vector<pid_t>& pids, DurationNs limit);
// SIGTERM, up to `grace`, SIGKILL, and waits for that.
void end_process(pid_t pid, DurationNs grace);

// The last line that is not empty, fit for a message; "" none.
std::string last_line(const std::string& file);

}  // namespace margay::lttng
