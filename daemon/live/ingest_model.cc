#include "margay/live/ingest_model.h"

#include <algorithm>

#include "cut_records.h"
#include "margay/slicer/rounding.h"

namespace margay::daemon {
namespace {

// Of what a cut may hold: the rest is for closed slices (kMostPendingColumnBytes).
constexpr std::uint64_t kMostAheadBytes = std::uint64_t{96} << 20;
// Open slices beyond what can be amended: of an archive no more are read.
constexpr std::int64_t kMostOpen = 100'000;

// Open slices have what those that can be amended leave of the cells' memory.
std::uint64_t ahead_bytes(const Options& o) {
  constexpr std::uint64_t kShare = 4;
  return std::clamp<std::uint64_t>(o.limits.cell_bytes / kShare, 1, kMostAheadBytes);
}

ingest::Options ingest_options(const Options& o, const store::RunMeta& run, const Clock& clock) {
  ingest::Options i;
  i.run = o.run;
  i.boot_id = run.boot_id;
  i.former_boot_id = o.former_boot_id;
  i.clock_offset = run.wall_offset;
  i.lateness = o.lateness;
  i.silence_hold = o.levels[0] * o.silence_hold_slices;
  i.silent_after = o.silent_after;
  i.lost_after = o.lost_after;
  // Another one after each restart: the wall clock serves, and 0 is nobody.
  i.instance = static_cast<std::uint64_t>(clock.realtime().value) | 1u;
  i.limits = o.limits;
  i.slice = o.record_budget > 0 ? o.levels[0] : DurationNs(0);
  i.record_budget = o.record_budget;
  i.op = o.op;
  i.fault = o.fault_in_batch;
  return i;
}

}  // namespace

IngestModel::IngestModel(const Options& o, const store::RunMeta& run, const Clock& clock,
                         slicer::Levels coarser)
    : options(o),
      slicer({o.levels[0], o.amendable_slices, 64, o.op, ahead_bytes(o)}),
      levels(std::move(coarser)),
      ingest(ingest_options(o, run, clock), slicer, states) {}

std::shared_ptr<const model::SliceColumn> IngestModel::closed_copy(const model::SliceColumn& column) const {
  auto copy = std::make_shared<model::SliceColumn>(column);
  if (options.compact) slicer::make_compact(*copy, slice());
  return copy;
}

Status IngestModel::restore(const store::Archive& archive, const store::Resume& resume, TimeNs now) {
  states = resume.states;
  for (const store::Blob& b : resume.state) {
    if (b.name != ingest::kUnwatchedBlob) continue;
    auto unwatched = ingest::Unwatched::decode_untrusted(b.bytes);
    if (!unwatched) return tl::unexpected(unwatched.error());
    ingest.restore_unwatched(std::move(*unwatched));
  }
  // Also where nobody has been heard of so far: slices have closed all the same.
  SliceIndex next_open = slice_of(resume.run.begin, slice());
  for (const auto& c : resume.closed)
    if (c.level == LevelIndex(0)) next_open = c.through + 1;
  if (auto ok = restore_slicer(archive, resume, next_open); !ok) return ok;
  slicer.start(resume.run.begin);  // if the archive holds no slice yet
  if (auto ok = restore_levels(archive, resume, next_open); !ok) return ok;
  restore_sources(resume, now);
  return {};
}

// The columns that can still change, and the open ones after them.
Status IngestModel::restore_slicer(const store::Archive& archive, const store::Resume& resume,
                                   SliceIndex next_open) {
  const SliceIndex begin = slice_of(resume.run.begin, slice());
  const SliceIndex first = std::max(begin, next_open - static_cast<std::int64_t>(options.amendable_slices));
  auto columns = archive.read_columns(LevelIndex(0), first, next_open + kMostOpen);
  if (!columns) return tl::unexpected(columns.error());
  std::vector<slicer::LeafState> leaf_states(resume.leaves.size());
  std::vector<bool> there(leaf_states.size());
  for (const auto& r : resume.leaf_states) {
    if (r.leaf.value >= leaf_states.size()) continue;
    leaf_states[r.leaf.value] = from_record(r);
    there[r.leaf.value] = true;
  }
  // Every cut has one of each leaf. Without it the leaf would go on from a time before all slices.
  if (const auto hole = std::find(there.begin(), there.end(), false); hole != there.end())
    return fail(ErrorCode::kCorrupt,
                "where leaf " + std::to_string(hole - there.begin()) + " goes on from is missing");
  for (const auto& m : resume.measure_states)
    if (m.leaf.value < leaf_states.size()) add_measure_record(m, leaf_states[m.leaf.value]);
  // All that could change was before a gap.
  if (columns->empty() && next_open > begin) columns->emplace_back(LevelIndex(0), next_open, 0, 0);
  return slicer.restore(std::move(*columns), next_open, std::move(leaf_states));
}

// Coarser levels are merged anew from the closed slices of as long as the coarsest lasts.
Status IngestModel::restore_levels(const store::Archive& archive, const store::Resume& resume,
                                   SliceIndex next_open) {
  const std::int64_t back = options.levels.back().value / slice().value + options.amendable_slices;
  std::vector<model::SliceColumn> ignored;
  auto gap = resume.gaps.begin();
  const auto gaps_before = [&](SliceIndex s) {
    for (; gap != resume.gaps.end() && gap->last < s; ++gap)
      if (gap->last >= next_open - back)
        levels.skip(std::max(gap->first, next_open - back), gap->last, gap->existed, ignored);
  };
  auto scanned =
      archive.scan_columns(LevelIndex(0), next_open - back, next_open - 1, [&](model::SliceColumn&& c) {
        gaps_before(c.index);
        levels.update(c, ignored);
        ignored.clear();
        return true;
      });
  if (!scanned) return scanned;
  gaps_before(next_open);
  return {};
}

void IngestModel::restore_sources(const store::Resume& resume, TimeNs now) {
  std::vector<ingest::Source> sources;
  for (const auto& r : resume.sources) sources.push_back(from_record(r, states, now));
  std::vector<model::Attributes> leaves;
  std::vector<std::pair<SourceId, std::uint32_t>> owner;
  std::vector<std::string> keepers;
  for (const auto& l : resume.leaves) {
    leaves.push_back(l.attributes);
    owner.emplace_back(l.source, l.stream);
    keepers.push_back(l.owner);
  }
  for (const auto& r : resume.streams) {
    const auto s =
        std::find_if(sources.begin(), sources.end(), [&](const auto& x) { return x.id == r.source; });
    if (s == sources.end()) continue;
    ingest::Stream& stream = s->streams[r.stream];
    stream.epoch = r.epoch;
    stream.account = from_record(r);
    for (std::uint32_t i = 0; i < owner.size(); ++i)
      if (owner[i] == std::pair(r.source, r.stream)) stream.leaf = LeafIndex(i);
    stream.covered = slicer.leaf_state(stream.leaf).position;
  }
  std::vector<ingest::Account> former(leaves.size());
  for (const auto& r : resume.former) former[r.stream] = from_record(r);
  ingest.restore(std::move(sources), std::move(leaves), std::move(owner), std::move(former),
                 std::move(keepers));
}

}  // namespace margay::daemon
