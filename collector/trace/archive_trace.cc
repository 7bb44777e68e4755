#include "margay/trace/archive_trace.h"
#include "margay/base/last_state.h"

#include <algorithm>
#include <map>
#include <vector>

#include "margay/trace/raw_block.h"

namespace margay::trace {
namespace {

// Blocks that begin before a time go whole: how much of what follows it they may have held.
constexpr DurationNs kLongestBlock = seconds(10);
constexpr std::int64_t kSlicesBack = 32;  // read at once
constexpr std::uint64_t kStepBlocks = 256;
constexpr std::uint64_t kStepRecords = 1 << 12;
constexpr TimeNs kFirst{std::numeric_limits<std::int64_t>::min()};

EventRecord plain(std::uint8_t kind, TimeNs t, std::uint64_t bytes = 0, std::uint16_t state = 0) {
  return {t.value, bytes, MARGAY_NO_PEER, MARGAY_NO_TAG, 0, state, kind, 0};
}

// From where a leaf is read, and what is open there.
struct Start {
  TimeNs at = kFirst;
  std::optional<model::OpenState> open;  // nothing: Absent
  bool known = false;
};

struct LeafProgress {
  Start start;
  StateId base = kCompute;  // while nothing is open
  std::optional<TimeNs> goodbye;
  std::optional<std::uint64_t> next;   // ordinal, of `source`
  std::optional<SourceId> source;      // of the last block
  std::optional<std::uint64_t> total;  // ordinals there are
  TimeNs last{};
  bool exists = false;
  std::size_t gap = 0;  // of the archive's, those before it are behind
};

class Reader {
 public:
  Reader(const store::Archive& archive, const store::Resume& resume, const ArchiveTraceOptions& options,
         Consumer& consumer)
      : archive_(archive), resume_(resume), options_(options), consumer_(consumer), names_(resume) {}

  Result<ArchiveTraceCounts> read();

 private:
  Status declare();
  Status find_starts();
  Status seed(std::uint32_t leaf);
  Status take(store::RawBlock&& block);
  void pass_gaps(std::uint32_t leaf, TimeNs until);
  Status convert(const RawNames::OfBlock& names, std::uint32_t index);
  Status finish_leaf(std::uint32_t leaf, TimeNs until);
  Status finish_before(TimeNs t);
  Result<std::uint16_t> name_of(Name::Kind kind, std::string_view text);
  bool wanted(std::uint32_t leaf) const { return !options_.wanted || options_.wanted(LeafIndex(leaf)); }
  Status pass_on(std::uint32_t leaf) {
    if (out_.empty()) return {};
    counts_.records += out_.size();
    return consumer_.on_records(LeafIndex(leaf), out_);
  }

  const store::Archive& archive_;
  const store::Resume& resume_;
  const ArchiveTraceOptions& options_;
  Consumer& consumer_;
  ArchiveTraceCounts counts_;
  std::uint64_t stepped_ = 0;  // records, at the last call of `step`
  std::vector<LeafProgress> leaves_;
  const RawNames names_;
  std::map<std::pair<Name::Kind, std::string_view>, std::uint16_t> more_names_;
  std::vector<bool> last_;  // whether a state's end is the leaf's; those beyond it are not
  std::vector<EventRecord> decoded_, out_;
  std::vector<std::pair<TimeNs, std::uint32_t>> ends_;  // that come in time
  std::size_t ended_ = 0;                               // of these
};

Status Reader::declare() {
  const auto& states = resume_.states.states();
  std::map<std::string_view, std::uint16_t> ids;
  // Of an imported trace it is a state like others.
  const bool imported = std::any_of(resume_.leaves.begin(), resume_.leaves.end(),
                                    [](const auto& l) { return l.attributes.contains("path1"); });
  for (std::uint16_t i = 0; i < states.size(); ++i) {
    ids.emplace(states[i].name, i);
    last_.push_back(!imported && is_last_state(states[i].name));
    if (Status ok = consumer_.on_name(i, {Name::Kind::kState, states[i].name, states[i].family}); !ok)
      return ok;
  }
  std::map<SourceId, const store::SourceRecord*> sources;
  for (const auto& s : resume_.sources) sources[s.source] = &s;
  std::map<std::pair<SourceId, std::uint32_t>, std::uint64_t> totals;
  for (const auto& s : resume_.streams) totals[{s.source, s.stream}] = s.next;
  for (const auto& l : resume_.leaves) {
    LeafProgress& leaf = leaves_.emplace_back();
    std::optional<std::uint16_t> base;
    if (const auto a = l.attributes.find("base"); a != l.attributes.end())
      if (const auto id = ids.find(a->second); id != ids.end()) base = id->second;
    if (base) leaf.base = StateId(*base);
    if (Status ok = consumer_.on_leaf(l.leaf, {l.attributes, base}); !ok) return ok;
    if (const auto s = sources.find(l.source); s != sources.end()) leaf.goodbye = s->second->end;
    if (const auto t = totals.find({l.source, l.stream}); t != totals.end()) leaf.total = t->second;
  }
  return {};
}

// Back from `from`, slice by slice, to where nothing was open in a leaf.
Status Reader::find_starts() {
  const auto whole = has_raw(archive_, resume_, resume_.run.begin);
  if (!whole) return tl::unexpected(whole.error());
  if (options_.values) {
    if (*whole) return {};
    counts_.exact = false;
  }
  const DurationNs slice = resume_.run.levels[0];
  std::size_t open = leaves_.size();
  const auto settle = [&](LeafProgress& leaf, TimeNs at, std::optional<model::OpenState> state) {
    leaf.start = {at, state, true};
    --open;
  };
  const auto raw = archive_.oldest(store::Shelf::kRaw, LevelIndex(0));
  if (!raw) return tl::unexpected(raw.error());
  const SliceIndex begin = slice_of(resume_.run.begin, slice);
  for (SliceIndex last = slice_of(options_.from, slice) - 1; open > 0 && last >= begin;
       last = last - kSlicesBack) {
    if (options_.step)
      if (Status ok = options_.step(options_.from); !ok) return ok;
    // There are none in a gap, however long it is.
    for (auto g = resume_.gaps.rbegin(); g != resume_.gaps.rend(); ++g)
      if (g->first <= last && last <= g->last) last = g->first - 1;
    auto columns = archive_.read_columns(LevelIndex(0), std::max(begin, last - (kSlicesBack - 1)), last);
    if (!columns) return tl::unexpected(columns.error());
    for (auto c = columns->rbegin(); c != columns->rend() && open > 0; ++c) {
      const TimeNs at = slice_end(c->index, slice);
      // Beyond it there is no more to be read: what is open here has to do. Where nothing was given up it is
      // the first event of all, and they begin with it.
      const bool farthest =
          !*whole && (*raw && slice_begin(c->index, slice) < **raw) &&
          std::any_of(leaves_.begin(), leaves_.end(), [](const auto& l) { return !l.start.known; });
      for (std::uint32_t l = 0; l < leaves_.size(); ++l) {
        if (leaves_[l].start.known) continue;
        if (l >= c->leaves() || c->open(LeafIndex(l)).state == kAbsent) {
          settle(leaves_[l], at, {});
        } else if (const model::OpenState& state = c->open(LeafIndex(l));
                   state.state == kUnknown || state.state == leaves_[l].base) {
          settle(leaves_[l], at, state);
        } else if (farthest && c->index > begin) {
          settle(leaves_[l], at, state);
          counts_.exact = false;
        }
      }
    }
    if (!columns->empty()) continue;
    counts_.exact = counts_.exact && open == 0;
    break;
  }
  return {};  // the others begin with the run
}

Status Reader::seed(std::uint32_t index) {
  LeafProgress& leaf = leaves_[index];
  if (leaf.start.at == kFirst) leaf.next = 0;
  if (!leaf.start.open) return {};
  leaf.exists = true;
  leaf.last = leaf.start.at;
  out_.clear();
  const TimeNs since = options_.begins ? std::min(leaf.start.open->since, leaf.start.at) : leaf.start.at;
  if (leaf.start.open->state == kUnknown)
    out_.push_back(plain(MARGAY_GAP, leaf.start.at));
  else if (leaf.start.open->state == leaf.base)
    out_.push_back(plain(MARGAY_BEGIN, since));
  else
    out_.push_back(plain(MARGAY_STACK, since, 0, leaf.start.open->state.value));
  return pass_on(index);
}

Result<std::uint16_t> Reader::name_of(Name::Kind kind, std::string_view text) {
  const auto known = more_names_.find({kind, text});
  if (known != more_names_.end()) return known->second;
  const std::size_t index = resume_.states.size() + more_names_.size();
  if (index > 65535) return fail(ErrorCode::kLimit, archive_.path() + ": more than 65536 names");
  const auto number = static_cast<std::uint16_t>(index);
  if (Status ok = consumer_.on_name(number, {kind, std::string(text), model::StateFamily::kOther}); !ok)
    return tl::unexpected(ok.error());
  more_names_.emplace(std::pair(kind, text), number);
  return number;
}

// What a record that is about no state is about; nothing: it is about a state, or about nothing.
std::optional<Name::Kind> kind_of(const EventRecord& r) {
  switch (r.kind) {
    case MARGAY_REGION_ENTER:
    case MARGAY_REGION_LEAVE:
      return Name::Kind::kRegion;
    case MARGAY_VARIABLE:
      return Name::Kind::kVariable;
    case MARGAY_MARK:
      return Name::Kind::kMark;
    case MARGAY_LINK_BEGIN:
    case MARGAY_LINK_END:
      return Name::Kind::kLink;
    default:
      return {};
  }
}

// Nobody watched: what the leaf was in is not known from its last event on, until the first one behind that.
void Reader::pass_gaps(std::uint32_t index, TimeNs until) {
  LeafProgress& leaf = leaves_[index];
  const DurationNs slice = resume_.run.levels[0];
  for (; leaf.gap < resume_.gaps.size(); ++leaf.gap) {
    const store::GapRecord& g = resume_.gaps[leaf.gap];
    const TimeNs from = slice_begin(g.first, slice), to = slice_end(g.last, slice);
    if (to > until && until < options_.to) return;  // an event is not in a gap: this one is behind it
    if (from >= options_.to) return;
    if (!leaf.exists || from < leaf.last || to <= leaf.start.at || index >= g.existed.size() ||
        !g.existed[index])
      continue;
    leaf.last = std::min(to, options_.to - DurationNs(1));
    out_.push_back(plain(MARGAY_GAP, leaf.last));
  }
}

// decoded_, in the source's names, becomes out_.
Status Reader::convert(const RawNames::OfBlock& names, std::uint32_t index) {
  LeafProgress& leaf = leaves_[index];
  for (EventRecord e : decoded_) {
    if (e.time_ns < leaf.start.at.value) continue;
    pass_gaps(index, TimeNs(e.time_ns));
    if (e.kind == MARGAY_GAP || e.kind == MARGAY_BEGIN || e.kind == MARGAY_END) {
      e.state = 0;
    } else {
      const auto state = names.state(e.state);
      if (!state) {
        ++counts_.rejected;
        continue;
      }
      if (const auto kind = kind_of(e)) {
        const auto text = names.text(e.state);
        if (!text && *kind == Name::Kind::kRegion) continue;
        const auto name = name_of(*kind, text ? *text : std::string_view(resume_.states[*state].name));
        if (!name) return tl::unexpected(name.error());
        e.state = *name;
      } else {
        const bool outside = e.state == 0 && e.kind != MARGAY_ENTER && e.kind != MARGAY_LEAVE;
        e.state = outside ? kCompute.value : state->value;
      }
    }
    if (e.time_ns >= options_.to.value) continue;
    leaf.last = std::max(leaf.last, TimeNs(e.time_ns));
    leaf.exists = e.kind != MARGAY_END;
    out_.push_back(e);
    if (e.kind == MARGAY_LEAVE && e.state < last_.size() && last_[e.state]) {
      out_.push_back(plain(MARGAY_END, TimeNs(e.time_ns)));
      leaf.exists = false;
    }
  }
  return {};
}

Status Reader::take(store::RawBlock&& block) {
  ++counts_.blocks;
  if (Status ok = finish_before(block.begin); !ok) return ok;
  if (options_.step && (counts_.blocks % kStepBlocks == 0 || counts_.records - stepped_ >= kStepRecords)) {
    stepped_ = counts_.records;
    if (Status ok = options_.step(block.begin); !ok) return ok;
  }
  if (block.leaf.value >= leaves_.size())
    return fail(ErrorCode::kCorrupt, archive_.path() + ": raw events of leaf " +
                                         std::to_string(block.leaf.value) + ", which is not there");
  LeafProgress& leaf = leaves_[block.leaf.value];
  if (!wanted(block.leaf.value) || block.count == 0) return {};
  if (block.end < leaf.start.at) return {};
  if (Status ok = decode_block(archive_.path(), block, decoded_, counts_.rejected); !ok) return ok;
  out_.clear();
  // Ordinals that begin anew are those of the leaf's next program.
  if (leaf.source && block.source && *leaf.source != *block.source) leaf.next = 0;
  leaf.source = block.source;
  if (leaf.next && block.first > *leaf.next && block.begin < options_.to) {
    ++counts_.holes;
    out_.push_back(plain(MARGAY_GAP, block.begin, block.first - *leaf.next));
    leaf.exists = true;
  }
  leaf.next = block.first + block.count;
  if (Status ok = convert(names_.of(block), block.leaf.value); !ok) return ok;
  return pass_on(block.leaf.value);
}

// What the records do not say: that a source went without MPI_Finalize, or that its last records are not
// there.
Status Reader::finish_leaf(std::uint32_t index, TimeNs until) {
  LeafProgress& leaf = leaves_[index];
  out_.clear();
  pass_gaps(index, until);
  if (leaf.exists && leaf.goodbye && *leaf.goodbye < options_.to) {
    const TimeNs end = std::max(*leaf.goodbye, leaf.last);
    if (leaf.next && leaf.total && *leaf.next < *leaf.total) {
      ++counts_.holes;
      out_.push_back(plain(MARGAY_GAP, end, *leaf.total - *leaf.next));
    }
    out_.push_back(plain(MARGAY_END, end));
  }
  return pass_on(index);
}

// Of a leaf that ended before `t` all blocks are behind; unless it goes on as another program's.
Status Reader::finish_before(TimeNs t) {
  for (; ended_ < ends_.size() && ends_[ended_].first < t; ++ended_)
    if (Status ok = finish_leaf(ends_[ended_].second, ends_[ended_].first); !ok) return ok;
  return {};
}

Result<ArchiveTraceCounts> Reader::read() {
  Status ok = declare();
  if (ok) ok = find_starts();
  for (std::uint32_t l = 0; ok && l < leaves_.size(); ++l)
    if (wanted(l)) ok = seed(l);
  if (!ok) return tl::unexpected(ok.error());

  TimeNs from = options_.from;
  std::optional<LeafIndex> only;
  std::uint32_t some = 0;
  for (std::uint32_t l = 0; l < leaves_.size(); ++l) {
    if (!wanted(l)) continue;
    if (options_.ends_in_time && leaves_[l].goodbye) ends_.emplace_back(*leaves_[l].goodbye, l);
    from = std::min(from, leaves_[l].start.at);
    only = LeafIndex(l);
    ++some;
  }
  if (some != 1) only.reset();
  std::sort(ends_.begin(), ends_.end());
  if (some > 0) {
    Status inside;
    ok = archive_.read_raw(only, from, options_.to, [&](store::RawBlock&& block) {
      inside = take(std::move(block));
      return inside.has_value();
    });
    if (!inside) return tl::unexpected(inside.error());
  }
  for (std::uint32_t l = 0; ok && l < leaves_.size(); ++l)
    if (wanted(l)) ok = finish_leaf(l, options_.to);
  // The model reaches to the last closed slice, and so do its events.
  TimeNs until = resume_.run.end.value_or(resume_.run.begin);
  for (const auto& c : resume_.closed)
    if (c.level == LevelIndex(0)) until = std::max(until, slice_end(c.through, resume_.run.levels[0]));
  if (ok) ok = consumer_.on_covered(std::min(options_.to, until));
  if (!ok) return tl::unexpected(ok.error());
  return counts_;
}

}  // namespace

Result<bool> has_raw(const store::Archive& archive, const store::Resume& resume, TimeNs from) {
  const auto oldest = archive.oldest(store::Shelf::kRaw, LevelIndex(0));
  if (!oldest) return tl::unexpected(oldest.error());
  if (!*oldest) return false;
  const DurationNs slice = resume.run.levels[0];
  const SliceIndex before = slice_of(**oldest, slice) - 1;
  if (slice_end(before, slice) <= resume.run.begin) return true;
  // Before the oldest that is kept nobody existed, or it was dropped.
  const auto column = archive.read_columns(LevelIndex(0), before, before);
  if (!column) return tl::unexpected(column.error());
  bool nobody = !column->empty();
  if (nobody)
    for (std::uint32_t l = 0; l < column->front().leaves(); ++l)
      nobody = nobody && column->front().open(LeafIndex(l)).state == kAbsent;
  return nobody || from >= **oldest + kLongestBlock;
}

Result<ArchiveTraceCounts> read_archive(const store::Archive& archive, const store::Resume& resume,
                                        const ArchiveTraceOptions& options, Consumer& consumer) {
  if (resume.run.levels.empty() || options.to <= options.from)
    return fail(ErrorCode::kInvalidArgument, archive.path() + ": an empty range of time");
  return Reader(archive, resume, options, consumer).read();
}

}  // namespace margay::trace
