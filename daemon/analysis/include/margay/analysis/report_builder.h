// Builds what viewers see: one immutable Report per update. No I/O.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "exchange.h"
#include "margay/detect/levels.h"
#include "margay/observe/health.h"
#include "margay/settings/options.h"
#include "margay/wire/report.pb.h"

namespace margay::daemon {

// Nodes, phases and alerts of a report beyond these are left out (the archive has them all).
inline constexpr std::size_t kMostReportedNodes = 4096;
inline constexpr std::size_t kMostReportedPhases = 256;
inline constexpr std::size_t kMostReportedAlerts = 64;
inline constexpr std::size_t kMostReportedCoarserPhases = 32;  // of each level
inline constexpr std::size_t kMostReportedParts = 8;           // that such a phase is made of
// A partition of more parts, or whose parts have more shares in all, is told without them: a report grows by
// 270 KiB at most by each of its two.
inline constexpr std::size_t kMostPictureParts = 4096;
inline constexpr std::size_t kMostPictureShares = 32'768;

struct ReportInput {
  const Options& options;
  const detect::Levels& levels;
  const detect::Topology& topology;
  const RunStatus* status;                 // may be null
  const std::deque<alert::Alert>& alerts;  // newest last
  TimeNs run_begin;
  TimeNs watermark;
  TimeNs now_wall;
  TimeNs now_trace;
  std::uint64_t sequence;
  bool final;
  bool partitions;  // with the spatiotemporal and temporal partition, and what their parts are made of
  const observe::Values* values = nullptr;
  const observe::Verdict* verdict = nullptr;
  std::uint64_t position = 0;  // in the journal
  // With another operator than duration, what is shown of it; otherwise null.
  const detect::Window* measured = nullptr;
  std::string measured_error = {};  // why it is not partitioned, or ""
};
wire::Report build_report(const ReportInput& in);
// The part of a report that a replay repeats to the byte: without its number, wall times, what people said
// and how the daemon was.
wire::Report content_of(const wire::Report& report);

struct SummaryInput {
  std::int32_t exit_code = 0;
  TimeNs begin{}, end{};
  const detect::Topology& topology;
  const RunStatus* status;
  const detect::Levels& levels;
  std::uint64_t alerts = 0;
  std::string archive_error = {};  // why the archive was not written to its end, or ""
};
// The --summary file's object.
std::string build_summary(const SummaryInput& in);
// The stretches of a level as summaries have them.
nlohmann::ordered_json phases_json(const detect::Levels& levels, std::size_t level);
// Of each coarser level.
nlohmann::ordered_json coarser_phases_json(const detect::Levels& levels);

}  // namespace margay::daemon
