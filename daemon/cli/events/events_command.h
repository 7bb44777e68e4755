// `margay events`: the calls of a run one by one: visits to states, regions, variables, marks and links; or
// the messages that they sent each other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace margay::daemon {

struct EventsRequest {
  std::string archive, from, to, alert, match, least, view;  // as written
  std::vector<std::string> nodes, states, resources;
  std::uint64_t longest = 0, limit = 0;
  std::string by = "state";
  bool messages = false, statistics = false, csv = false, json = false;
};
void add_events_command(CLI::App& command, EventsRequest& request);
// The exit code: 0; 1 if there is no such alert; 2 if it cannot be read, or was not asked for in a way that
// makes sense. What went wrong is said on stderr. REQUIRES: the request was parsed.
int events_command(const EventsRequest& request);

}  // namespace margay::daemon
