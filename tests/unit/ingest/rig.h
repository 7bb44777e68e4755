// An ingest with its slicer, and a fake agent that speaks for one source: messages by hand, no socket.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "margay/ingest/ingest.h"
#include "margay/wire/columns.h"
#include "support/reference_slicer.h"

namespace margay::ingest::test {

using margay::test::reference_cells;
using margay::test::ReferenceCells;
using margay::test::ReferenceEvent;

inline constexpr DurationNs kSlice = milliseconds(100);
inline constexpr DurationNs kOffset = seconds(1'000'000);  // trace time less host time
inline constexpr TimeNs kRunBegin{5'000'000'000};          // host time
constexpr TimeNs trace(TimeNs host) {
  return host + kOffset;
}
inline TimeNs at(std::int64_t ms) {
  return kRunBegin + milliseconds(ms);
}

// Name indices of the fake source.
enum : std::uint16_t { kComputeName, kSend, kRecv, kFinalize, kSolve };

struct Rig {
  model::StateTable states;
  slicer::Slicer slicer;
  Ingest ingest;
  TimeNs now = kRunBegin;

  static Options options() {
    Options o;
    o.run = "r";
    o.boot_id = "boot";
    o.clock_offset = kOffset;
    o.instance = 7;
    return o;
  }
  explicit Rig(const Options& o = options()) : Rig(o, {kSlice, 256, 64, o.op}) {}
  Rig(const Options& o, const slicer::Options& slices) : slicer(slices), ingest(o, slicer, states) {
    slicer.start(trace(kRunBegin));
  }
  // What a daemon comes back with after a cut of `old` (daemon/live/ingest_stage.cc): no names of regions, no
  // regions.
  Rig(const Rig& old, TimeNs at)
      : states(old.states), slicer({kSlice, 256, 64}), ingest(options(), slicer, states) {
    now = at;
    std::vector<model::SliceColumn> columns;
    for (SliceIndex s = slice_of(trace(kRunBegin), kSlice);; ++s) {
      const auto* c = old.slicer.column(s);
      if (c == nullptr) break;
      columns.push_back(*c);
    }
    std::vector<slicer::LeafState> leaf_states;
    for (std::uint32_t l = 0; l < old.slicer.leaf_count(); ++l)
      leaf_states.push_back(old.slicer.leaf_state(LeafIndex(l)));
    EXPECT_TRUE(slicer.restore(std::move(columns), old.slicer.next_open(), std::move(leaf_states)));
    std::vector<Source> sources;
    for (const auto& [id, s] : old.ingest.sources()) {
      Source r;
      r.id = id;
      r.owner = s.owner;
      r.speaker = s.speaker;
      r.epoch = s.epoch;
      r.attributes = s.attributes;
      r.states = s.states;
      for (const StateId state : s.states) {
        r.names.push_back(states[state].name);
        r.ends_leaf.push_back(states[state].name == "MPI_Finalize");
      }
      r.clock_offset = s.clock_offset;
      r.goodbye = s.goodbye;
      r.end = s.end;
      r.ended = s.end.has_value();
      r.heard = at;
      for (const auto& [index, stream] : s.streams) {
        Stream& t = r.streams[index];
        t.epoch = stream.epoch;
        t.account = stream.account;
        for (std::uint32_t i = 0; i < old.ingest.leaf_owner().size(); ++i)
          if (old.ingest.leaf_owner()[i] == std::pair(id, index)) t.leaf = LeafIndex(i);
        t.covered = slicer.leaf_state(t.leaf).position;
      }
      sources.push_back(std::move(r));
    }
    ingest.restore(std::move(sources), old.ingest.leaves(), old.ingest.leaf_owner(), {},
                   old.ingest.leaf_keepers());
  }
  Rig(const Rig&) = delete;

  void receive(const wire::ToCollector& m, const std::string& agent = "agent",
               const std::string& owner = kLocalOwner) {
    ingest.receive(m.SerializeAsString(), agent, now, owner);
  }
  // All of these, at that time.
  void receive_at(TimeNs t, std::initializer_list<wire::ToCollector> messages) {
    now = t;
    for (const wire::ToCollector& m : messages) receive(m);
  }
  const Account& account(std::uint64_t source = 1, std::uint32_t stream = 0) const {
    return ingest.sources().at(SourceId(source)).streams.at(stream).account;
  }
  // Everything said to the agent since the last call.
  wire::ToAgent reply(const std::string& agent = "agent") {
    wire::ToAgent out;
    for (auto& [to, message] : ingest.take_replies(now))
      if (to == agent) out = message;
    return out;
  }
  ReferenceCells cells(LeafIndex leaf, TimeNs end) const {
    ReferenceCells out;
    for (SliceIndex s = slice_of(trace(kRunBegin), kSlice); slice_begin(s, kSlice) < end; ++s) {
      const auto* c = slicer.column(s);
      if (c == nullptr || leaf.value >= c->leaves()) continue;
      for (std::uint16_t x = 0; x < c->states(); ++x) {
        const margay::test::ReferenceCell cell{c->duration_ns(leaf)[x], c->longest_ns(leaf)[x],
                                               c->visits(leaf)[x]};
        if (cell != margay::test::ReferenceCell{}) out[{s.value, x}] = cell;
      }
    }
    return out;
  }
};

// One source with one or more streams of records, and the messages that tell of them.
struct FakeSource {
  std::uint64_t id = 1;
  std::uint32_t epoch = 0;  // another one is another agent
  std::map<std::string, std::string> attributes = {
      {"host", "n1"}, {"rank", "0"}, {"pid", "100"}, {"boot_id", "boot"}};
  std::vector<std::pair<std::string, std::uint32_t>> names = {{"Compute", wire::FAMILY_COMPUTE},
                                                              {"MPI_Send", wire::FAMILY_POINT_TO_POINT},
                                                              {"MPI_Recv", wire::FAMILY_POINT_TO_POINT},
                                                              {"MPI_Finalize", wire::FAMILY_START_END},
                                                              {"solve", wire::FAMILY_REGION}};
  std::vector<EventRecord> records;

  void add(std::uint8_t kind, std::uint16_t state, TimeNs host, std::uint64_t bytes = 0) {
    records.push_back({host.value, bytes, MARGAY_NO_PEER, MARGAY_NO_TAG, 0, state, kind, 0});
  }
  wire::ToCollector message() const {
    wire::ToCollector m;
    m.set_version(wire::kWireVersion);
    m.set_run("r");
    m.set_agent(9 + epoch);
    return m;
  }
  wire::ToCollector hello() const {
    wire::ToCollector m = message();
    auto* h = m.mutable_hello();
    h->set_source(id);
    h->set_epoch(epoch);
    for (const auto& [k, v] : attributes) (*h->mutable_attributes())[k] = v;
    for (const auto& [name, family] : names) {
      auto* n = h->add_names();
      n->set_name(name);
      n->set_family(family);
    }
    return m;
  }
  // Records [first, first + count), covered up to the next one (or `covered`).
  wire::ToCollector batch(std::size_t first, std::size_t count, std::optional<TimeNs> covered = {},
                          std::uint32_t stream = 0) const {
    wire::ToCollector m = message();
    auto* b = m.add_batches();
    b->set_source(id);
    b->set_epoch(epoch);
    b->set_stream(stream);
    b->set_first(first);
    b->set_count(static_cast<std::uint32_t>(count));
    if (count > 0) wire::encode_columns(std::span(records).subspan(first, count), *b->mutable_columns());
    if (!covered && !records.empty())
      covered =
          TimeNs(first + count < records.size() ? records[first + count].time_ns : records.back().time_ns);
    b->set_covered_until_ns(covered.value_or(TimeNs()).value);
    b->set_produced(records.size());
    b->set_recorded(records.size());
    return m;
  }
  wire::ToCollector goodbye(TimeNs end, bool with_stream = true) const {
    wire::ToCollector m = message();
    auto* g = m.mutable_goodbye();
    g->set_source(id);
    g->set_epoch(epoch);
    g->set_reason(wire::Goodbye::FINALIZED);
    g->set_end_ns(end.value);
    if (with_stream) {
      auto* t = g->add_streams();
      t->set_produced(records.size());
      t->set_recorded(records.size());
    }
    return m;
  }
  // The same as the reference takes it.
  std::vector<ReferenceEvent> reference(const Rig& rig) const {
    std::vector<ReferenceEvent> out;
    for (const EventRecord& r : records) {
      const TimeNs t = trace(TimeNs(r.time_ns));
      const StateId state = rig.ingest.sources().at(SourceId(id)).states[r.state];
      if (r.kind == MARGAY_ENTER) out.push_back({ReferenceEvent::kEnter, state, t});
      if (r.kind == MARGAY_LEAVE) out.push_back({ReferenceEvent::kLeave, state, t});
      if (r.kind == MARGAY_LEAVE && r.state == kFinalize) out.push_back({ReferenceEvent::kEnd, state, t});
    }
    return out;
  }
  // A rank's life: `calls` nested calls from `begin` on, and MPI_Finalize.
  void live(std::mt19937& random, std::size_t calls, TimeNs begin, DurationNs mean = milliseconds(7)) {
    TimeNs t = begin;
    std::exponential_distribution<double> step(1.0 / static_cast<double>(mean.value));
    std::vector<std::uint16_t> open;
    const auto advance = [&] { t = t + DurationNs(static_cast<std::int64_t>(step(random)) + 1); };
    for (std::size_t i = 0; i < calls; ++i) {
      advance();
      if (!open.empty() && (open.size() >= 3 || random() % 3 != 0)) {
        add(MARGAY_LEAVE, open.back(), t);
        open.pop_back();
      } else {
        open.push_back(random() % 2 == 0 ? kSend : kRecv);
        add(MARGAY_ENTER, open.back(), t);
      }
    }
    for (; !open.empty(); open.pop_back()) {
      advance();
      add(MARGAY_LEAVE, open.back(), t);
    }
    advance();
    add(MARGAY_ENTER, kFinalize, t);
    advance();
    add(MARGAY_LEAVE, kFinalize, t);
  }
  TimeNs end() const { return TimeNs(records.back().time_ns); }
};

// Nanoseconds that the leaf has spent in the state.
inline std::int64_t total(const Rig& rig, StateId state, LeafIndex leaf = LeafIndex(0)) {
  std::int64_t sum = 0;
  for (const auto& [key, cell] : rig.cells(leaf, trace(at(60'000))))
    if (key.second == state.value) sum += cell.duration_ns;
  return sum;
}

// Events that the slices say were lost.
inline std::uint64_t lost(const Rig& rig) {
  std::uint64_t sum = 0;
  for (SliceIndex s = slice_of(trace(kRunBegin), kSlice); rig.slicer.column(s) != nullptr; ++s)
    sum += rig.slicer.column(s)->lost_events;
  return sum;
}

// Four records: MPI_Send 10..30 ms, MPI_Recv 250..420 ms.
inline FakeSource two_calls() {
  FakeSource s;
  s.add(MARGAY_ENTER, kSend, at(10));
  s.add(MARGAY_LEAVE, kSend, at(30));
  s.add(MARGAY_ENTER, kRecv, at(250));
  s.add(MARGAY_LEAVE, kRecv, at(420));
  return s;
}

}  // namespace margay::ingest::test
