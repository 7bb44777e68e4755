// What the parts of `margay export` share. Of this folder.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "export_command.h"
#include "margay/model/hierarchy.h"
#include "margay/query/event_statistics.h"
#include "margay/store/archive.h"
#include "out_file.h"
#include "tables/table.h"

namespace margay::daemon::exporting {

// What is found on the way, and is to be known of what was written.
struct Findings {
  std::vector<std::string> notes;  // sentences
  // What the events that were written sum to, where both are wanted: they are read once.
  bool wants_sums = false;
  std::optional<Result<EventStatistics>> sums;
};

// An archive that is open, and what of it is wanted.
struct Job {
  const ExportRequest& request;
  const store::Archive& archive;
  const store::Resume& all;
  TimeNs from{}, to{};  // trace time, half-open
  model::Hierarchy hierarchy;
  std::function<void(double share)> progress;  // 0 to 1; may be empty
  model::Hierarchy viewed;                     // as --view says
  Findings& found;
};

// Errors, of all: those of Archive's reading calls, of OutFile and kInvalidArgument.
Status write_paje(const Job& job, const std::string& output);

// A table of an archive: what it has, and its rows, one by one. Errors: also those of `take`; kNotFound and
// kLimit where this archive has no such rows, or more than can be made.
struct ArchiveTable {
  const Table& table;
  Status (*write)(const Job& job, const TakeRow& take);
  bool usual = false;  // among those that CSV has where none is named
};
// In the order in which they are written.
const std::vector<ArchiveTable>& archive_tables();
// Those that --table names, or all; `usual`: or the usual ones. Errors: kInvalidArgument.
Result<std::vector<ArchiveTable>> wanted_tables(const ExportRequest& request, bool usual);
// "cells.csv", "alerts.jsonl".
std::string table_file(const std::string& table);
Status write_table(const Job& job, const ArchiveTable& table, OutFile& out);
Status write_sqlite(const Job& job, const std::string& output);

// The level that --level names, or `otherwise`. Errors: kInvalidArgument, telling which there are.
Result<LevelIndex> chosen_level(const Job& job, LevelIndex otherwise);
// Slices of the level that touch the range and are kept, both inside; nothing when there are none.
Result<std::optional<std::pair<SliceIndex, SliceIndex>>> slices_of(const Job& job, LevelIndex level);

// The tables that have a source of their own.
const Table& partition_columns();
Status write_partition(const Job& job, const TakeRow& take);
Status write_events(const Job& job, const TakeRow& take);
Status write_messages(const Job& job, const TakeRow& take);
Status write_statistics(const Job& job, const TakeRow& take);
// Of the run: what it is, who is in it, which states and levels it has, its alerts.
const Table& run_columns();
Status write_run(const Job& job, const TakeRow& take);
const Table& resources_columns();
Status write_resources(const Job& job, const TakeRow& take);
const Table& attributes_columns();
Status write_attributes(const Job& job, const TakeRow& take);
const Table& states_columns();
Status write_states(const Job& job, const TakeRow& take);
const Table& levels_columns();
Status write_levels(const Job& job, const TakeRow& take);
const Table& alerts_columns();
Status write_alerts(const Job& job, const TakeRow& take);
const Table& alert_resources_columns();
Status write_alert_resources(const Job& job, const TakeRow& take);

}  // namespace margay::daemon::exporting
