// `margay status`: how a run stands, asked of its daemon.
#pragma once

#include "ask_daemon.h"

namespace CLI {
class App;
}

namespace margay::app {

struct StatusRequest {
  Where where;
  bool json = false, check = false;
};
void add_status_command(CLI::App& command, StatusRequest& request);
// The exit code: 0; 3 if no such run is live; 1 if its daemon does not answer. Of --check: 0 healthy, 1
// degraded, 2 not reachable. What went wrong is said on stderr.
int status_command(const StatusRequest& request);

}  // namespace margay::app
