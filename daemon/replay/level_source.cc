#include "margay/replay/level_source.h"

#include <map>

namespace margay::daemon::internal {

std::optional<LevelIndex> level_for(const store::RunMeta& run, DurationNs slice) {
  for (std::size_t l = run.levels.size(); l-- > 0;)
    if (slice.value % run.levels[l].value == 0) return LevelIndex(static_cast<std::uint8_t>(l));
  return std::nullopt;
}

namespace {

// The program's own names of its sections, from slice to slice.
Result<std::map<SliceIndex, std::string>> regions_of(const store::Archive& archive, TimeNs from,
                                                     DurationNs fine) {
  std::map<SliceIndex, std::string> changes;
  std::string before;
  const Status s = archive.read_journal(slice_of(from, fine), 0, [&](store::JournalEntry&& e) {
    if (e.kind == store::JournalEntry::Kind::kClosed && e.region != before) {
      before = e.region;
      changes[e.slice] = e.region;
    }
    return true;
  });
  if (!s) return tl::unexpected(s.error());
  return changes;
}

}  // namespace

Status read_slices(const store::Archive& archive, const store::Resume& resume, DurationNs slice, TimeNs from,
                   TimeNs to, const std::function<bool(ClosedSlice&&)>& take) {
  const auto level = level_for(resume.run, slice);
  if (!level)
    return fail(ErrorCode::kInvalidArgument,
                "no level of the archive divides " + std::to_string(slice.value) + " ns");
  const DurationNs fine = resume.run.levels[level->value], finest = resume.run.levels[0];
  const std::int64_t parts = slice.value / fine.value;
  auto regions = regions_of(archive, from, finest);
  if (!regions) return tl::unexpected(regions.error());
  model::SliceColumn merged;
  std::int64_t have = 0;
  const std::int64_t last_part = parts - 1;
  const auto hand_over = [&] {
    ClosedSlice message;
    merged.level = LevelIndex(0);
    message.watermark = slice_end(merged.index, slice);
    if (auto at = regions->upper_bound(slice_of(TimeNs(message.watermark.value - 1), finest));
        at != regions->begin())
      merged.region = std::prev(at)->second;
    message.column = std::make_shared<model::SliceColumn>(std::move(merged));
    have = 0;
    return take(std::move(message));
  };
  const SliceIndex first =
      slice_of(TimeNs(from.value + slice.value - 1), slice);  // begins at or after `from`
  const SliceIndex last = slice_of(to, slice) - 1;
  if (last < first) return {};
  return archive.scan_columns(*level, SliceIndex(first.value * parts),
                              SliceIndex((last.value + 1) * parts - 1), [&](model::SliceColumn&& c) {
                                const SliceIndex coarse = slice_of(slice_begin(c.index, fine), slice);
                                if (have == 0 || merged.index != coarse) {
                                  merged = model::SliceColumn(LevelIndex(0), coarse, c.leaves(), c.states());
                                  have = 0;
                                }
                                ++have;
                                merged.merge(c);
                                // The run's first slice may have begun within it.
                                return c.index.value - coarse.value * parts < last_part || hand_over();
                              });
}

}  // namespace margay::daemon::internal
