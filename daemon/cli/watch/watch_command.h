// `margay watch`: the live view of a run in this terminal.
#pragma once

#include "ask_daemon.h"

namespace CLI {
class App;
}

namespace margay::app {

struct WatchRequest {
  Where where;
  bool exit_at_end = false;
};
void add_watch_command(CLI::App& command, WatchRequest& request);
// The exit code: that of terminal::watch(); 3 if no such run is live, which is said on stderr.
int watch_command(const WatchRequest& request);

}  // namespace margay::app
