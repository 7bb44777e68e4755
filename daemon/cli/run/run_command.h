// `margay run`: a job, a node agent and a daemon of its own, from one command.
//
//   margay run ---+--- margayd            archive, alerts, reports      restarted if it dies
//                 +--- margay-node        drains the rings, samples     restarted if it dies
//                 +--- margay-gst         reads GStreamer's log, where asked for; restarted if it dies
//                 +--- margay-lttng        LTTng's daemons, a live session, its reader; where asked for
//                 +--- the job, with the probe preloaded                its exit code is ours
//
// The job never depends on the others: if they cannot be started, it runs as without Margay, and a line
// says so. Signals sent to `margay run` are passed on to the job; those of the terminal reach it anyway,
// being of the same process group. Nothing is left behind: no process, no file in shared memory.
#pragma once

#include <string>
#include <vector>

#include "margay/settings/command_options.h"

namespace CLI {
class App;
}

namespace margay::daemon {

struct RunRequest {
  CommonFlags flags;
  std::string summary;    // file for the summary (JSON), or ""
  std::string name;       // of the run; "" for one made of time and chance
  bool quiet = false;     // print nothing but errors
  std::string gst_debug;  // what GST_DEBUG is to be, of a GStreamer program; "": its log is not read
  std::string
      lttng;  // what is preloaded into an LTTng-traced program ("pthread,libc", "none"); "": not traced
  std::vector<std::string> lttng_rules;  // files
  std::vector<std::string> command;
};

void add_run_command(CLI::App& command, RunRequest& request);
// The job's exit code; 127 or 126 if it cannot be run, 2 if the request is wrong.
int run_command(const RunRequest& request);

}  // namespace margay::daemon
