// Which sinks a user wants, from section [alerts] of the configuration. Values.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "margay/base/result.h"
#include "margay/base/time.h"
#include "margay/sinks/sink.h"

namespace margay::sinks {

struct Settings {
  std::vector<std::string> command;  // [0] is looked for in PATH; none: no command
  std::string webhook;               // http:// or https:// URL; "": none
  std::string webhook_headers;       // file; "": none
  std::string alertmanager;          // base URL of one; "": none
  std::string alertmanager_headers;  // file; "": none
  std::string ca_file;               // certificates that https trusts; "": the system's
  bool journal = false;
  DurationNs time_limit = seconds(10);  // of one attempt
  DurationNs retry_for = seconds(600);  // since the alert came; then it is given up
  bool any() const;                     // whether they ask for a sink
};

// The sinks these settings ask for, none of which has done anything yet. `clock` must outlive them.
// Errors: kInvalidArgument, with the key: a program that is not there, a file of headers that is none.
Result<std::vector<std::unique_ptr<Sink>>> make_sinks(const Settings& settings, const Clock& clock);

}  // namespace margay::sinks
