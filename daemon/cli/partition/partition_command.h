// `margay partition`: the optimal partition of a model in a file, or of any stretch of a run that was kept
// (daemon/partition/PARTITION.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace margay::daemon {

struct PartitionRequest {
  std::vector<std::string> models, p;  // as written
  std::vector<std::string> operators;  // one that aggregates, one that measures, or both
  std::string policy = "noise", memory = "4GiB";
  std::string from, to, node, view, level;  // of a zoom (zoom.h), as written
  std::vector<std::string> states, resources;
  bool of_the_rest = false;
  std::uint64_t slices = 0;
  bool list = false, envelope = false, strength = false, all = false;
  bool json = false, csv = false, timing = false;
};
void add_partition_command(CLI::App& command, PartitionRequest& request);
// The exit code: 0, 2 for what is wrong with the input or the options, 1 for anything else. What went wrong
// is said on stderr. REQUIRES: the request was parsed.
int partition_command(const PartitionRequest& request);

}  // namespace margay::daemon
