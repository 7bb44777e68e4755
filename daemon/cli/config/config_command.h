// `margay config`: the configuration file with every key explained; or, with --check, whether a file is
// right.
#pragma once

#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace margay::app {

struct ConfigRequest {
  std::optional<std::string> check;  // file; nothing: print the defaults
};
void add_config_command(CLI::App& command, ConfigRequest& request);
// The exit code: 0; 2 where the file is not right, and all that is wrong is said on stderr, one a line.
int config_command(const ConfigRequest& request);

}  // namespace margay::app
