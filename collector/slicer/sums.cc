// Sums of visits instead of the visits (slicer.h, sum).
#include <algorithm>

#include "margay/slicer/slicer.h"

namespace margay::slicer {

using model::SliceColumn;

Outcome Slicer::sum(LeafIndex leaf, StateId state, TimeNs t, std::uint32_t visits, DurationNs longest) {
  start(t);
  LeafState& l = leaves_[leaf.value];
  if (l.base == kAbsent) {
    // The first thing heard of it: since when it is there nobody knows.
    const Outcome outcome = advance(leaf, t);
    l.base = kCompute;
    l.base_since = t;
    return outcome;
  }
  // Whatever was filled behind the last event was a guess, for no promise reaches into what is being summed.
  TimeNs from = l.last_event;
  const Outcome before = advance(leaf, from);
  if (t < from) return before;
  // Beyond its slice reaches only what was summed by another clock than ours: then it is cut where the slice
  // ends.
  const std::int64_t most = (t - from).value;
  const SliceIndex last = slice_of(most > 0 ? t - DurationNs(1) : t, options_.slice);
  while (from < t) {
    const SliceIndex slice = slice_of(from, options_.slice);
    const TimeNs until = std::min(t, slice_end(slice, options_.slice));
    SliceColumn& column = column_at(slice, state);
    column.duration_ns(leaf)[state.value] += (until - from).value;
    if (measurer_.needs_time())
      measurer_.fill(column, leaf, l.value, slice_begin(slice, options_.slice), from, until);
    column.open(leaf) = {state, from};
    touch(slice);
    from = until;
  }
  SliceColumn& column = column_at(last, state);
  std::int64_t& known = column.longest_ns(leaf)[state.value];
  known = std::max(known, std::clamp<std::int64_t>(longest.value, 0, most));
  column.visits(leaf)[state.value] += visits;
  touch(last);
  l.position = l.last_event = t;
  if (measurer_.needs_time()) settle(leaf, t);
  return last < next_open_ ? Outcome::kAmended : Outcome::kModelled;
}

Outcome Slicer::moved(LeafIndex leaf, StateId state, TimeNs t, const Moved& moved) {
  const Outcome outcome = advance(leaf, t);
  if (!measurer_.active() || outcome == Outcome::kLateDropped) return outcome;
  if (const SliceIndex slice = slice_of(t, options_.slice);
      measurer_.moved(column_at(slice, state), leaf, state, moved))
    touch(slice);
  return outcome;
}

Outcome Slicer::inside(LeafIndex leaf, StateId state, TimeNs t, const Carried& carried) {
  const Outcome outcome = advance(leaf, t);
  LeafState& l = leaves_[leaf.value];
  if (l.stack.size() >= options_.deepest) {
    ++unbalanced_;
    return outcome;
  }
  l.stack.push_back({state, t, measurer_.needs_carried() ? carried : Carried{}});
  visit_begins(leaf, t);
  return outcome;
}

}  // namespace margay::slicer
