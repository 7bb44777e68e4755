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
// Thread safety: SumWriter belongs to the producer. Cost: some fifteen stores to four cache lines, and a
// search among the states of the piece where one is not where it was found last; no allocation, no system
// call.
#pragma once

#include <cstdint>

#include "margay/base/record.h"
#include "margay/probe/segment.h"

namespace margay::probe {

// Records that one piece can become: two for each state, and what is open.
inline constexpr std::uint32_t kMostPieceRecords = 2 * kMostSums + kMostOpen;
static_assert(kMostPieceRecords + 2 + kMostOpen < 2 * kLeastRingRecords);

// A piece as it stood when it was copied. Another process may write to the table meanwhile, so each word is
// read once, and lengths are within their bounds in the copy; whether the words hold together is for the
// caller to find out. Nothing else is made of a table: piece_records() takes none. Cost: up to 1.5 KiB read.
struct SumPiece {
  explicit SumPiece(const SumTable& table);
  struct Entry {
    std::int64_t duration_ns, longest_ns;
    std::uint64_t bytes;
    std::uint32_t visits, entered, messages;
    std::int32_t peer, tag;
    std::uint16_t state;
  };
  std::int64_t begin_ns, until_ns;
  std::uint64_t posted_bytes, posted_who;
  std::uint32_t posted_comm;
  std::uint32_t entries;  // at most kMostSums
  std::uint32_t depth;    // at most kMostOpen
  std::uint16_t open[kMostOpen];
  Entry entry[kMostSums];
};

// The piece as records, in order of time, the last at the piece's last event; how many, at most
// kMostPieceRecords, for which `out` has room. Of a table that somebody has spoilt it makes records without
// sense, but nothing worse.
std::uint32_t piece_records(const SumPiece& piece, margay_record* out);

// What a call was given beside its function, as far as a record has it. `who`: the peer in the low half, the
// tag in the high half; negative ones mean none.
struct CallArguments {
  std::uint64_t who = ~std::uint64_t{0};
  std::uint32_t comm = 0;
  std::uint64_t bytes = 0;

  [[gnu::always_inline]] static constexpr std::uint64_t both(std::int32_t peer, std::int32_t tag) {
    return static_cast<std::uint32_t>(peer) | std::uint64_t{static_cast<std::uint32_t>(tag)} << 32;
  }
  static constexpr std::int32_t peer_of(std::uint64_t who) {
    const auto peer = static_cast<std::int32_t>(who & UINT32_MAX);
    return peer < 0 ? MARGAY_NO_PEER : peer;
  }
  static constexpr std::int32_t tag_of(std::uint64_t who) {
    const auto tag = static_cast<std::int32_t>(who >> 32);
    return tag < 0 ? MARGAY_NO_TAG : tag;
  }
  static constexpr bool has_peer(std::uint64_t who) {
    return static_cast<std::int32_t>(who & UINT32_MAX) >= 0;
  }
  constexpr bool has_peer() const { return has_peer(who); }
};

class SumWriter {
 public:
  // REQUIRES: nothing is held in the table.
  void bind(SumTable* table, const SegmentHeader* header) {
    table_ = table;
    header_ = header;
  }
  SumTable* table() const { return table_; }

  // Somebody has told what slices are: it is allowed to sum.
  bool may_begin() const {
    return table_ != nullptr && header_ != nullptr && header_->slice_ns.load(std::memory_order_relaxed) > 0;
  }

  // A piece begins behind the record `r` of time `t`, if it may: `open[0, depth)` were open before it. Not
  // (false) where nobody has told what slices are, or where the states that are open then are not known for
  // certain.
  bool begin(const margay_record& r, std::int64_t t, const std::uint16_t* open, std::uint32_t depth);

  // Adds to the piece that a state is entered, or the innermost left. False if it cannot be part of it: it
  // lies beyond the slice, or is not the innermost, or there is no room for another state.
  [[gnu::always_inline]] bool enter(std::uint16_t state, std::int64_t t, const CallArguments& arguments);
  [[gnu::always_inline]] bool leave(std::uint16_t state, std::int64_t t, const CallArguments& arguments);

  // The piece is published, or given up.
  void end();

 private:
  static constexpr std::uint8_t kNowhere = 0xff;
  // A branch that is not to be taken: a processor that has not seen it for long supposes so, too.
  [[gnu::always_inline]] static bool rare(bool condition) { return __builtin_expect(condition, 0); }
  // Of a state's entry, made if new; kNowhere: there is no room.
  [[gnu::noinline, gnu::hot]] static std::uint8_t place_of(SumTable& table, std::uint16_t state);
  [[gnu::noinline, gnu::cold]] static std::uint8_t new_place(SumTable& table, std::uint16_t state);
  [[gnu::noinline, gnu::cold]] static std::uint8_t place_of_open(SumTable& table, std::uint32_t depth);
  [[gnu::noinline, gnu::hot]] static void longest(SumEntry& e, std::int64_t length, std::uint64_t who,
                                                  std::uint32_t comm);
  // Of the state that is innermost at this depth; null: there is no room for it.
  [[gnu::always_inline]] static SumEntry* innermost(SumTable& table, std::uint32_t depth) {
    std::uint8_t place = table.place[depth];
    if (rare(place == kNowhere) && rare((place = place_of_open(table, depth)) == kNowhere)) return nullptr;
    return &table.entry[place];
  }
  [[gnu::always_inline]] static bool in_slice(const SumTable& table, std::int64_t t) {
    const auto until = static_cast<std::uint64_t>(std::int64_t{table.until_ns});
    return static_cast<std::uint64_t>(t) - until <
           static_cast<std::uint64_t>(std::int64_t{table.end_ns}) - until;
  }
  template <class T>
  [[gnu::always_inline]] static void grow(Shared<T>& to, T by) {
    to = static_cast<T>(to + by);
  }
  // What the innermost state was entered with; of one that is resumed nothing is known any more.
  [[gnu::always_inline]] static void post(SumTable& table, const CallArguments& arguments) {
    table.posted_bytes = arguments.bytes;
    table.posted_who = arguments.who;
    table.posted_comm = arguments.comm;
  }
  [[gnu::always_inline]] static void added(SumTable& table, std::int64_t t) {
    constexpr auto relaxed = std::memory_order_relaxed;
    table.until_ns = t;
    table.held.store(table.held.load(relaxed) + 1, relaxed);
    table.summed.store(table.summed.load(relaxed) + 1, std::memory_order_release);
  }

  SumTable* table_ = nullptr;
  const SegmentHeader* header_ = nullptr;
};

// Pieces are less deep, so that a state more can always be entered.
inline constexpr std::uint32_t kDeepestPiece = kMostOpen - 1;

inline bool SumWriter::enter(std::uint16_t state, std::int64_t t, const CallArguments& arguments) {
  SumTable& table = *table_;
  const std::uint32_t depth = table.depth.own();
  if (rare(!in_slice(table, t)) || rare(depth >= kDeepestPiece)) return false;
  // An entry too many has nothing in it, and becomes no record.
  SumEntry* const outer = innermost(table, depth);
  if (rare(outer == nullptr)) return false;
  std::uint8_t place = table.found[state % kFound];
  if (rare(table.entry[place].state != state)) {
    place = place_of(table, state);
    if (rare(place == kNowhere)) return false;
    table.found[state % kFound] = place;
  }
  table.place[depth + 1] = place;
  grow(table.entry[place].entered, 1u);
  const std::int64_t length = t - table.until_ns;
  grow(outer->duration_ns, length);
  grow(outer->visits, 1u);
  if (rare(length > outer->longest_ns)) longest(*outer, length, table.posted_who, table.posted_comm);
  post(table, arguments);
  table.open[depth] = state;
  table.depth = static_cast<std::uint16_t>(depth + 1);
  added(table, t);
  return true;
}

inline bool SumWriter::leave(std::uint16_t state, std::int64_t t, const CallArguments& arguments) {
  SumTable& table = *table_;
  const std::uint32_t depth = table.depth.own();
  if (rare(!in_slice(table, t)) || rare(depth == 0) || rare(table.open[depth - 1] != state)) return false;
  SumEntry* const visited = innermost(table, depth);
  if (rare(visited == nullptr)) return false;
  const std::int64_t length = t - table.until_ns;
  grow(visited->duration_ns, length);
  grow(visited->visits, 1u);
  const bool anew = arguments.has_peer();
  const std::uint64_t posted = table.posted_who;
  if (rare(length > visited->longest_ns))
    longest(*visited, length, anew ? arguments.who : posted,
            anew ? arguments.comm : std::uint32_t{table.posted_comm});
  const std::uint64_t bytes = arguments.bytes != 0 ? arguments.bytes : std::uint64_t{table.posted_bytes};
  if (bytes != 0 || anew || CallArguments::has_peer(posted)) {
    grow(visited->bytes, bytes);
    grow(visited->messages, 1u);
  }
  post(table, CallArguments{});
  table.depth = static_cast<std::uint16_t>(depth - 1);
  added(table, t);
  return true;
}

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
