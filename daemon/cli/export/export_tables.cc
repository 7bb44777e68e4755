#include <algorithm>

#include "events/events_output.h"
#include "events/messages_output.h"
#include "events/statistics_output.h"
#include "export_parts.h"
#include "margay/base/text.h"
#include "margay/settings/units.h"
#include "margay/text/text.h"

namespace margay::daemon::exporting {
namespace {

using Kind = Column::Kind;

const Table& cells_columns() {
  static const Table table = {"cells",
                              {{"time_s", Kind::kMoment},
                               {"slice", Kind::kInteger},
                               {"resource", Kind::kText},
                               {"state", Kind::kText},
                               {"duration_ns", Kind::kInteger},
                               {"longest_ns", Kind::kInteger},
                               {"visits", Kind::kInteger}},
                              {"resource, slice", "state, slice"}};
  return table;
}

Status write_cells(const Job& job, const TakeRow& take) {
  const auto level = chosen_level(job, LevelIndex(0));
  if (!level) return tl::unexpected(level.error());
  const auto range = slices_of(job, *level);
  if (!range) return tl::unexpected(range.error());
  if (!*range) return {};
  const SliceIndex first = (*range)->first, last = (*range)->second;
  const DurationNs slice = job.all.run.levels[level->value];
  Row row(cells_columns().columns.size());
  Status taken;
  const Status read = job.archive.scan_columns(*level, first, last, [&](model::SliceColumn&& c) {
    row[0] = TimeNs(text::times(c.index.value, slice.value));
    row[1] = c.index.value;
    for (std::uint32_t l = 0; l < c.leaves() && l < job.hierarchy.leaf_count(); ++l) {
      const LeafIndex leaf(l);
      row[2] = job.hierarchy.path_of(leaf);
      for (std::uint16_t x = 0; x < c.states() && x < job.all.states.size(); ++x) {
        const std::int64_t duration = c.duration_ns(leaf)[x], longest = c.longest_ns(leaf)[x];
        const std::uint32_t visits = c.visits(leaf)[x];
        if (duration == 0 && longest == 0 && visits == 0) continue;
        row[3] = job.all.states[StateId(x)].name;
        row[4] = duration, row[5] = longest, row[6] = std::int64_t{visits};
        if (taken = take(row); !taken) return false;
      }
    }
    if (job.progress)
      job.progress(static_cast<double>(c.index.value - first.value) /
                   static_cast<double>(last.value - first.value + 1));
    return true;
  });
  return read ? taken : read;
}

const Table& phases_columns() {
  static const Table table = {"phases",
                              {{"phase", Kind::kInteger},
                               {"name", Kind::kText},
                               {"label", Kind::kText},
                               {"begin_s", Kind::kMoment},
                               {"end_s", Kind::kMoment},
                               {"occurrence", Kind::kInteger},
                               {"current", Kind::kYesNo}}};
  return table;
}

Status write_phases(const Job& job, const TakeRow& take) {
  for (const store::PhaseRecord& p : job.all.phases) {
    if (p.end <= job.from || job.to <= p.begin) continue;
    const Row row = {std::int64_t{p.index},      p.name,   p.label, p.begin, p.end,
                     std::int64_t{p.occurrence}, p.current};
    if (Status ok = take(row); !ok) return ok;
  }
  return {};
}

// As they went to --alerts: one JSON object a line, all of the run.
void write_alert_lines(const Job& job, OutFile& out) {
  for (const store::AlertRecord& a : job.all.alerts) out.write(clean_utf8(a.json) + "\n");
}

constexpr const char* kAlerts = "alerts";

}  // namespace

const std::vector<ArchiveTable>& archive_tables() {
  static const std::vector<ArchiveTable> tables = {
      {run_columns(), write_run},
      {resources_columns(), write_resources},
      {attributes_columns(), write_attributes},
      {states_columns(), write_states},
      {levels_columns(), write_levels},
      {cells_columns(), write_cells, true},
      {partition_columns(), write_partition, true},
      {phases_columns(), write_phases, true},
      {alerts_columns(), write_alerts, true},
      {alert_resources_columns(), write_alert_resources},
      {events_columns(), write_events},
      {statistics_columns(), write_statistics},
      {messages_columns(), write_messages},
  };
  return tables;
}

Result<std::vector<ArchiveTable>> wanted_tables(const ExportRequest& request, bool usual) {
  std::vector<ArchiveTable> out;
  const std::string names = request.table == "all" ? "" : request.table;
  for (const ArchiveTable& t : archive_tables())
    if (names.empty() && (t.usual || !usual || request.table == "all")) out.push_back(t);
  for (std::size_t begin = 0; begin < names.size();) {
    const std::size_t end = std::min(names.find(',', begin), names.size());
    const std::string name = names.substr(begin, end - begin);
    begin = end + 1;
    std::string known;
    for (const ArchiveTable& t : archive_tables()) known += t.table.name + std::string(", ");
    const auto is_it = [&](const ArchiveTable& t) { return t.table.name == name; };
    const auto at = std::find_if(archive_tables().begin(), archive_tables().end(), is_it);
    if (at == archive_tables().end())
      return fail(ErrorCode::kInvalidArgument,
                  "--table " + clean_utf8(name) + ": no such table; there are " + known + "and all");
    if (std::none_of(out.begin(), out.end(), is_it)) out.push_back(*at);
  }
  return out;
}

std::string table_file(const std::string& table) {
  return table + (table == kAlerts ? ".jsonl" : ".csv");
}

Result<LevelIndex> chosen_level(const Job& job, LevelIndex otherwise) {
  if (job.request.level.empty()) return otherwise;
  const auto slice = config::parse_duration(job.request.level);
  if (!slice) return fail(slice.error(), "--level");
  const auto& levels = job.all.run.levels;
  const auto at = std::find(levels.begin(), levels.end(), *slice);
  if (at != levels.end()) return LevelIndex(static_cast<std::uint8_t>(at - levels.begin()));
  std::string has;
  for (const DurationNs d : levels) has += (has.empty() ? "" : ", ") + config::to_text(d);
  return fail(ErrorCode::kInvalidArgument, "--level " + job.request.level + ": the archive has " + has);
}

Result<std::optional<std::pair<SliceIndex, SliceIndex>>> slices_of(const Job& job, LevelIndex level) {
  auto kept = job.archive.column_range(level);
  if (!kept || !*kept) return kept;
  const DurationNs slice = job.all.run.levels[level.value];
  (*kept)->first = std::max((*kept)->first, slice_of(job.from, slice));
  (*kept)->second = std::min((*kept)->second, slice_of(TimeNs(job.to.value - 1), slice));
  if ((*kept)->second < (*kept)->first) return std::optional<std::pair<SliceIndex, SliceIndex>>();
  return kept;
}

Status write_table(const Job& job, const ArchiveTable& table, OutFile& out) {
  if (table.table.name == std::string_view(kAlerts)) return write_alert_lines(job, out), Status();
  out.write(csv_head(table.table));
  std::string line;
  return table.write(job, [&](const Row& row) -> Status {
    line.clear();
    append_csv(table.table, row, job.all.run.begin, line);
    out.write(line);
    return out.good() ? Status() : fail(ErrorCode::kIo, "the writing ended");
  });
}

}  // namespace margay::daemon::exporting
