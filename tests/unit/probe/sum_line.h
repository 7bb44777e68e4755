// A thread that may sum, the agent at the other end of its ring, and the cells that come of what it drains.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "../node/fake_segment.h"
#include "margay/node/segment_reader.h"
#include "margay/slicer/slicer.h"
#include "margay/slicer/take_record.h"

namespace margay::node {

inline constexpr DurationNs kSlice = milliseconds(10);
inline constexpr TimeNs kBegin(1'000'000'000'000);
inline constexpr LeafIndex kLeaf(0);

// A thread with its ring, and the agent at the other end.
struct Line {
  explicit Line(std::uint64_t capacity = 4096)
      : header(std::make_unique<probe::SegmentHeader>()),
        slots(capacity),
        reader(&control(), slots.data(), capacity, &table()) {
    header->slice_ns = kSlice.value;
    header->slice_origin_ns = kBegin.value % kSlice.value;
    writer.bind(&control(), slots.data(), capacity, &table(), header.get());
  }
  probe::RingControl& control() { return header->rings[0].control; }
  probe::SumTable& table() { return header->rings[0].sums; }

  // The stack is kept as the probe's Thread does.
  void event(const margay_record& r, std::int64_t t) {
    const auto now = [=] { return t; };
    const auto depth = static_cast<std::uint32_t>(open.size());
    const probe::CallArguments arguments{probe::CallArguments::both(r.peer, r.tag), r.comm, r.bytes};
    if (r.kind == MARGAY_ENTER)
      writer.call<MARGAY_ENTER>(r.state, arguments, open.data(), depth, now);
    else if (r.kind == MARGAY_LEAVE)
      writer.call<MARGAY_LEAVE>(r.state, arguments, open.data(), depth, now);
    else
      writer.write(r, open.data(), depth, now);
    if (r.kind == MARGAY_ENTER) open.push_back(r.state);
    if (r.kind == MARGAY_LEAVE) open.pop_back();
  }
  struct Drained {
    std::vector<EventRecord> records;
    TimeNs covered;
    std::uint64_t first;
  };
  Drained drain(TimeNs now, bool last = false) {
    auto look = reader.look(now);
    EXPECT_TRUE(look);
    Drained out{{}, {}, reader.tail()};
    reader.take(*look, SIZE_MAX, out.records);
    reader.take_sums(*look, last, out.records);
    out.covered = reader.covered_until(*look);
    return out;
  }
  bool balanced() { return control().produced.load() == control().dropped.load() + control().head.load(); }

  std::unique_ptr<probe::SegmentHeader> header;
  std::vector<margay_record> slots;
  std::vector<std::uint16_t> open;
  probe::RingWriter writer;
  RingReader reader;
};

// As the collector does it (ingest/record_taker.cc).
inline void tell(slicer::Slicer& s, const EventRecord& r) {
  const TimeNs t(r.time_ns);
  const StateId state = r.state == 0 ? kCompute : StateId(static_cast<std::uint16_t>(r.state + 10));
  slicer::take_record(s, kLeaf, state, t, r);
}

inline margay_record call(std::uint8_t kind, int state, std::uint64_t bytes = 0,
                          std::int32_t peer = MARGAY_NO_PEER, std::uint32_t comm = 0) {
  return {0, bytes, peer, peer < 0 ? MARGAY_NO_TAG : 7, comm, static_cast<std::uint16_t>(state), kind, 0};
}

// Columns may have room for more states than have come.
inline void expect_same(model::SliceColumn a, model::SliceColumn b) {
  SCOPED_TRACE("slice " + std::to_string(a.index.value));
  const std::uint32_t states = std::max(a.states(), b.states());
  a.resize(1, states);
  b.resize(1, states);
  const auto list = [](const auto& span) { return std::vector(span.begin(), span.end()); };
  EXPECT_EQ(list(a.duration_ns(kLeaf)), list(b.duration_ns(kLeaf)));
  EXPECT_EQ(list(a.longest_ns(kLeaf)), list(b.longest_ns(kLeaf)));
  EXPECT_EQ(list(a.visits(kLeaf)), list(b.visits(kLeaf)));
  EXPECT_EQ(list(a.measured(kLeaf)), list(b.measured(kLeaf)));
  EXPECT_EQ(a.open(kLeaf), b.open(kLeaf));
  ASSERT_EQ(a, b);
}

}  // namespace margay::node
