// `margay partition`: the optimal partition of a model in a file (daemon/partition/PARTITION.md).
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace margay::app {

struct PartitionRequest {
  std::vector<std::string> models, p;  // as written
  std::string op = "spatiotemporal", policy = "noise", memory = "4GiB";
  bool list = false, envelope = false, strength = false, all = false;
  bool json = false, csv = false, timing = false;
};
void add_partition_command(CLI::App& app, PartitionRequest& request);
// The exit code: 0, 2 for what is wrong with the input or the options, 1 for anything else. What went wrong
// is said on stderr. REQUIRES: the request was parsed.
int partition_command(const PartitionRequest& request);

}  // namespace margay::app
