// A conversation of hostile agents with an ingest and its slicer, as the daemon leads it
// (daemon/live/ingest_stage.cc), without sockets and with the time told by the input.
//   input: frames  u8 agent and acts, u16 ms that pass (below kLong modulo 2000), piece ToCollector
//          acts: 0x10 a cut is made and committed, 0x20 the run is finished, 0x40 catching up
#pragma once

#include <map>
#include <vector>

#include "fuzz.h"
#include "margay/ingest/ingest.h"
#include "margay/slicer/slicer.h"

namespace margay::fuzz {

inline constexpr DurationNs kSlice = milliseconds(100);
inline constexpr DurationNs kOffset = seconds(1'000'000);  // trace time less host time
inline constexpr TimeNs kRunBegin{5'000'000'000};          // host time
inline constexpr std::size_t kFrameHead = 3;
inline constexpr unsigned kLong = 0xf000;

inline ingest::Options ingest_options() {
  ingest::Options o;
  o.run = "r";
  o.boot_id = "boot";
  o.clock_offset = kOffset;
  o.instance = 7;
  o.limits.sources = 8;
  o.limits.streams_per_source = 4;
  o.limits.leaves = 16;
  o.limits.states = 24;
  o.limits.names_per_source = 32;
  o.limits.records_per_message = 20'000;  // a message's cost, not its size, is what is bounded here
  return o;
}

struct Conversation {
  model::StateTable states;
  slicer::Slicer slicer{{kSlice, 64, 64}};
  ingest::Ingest ingest{ingest_options(), slicer, states};
  TimeNs now = kRunBegin;
  SliceIndex open_before{};  // the first open slice before the last closing

  Conversation() {
    slicer.start(kRunBegin + kOffset);
    open_before = slicer.next_open();
    ingest.keep_raw(1 << 20);
  }

  // The next frame of `in`; calls closed(column) for each slice that closes, amended(column) for each that
  // was closed and has changed, and cut() when a cut is made.
  template <class Closed, class Amended, class Cut>
  void step(Input& in, Closed&& closed, Amended&& amended, Cut&& cut) {
    const unsigned acts = in.u8();
    const unsigned ms = in.u16();
    now = now +
          milliseconds(ms >= kLong ? 11'000 : ms % 2'000);  // now and then longer than a gap is waited for
    ingest.receive(in.piece(), "agent" + std::to_string(acts & 7u), now);
    if (acts & 0x40u) ingest.catch_up(now + seconds(1));
    ingest.tick(now);
    if (acts & 0x20u) ingest.finish();
    slicer.set_region(ingest.region());
    const TimeNs watermark = ingest.watermark(now);
    FUZZ_CHECK(watermark <= now + kOffset, "the watermark is not ahead of time");
    const SliceIndex open = slicer.next_open();
    for (const model::SliceColumn* c : slicer.close_through(watermark)) closed(*c);
    if (slicer.next_open() != open) open_before = open;
    for (const SliceIndex s : slicer.take_amended())
      if (const auto* c = slicer.column(s)) amended(*c);
    if (acts & 0x10u) {
      cut();
      ingest.committed(ingest.ack_point());
    }
    check();
  }

  void check() {
    const ingest::Limits limits = ingest_options().limits;
    FUZZ_CHECK(ingest.leaves().size() <= limits.leaves, "leaves are bounded");
    FUZZ_CHECK(ingest.leaves().size() == slicer.leaf_count(), "the slicer knows the same leaves");
    FUZZ_CHECK(ingest.leaf_owner().size() == slicer.leaf_count(), "each leaf has an owner");
    FUZZ_CHECK(states.size() <= limits.states, "states are bounded");
    FUZZ_CHECK(ingest.sources().size() <= limits.sources, "sources are bounded");
    // Amendable ones, those that were open before the last closing, and what may lie ahead.
    const std::int64_t last = slice_of(now + kOffset + ingest_options().future, kSlice).value;
    FUZZ_CHECK(static_cast<std::int64_t>(slicer.held()) <= 64 + 2 + last - open_before.value,
               "columns are bounded");
    for (const auto& [id, source] : ingest.sources()) {
      FUZZ_CHECK(source.streams.size() <= limits.streams_per_source, "streams are bounded");
      FUZZ_CHECK(source.states.size() <= limits.names_per_source, "names are bounded");
      for (const StateId s : source.states) FUZZ_CHECK(s.value < states.size(), "a state of the table");
      for (const auto& [index, stream] : source.streams) {
        const ingest::Account& a = stream.account;
        FUZZ_CHECK(stream.leaf.value < slicer.leaf_count(), "a leaf that exists");
        FUZZ_CHECK(a.next == a.modelled + a.late_dropped + a.wire_lost + a.rejected,
                   "what the ingest has decided on is in one of its terms");
        // Where the probe's own numbers can be true, the account is balanced.
        if (a.produced == a.probe_dropped + a.recorded && a.recorded >= a.next)
          FUZZ_CHECK(a.balanced(), "the account is balanced");
      }
    }
    std::size_t bytes = 0;
    for (const auto& [agent, reply] : ingest.take_replies({})) {
      bytes += reply.ByteSizeLong();
      wire::ToAgent back;
      FUZZ_CHECK(back.ParseFromString(reply.SerializeAsString()), "an agent can read its reply");
    }
    FUZZ_CHECK(bytes <= 64 * 1024, "replies are bounded");
  }
};

// Rows of a closed slice sum to the slice, and no cell is negative.
inline void check_column(const model::SliceColumn& c) {
  for (std::uint32_t l = 0; l < c.leaves(); ++l) {
    const LeafIndex leaf(l);
    std::int64_t sum = 0;
    for (std::uint32_t x = 0; x < c.states(); ++x) {
      FUZZ_CHECK(c.duration_ns(leaf)[x] >= 0 && c.duration_ns(leaf)[x] <= kSlice.value,
                 "a cell is part of the slice");
      FUZZ_CHECK(c.longest_ns(leaf)[x] >= 0, "no visit is negative");
      sum += c.duration_ns(leaf)[x];
    }
    if (sum != kSlice.value)
      std::fprintf(stderr, "slice %lld leaf %u: %lld ns\n", static_cast<long long>(c.index.value), l,
                   static_cast<long long>(sum));
    FUZZ_CHECK(sum == kSlice.value, "a row sums to the slice");
  }
}

}  // namespace margay::fuzz
