// operator_check: does a run's archive hold what its operator measures?
//
//   operator_check ARCHIVE
//
// Each cell of the measured planes of ARCHIVE's finest level is compared with what the re-slicer makes of its
// raw events: exactly, of a mean to 1e-12. Each slice of a coarser level must be the sum of those of the
// finest that lie in it. Prints a JSON object: the operator, how many cells were compared and are above 0,
// how many differ, and sums by resource and state. Differences (the first 10) are lines of stderr. Exit code:
// 0 equal, 1 not, 2 for a wrong call or files that cannot be read.
#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "margay/analysis/detector_settings.h"
#include "margay/trace/archive_trace.h"
#include "margay/trace/resampler.h"

namespace {

using namespace margay;

int complain(const std::string& sentence) {
  std::fprintf(stderr, "operator_check: %s\n", sentence.c_str());
  return 2;
}

int run(const std::string& path) {
  const auto archive = store::Archive::open(path, store::Mode::kReadOnly);
  if (!archive) return complain(archive.error().message);
  const auto resume = (*archive)->load();
  if (!resume) return complain(resume.error().message);
  const auto op = daemon::run_operator(resume->run);
  if (!op) return complain(op.error().message);
  auto columns = (*archive)->read_columns(LevelIndex(0), SliceIndex(0), SliceIndex(INT64_MAX / 4));
  if (!columns) return complain(columns.error().message);
  if (columns->empty()) return complain("no slices");
  const DurationNs slice = resume->run.levels[0];
  TimeNs end{};
  for (const auto& c : resume->closed)
    if (c.level == LevelIndex(0)) end = slice_end(c.through, slice);
  const SliceIndex first = columns->front().index;
  const TimeNs begin = slice_begin(first, slice);
  const auto grid =
      slicer::Grid::make(begin, end, static_cast<std::uint64_t>((end - begin).value / slice.value));
  if (!grid) return complain(grid.error().message);
  trace::Resampler again({*grid, *op, {}});
  trace::ArchiveTraceOptions range;
  range.from = begin;
  range.to = end;
  range.values = true;
  if (const auto read = trace::read_archive(**archive, *resume, range, again); !read)
    return complain(read.error().message);
  if (const auto ok = again.finish(); !ok) return complain(ok.error().message);
  const slicer::Reslicer& cells = again.cells();

  std::uint64_t compared = 0, above = 0, differ = 0;
  const auto tell = [&](const std::string& what) {
    if (++differ <= 10) std::fprintf(stderr, "operator_check: %s\n", what.c_str());
  };
  std::map<std::string, std::map<std::string, double>> sums;
  for (const model::SliceColumn& c : *columns) {
    if (slice_end(c.index, slice) > end) continue;
    const auto k = static_cast<std::uint32_t>(c.index.value - first.value);
    for (std::uint32_t l = 0; l < resume->leaves.size(); ++l) {
      const LeafIndex leaf(l);
      const auto& attributes = resume->leaves[l].attributes;
      const auto rank = attributes.find("rank");
      auto& sum = sums[rank != attributes.end() ? "rank" + rank->second : "leaf" + std::to_string(l)];
      for (std::size_t x = 0; x < cells.columns(); ++x) {
        const std::string& name = cells.column_name(x);
        std::size_t at = 0;  // of a mean
        if (c.plane() == model::Plane::kCounts)
          for (at = 0; at < resume->states.size(); ++at)
            if (resume->states.states()[at].name == name) break;
        const double got = l < c.leaves() && at < c.plane_columns() ? c.measured_value(leaf, at) : 0;
        const double expected = cells.value(leaf, k, x);
        ++compared;
        above += expected > 0 ? 1 : 0;
        if (got > 0) sum[name] += got;
        const double room = op->measure == slicer::Operator::Measure::kMean ? 1e-12 * expected : 0;
        if (!(std::abs(got - expected) <= room))
          tell("slice " + std::to_string(c.index.value) + " leaf " + std::to_string(l) + " " + name + ": " +
               std::to_string(got) + ", of the events " + std::to_string(expected));
      }
    }
  }
  for (std::size_t level = 1; level < resume->run.levels.size(); ++level) {
    const DurationNs d = resume->run.levels[level];
    std::map<SliceIndex, model::SliceColumn> merged;
    for (const model::SliceColumn& c : *columns) {
      const SliceIndex s = slice_of(slice_begin(c.index, slice), d);
      merged.try_emplace(s, LevelIndex(static_cast<std::uint8_t>(level)), s, 0, 0).first->second.merge(c);
    }
    const Status s = (*archive)->scan_columns(
        LevelIndex(static_cast<std::uint8_t>(level)), SliceIndex(0), SliceIndex(INT64_MAX / 4),
        [&](model::SliceColumn&& c) {
          const model::SliceColumn& sum = merged[c.index];
          for (std::uint32_t l = 0; l < c.leaves(); ++l)
            for (std::uint32_t x = 0; x < std::min(c.plane_columns(), sum.plane_columns()); ++x) {
              ++compared;
              if (c.plane() != sum.plane() || c.measured(LeafIndex(l))[x] != sum.measured(LeafIndex(l))[x])
                tell("level " + std::to_string(level) + " slice " + std::to_string(c.index.value));
            }
          return true;
        });
    if (!s) return complain(s.error().message);
  }
  nlohmann::ordered_json out{
      {"operator", op->text()}, {"compared", compared}, {"above", above}, {"differ", differ}, {"sums", sums}};
  std::printf("%s\n", out.dump().c_str());
  return differ == 0 && above > 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return complain("usage: operator_check ARCHIVE");
  return run(argv[1]);
}
