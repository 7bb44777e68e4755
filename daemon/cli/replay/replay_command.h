// `margay replay`: detection over an archive, again.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace margay::daemon {

struct ReplayRequest {
  std::string archive;
  std::string slice, level, op, p, from, to, speed = "max", alerts, lateness = "0s";
  std::vector<std::string> idle_states;
  std::vector<std::string> settings;  // KEY=VALUE
  // Not options: on the way the events were sliced again, into another archive than this.
  bool resampled = false;
  std::string sliced_from, sliced_to;
  bool serve = false, json = false, quiet = false;
  std::string name;
};
void add_replay_command(CLI::App& command, ReplayRequest& request);
// The exit code: 0; 1 if the archive is damaged or something fails on the way; 2 for what is wrong with the
// call; 128 + signal. What went wrong is said on stderr. REQUIRES: the request was parsed.
int replay_command(const ReplayRequest& request);

}  // namespace margay::daemon
