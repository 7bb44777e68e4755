#include "runs_command.h"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "ask_daemon.h"
#include "margay/text/text.h"
#include "margay/transport/local_user.h"

namespace margay::app {

void add_runs_command(CLI::App& command, RunsRequest&) {
  command.description("The names of the runs that are live, newest first.");
  add_trust_user(command);
}

int runs_command(const RunsRequest&) {
  for (const auto& run : transport::list_runs()) std::puts(terminal::printable(run, true, 300).c_str());
  return 0;
}

}  // namespace margay::app
