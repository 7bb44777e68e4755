#include "margay/trace/occurrences.h"

#include <algorithm>
#include <utility>

namespace margay::trace {
namespace {

Occurrence opened(Occurrence::Kind kind, LeafIndex leaf, std::uint16_t name, std::size_t depth, TimeNs t,
                  const EventRecord& r = {}) {
  Occurrence o;
  o.kind = kind, o.leaf = leaf, o.name = name, o.depth = static_cast<std::uint16_t>(depth);
  o.begin = t;
  if (r.kind == 0) return o;
  o.bytes = o.posted_bytes = r.bytes, o.peer = o.posted_peer = r.peer, o.tag = o.posted_tag = r.tag;
  o.comm = r.comm;
  return o;
}

}  // namespace

Status Occurrences::on_name(std::uint16_t index, const Name& name) {
  names_.resize(std::max<std::size_t>(names_.size(), index + std::size_t{1}));
  names_[index] = name;
  return {};
}

Status Occurrences::on_leaf(LeafIndex index, const Leaf& leaf) {
  lines_.resize(std::max<std::size_t>(lines_.size(), index.value + std::size_t{1}));
  if (leaf.base) lines_[index.value].base = *leaf.base;
  return {};
}

Status Occurrences::on_records(LeafIndex leaf, std::span<const EventRecord> records) {
  if (leaf.value >= lines_.size())
    return fail(ErrorCode::kInvalidArgument,
                "records of leaf " + std::to_string(leaf.value) + ", which was not announced");
  Line& line = lines_[leaf.value];
  for (const EventRecord& r : records) {
    // Time that runs backwards stands still.
    const TimeNs t = line.told ? std::max(line.last, TimeNs(r.time_ns)) : TimeNs(r.time_ns);
    if (r.kind != MARGAY_SUM_MOVED && (r.kind != MARGAY_SUM || line.sums.size() >= kMostSums))
      if (Status ok = close_sums(line, r.kind == MARGAY_SUM_OPEN && t == line.last); !ok) return ok;
    if (Status ok = record(leaf, line, r, t); !ok) return ok;
    line.last = t, line.told = true;
  }
  return {};
}

Status Occurrences::on_covered(TimeNs t) {
  for (Line& line : lines_) {
    if (Status ok = close_sums(line, false); !ok) return ok;
    for (std::vector<Occurrence>* open : {&line.states, &line.regions})
      for (Occurrence& o : *open) o.goes_on = true;
    if (line.around) line.around->goes_on = true;
    if (Status ok = close_all(line, std::max(t, line.last)); !ok) return ok;
    if (Status ok = close_inside(line.regions, 0, std::max(t, line.last)); !ok) return ok;
  }
  return {};
}

std::optional<TimeNs> Occurrences::oldest_open(TimeNs since) const {
  std::optional<TimeNs> out;
  // Of one list the first began first.
  const auto see = [&](const auto& open) {
    const auto o = std::find_if(open.begin(), open.end(), [&](const auto& x) { return x.begin >= since; });
    if (o != open.end()) out = std::min(out.value_or(o->begin), o->begin);
  };
  for (const Line& line : lines_) {
    if (line.around && line.around->begin >= since)
      out = std::min(out.value_or(line.around->begin), line.around->begin);
    see(line.sums);
    see(line.states);
    see(line.regions);
  }
  return out;
}

Status Occurrences::tell(Occurrence o, TimeNs end) {
  o.end = std::max(o.begin, end);
  if (o.begin >= to_ || (o.end <= from_ && o.begin < from_)) return {};
  // The time between two states that follow at once is no visit.
  if (o.kind == Kind::kState && o.begin == o.end && o.name == lines_[o.leaf.value].base) return {};
  return take_(o);
}

void Occurrences::open_base(LeafIndex leaf, Line& line, TimeNs t) {
  line.alive = true, line.unknown = false;
  if (line.base != kAbsent.value) line.around = opened(Kind::kState, leaf, line.base, 0, t);
}

Status Occurrences::close_around(Line& line, TimeNs t) {
  if (!line.around) return {};
  const Occurrence o = *std::exchange(line.around, std::nullopt);
  return tell(o, t);
}

// The innermost first.
Status Occurrences::close_inside(std::vector<Occurrence>& open, std::size_t depth, TimeNs t) {
  while (open.size() > depth) {
    const Occurrence o = open.back();
    open.pop_back();
    if (Status ok = tell(o, t); !ok) return ok;
  }
  return {};
}

Status Occurrences::close_all(Line& line, TimeNs t) {
  if (Status ok = close_inside(line.states, 0, t); !ok) return ok;
  return close_around(line, t);
}

Status Occurrences::close_sums(Line& line, bool open_follows) {
  if (line.sums.empty()) return {};
  if (open_follows)
    if (Status ok = close_inside(line.states, 0, line.sums.front().begin); !ok) return ok;
  for (const Occurrence& o : std::exchange(line.sums, {})) {
    Occurrence sum = o;
    if (open_follows) sum.depth = 0;
    if (Status ok = tell(sum, o.end); !ok) return ok;
  }
  return {};
}

Status Occurrences::record(LeafIndex leaf, Line& line, const EventRecord& r, TimeNs t) {
  switch (r.kind) {
    case MARGAY_ENTER:
    case MARGAY_SUM_INSIDE:
      if (line.states.size() >= kDeepest) return {};
      if (Status ok = close_around(line, t); !ok) return ok;
      line.alive = true, line.unknown = false;
      line.states.push_back(opened(Kind::kState, leaf, r.state, line.states.size(), t, r));
      return {};
    case MARGAY_LEAVE:
      return leave(line, r, t);
    case MARGAY_GAP:
      return lose(leaf, line, t);
    case MARGAY_STACK:
    case MARGAY_SUM_OPEN:
    case MARGAY_BEGIN:
      return stack(leaf, line, r, t);
    case MARGAY_END:
      line.alive = line.unknown = false;
      if (Status ok = close_inside(line.regions, 0, t); !ok) return ok;
      return close_all(line, t);
    case MARGAY_SUM:
      return sum(leaf, line, r, t);
    case MARGAY_SUM_MOVED:
      if (!line.sums.empty()) line.sums.back().bytes += r.bytes;
      return {};
    case MARGAY_REGION_ENTER:
    case MARGAY_REGION_LEAVE:
      return region(leaf, line, r, t);
    default:
      return is_note(r.kind) ? moment(leaf, line, r, t) : Status();
  }
}

Status Occurrences::leave(Line& line, const EventRecord& r, TimeNs t) {
  const auto found = std::find_if(line.states.rbegin(), line.states.rend(),
                                  [&](const Occurrence& o) { return o.name == r.state; });
  if (found == line.states.rend()) {
    if (!line.unknown || !line.states.empty()) return {};
    // It was entered where records are lost.
    const LeafIndex leaf = line.around ? line.around->leaf : LeafIndex();
    if (Status ok = close_around(line, t); !ok) return ok;
    open_base(leaf, line, t);
    return {};
  }
  found->completed = r.peer != MARGAY_NO_PEER;
  if (r.bytes != 0 || found->completed) found->bytes = r.bytes;
  if (found->completed) found->peer = r.peer, found->comm = r.comm;
  if (r.tag != MARGAY_NO_TAG) found->tag = r.tag;
  const LeafIndex leaf = found->leaf;
  // And whatever was left open inside it.
  if (Status ok = close_inside(line.states, static_cast<std::size_t>(line.states.rend() - found) - 1, t); !ok)
    return ok;
  if (line.states.empty()) open_base(leaf, line, t);
  return {};
}

Status Occurrences::lose(LeafIndex leaf, Line& line, TimeNs t) {
  if (Status ok = close_inside(line.regions, 0, line.last); !ok) return ok;
  if (line.unknown && line.states.empty()) return {};  // it goes on
  const TimeNs since = line.alive ? line.last : t;
  if (Status ok = close_all(line, since); !ok) return ok;
  line.alive = line.unknown = true;
  line.around = opened(Kind::kState, leaf, kUnknown.value, 0, since);
  return {};
}

Status Occurrences::stack(LeafIndex leaf, Line& line, const EventRecord& r, TimeNs t) {
  if (Status ok = close_all(line, t); !ok) return ok;
  const bool in_base = r.kind == MARGAY_BEGIN || r.state == kCompute.value || r.state == line.base;
  line.alive = true, line.unknown = false;
  if (in_base)
    open_base(leaf, line, t);
  else
    line.states.push_back(opened(Kind::kState, leaf, r.state, 0, t, r));
  // Where a leaf's reading begins it says what is open, and not since when.
  const bool before = r.kind == MARGAY_STACK || (!line.told && t < from_);
  if (line.around) line.around->begun_before = before;
  if (!line.states.empty()) line.states.back().begun_before = before;
  return {};
}

Status Occurrences::sum(LeafIndex leaf, Line& line, const EventRecord& r, TimeNs t) {
  const bool known = line.alive && !(line.unknown && line.states.empty());
  const TimeNs since = line.last;
  if (!known || line.states.empty())
    if (Status ok = close_around(line, known ? since : t); !ok) return ok;
  if (known) {
    Occurrence o = opened(Kind::kState, leaf, r.state == kCompute.value ? line.base : r.state,
                          line.states.size(), since, r);
    o.end = t, o.calls = r.comm, o.longest = DurationNs(static_cast<std::int64_t>(r.bytes));
    o.bytes = 0, o.comm = 0;
    if (t > since || o.calls > 0) line.sums.push_back(o);
  }
  if (line.states.empty()) open_base(leaf, line, t);
  return {};
}

Status Occurrences::region(LeafIndex leaf, Line& line, const EventRecord& r, TimeNs t) {
  if (r.kind == MARGAY_REGION_ENTER) {
    if (line.regions.size() < kDeepest)
      line.regions.push_back(opened(Kind::kRegion, leaf, r.state, line.regions.size(), t));
    return {};
  }
  const auto found = std::find_if(line.regions.rbegin(), line.regions.rend(),
                                  [&](const Occurrence& o) { return o.name == r.state; });
  if (found == line.regions.rend()) return {};
  return close_inside(line.regions, static_cast<std::size_t>(line.regions.rend() - found) - 1, t);
}

Status Occurrences::moment(LeafIndex leaf, Line& line, const EventRecord& r, TimeNs t) {
  if (!line.told) open_base(leaf, line, t);
  const Kind kind = r.kind == MARGAY_VARIABLE     ? Kind::kVariable
                    : r.kind == MARGAY_MARK       ? Kind::kMark
                    : r.kind == MARGAY_LINK_BEGIN ? Kind::kLinkBegin
                                                  : Kind::kLinkEnd;
  return tell(opened(kind, leaf, r.state, line.states.size(), t, r), t);
}

}  // namespace margay::trace
