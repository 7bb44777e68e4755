#include "margay/slicer/slicer.h"

#include <algorithm>
#include <limits>

#include "margay/slicer/rounding.h"

namespace margay::slicer {

using model::SliceColumn;

namespace {
constexpr std::size_t kMostSpare = 4;  // as a rule one leaves and one comes
}

Slicer::Slicer(Options options) : options_(std::move(options)), measurer_(options_.op) {}

SliceColumn Slicer::new_column(SliceIndex slice, std::uint32_t states) {
  SliceColumn column;
  if (!spare_.empty()) {
    column = std::move(spare_.back());
    spare_.pop_back();
  }
  column.renew(LevelIndex(0), slice, leaf_count(), states);
  column.measure(measurer_.plane());
  return column;
}

LeafIndex Slicer::add_leaf() {
  leaves_.emplace_back();
  const LeafIndex leaf(static_cast<std::uint32_t>(leaves_.size() - 1));
  try {
    for (SliceColumn& c : columns_) c.resize(leaf_count(), c.states());
    if (!columns_.empty()) {
      // Absent in everything that is held so far.
      LeafState& l = leaves_.back();
      l.position = l.last_event = l.base_since = slice_begin(columns_.front().index, options_.slice);
      fill(leaf, l.position, slice_begin(next_open_, options_.slice));
      l.position = std::max(l.position, slice_begin(next_open_, options_.slice));
    }
  } catch (...) {
    // It never was: the next one finds its place as this one did.
    for (SliceColumn& c : columns_) {
      if (leaf.value >= c.leaves()) continue;
      std::ranges::fill(c.duration_ns(leaf), 0);
      std::ranges::fill(c.longest_ns(leaf), 0);
    }
    leaves_.pop_back();
    throw;
  }
  return leaf;
}

void Slicer::start(TimeNs t) {
  if (!started_) static_cast<void>(column_at(slice_of(t, options_.slice), kAbsent));
}

model::OpenState Slicer::top(const LeafState& leaf) const {
  if (leaf.stack.empty()) return {leaf.base, leaf.base_since};
  return {leaf.stack.back().state, leaf.stack.back().since};
}
StateId Slicer::current(LeafIndex leaf) const {
  return top(leaves_[leaf.value]).state;
}

// Before this, nothing can be changed any more.
TimeNs Slicer::horizon() const {
  return slice_begin(columns_.front().index, options_.slice);
}

TimeNs Slicer::limit() const {
  if (!started_ || options_.ahead_bytes == 0) return TimeNs(std::numeric_limits<std::int64_t>::max());
  constexpr std::uint64_t kCell = 20, kMeasured = 8;
  const std::uint64_t one =
      sizeof(SliceColumn) + std::uint64_t{leaf_count()} *
                                (std::uint64_t{columns_.back().states()} *
                                     (kCell + (measurer_.plane() == model::Plane::kNone ? 0 : kMeasured)) +
                                 sizeof(model::OpenState) + sizeof(model::NodeEvidence));
  const std::uint64_t fit =
      std::min<std::uint64_t>(options_.ahead_bytes / one, static_cast<std::uint64_t>(options_.most_ahead));
  return slice_begin(next_open_ + std::max(Options::kLeastAhead, static_cast<std::int64_t>(fit)),
                     options_.slice);
}

TimeNs Slicer::filled_limit() const {
  if (!started_ || options_.ahead_bytes == 0) return TimeNs(std::numeric_limits<std::int64_t>::max());
  return slice_end(columns_.back().index, options_.slice);
}

// An observation of later than this would have slices made that nothing else has asked for.
SliceIndex Slicer::last_observable() const {
  if (options_.ahead_bytes == 0) return SliceIndex(std::numeric_limits<std::int64_t>::max());
  const SliceIndex near =
      std::min(next_open_ + Options::kFilledAhead, slice_of(TimeNs(limit().value - 1), options_.slice));
  return std::max(columns_.back().index, near);
}

SliceColumn& Slicer::column_at(SliceIndex slice, StateId at_least) {
  if (!started_) {
    started_ = true;
    next_open_ = slice;
    columns_.push_back(new_column(slice, 0));
    for (LeafState& l : leaves_)
      l.position = l.last_event = l.base_since = slice_begin(slice, options_.slice);
  }
  while (columns_.back().index < slice)
    columns_.push_back(new_column(columns_.back().index + 1, columns_.back().states()));
  SliceColumn& column = columns_[static_cast<std::size_t>(slice.value - columns_.front().index.value)];
  column.resize(leaf_count(), std::max<std::uint32_t>(column.states(), at_least.value + 1u));
  return column;
}

const SliceColumn* Slicer::column(SliceIndex slice) const {
  if (columns_.empty() || slice < columns_.front().index || slice > columns_.back().index) return nullptr;
  return &columns_[static_cast<std::size_t>(slice.value - columns_.front().index.value)];
}

void Slicer::touch(SliceIndex slice) {
  changed_.insert(slice);
  if (slice < next_open_) amended_.insert(slice);
}

// Adds the open state's time in [from, to).
void Slicer::fill(LeafIndex leaf, TimeNs from, TimeNs to) {
  const model::OpenState open = top(leaves_[leaf.value]);
  while (from < to) {
    const SliceIndex slice = slice_of(from, options_.slice);
    const TimeNs until = std::min(to, slice_end(slice, options_.slice));
    SliceColumn& column = column_at(slice, open.state);
    column.duration_ns(leaf)[open.state.value] += (until - from).value;
    std::int64_t& longest = column.longest_ns(leaf)[open.state.value];
    longest = std::max(longest, (until - open.since).value);
    column.open(leaf) = {open.state, open.since};
    if (measurer_.needs_time())
      measurer_.fill(column, leaf, leaves_[leaf.value].value, slice_begin(slice, options_.slice), from,
                     until);
    touch(slice);
    from = until;
  }
}

// Undoes fill over [from, position): all of it is the open state, for no event lies in it.
void Slicer::take_back(LeafIndex leaf, TimeNs from) {
  LeafState& l = leaves_[leaf.value];
  const model::OpenState open = top(l);
  for (TimeNs at = from; at < l.position;) {
    const SliceIndex slice = slice_of(at, options_.slice);
    const TimeNs until = std::min(l.position, slice_end(slice, options_.slice));
    SliceColumn& column = column_at(slice, open.state);
    take_from(column.duration_ns(leaf), open.state.value, (until - at).value);
    // The longest visit cannot be subtracted; what it was without the part taken back is known all the same:
    // in a slice that the visit entered from before, the visit itself up to `from`; in the slice in which it
    // began, also the visits before it, remembered when it began (longest_before_ns); in later slices
    // nothing.
    std::int64_t& longest = column.longest_ns(leaf)[open.state.value];
    if (at == from && slice_begin(slice, options_.slice) < from) {
      const bool began_here = slice_of(open.since, options_.slice) == slice;
      longest = std::max((from - open.since).value, began_here ? l.longest_before_ns : 0);
    } else {
      longest = at == from && slice_of(open.since, options_.slice) == slice ? l.longest_before_ns : 0;
    }
    if (measurer_.needs_time())
      measurer_.take_back(column, leaf, l.value, slice_begin(slice, options_.slice), at, until);
    touch(slice);
    at = until;
  }
  l.position = from;
}

void Slicer::visit_begins(LeafIndex leaf, TimeNs t) {
  LeafState& l = leaves_[leaf.value];
  const StateId state = top(l).state;
  const SliceColumn* column = this->column(slice_of(t, options_.slice));
  l.longest_before_ns =
      column != nullptr && state.value < column->states() ? column->longest_ns(leaf)[state.value] : 0;
}

void Slicer::visit_ended(LeafIndex leaf, TimeNs t) {
  const StateId state = top(leaves_[leaf.value]).state;
  const SliceIndex slice = slice_of(t, options_.slice);
  ++column_at(slice, state).visits(leaf)[state.value];
  touch(slice);
}

// An event, at which the value's integral is known for good.
void Slicer::settle(LeafIndex leaf, TimeNs t) {
  CurrentValue& value = leaves_[leaf.value].value;
  const SliceColumn* column = this->column(slice_of(t, options_.slice));
  value.settled = t;
  value.integral = column != nullptr && leaf.value < column->leaves() ? column->integral(leaf) : 0;
}

// Fills up to the event, or takes back to it.
Outcome Slicer::advance(LeafIndex leaf, TimeNs& t) {
  start(t);
  LeafState& l = leaves_[leaf.value];
  // What lies behind the event is taken back, or was right.
  if (l.drawn_out) confirm(leaf, std::max(t, l.position));
  // Asked before its time is changed: after a late event the leaf's last event is at the horizon, and those
  // that follow would pass for events of that moment.
  const bool late = t < horizon() && l.last_event <= horizon();
  if (t < l.last_event) {
    if (l.last_event > horizon()) ++backwards_;
    t = l.last_event;
  }
  Outcome outcome = Outcome::kModelled;
  if (late) {
    outcome = Outcome::kLateDropped;
    t = horizon();
  } else if (t < slice_begin(next_open_, options_.slice)) {
    outcome = Outcome::kAmended;
  }
  if (t < l.position) {
    take_back(leaf, t);
  } else {
    fill(leaf, l.position, t);
    l.position = t;
  }
  l.last_event = t;
  if (measurer_.needs_time()) settle(leaf, t);
  return outcome;
}

Outcome Slicer::begin(LeafIndex leaf, TimeNs t, StateId base) {
  const Outcome outcome = advance(leaf, t);
  LeafState& l = leaves_[leaf.value];
  l.stack.clear();
  l.base = base;
  l.base_since = t;
  visit_begins(leaf, t);
  return outcome;
}

Outcome Slicer::enter(LeafIndex leaf, StateId state, TimeNs t, const Carried& carried) {
  const Outcome outcome = advance(leaf, t);
  LeafState& l = leaves_[leaf.value];
  if (l.stack.size() >= options_.deepest) {
    ++unbalanced_;
    return outcome;
  }
  if (l.base == kAbsent || l.base == kUnknown) {
    // The first thing heard of it (or after a gap): around the state it computes.
    l.base = kCompute;
    l.base_since = t;
  } else if (outcome != Outcome::kLateDropped) {
    visit_ended(leaf, t);
  }
  l.stack.push_back({state, t, measurer_.needs_carried() ? carried : Carried{}});
  visit_begins(leaf, t);
  if (measurer_.active() && outcome != Outcome::kLateDropped)
    if (const SliceIndex slice = slice_of(t, options_.slice);
        measurer_.entered(column_at(slice, state), leaf, state))
      touch(slice);
  return outcome;
}

Outcome Slicer::leave(LeafIndex leaf, StateId state, TimeNs t, const Carried& carried) {
  const Outcome outcome = advance(leaf, t);
  LeafState& l = leaves_[leaf.value];
  const auto it =
      std::find_if(l.stack.rbegin(), l.stack.rend(), [&](const StackEntry& e) { return e.state == state; });
  if (it == l.stack.rend()) {
    if (l.base == kUnknown && l.stack.empty()) {
      // Entered in the gap.
      l.base = kCompute;
      l.base_since = t;
      visit_begins(leaf, t);
    } else {
      ++unbalanced_;
    }
    return outcome;
  }
  if (outcome != Outcome::kLateDropped) visit_ended(leaf, t);
  if (measurer_.active() && outcome != Outcome::kLateDropped)
    if (const SliceIndex slice = slice_of(t, options_.slice);
        measurer_.left(column_at(slice, state), leaf, state, it->carried, carried))
      touch(slice);
  l.stack.erase(it.base() - 1, l.stack.end());  // and whatever was left open inside it
  // The state around goes on: a new visit of it begins.
  if (l.stack.empty())
    l.base_since = t;
  else
    l.stack.back().since = t;
  visit_begins(leaf, t);
  return outcome;
}

Outcome Slicer::end(LeafIndex leaf, TimeNs t) {
  const Outcome outcome = advance(leaf, t);
  LeafState& l = leaves_[leaf.value];
  if (l.base != kAbsent && outcome != Outcome::kLateDropped) visit_ended(leaf, t);
  l.stack.clear();
  l.base = kAbsent;
  l.base_since = t;
  l.value.known = false;
  visit_begins(leaf, t);
  return outcome;
}

Outcome Slicer::note(LeafIndex leaf, const Note& note, TimeNs t) {
  const Outcome outcome = advance(leaf, t);
  if (note.kind == Note::Kind::kVariable) {
    // Also of a late record: the value goes on from here.
    CurrentValue& value = leaves_[leaf.value].value;
    value.known = measurer_.needs_time();
    value.value = note.value;
    return outcome;
  }
  if (outcome != Outcome::kLateDropped)
    if (const SliceIndex slice = slice_of(t, options_.slice);
        measurer_.active() && measurer_.noted(column_at(slice, note.name), leaf, note))
      touch(slice);
  return outcome;
}

// What was drawn out since the last event is not known to be true: it is taken back, and Unknown from there.
Outcome Slicer::forget_state(LeafIndex leaf, TimeNs& from) {
  LeafState& l = leaves_[leaf.value];
  from = l.last_event;
  const Outcome outcome = advance(leaf, from);
  l.stack.clear();
  l.value.known = false;
  l.base = kUnknown;
  l.base_since = from;
  visit_begins(leaf, from);
  return outcome;
}

Outcome Slicer::gap(LeafIndex leaf, TimeNs t, std::uint64_t lost_events) {
  LeafState& l = leaves_[leaf.value];
  start(t);
  t = std::min(t, limit() - DurationNs(1));
  const bool late = t < horizon() && l.last_event <= horizon();
  const bool absent = l.base == kAbsent;
  TimeNs from{};
  Outcome outcome = forget_state(leaf, from);
  if (absent) {
    // It began to exist somewhere in the gap; when, nobody knows: at its end.
    l.base = kAbsent;
    outcome = advance(leaf, t);
    l.base = kUnknown;
    l.base_since = t;
  } else if (t > l.position) {
    outcome = advance(leaf, t);
  }
  column_at(slice_of(t < horizon() ? horizon() : t, options_.slice), kUnknown).lost_events += lost_events;
  touch(slice_of(t < horizon() ? horizon() : t, options_.slice));
  return late ? Outcome::kLateDropped : outcome;
}

void Slicer::lose(LeafIndex leaf) {
  const LeafState& l = leaves_[leaf.value];
  if (!started_ || l.base == kAbsent || (l.base == kUnknown && l.stack.empty())) return;
  TimeNs from{};
  static_cast<void>(forget_state(leaf, from));
}

Outcome Slicer::stack(LeafIndex leaf, StateId state, TimeNs t, const Carried& carried) {
  const Outcome outcome = advance(leaf, t);
  LeafState& l = leaves_[leaf.value];
  l.stack.clear();
  l.base = kCompute;
  l.base_since = t;
  if (state != kCompute) l.stack.push_back({state, t, measurer_.needs_carried() ? carried : Carried{}});
  visit_begins(leaf, t);
  return outcome;
}

void Slicer::cover(LeafIndex leaf, TimeNs until) {
  LeafState& l = leaves_[leaf.value];
  if (!started_) return;
  if (l.drawn_out) confirm(leaf, until);
  if (options_.ahead_bytes != 0)
    until = std::min({until, limit(), slice_begin(next_open_ + Options::kFilledAhead, options_.slice)});
  if (until <= l.position) return;
  fill(leaf, l.position, until);
  l.position = until;
}

// Fills without a promise; the slices say so, unless the leaf is known to be absent.
void Slicer::draw_out(LeafIndex leaf, TimeNs until) {
  LeafState& l = leaves_[leaf.value];
  if (until <= l.position) return;
  if (!l.drawn_out && l.base != kAbsent) {
    l.drawn_out = true;
    l.promised = l.position;
  }
  const TimeNs from = l.position;
  fill(leaf, from, until);
  l.position = until;
  if (l.base == kAbsent) return;
  for (SliceIndex s = slice_of(from, options_.slice); slice_begin(s, options_.slice) < until; ++s) {
    SliceColumn& column = column_at(s, kCompute);
    column.evidence(leaf).drawn_out = true;
    column.provisional = true;
  }
}

// What was drawn out up to `until` was right (or is about to be taken back).
void Slicer::confirm(LeafIndex leaf, TimeNs until) {
  LeafState& l = leaves_[leaf.value];
  if (until <= l.promised) return;
  const SliceIndex last = slice_of(std::min(until, l.position), options_.slice);
  for (SliceIndex s = slice_of(std::max(l.promised, horizon()), options_.slice); s <= last; ++s) {
    if (slice_end(s, options_.slice) > until || column(s) == nullptr) break;
    SliceColumn& c = column_at(s, kCompute);
    if (!c.evidence(leaf).drawn_out) continue;
    c.evidence(leaf).drawn_out = false;
    c.provisional = false;
    for (std::uint32_t i = 0; i < c.leaves() && !c.provisional; ++i)
      c.provisional = c.evidence(LeafIndex(i)).drawn_out;
    touch(s);
  }
  l.promised = until;
  if (until >= l.position) l.drawn_out = false;
}

void Slicer::observe(LeafIndex leaf, TimeNs t, const model::NodeEvidence& evidence) {
  if (!started_) return;
  const SliceIndex slice = std::max(slice_of(t, options_.slice), next_open_);
  if (slice > last_observable()) return;
  model::NodeEvidence& e = column_at(slice, kCompute).evidence(leaf);
  e.process_state = evidence.process_state;
  e.stopped_since = evidence.stopped_since;
  e.add_times(evidence);
  touch(slice);
}

void Slicer::observe(TimeNs t, const model::Taker& taker) {
  if (!started_) return;
  const SliceIndex slice = std::max(slice_of(t, options_.slice), next_open_);
  if (slice > last_observable()) return;
  column_at(slice, kCompute).add_taker(taker);
  touch(slice);
}

// A late event took back what had been drawn out behind it: whoever is told of it finds the closed rows whole
// again. Without one no leaf's position lies in a closed slice.
void Slicer::make_whole() {
  if (amended_.empty()) return;
  for (std::uint32_t i = 0; i < leaf_count(); ++i)
    draw_out(LeafIndex(i), slice_begin(next_open_, options_.slice));
}

std::vector<const SliceColumn*> Slicer::close_through(TimeNs watermark) {
  left_.clear();
  if (!started_) return {};
  make_whole();
  const SliceIndex end = slice_of(watermark, options_.slice);  // the first slice that stays open
  if (end <= next_open_) return {};
  const TimeNs until = slice_begin(end, options_.slice);
  const SliceIndex first = next_open_;
  for (std::uint32_t i = 0; i < leaf_count(); ++i) {
    const LeafState& l = leaves_[i];
    draw_out(LeafIndex(i), until);
    if (l.silent_since != TimeNs() && l.base != kAbsent)
      for (SliceIndex s = first; s < end; ++s)
        column_at(s, kCompute).evidence(LeafIndex(i)).silent_since = l.silent_since;
  }
  std::vector<const SliceColumn*> closed;
  static_cast<void>(column_at(end, kCompute));
  next_open_ = end;
  while (columns_.size() > 1 && columns_.front().index.value + options_.retained < first.value) {
    if (changed_.erase(columns_.front().index) > 0)
      left_.push_back(std::move(columns_.front()));
    else if (spare_.size() < kMostSpare)
      spare_.push_back(std::move(columns_.front()));
    columns_.pop_front();
  }
  for (SliceIndex s = first; s < end; ++s) {
    SliceColumn& c = column_at(s, kCompute);
    c.region = region_;
    changed_.insert(s);
    closed.push_back(&c);
  }
  return closed;
}

bool Slicer::is_blank() const {
  if (!started_ || columns_.back().index != next_open_) return false;
  const SliceColumn& c = columns_.back();
  if (c.lost_events != 0 || !c.takers.empty()) return false;
  const auto zero = [](const auto& values) {
    return std::all_of(values.begin(), values.end(), [](auto v) { return v == 0; });
  };
  for (std::uint32_t i = 0; i < c.leaves(); ++i) {
    const LeafIndex leaf(i);
    if (!zero(c.duration_ns(leaf)) || !zero(c.visits(leaf)) || !zero(c.measured(leaf)) ||
        c.evidence(leaf) != model::NodeEvidence())
      return false;
  }
  return true;
}

Gap Slicer::skip_to(SliceIndex next, const std::function<bool(LeafIndex)>& known) {
  left_.clear();
  make_whole();
  Gap gap{next_open_, next - 1, {}};
  const TimeNs from = slice_begin(next_open_, options_.slice), to = slice_begin(next, options_.slice);
  for (std::uint32_t i = 0; i < leaf_count(); ++i) {
    LeafState& l = leaves_[i];
    gap.existed.push_back(l.base != kAbsent);
    if (l.base != kAbsent && !known(LeafIndex(i))) {
      l.stack.clear();
      l.base = kUnknown;
      l.base_since = from;
      l.value.known = false;
    }
    l.position = to;
    l.longest_before_ns = 0;  // no visit lies in the slice before its begin
    l.drawn_out = false;
    l.promised = {};
    l.value.settled = to;
    l.value.integral = 0;
  }
  const std::uint32_t states = columns_.back().states();
  for (SliceColumn& c : columns_)
    if (c.index < next_open_ && changed_.contains(c.index)) left_.push_back(std::move(c));
  columns_.clear();
  changed_.clear();
  amended_.clear();
  next_open_ = next;
  columns_.push_back(new_column(next, states));
  return gap;
}

std::vector<SliceIndex> Slicer::take_changed() {
  make_whole();
  std::vector<SliceIndex> out(changed_.begin(), changed_.end());
  changed_.clear();
  return out;
}

std::vector<SliceIndex> Slicer::take_amended() {
  make_whole();
  std::vector<SliceIndex> out(amended_.begin(), amended_.end());
  amended_.clear();
  return out;
}

Status Slicer::restore(std::vector<SliceColumn> columns, SliceIndex next_open,
                       std::vector<LeafState> leaves) {
  if (started_ || !leaves_.empty())
    return fail(ErrorCode::kInternal, "a slicer that has run cannot be restored");
  leaves_ = std::move(leaves);
  if (columns.empty()) return {};
  if (columns.front().index > next_open)
    columns.insert(columns.begin(), new_column(next_open, columns.front().states()));
  for (std::size_t i = 0; i + 1 < columns.size(); ++i) {
    if (columns[i].index + 1 == columns[i + 1].index) continue;
    // A slice that is still open and that nothing has touched is not in an archive.
    if (columns[i].index >= next_open - 1 && columns[i].index < columns[i + 1].index)
      columns.insert(columns.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                     new_column(columns[i].index + 1, columns[i].states()));
    else if (columns[i].index < columns[i + 1].index && columns[i + 1].index <= next_open) {
      // Slices are missing (the disk was away for too long to keep them): what is before them cannot be
      // amended any more.
      columns.erase(columns.begin(), columns.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      i = static_cast<std::size_t>(-1);
    } else
      return fail(ErrorCode::kCorrupt, "slices " + std::to_string(columns[i].index.value) + " and " +
                                           std::to_string(columns[i + 1].index.value) + " are not in order");
  }
  // What lies before a gap that ends here has left.
  if (columns.back().index + 1 < next_open) {
    const std::uint32_t states = columns.back().states();
    columns.clear();
    columns.push_back(new_column(next_open, states));
  }
  for (SliceColumn& c : columns) {
    c.resize(leaf_count(), c.states());
    c.measure(measurer_.plane());
    columns_.push_back(std::move(c));
  }
  for (SliceColumn& c : columns_)
    for (std::uint32_t i = 0; i < leaf_count(); ++i) {
      LeafState& l = leaves_[i];
      if (!c.evidence(LeafIndex(i)).drawn_out || l.drawn_out) continue;
      l.drawn_out = true;
      l.promised = slice_begin(c.index, options_.slice);
    }
  started_ = true;
  next_open_ = next_open;
  static_cast<void>(column_at(next_open, kCompute));
  return {};
}

}  // namespace margay::slicer
