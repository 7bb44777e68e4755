// What `margay partition` prints: a table for people, JSON and CSV for programs
// (daemon/partition/PARTITION.md).
//
// Measures are in the model's own units when they come here. Pure. Thread safety: functions are safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "margay/partition/batch.h"
#include "margay/partition/significant.h"
#include "margay/query/choose_p.h"
#include "margay/query/model_file.h"

namespace margay::daemon {

struct ShownPartition {
  partition::Partition partition;
  std::optional<ChosenP> chosen;                 // if p was not given
  std::optional<std::vector<double>> strengths;  // of each part: the p at which it merges
};

struct ShownList {
  partition::SignificantP list;
  bool envelope = false;
  double jump = 0;  // the p before the largest fall of quality
};

struct PartitionReport {
  const Model& model;
  std::string name;  // of the input
  partition::Operator op = partition::Operator::kSpatiotemporal;
  partition::Partition whole;  // everything as one part: what shares are shares of
  std::vector<ShownPartition> partitions;
  std::optional<ShownList> list;
  std::string measures;   // what a cell tells, of a zoom
  std::string view = {};  // "" for the usual one
};

inline constexpr std::size_t kMostLines = 200;

// Measures of the scaled values to those of the file's.
void to_units(partition::Partition& partition, double unit);
void to_units(partition::SignificantP& list, double unit);

// `all`: every part or point, not only the first kMostLines.
std::string partition_text(const PartitionReport& report, bool all);
// One line; an object, or for several p a list of them.
std::string partition_json(const PartitionReport& report);
// A header, then one line for each part or each point of the list.
std::string partition_csv(const PartitionReport& report);

}  // namespace margay::daemon
