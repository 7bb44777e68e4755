// What a command needs in its environment so that LTTng sees it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "margay/base/result.h"
#include "margay/base/time.h"
#include "margay/lttng_session/daemons.h"

namespace margay::lttng {

struct ProgramEnvironment {
  std::vector<std::pair<std::string, std::string>> variables;  // to set
  std::vector<std::string> preload;                            // files to add to LD_PRELOAD
  // `present` (the value of LD_PRELOAD that is to stay, "" for none) and then `preload`, without doubles.
  std::string ld_preload(std::string_view present) const;
};

// How long a program waits at its start, at most, for a session daemon that took its connection and does not
// answer (where none is there it does not wait at all). LTTng's own default is 3 s. Half a second is many
// times what a registration takes on a busy node, and a job of 64 ranks that start at once is not held up by
// more than that.
inline constexpr DurationNs kRegisterTimeout = milliseconds(500);

// `helpers` instrument programs that have no tracepoints of their own, each a library that is preloaded:
//   pthread    mutexes (lttng_ust_pthread:*)
//   libc       malloc and free (lttng_ust_libc:*)
//   functions  entry and exit of functions compiled with -finstrument-functions
//   (lttng_ust_cyg_profile_fast:*) dl         dlopen and dlclose (lttng_ust_dl:*) fork       no events:
//   programs that fork without exec are traced on in the child fd         no events: programs that close all
//   file descriptors stay traced
// Errors: kInvalidArgument (no such helper), kNotFound (its library is not installed). Cost: a few stat().
Result<ProgramEnvironment> program_environment(const Daemons& daemons,
                                               const std::vector<std::string>& helpers,
                                               DurationNs register_timeout = kRegisterTimeout);
// The patterns of the events that a helper gives; "" for one that gives none, or is unknown.
std::string_view events_of_helper(std::string_view helper);

}  // namespace margay::lttng
