// What the parts of `margay export` share. Of this folder.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "export_command.h"
#include "margay/model/hierarchy.h"
#include "margay/store/archive.h"
#include "out_file.h"

namespace margay::daemon::exporting {

// An archive that is open, and what of it is wanted.
struct Job {
  const ExportRequest& request;
  const store::Archive& archive;
  const store::Resume& all;
  TimeNs from{}, to{};  // trace time, half-open
  model::Hierarchy hierarchy;
  std::function<void(double share)> progress;  // 0 to 1; may be empty
};

// Errors, of all: those of Archive's reading calls, of OutFile and kInvalidArgument.
Status write_paje(const Job& job, const std::string& output);

// cells, partition, phases, alerts.
const std::vector<std::string>& table_names();
// "cells.csv", "alerts.jsonl".
std::string table_file(const std::string& table);
Status write_table(const Job& job, const std::string& table, OutFile& out);
// The level that --level names, or `otherwise`. Errors: kInvalidArgument, telling which there are.
Result<LevelIndex> chosen_level(const Job& job, LevelIndex otherwise);
// Slices of the level that touch the range and are kept, both inside; nothing when there are none.
Result<std::optional<std::pair<SliceIndex, SliceIndex>>> slices_of(const Job& job, LevelIndex level);
Status write_partition(const Job& job, OutFile& out);

}  // namespace margay::daemon::exporting
