// Changes that need no more than adding up, many at once (slicer.h, take_plain).
//
// What the general way asks for each event (which slice, is it late, what is taken back, which sets know of
// the change) is asked here for each slice. In between an event is a difference of two times, three additions
// and a comparison, all in the leaf's row.
#include <algorithm>
#include <utility>

#include "margay/base/record.h"
#include "margay/slicer/slicer.h"

namespace margay::slicer {

using model::SliceColumn;

namespace {

// Where a leaf is, in host time (the batch's own, so that no time of it is converted).
struct Where {
  std::int64_t position, since, base_since;
  std::uint32_t state;
  bool inside;
  // The state that was filled last in this slice, and since when it was open.
  bool has_filled;
  std::uint32_t filled;
  std::int64_t filled_since;
};

// The leaf's row of the slice that is being filled.
struct Row {
  std::int64_t* duration = nullptr;
  std::int64_t* longest = nullptr;
  std::uint32_t* visits = nullptr;
  std::uint32_t states = 0;
  std::int64_t end = 0;  // of the slice, or of what may be known: host time
};

struct Columns {
  const std::int64_t* time;
  const std::uint16_t* name;
  const std::uint8_t* kind;
  const std::uint32_t* state;
  std::size_t names;
};

bool is_plain(const Columns& c, std::size_t i, const Where& w, std::int64_t until) {
  if (c.time[i] <= 0 || c.time[i] < w.position || c.time[i] > until || c.name[i] >= c.names) return false;
  const std::uint32_t told = c.state[c.name[i]];
  if (c.kind[i] == MARGAY_ENTER) return !w.inside && (told & 0xffffu) != kCompute.value;
  return c.kind[i] == MARGAY_LEAVE && w.inside && told == w.state;
}

void change(const Columns& c, std::size_t i, Where& w) {
  w.position = w.since = c.time[i];
  w.inside = !w.inside;
  w.state = w.inside ? c.state[c.name[i]] & 0xffffu : kCompute.value;
  if (!w.inside) w.base_since = c.time[i];
}

// From change i on, as long as they are plain, in this slice, and of states that the row has; returns the
// first that is not. REQUIRES: the row has the state that is open. The row of Compute, which every second
// change is of, stays in registers, and so does all of `w`.
std::size_t within(const Columns& c, std::size_t i, std::size_t count, const Row& row, Where& where) {
  Where w = where;
  std::int64_t outside = row.duration[kCompute.value], longest = row.longest[kCompute.value];
  std::uint32_t visits = row.visits[kCompute.value];
  const std::int64_t end = row.end;
  while (i < count) {
    // A whole visit at once: what is done between two of them began where the last one ended.
    while (!w.inside && w.since == w.position && i + 1 < count) {
      const std::int64_t from = c.time[i], to = c.time[i + 1];
      const std::uint16_t in = c.name[i], out = c.name[i + 1];
      if ((from < w.position) | (to < from) | (to >= end) | (in >= c.names) | (out >= c.names) |
          (c.kind[i] != MARGAY_ENTER) | (c.kind[i + 1] != MARGAY_LEAVE))
        break;
      const std::uint32_t visited = c.state[out];
      if (((c.state[in] & 0xffffu) != visited) | (visited == kCompute.value) | (visited >= row.states)) break;
      const std::int64_t before = from - w.position, length = to - from;
      outside += before;
      longest = std::max(longest, before);
      ++visits;
      row.duration[visited] += length;
      row.longest[visited] = std::max(row.longest[visited], length);
      ++row.visits[visited];
      if (length > 0) {
        w.filled = visited;
        w.filled_since = from;
      } else if (before > 0) {
        w.filled = kCompute.value;
        w.filled_since = w.position;
      }
      w.has_filled |= to > w.position;
      w.position = w.since = w.base_since = to;
      i += 2;
    }
    if (i == count) break;
    const std::int64_t t = c.time[i];
    const std::uint16_t name = c.name[i];
    if (t < w.position || t >= end || name >= c.names) break;
    const std::uint32_t told = c.state[name];
    const bool filled = t > w.position;
    if (!w.inside) {
      const std::uint32_t entered = told & 0xffffu;
      if (c.kind[i] != MARGAY_ENTER || entered == kCompute.value) break;
      outside += t - w.position;
      longest = std::max(longest, filled ? t - w.since : longest);
      ++visits;
      w.filled = filled ? kCompute.value : w.filled;
      w.filled_since = filled ? w.since : w.filled_since;
      w.state = entered;
    } else {
      if (c.kind[i] != MARGAY_LEAVE || told != w.state || w.state >= row.states) break;
      row.duration[told] += t - w.position;
      row.longest[told] = std::max(row.longest[told], filled ? t - w.since : std::int64_t{0});
      ++row.visits[told];
      w.filled = filled ? told : w.filled;
      w.filled_since = filled ? w.since : w.filled_since;
      w.state = kCompute.value;
      w.base_since = t;
    }
    w.has_filled |= filled;
    w.inside = !w.inside;
    w.position = w.since = t;
    ++i;
  }
  row.duration[kCompute.value] = outside;
  row.longest[kCompute.value] = longest;
  row.visits[kCompute.value] = visits;
  where = w;
  return i;
}

}  // namespace

std::size_t Slicer::take_plain(LeafIndex leaf, const PlainChanges& changes) {
  LeafState& l = leaves_[leaf.value];
  const std::size_t count = changes.time_ns.size();
  if (!started_ || l.drawn_out || l.base != kCompute || l.stack.size() > 1 || measurer_.active() ||
      measurer_.needs_time() || options_.deepest == 0 || count == 0 || l.position < l.last_event)
    return 0;
  const DurationNs offset = changes.offset;
  const std::int64_t until = (changes.until - offset).value;
  const std::int64_t open_from = (slice_begin(next_open_, options_.slice) - offset).value;
  const Columns c{changes.time_ns.data(), changes.state.data(), changes.kind.data(), changes.states.data(),
                  changes.states.size()};
  const bool inside = !l.stack.empty();
  Where w{(l.position - offset).value,
          ((inside ? l.stack.back().since : l.base_since) - offset).value,
          (l.base_since - offset).value,
          inside ? l.stack.back().state.value : kCompute.value,
          inside,
          false,
          0,
          0};
  if (c.time[0] < open_from || (inside && w.state == kCompute.value)) return 0;

  SliceColumn* column = nullptr;
  Row row;
  const auto go_to = [&](TimeNs t) {
    const SliceIndex slice = slice_of(t, options_.slice);
    column = &column_at(slice, StateId(static_cast<std::uint16_t>(w.state)));
    row = {column->duration_ns(leaf).data(), column->longest_ns(leaf).data(), column->visits(leaf).data(),
           column->states(), std::min((slice_end(slice, options_.slice) - offset).value, until + 1)};
    touch(slice);
  };
  // The slice and the leaf know what was taken so far.
  const auto store = [&] {
    if (w.has_filled)
      column->open(leaf) = {StateId(static_cast<std::uint16_t>(w.filled)), TimeNs(w.filled_since) + offset};
    w.has_filled = false;
    l.stack.clear();
    if (w.inside)
      l.stack.push_back({StateId(static_cast<std::uint16_t>(w.state)), TimeNs(w.since) + offset, {}});
    l.base_since = TimeNs(w.base_since) + offset;
    l.position = TimeNs(w.position) + offset;
  };

  std::size_t i = 0;
  while (i < count && is_plain(c, i, w, until)) {
    const TimeNs t = TimeNs(c.time[i]) + offset;
    if (column != nullptr && w.state >= row.states) {  // a state that the slice has no room for yet
      store();
      go_to(t < slice_end(column->index, options_.slice) ? t : TimeNs(w.position) + offset);
      i = within(c, i, count, row, w);
    } else {
      // Into a slice, over the end of the one before: the general way, once.
      store();
      fill(leaf, l.position, t);
      go_to(t);
      ++column->visits(leaf)[w.state];
      change(c, i++, w);
      // What was entered may be new to the slice.
      if (w.state < row.states) i = within(c, i, count, row, w);
    }
  }
  if (i == 0) return 0;
  store();
  l.last_event = l.position;
  visit_begins(leaf, l.position);
  return i;
}

}  // namespace margay::slicer
