// What `margay run` says and writes of a run, its name included.
#pragma once

#include <string>

#include "margay/base/time.h"
#include "run_account.h"
#include "run_command.h"

namespace margay::daemon {

void say(const std::string& line);  // "margay: LINE" to stderr

std::string make_run_name();  // of time and chance

struct Ending {
  std::string file;  // for the summary; "": none
  int exit_code = 0;
  DurationNs duration{};
};
// What is known, by whom (`watched`: there was a daemon), and how the job ended.
void write_summary(const RunAccount& account, bool watched, const Ending& ending);

// The sentence for a run in which no source was seen.
std::string nothing_seen(const RunRequest& request);

}  // namespace margay::daemon
