// `margay runs`: the runs that are live.
#pragma once

namespace CLI {
class App;
}

namespace margay::app {

struct RunsRequest {};
void add_runs_command(CLI::App& command, RunsRequest& request);
// The exit code: 0.
int runs_command(const RunsRequest& request);

}  // namespace margay::app
