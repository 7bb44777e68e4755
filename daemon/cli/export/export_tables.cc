#include <algorithm>

#include "export_parts.h"
#include "margay/base/text.h"
#include "margay/settings/units.h"
#include "margay/text/text.h"

namespace margay::daemon::exporting {
namespace {

// Seconds since the run's begin.
std::string since(const Job& job, std::int64_t ns) {
  return seconds_text(text::minus(ns, job.all.run.begin.value));
}

Status write_cells(const Job& job, OutFile& out) {
  const auto level = chosen_level(job, LevelIndex(0));
  if (!level) return tl::unexpected(level.error());
  const auto range = slices_of(job, *level);
  if (!range) return tl::unexpected(range.error());
  out.write("time_s,slice,resource,state,duration_ns,longest_ns,visits\n");
  if (!*range) return {};
  const auto [first, last] = **range;
  const DurationNs slice = job.all.run.levels[level->value];
  std::vector<std::string> paths, states;
  for (std::uint32_t l = 0; l < job.all.leaves.size(); ++l)
    paths.push_back("," + csv_field(job.hierarchy.path_of(LeafIndex(l))) + ",");
  for (const auto& s : job.all.states.states()) states.push_back(csv_field(s.name) + ",");
  return job.archive.scan_columns(*level, first, last, [&](model::SliceColumn&& c) {
    const std::string begin =
        since(job, text::times(c.index.value, slice.value)) + "," + std::to_string(c.index.value);
    std::string rows;
    for (std::uint32_t l = 0; l < c.leaves() && l < paths.size(); ++l) {
      const LeafIndex leaf(l);
      for (std::uint16_t x = 0; x < c.states() && x < states.size(); ++x) {
        const std::int64_t duration = c.duration_ns(leaf)[x], longest = c.longest_ns(leaf)[x];
        const std::uint32_t visits = c.visits(leaf)[x];
        if (duration == 0 && longest == 0 && visits == 0) continue;
        rows += begin + paths[l] + states[x] + std::to_string(duration) + "," + std::to_string(longest) +
                "," + std::to_string(visits) + "\n";
      }
    }
    out.write(rows);
    if (job.progress)
      job.progress(static_cast<double>(c.index.value - first.value) /
                   static_cast<double>(last.value - first.value + 1));
    return out.good();
  });
}

Status write_phases(const Job& job, OutFile& out) {
  out.write("phase,name,label,begin_s,end_s,occurrence,current\n");
  for (const store::PhaseRecord& p : job.all.phases) {
    if (p.end <= job.from || job.to <= p.begin) continue;
    out.write(std::to_string(p.index) + "," + csv_field(p.name) + "," + csv_field(p.label) + "," +
              since(job, p.begin.value) + "," + since(job, p.end.value) + "," + std::to_string(p.occurrence) +
              (p.current ? ",TRUE\n" : ",FALSE\n"));
  }
  return {};
}

// As they went to --alerts: one JSON object a line, all of the run.
Status write_alerts(const Job& job, OutFile& out) {
  for (const store::AlertRecord& a : job.all.alerts) out.write(clean_utf8(a.json) + "\n");
  return {};
}

}  // namespace

const std::vector<std::string>& table_names() {
  static const std::vector<std::string> names = {"cells", "partition", "phases", "alerts"};
  return names;
}

std::string table_file(const std::string& table) {
  return table + (table == "alerts" ? ".jsonl" : ".csv");
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

Status write_table(const Job& job, const std::string& table, OutFile& out) {
  if (table == "cells") return write_cells(job, out);
  if (table == "partition") return write_partition(job, out);
  if (table == "phases") return write_phases(job, out);
  return write_alerts(job, out);
}

}  // namespace margay::daemon::exporting
