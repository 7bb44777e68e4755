// `margay finish`: the end of a run whose daemon was started by hand.
#pragma once

#include "ask_daemon.h"

namespace CLI {
class App;
}

namespace margay::app {

struct FinishRequest {
  Where where;
};
void add_finish_command(CLI::App& command, FinishRequest& request);
// The exit code: 0; 3 if no such run is live; 1 if its daemon does not answer. What went wrong is said on
// stderr.
int finish_command(const FinishRequest& request);

}  // namespace margay::app
