// Asking the daemon of a run, here or on another machine: for the commands.
#pragma once

#include <string>

#include "margay/base/result.h"
#include "margay/base/time.h"
#include "margay/transport/rundir.h"
#include "margay/wire/control.pb.h"

namespace margay::daemon {

// The run that was named, or the newest one that is live. Errors: kNotFound; the sentence names the newest
// archive in the working directory.
Result<transport::RunDirectory> choose_run(const std::string& name);

// A daemon here, or on another machine (where_flags.h).
struct Where {
  std::string run, endpoint, key;
};

// Says it on stderr: it may come from a daemon on another machine, and names from a file. The exit code: 3
// for kNotFound, else 1.
int say_error(const Error& error);

// Asks the daemon and waits for the answer; asks again each second, so the question must be one that may be
// taken twice. Errors: kNotFound (no such run), kUnavailable (no answer, or what the daemon says is wrong).
Result<wire::ControlReply> ask(const Where& where, const wire::ControlRequest& request, DurationNs patience);

}  // namespace margay::daemon
