// `margay runs`: the runs that are live.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "command.h"
#include "margay/text/text.h"
#include "margay/transport/rundir.h"
#include "where_flags.h"

namespace margay::daemon {
namespace {

struct RunsRequest {};

void add_runs_command(CLI::App& command, RunsRequest&) {
  command.description(R"(List the running jobs that are watched on this machine, by name, newest first.

  margay runs)");
  add_trust_user(command);
}

// The exit code: 0.
int runs_command(const RunsRequest&) {
  for (const auto& run : transport::list_runs()) std::puts(text::printable(run, true, 300).c_str());
  return 0;
}

}  // namespace

Declare declare_runs() {
  return declare(add_runs_command, runs_command);
}

}  // namespace margay::daemon
