// How like the made-up jobs are to real ones: tails, memory and dispersion of their cells, beside those of
// archives.
#include <cstdio>
#include <limits>

#include "cases.h"
#include "commands.h"
#include "margay/store/archive.h"
#include "quiet_jobs.h"
#include "statistics.h"

namespace margay::bench {
namespace {

constexpr std::int64_t kSlices = 1200;

void row(const std::string& name, const std::string& state, double slice_s, const CellStatistics& s) {
  std::printf(
      "| %s | %g s | %zu | %zu | %zu | %s %.0f %% | %.3f | %.3f | %.2f | %.2f | %.1f | %.2f | %.1f | %.1f "
      "|\n",
      name.c_str(), slice_s, s.leaves, s.slices, s.states, state.c_str(), 100 * s.share, s.deviation,
      s.own_deviation, s.lag1, s.own_lag1, s.visits, s.fano, s.hill_work, s.hill_others);
}

}  // namespace

int realism(const std::vector<std::string>& archives) {
  std::printf(
      "| job | slice | leaves | slices | states | busiest state | its deviation | own | lag-1 | own | visits "
      "a slice | "
      "Fano | Hill, busiest | Hill, others |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (const std::string& path : archives) {
    const auto archive = store::Archive::open(path, store::Mode::kReadOnly);
    if (!archive) {
      std::fprintf(stderr, "detect_bench: %s\n", archive.error().message.c_str());
      return 1;
    }
    const auto resume = (*archive)->load();
    if (!resume) {
      std::fprintf(stderr, "detect_bench: %s\n", resume.error().message.c_str());
      return 1;
    }
    CellSeries series;
    constexpr auto kAll = std::numeric_limits<std::int64_t>::max();
    const auto ok = (*archive)->scan_columns(LevelIndex(0), SliceIndex(0), SliceIndex(kAll - 1),
                                             [&](model::SliceColumn&& c) {
                                               series.add(c);
                                               return true;
                                             });
    if (!ok) {
      std::fprintf(stderr, "detect_bench: %s\n", ok.error().message.c_str());
      return 1;
    }
    const CellStatistics s = series.statistics();
    std::string command = resume->run.command.substr(0, 40);
    row("captured: " + command, resume->states[StateId(static_cast<std::uint16_t>(s.busiest))].name,
        static_cast<double>(resume->run.levels[0].value) * 1e-9, s);
  }
  for (const std::string& kind : QuietJob::kinds()) {
    const QuietJob job(kind, 64, 3);
    CellSeries series;
    job.play(kSlices, [&](const model::SliceColumn& c) { series.add(c); });
    const CellStatistics s = series.statistics();
    row("quiet: " + kind, job.topology()->states[s.busiest].name, 1, s);
  }
  for (std::size_t g = 0; g < group_count(); ++g) {
    const Case c = make_case(g, 301);
    if (!c.truths.empty()) continue;
    CellSeries series;
    for (const auto& column : c.slices) series.add(column);
    const CellStatistics s = series.statistics();
    row("case: " + c.group, c.topology->states[s.busiest].name, c.slice_s, s);
  }
  return 0;
}

}  // namespace margay::bench
