// `margay alerts`: the alerts of archives; one of them with all that it rests on.
#pragma once

#include <string>
#include <vector>

#include "handle_command.h"

namespace CLI {
class App;
}

namespace margay::daemon {

struct AlertsRequest {
  CLI::App *list = nullptr, *show = nullptr;
  std::vector<std::string> paths{"."};  // of ls
  std::string path, id;                 // of show
  std::string kind;
  bool firing = false, json = false;
  HandleRequest handle;
};
void add_alerts_command(CLI::App& command, AlertsRequest& request);
// The exit code: 0; 1 if there is no such alert, or it does not come out again; 2 for what cannot be read.
// What went wrong is said on stderr. REQUIRES: the request was parsed.
int alerts_command(const AlertsRequest& request);

}  // namespace margay::daemon
