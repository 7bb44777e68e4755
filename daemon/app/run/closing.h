// What `margay run` says and writes of a run, its name included.
#pragma once

#include <cstdint>
#include <string>

#include "margay/base/time.h"
#include "run_command.h"

namespace margay::app {

void say(const std::string& line);  // "margay: LINE" to stderr

std::string make_run_name();  // of time and chance

struct Ending {
  std::string file;  // for the summary; "": none
  int exit_code = 0;
  DurationNs duration{};
};
// The daemon's summary ("" where there was no daemon), and how the job ended. Returns the number of alerts.
std::uint64_t write_summary(const std::string& from_daemon, const Ending& ending);

// The sentence for a run in which no source was seen.
std::string nothing_seen(const RunRequest& request);

}  // namespace margay::app
