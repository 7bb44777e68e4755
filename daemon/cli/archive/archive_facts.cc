#include "archive_facts.h"

#include <algorithm>
#include <filesystem>

#include "margay/ingest/unwatched.h"
#include "margay/settings/units.h"
#include "margay/text/text.h"

namespace margay::daemon {
namespace {

// What an archive holds is not trusted: sums and products stop at the largest number there is.
void add(store::StreamRecord& sum, const std::vector<store::StreamRecord>& streams) {
  using Counter = std::uint64_t store::StreamRecord::*;
  constexpr Counter kCounters[] = {&store::StreamRecord::produced,      &store::StreamRecord::recorded,
                                   &store::StreamRecord::modelled,      &store::StreamRecord::late_dropped,
                                   &store::StreamRecord::probe_dropped, &store::StreamRecord::wire_lost,
                                   &store::StreamRecord::rejected};
  for (const store::StreamRecord& s : streams)
    for (const Counter c : kCounters)
      if (__builtin_add_overflow(sum.*c, s.*c, &(sum.*c))) sum.*c = ~std::uint64_t{0};
}

}  // namespace

bool is_archive(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(std::filesystem::path(path) / "MARGAY", ignored);
}

std::vector<std::string> archives_among(const std::vector<std::string>& paths,
                                        std::vector<std::string>& problems) {
  namespace fs = std::filesystem;
  std::vector<std::string> found;
  for (const std::string& path : paths) {
    if (is_archive(path)) {
      found.push_back(path);
      continue;
    }
    std::error_code error;
    std::vector<std::string> inside;
    for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error))
      if (is_archive(at->path())) inside.push_back(path == "." ? at->path().filename() : at->path());
    if (error) problems.push_back(path + ": " + error.message());
    std::sort(inside.begin(), inside.end());
    found.insert(found.end(), inside.begin(), inside.end());
  }
  return found;
}

Result<ArchiveFacts> archive_facts(const std::string& path) {
  const auto archive = store::Archive::open(path, store::Mode::kReadOnly);
  if (!archive) return tl::unexpected(archive.error());
  return archive_facts(**archive);
}

Result<ArchiveFacts> archive_facts_counted(const std::string& path) {
  constexpr std::int64_t kSlices = 1024;
  constexpr std::uint64_t kCells = 1 << 20;
  const auto archive = store::Archive::open(path, store::Mode::kReadOnly);
  if (!archive) return tl::unexpected(archive.error());
  auto facts = archive_facts(**archive);
  if (!facts || facts->levels.empty() || !facts->levels[0].kept) return facts;
  const auto [oldest, newest] = *facts->levels[0].kept;
  ArchiveFacts::Cells counted;
  const SliceIndex first(std::max(oldest.value, text::minus(newest.value, kSlices - 1)));
  SliceIndex last = first;
  const Status read = (*archive)->scan_columns(LevelIndex(0), first, newest, [&](model::SliceColumn&& c) {
    last = c.index;
    ++counted.slices;
    for (std::uint32_t l = 0; l < c.leaves(); ++l)
      for (std::uint32_t x = 0; x < c.states(); ++x)
        counted.cells += c.duration_ns(LeafIndex(l))[x] != 0 || c.longest_ns(LeafIndex(l))[x] != 0 ||
                         c.visits(LeafIndex(l))[x] != 0;
    return counted.cells < kCells;
  });
  if (!read) return tl::unexpected(read.error());
  const auto bytes = (*archive)->stored_bytes(LevelIndex(0), first, last);
  if (!bytes) return tl::unexpected(bytes.error());
  counted.bytes = *bytes;
  facts->newest = counted;
  return facts;
}

Result<ArchiveFacts> archive_facts(const store::Archive& archive) {
  const auto all = archive.load();
  if (!all) return tl::unexpected(all.error());
  ArchiveFacts facts;
  facts.path = archive.path();
  facts.run = all->run;
  facts.until = facts.run.begin;
  const auto cells = facts.run.settings.find("store.cells");
  facts.compact = cells != facts.run.settings.end() && cells->second == "compact";
  for (std::size_t level = 0; level < facts.run.levels.size(); ++level) {
    const auto kept = archive.column_range(LevelIndex(static_cast<std::uint8_t>(level)));
    if (!kept) return tl::unexpected(kept.error());
    facts.levels.push_back({facts.run.levels[level], *kept});
  }
  if (!facts.levels.empty() && facts.levels[0].kept)
    facts.until =
        TimeNs(text::times(text::plus(facts.levels[0].kept->second.value, 1), facts.levels[0].slice.value));
  const auto raw = archive.oldest(store::Shelf::kRaw, LevelIndex(0));
  if (!raw) return tl::unexpected(raw.error());
  facts.raw_from = *raw;
  if (const auto s = facts.run.settings.find(store::kResolutionSetting); s != facts.run.settings.end())
    facts.raw_resolution = config::parse_duration(s->second).value_or(DurationNs(1));
  for (std::size_t s = 0; s < all->states.size(); ++s)
    facts.states.push_back(all->states[StateId(static_cast<std::uint16_t>(s))].name);
  if (!facts.levels.empty())
    for (const store::GapRecord& g : all->gaps)
      facts.gaps.emplace_back(TimeNs(text::times(g.first.value, facts.levels[0].slice.value)),
                              TimeNs(text::times(text::plus(g.last.value, 1), facts.levels[0].slice.value)));
  facts.leaves = all->leaves.size();
  facts.sources = all->sources.size();
  facts.phases = all->phases.size();
  for (const store::PhaseRecord& p : all->phases)
    if (std::find(facts.phase_names.begin(), facts.phase_names.end(), p.name) == facts.phase_names.end())
      facts.phase_names.push_back(p.name);
  for (const store::AlertRecord& a : all->alerts) ++facts.alerts[a.status];
  add(facts.events, all->streams);
  add(facts.events, all->former);
  for (const store::Blob& b : all->state) {
    if (b.name != ingest::kUnwatchedBlob) continue;
    const auto unwatched = ingest::Unwatched::decode_untrusted(b.bytes);
    if (!unwatched) return tl::unexpected(unwatched.error());
    facts.unwatched = unwatched->processes();
    facts.unwatched_why = unwatched->why();
  }
  const auto use = archive.disk_use();
  if (!use) return tl::unexpected(use.error());
  facts.bytes = use->archive;
  return facts;
}

}  // namespace margay::daemon
