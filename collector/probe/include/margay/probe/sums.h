// Sums instead of single calls, for a thread that calls more often than its records are worth (SUMS.md).
//
// Within one slice of the model a thread adds up, for each state, how long it was in it, how often, the
// longest visit, and what moved. It publishes that as a few records (MARGAY_SUM ...) before the first event
// of the next slice, which is a record of its own again. From these records come the same cells as from the
// single ones; only the order within the slice is gone.
//
// A *piece* begins behind a record and ends with the last event that was summed; what is open then is told
// with it, so that a thread that stays in a long call is known to be in it. The thread publishes; but while
// it sleeps in that call the agent may take the piece as it stands, because the thread was asked (`claim`) to
// publish exactly this before it adds anything (SegmentReader).
//
// Thread safety: SumWriter belongs to the producer. Cost: a search among the states of the piece and some ten
// stores; no allocation, no system call.
#pragma once

#include <cstdint>

#include "margay/base/record.h"
#include "margay/probe/segment.h"

namespace margay::probe {

// Records that one piece can become: two for each state, and what is open.
inline constexpr std::uint32_t kMostPieceRecords = 2 * kMostSums + kMostOpen;
static_assert(kMostPieceRecords + 2 + kMostOpen < 2 * kLeastRingRecords);

// The piece as records, in order of time, the last at the piece's last event; how many. `out` has room for
// kMostPieceRecords. Of a table that somebody has spoilt it makes records without sense, but nothing worse.
std::uint32_t piece_records(const SumTable& table, margay_record* out);

class SumWriter {
 public:
  // REQUIRES: nothing is held in the table.
  void bind(SumTable* table, const SegmentHeader* header) {
    table_ = table;
    header_ = header;
  }
  SumTable* table() const { return table_; }
  // A piece is being made.
  bool active() const { return active_; }

  // A piece begins behind the record `r` of time `t`, if it may: `open[0, depth)` were open before it. Not
  // where nobody has told what slices are, or where the states that are open then are not known for certain.
  void begin(const margay_record& r, std::int64_t t, const std::uint16_t* open, std::uint32_t depth);

  // Adds the event to the piece. False if it cannot be part of it: it lies beyond the slice, or is more than
  // entering a state or leaving the innermost, or there is no room for another state.
  [[gnu::hot]] bool add(const margay_record& r, std::int64_t t);

  // The piece is published, or given up.
  void end();

 private:
  static constexpr std::uint8_t kNowhere = 0xff;
  // Of a state's entry, made if new; kNowhere: there is no room.
  [[gnu::noinline, gnu::hot]] std::uint8_t place_of(std::uint16_t state);

  SumTable* table_ = nullptr;
  const SegmentHeader* header_ = nullptr;
  bool active_ = false;
  // Where the entries of the states are that are open, the one outside of all first; kNowhere: not known yet.
  std::uint8_t place_[kMostOpen + 1] = {};
  std::uint8_t entered_ = 0;  // where the one is that was entered last
};

// The end of the slice in which `t` lies; 0 where nobody has told what slices are.
inline std::int64_t slice_end_of(const SegmentHeader& h, std::int64_t t) {
  const std::int64_t slice = h.slice_ns.load(std::memory_order_relaxed);
  const std::int64_t origin = h.slice_origin_ns.load(std::memory_order_relaxed);
  if (slice <= 0) return 0;
  std::int64_t into =
      static_cast<std::int64_t>((static_cast<std::uint64_t>(t) - static_cast<std::uint64_t>(origin)) %
                                static_cast<std::uint64_t>(slice));
  return t + (slice - into);
}

}  // namespace margay::probe
