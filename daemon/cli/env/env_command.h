// `margay env`: a shell whose jobs report to a daemon that was started by hand.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace margay::app {

struct EnvRequest {
  std::string run;  // "": the newest
};
void add_env_command(CLI::App& command, EnvRequest& request);
// Prints lines for a shell. The exit code: 0; 3 if no such run is live; 1 where a part of Margay is missing.
// What went wrong is said on stderr.
int env_command(const EnvRequest& request);

}  // namespace margay::app
