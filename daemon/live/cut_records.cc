#include "cut_records.h"

#include <algorithm>

#include "margay/base/last_state.h"

namespace margay::daemon {

store::LeafState to_record(LeafIndex leaf, const slicer::LeafState& s) {
  store::LeafState r;
  r.leaf = leaf;
  r.stack.push_back({s.base, s.base_since});
  for (const auto& e : s.stack) r.stack.push_back({e.state, e.since});
  r.position = s.position;
  r.last_event = s.last_event;
  r.longest_before_ns = s.longest_before_ns;
  return r;
}

store::MeasureState to_measure_record(LeafIndex leaf, const slicer::LeafState& s) {
  store::MeasureState m;
  m.leaf = leaf;
  for (const auto& e : s.stack) m.stack.push_back({e.carried.bytes, e.carried.peer});
  m.known = s.value.known;
  m.settled = s.value.settled;
  m.value = s.value.value;
  m.integral = s.value.integral;
  return m;
}

void add_measure_record(const store::MeasureState& m, slicer::LeafState& s) {
  for (std::size_t i = 0; i < std::min(m.stack.size(), s.stack.size()); ++i)
    s.stack[i].carried = {m.stack[i].bytes, m.stack[i].peer};
  s.value = {m.known, m.value, m.settled, m.integral};
}

slicer::LeafState from_record(const store::LeafState& r) {
  slicer::LeafState s;
  if (!r.stack.empty()) {
    s.base = r.stack[0].state;
    s.base_since = r.stack[0].since;
    for (std::size_t i = 1; i < r.stack.size(); ++i) s.stack.push_back({r.stack[i].state, r.stack[i].since});
  }
  s.position = r.position;
  s.last_event = r.last_event;
  s.longest_before_ns = r.longest_before_ns;
  return s;
}

store::SourceRecord to_record(SourceId id, const ingest::Source& s) {
  store::SourceRecord r{id, s.epoch, s.attributes, s.states, s.clock_offset, s.clock_error, s.goodbye, s.end};
  for (std::size_t i = 0; i < s.kinds.size(); ++i)
    if (s.kinds[i] != ingest::NameKind::kState)
      r.texts.push_back({static_cast<std::uint16_t>(i), s.kinds[i], s.names[i]});
  r.owner = s.owner;
  r.speaker = s.speaker.value_or(0);
  return r;
}

store::StreamRecord to_record(SourceId source, std::uint32_t stream, std::uint32_t epoch,
                              const ingest::Account& a) {
  return {source,     stream,         epoch,           a.next,      a.produced, a.recorded,
          a.modelled, a.late_dropped, a.probe_dropped, a.wire_lost, a.rejected};
}

ingest::Account from_record(const store::StreamRecord& r) {
  return {r.produced,  r.modelled, r.late_dropped, r.probe_dropped,
          r.wire_lost, r.rejected, r.recorded,     r.next};
}

ingest::Source from_record(const store::SourceRecord& r, const model::StateTable& states, TimeNs heard) {
  ingest::Source s;
  s.id = r.source;
  s.owner = r.owner;
  if (r.speaker != 0) s.speaker = r.speaker;
  s.epoch = r.epoch;
  s.attributes = r.attributes;
  s.states = r.names;
  s.names.resize(r.names.size());
  s.ends_leaf.resize(r.names.size());
  s.kinds.resize(r.names.size(), ingest::NameKind::kState);
  for (std::size_t i = 0; i < r.names.size(); ++i)
    if (r.names[i].value < states.size()) {
      s.names[i] = states[r.names[i]].name;
      s.ends_leaf[i] = is_last_state(s.names[i]);
    }
  for (const store::NameText& t : r.texts)
    if (t.index < s.names.size()) {
      s.names[t.index] = t.text;
      s.kinds[t.index] = t.kind;
    }
  s.clock_offset = r.clock_offset;
  s.clock_error = r.clock_error;
  s.goodbye = r.goodbye;
  s.end = r.end;
  s.ended = r.end.has_value();
  s.heard = heard;
  return s;
}

}  // namespace margay::daemon
