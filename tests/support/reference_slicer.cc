#include "support/reference_slicer.h"

#include <algorithm>

namespace margay::test {
namespace {

struct Visit {
  StateId state;
  TimeNs begin, end;
  bool ended;  // by an event, not by the end of time
};

bool exists(StateId s) {
  return s != kAbsent && s != kUnknown;
}

}  // namespace

ReferenceCells reference_cells(const std::vector<ReferenceEvent>& events, TimeNs begin, TimeNs end,
                               DurationNs slice) {
  std::vector<Visit> visits;
  std::vector<StateId> stack;  // stack[0] is what the leaf does when nothing is open
  stack.push_back(kAbsent);
  TimeNs since = begin;
  TimeNs last = begin;
  const auto switch_at = [&](TimeNs t, bool ended) {
    visits.push_back({stack.back(), since, t, ended});
    since = t;
  };
  for (const ReferenceEvent& e_in : events) {
    ReferenceEvent e = e_in;
    e.time = std::max(e.time, last);
    if (e.time >= end) break;
    switch (e.kind) {
      case ReferenceEvent::kBegin:
        switch_at(e.time, false);
        stack = {kCompute};
        break;
      case ReferenceEvent::kEnter:
        switch_at(e.time, exists(stack.back()));
        if (!exists(stack[0])) stack = {kCompute};
        stack.push_back(e.state);
        break;
      case ReferenceEvent::kLeave: {
        std::size_t depth = stack.size() - 1;
        while (depth > 0 && stack[depth] != e.state) --depth;
        if (depth > 0) {
          switch_at(e.time, true);
          stack.resize(depth);
        } else if (stack.size() == 1 && stack[0] == kUnknown) {
          switch_at(e.time, false);
          stack = {kCompute};
        }
        break;
      }
      case ReferenceEvent::kEnd:
        switch_at(e.time, stack[0] != kAbsent);
        stack = {kAbsent};
        break;
      case ReferenceEvent::kGap:
        if (stack[0] == kAbsent) {
          switch_at(e.time, false);
          stack = {kUnknown};
        } else {
          switch_at(last, false);
          stack = {kUnknown};
        }
        break;
      case ReferenceEvent::kStack:
        switch_at(e.time, false);
        stack = {kCompute};
        if (e.state != kCompute) stack.push_back(e.state);
        break;
      case ReferenceEvent::kVariable:
        if (&e_in != &events.front()) break;
        switch_at(e.time, false);
        stack = {kCompute};
        break;
    }
    last = e.time;
  }
  switch_at(end, false);

  ReferenceCells cells;
  const std::int64_t first = slice_of(begin, slice).value;
  for (const Visit& v : visits) {
    // Every slice the visit touches, the one in which it ends included.
    for (std::int64_t k = std::max(first, slice_of(v.begin, slice).value);
         slice_begin(SliceIndex(k), slice) <= v.end && slice_begin(SliceIndex(k), slice) < end; ++k) {
      const TimeNs from = slice_begin(SliceIndex(k), slice), to = slice_end(SliceIndex(k), slice);
      const TimeNs a = std::max(from, v.begin), b = std::min(to, v.end);
      ReferenceCell& cell = cells[{k, v.state.value}];
      if (a < b) {
        cell.duration_ns += (b - a).value;
        cell.longest_ns = std::max(cell.longest_ns, (b - v.begin).value);
      }
      if (v.ended && v.end >= from && v.end < to) ++cell.visits;
    }
  }
  std::erase_if(cells, [](const auto& entry) { return entry.second == ReferenceCell{}; });
  return cells;
}

std::map<std::int64_t, std::vector<ReferenceValue>> reference_values(
    const std::vector<ReferenceEvent>& events, TimeNs end, DurationNs slice) {
  std::vector<ReferenceValue> had;
  bool known = false;
  TimeNs last = events.empty() ? end : events.front().time;
  for (const ReferenceEvent& e : events) {
    const TimeNs t = std::max(e.time, last);
    if (t >= end) break;
    // Where records are lost nobody knows from the last one before on.
    const TimeNs until = e.kind == ReferenceEvent::kGap ? last : t;
    const bool ends = e.kind == ReferenceEvent::kGap || e.kind == ReferenceEvent::kEnd;
    if (known && (ends || e.kind == ReferenceEvent::kVariable)) had.back().end = until;
    if (ends) known = false;
    if (e.kind == ReferenceEvent::kVariable) {
      known = true;
      had.push_back({e.value, t, end});
    }
    last = t;
  }
  std::map<std::int64_t, std::vector<ReferenceValue>> out;
  for (const ReferenceValue& v : had)
    for (std::int64_t k = slice_of(v.begin, slice).value;; ++k) {
      const TimeNs from = std::max(v.begin, slice_begin(SliceIndex(k), slice));
      const TimeNs to = std::min(v.end, slice_end(SliceIndex(k), slice));
      if (from > v.end || (from == v.end && from != v.begin)) break;
      out[k].push_back({v.value, from, to});
    }
  return out;
}

std::map<std::int64_t, double> reference_growth(const std::vector<ReferenceEvent>& events, TimeNs end,
                                                DurationNs slice) {
  std::map<std::int64_t, double> out;
  TimeNs last = events.empty() ? end : events.front().time;
  for (std::size_t i = 0; i < events.size(); ++i) {
    last = std::max(last, events[i].time);
    if (events[i].kind != ReferenceEvent::kVariable || last >= end) continue;
    // The sample before it, unless something lies between that ends all knowledge.
    for (std::size_t j = i; j-- > 0;) {
      if (events[j].kind == ReferenceEvent::kGap || events[j].kind == ReferenceEvent::kEnd) break;
      if (events[j].kind != ReferenceEvent::kVariable) continue;
      const double more = events[i].value - events[j].value;
      if (const double grown = more < 0 ? events[i].value : more; grown > 0)
        out[slice_of(last, slice).value] += grown;
      break;
    }
  }
  return out;
}

std::vector<ReferenceVisit> reference_visits(const std::vector<ReferenceEvent>& events, TimeNs end) {
  std::vector<ReferenceVisit> out, open;
  bool lost = false;
  const auto close = [&](std::size_t from, TimeNs t) {
    for (std::size_t i = from; i < open.size(); ++i)
      if (t > open[i].begin || open[i].state != kCompute) out.push_back({open[i].state, open[i].begin, t});
    open.resize(from);
  };
  const auto compute = [&](TimeNs t) { open.push_back({kCompute, t, t}); };
  TimeNs last = events.empty() ? end : events.front().time;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const ReferenceEvent& e = events[i];
    const TimeNs t = std::max(e.time, last);
    if (t >= end) break;
    const bool idle = open.size() == 1 && open[0].state == kCompute;
    if (e.kind == ReferenceEvent::kGap) {
      close(0, last);
    } else if (e.kind == ReferenceEvent::kEnd) {
      close(0, t);
    } else if (e.kind == ReferenceEvent::kBegin || e.kind == ReferenceEvent::kStack) {
      close(0, t);
      compute(t);
      if (e.kind == ReferenceEvent::kStack && e.state != kCompute) open.back() = {e.state, t, t};
    } else if (e.kind == ReferenceEvent::kEnter) {
      if (idle) close(0, t);
      open.push_back({e.state, t, t});
    } else if (e.kind == ReferenceEvent::kVariable) {
      if (i == 0) compute(t);
    } else {
      std::size_t depth = open.size();
      while (depth > 0 && (idle || open[depth - 1].state != e.state)) --depth;
      if (depth > 0) close(depth - 1, t);
      // Nothing is left open; or it was entered where records are lost.
      if (open.empty() && (depth > 0 || lost)) compute(t);
    }
    last = t;
    lost = e.kind == ReferenceEvent::kGap || (lost && open.empty() && e.kind != ReferenceEvent::kEnd);
  }
  close(0, end);
  return out;
}

}  // namespace margay::test
