#include "margay/analysis/history.h"

#include <algorithm>
#include <limits>

namespace margay::daemon {
namespace {

using Kind = store::JournalEntry::Kind;

// Entries read at a time: reading them holds the archive's lock.
constexpr std::size_t kBlock = 512;
constexpr LevelIndex kFinest{0};

}  // namespace

std::shared_ptr<const detect::Topology> History::topology(const std::vector<model::Attributes>& leaves,
                                                          std::size_t states, std::uint64_t version) const {
  auto t = std::make_shared<detect::Topology>();
  t->version = version;
  t->hierarchy = model::Hierarchy(leaves);
  t->attributes = std::make_shared<const std::vector<model::Attributes>>(leaves);
  const auto& all = resume_.states.states();
  t->states.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(states, all.size())));
  return t;
}

std::shared_ptr<const detect::Topology> History::whole_topology() const {
  std::vector<model::Attributes> leaves;
  for (const auto& l : resume_.leaves) leaves.push_back(l.attributes);
  return topology(leaves, resume_.states.size(), 0);
}

// Slices as they are in the end.
Status History::plain(SliceIndex first, SliceIndex last, const Take& take, bool& more) {
  const DurationNs slice = resume_.run.levels[0];
  return archive_.scan_columns(kFinest, first, last, [&](model::SliceColumn&& column) {
    ClosedSlice message;
    message.watermark = slice_end(column.index, slice);
    message.column = std::make_shared<model::SliceColumn>(std::move(column));
    more = take(nullptr, std::move(message));
    return more;
  });
}

Status History::read(const Range& range, const Take& take) {
  constexpr SliceIndex kLow(std::numeric_limits<std::int64_t>::min());
  bool more = true;
  SliceIndex through = slice_of(resume_.run.begin, resume_.run.levels[0]) - 1;
  for (const auto& c : resume_.closed)
    if (c.level == kFinest) through = c.through;
  // Slices from before the journal's first.
  std::optional<store::JournalEntry> oldest;
  bool tells = false;  // the journal begins with the run
  Status s = archive_.read_journal(kLow, 0, [&](store::JournalEntry&& e) {
    if (!oldest) tells = e.sequence == 1 && e.whole;
    oldest = std::move(e);
    return oldest->kind != Kind::kClosed;
  });
  if (!s) return s;
  const bool journal = oldest && oldest->kind == Kind::kClosed;
  if (range.topology || !tells) {
    ClosedSlice message;
    message.topology = range.topology ? range.topology : whole_topology();
    if (!take(nullptr, std::move(message))) return {};
  }
  if (!tells && range.first <= through) {
    const SliceIndex last = journal ? oldest->slice - 1 : through;
    if (Status p = plain(range.first, last, take, more); !p || !more) return p;
  }
  std::vector<model::Attributes> leaves;
  std::uint64_t last_sequence = 0;
  SliceIndex from = kLow;
  if (!tells || range.topology) from = range.first;  // nothing before it matters
  std::vector<store::JournalEntry> block;
  while (more) {
    block.clear();
    s = archive_.read_journal(from, last_sequence + 1, [&](store::JournalEntry&& e) {
      block.push_back(std::move(e));
      return block.size() < kBlock;
    });
    if (!s || block.empty()) return s;
    for (const store::JournalEntry& e : block) {
      if (e.sequence >= range.until) return {};
      if (last_sequence != 0 && e.sequence > last_sequence + 1) missing_ += e.sequence - last_sequence - 1;
      last_sequence = e.sequence;
      from = e.at;
      ClosedSlice message;
      message.position = e.sequence;
      switch (e.kind) {
        case Kind::kStart:
        case Kind::kTopology:
          leaves.resize(e.leaves);
          for (const auto& [leaf, attributes] : e.changed)
            if (leaf.value < leaves.size()) leaves[leaf.value] = attributes;
          if (e.kind == Kind::kTopology && (range.topology || !tells)) continue;
          message.topology = topology(leaves, e.states, e.sequence);
          break;
        case Kind::kClosed:
        case Kind::kAmended: {
          if (e.slice < range.first) continue;
          auto column = archive_.read_shown(e.slice, e.sequence);
          if (!column) return tl::unexpected(column.error());
          message.amended = e.kind == Kind::kAmended;
          message.watermark = e.watermark;
          if (*column) {
            (*column)->region = e.region;
            message.column = std::make_shared<model::SliceColumn>(std::move(**column));
          }
          break;
        }
        case Kind::kEnd:
          message.watermark = e.watermark;
          message.final = true;
          message.end = e.time;
          break;
      }
      more = take(&e, std::move(message));
      if (!more) return {};
    }
    if (block.size() < kBlock) return {};
  }
  return {};
}

Result<LookBack> look_back(const store::Archive& archive, const store::Resume& resume) {
  const DurationNs slice = resume.run.levels[0];
  const SliceIndex begin = slice_of(resume.run.begin, slice);
  SliceIndex through = begin - 1;
  for (const auto& c : resume.closed)
    if (c.level == LevelIndex(0)) through = c.through;
  LookBack out;
  out.newest = begin - 1;
  out.first = std::max(begin, through - kMostLookedBack);
  const auto range = archive.column_range(LevelIndex(0));
  if (!range) return tl::unexpected(range.error());
  if (*range) out.first = std::max(out.first, (*range)->first);  // older ones went by retention
  bool from_the_start = resume.leaves.empty();
  // The first entry of all, and the last one: the newest slices are enough to find it.
  const SliceIndex low(std::numeric_limits<std::int64_t>::min());
  Status read = archive.read_journal(low, 0, [&](store::JournalEntry&& e) {
    from_the_start = e.sequence == 1 && e.whole;
    return false;
  });
  for (const SliceIndex from : {through - 1024, low}) {
    if (!read || out.sequence > 1) break;
    read = archive.read_journal(from, 0, [&](store::JournalEntry&& e) {
      out.sequence = e.sequence + 1;
      out.newest = std::max(out.newest, e.at);
      return true;
    });
  }
  if (!read) return tl::unexpected(read.error());
  out.whole = from_the_start && out.first == begin;
  return out;
}

}  // namespace margay::daemon
