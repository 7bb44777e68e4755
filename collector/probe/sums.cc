// Adding up, and making records of it (sums.h).
#include "margay/probe/sums.h"

#include "margay/probe/ring.h"

namespace margay::probe {
namespace {

constexpr std::uint16_t kNoState = 0xffff;
constexpr std::uint32_t kWorld = 0;  // its number, whosever MPI it is

}  // namespace

SumPiece::SumPiece(const SumTable& table)
    : begin_ns(table.begin_ns),
      until_ns(table.until_ns),
      posted_bytes(table.posted_bytes),
      posted_who(table.posted_who),
      posted_comm(table.posted_comm),
      entries(table.entries.bounded()),
      depth(table.depth.bounded()) {
  for (std::uint32_t i = 0; i < depth; ++i) open[i] = table.open[i];
  for (std::uint32_t i = 0; i < entries; ++i) {
    const SumEntry& e = table.entry[i];
    entry[i] = {e.duration_ns, e.longest_ns, e.bytes, e.visits,      e.entered,
                e.messages,    e.peer,       e.tag,   table.state[i]};
  }
}

std::uint32_t piece_records(const SumPiece& piece, margay_record* out) {
  std::uint32_t n = 0;
  std::int64_t t = piece.begin_ns;
  for (std::uint32_t i = 0; i < piece.entries; ++i) {
    const SumPiece::Entry& e = piece.entry[i];
    t = static_cast<std::int64_t>(static_cast<std::uint64_t>(t) + static_cast<std::uint64_t>(e.duration_ns));
    if (e.visits != 0 || e.duration_ns != 0)
      out[n++] = {t, static_cast<std::uint64_t>(e.longest_ns), e.peer, e.tag, e.visits, e.state, MARGAY_SUM,
                  0};
    if (e.entered != 0 || e.messages != 0)
      out[n++] = {t,         e.bytes, MARGAY_NO_PEER,   static_cast<std::int32_t>(e.messages),
                  e.entered, e.state, MARGAY_SUM_MOVED, 0};
  }
  if (t < piece.until_ns) t = piece.until_ns;  // of a thread that was killed while it added
  out[n++] = {t, 0, MARGAY_NO_PEER, MARGAY_NO_TAG, 0, 0, MARGAY_SUM_OPEN, 0};
  for (std::uint32_t i = 0; i < piece.depth; ++i) {
    if (i > 0) out[n++] = {t, 0, MARGAY_NO_PEER, MARGAY_NO_TAG, 0, 0, MARGAY_SUM_INSIDE, 0};
    out[n - 1].state = piece.open[i];
  }
  if (piece.depth > 0) {
    out[n - 1].bytes = piece.posted_bytes;
    out[n - 1].peer = CallArguments::peer_of(piece.posted_who);
    out[n - 1].tag = CallArguments::tag_of(piece.posted_who);
    out[n - 1].comm = piece.posted_comm;
  }
  return n;
}

bool SumWriter::begin(const margay_record& r, std::int64_t t, const std::uint16_t* open,
                      std::uint32_t depth) {
  if (table_ == nullptr || depth >= kDeepestPiece) return false;
  // Behind a record of another kind a visit goes on that began before it.
  if (r.kind != MARGAY_ENTER && r.kind != MARGAY_LEAVE) return false;
  if (r.kind == MARGAY_LEAVE && (depth == 0 || open[depth - 1] != r.state)) return false;
  const std::int64_t end = slice_end_of(*header_, t);
  if (end <= t) return false;
  SumTable& table = *table_;
  for (std::uint32_t i = 0; i < depth; ++i) table.open[i] = open[i];
  if (r.kind == MARGAY_ENTER) table.open[depth] = r.state;
  const std::uint32_t within = r.kind == MARGAY_ENTER ? depth + 1 : depth - 1;
  table.depth = static_cast<std::uint16_t>(within);
  table.entries = 0;
  for (std::uint8_t& place : table.place) place = kNowhere;
  for (std::uint8_t& place : table.found) place = 0;
  table.entry[0].state = kNoState;
  table.begin_ns = t;
  table.until_ns = t;
  table.end_ns = end;
  post(table, r.kind == MARGAY_ENTER ? CallArguments{CallArguments::both(r.peer, r.tag), r.comm, r.bytes}
                                     : CallArguments{});
  table.generation.store(table.generation.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  return true;
}

std::uint8_t SumWriter::place_of(SumTable& table, std::uint16_t state) {
  const std::uint32_t entries = table.entries.own();
  for (std::uint32_t i = 0; i < entries; ++i)
    if (table.state[i] == state) return static_cast<std::uint8_t>(i);
  return new_place(table, state);
}

std::uint8_t SumWriter::new_place(SumTable& table, std::uint16_t state) {
  const std::uint32_t entries = table.entries.own();
  if (entries == kMostSums) return kNowhere;
  SumEntry& e = table.entry[entries];
  e.duration_ns = 0;
  e.longest_ns = 0;
  e.bytes = 0;
  e.visits = 0;
  e.entered = 0;
  e.messages = 0;
  e.peer = MARGAY_NO_PEER;
  e.tag = MARGAY_NO_TAG;
  e.state = state;
  table.state[entries] = state;
  table.entries = static_cast<std::uint16_t>(entries + 1);
  return static_cast<std::uint8_t>(entries);
}

std::uint8_t SumWriter::place_of_open(SumTable& table, std::uint32_t depth) {
  return table.place[depth] =
             place_of(table, depth == 0 ? std::uint16_t{0} : std::uint16_t{table.open[depth - 1]});
}

void SumWriter::longest(SumEntry& e, std::int64_t length, std::uint64_t who, std::uint32_t comm) {
  e.longest_ns = length;
  e.peer = comm != kWorld ? MARGAY_NO_PEER : CallArguments::peer_of(who);
  e.tag = CallArguments::tag_of(who);
}

void SumWriter::end() {
  // Whoever sees that nothing is held sees the records in the ring.
  table_->held.store(0, std::memory_order_release);
}

bool RingWriter::look_for_room(std::uint64_t head, std::uint64_t need) {
  tail_seen_ = control_->tail.load(std::memory_order_acquire);
  const std::uint64_t filled = head + need - tail_seen_;
  if (filled > capacity_ / 2 && sums_.may_begin() && capacity_ / 2 >= 2 * kMostPieceRecords)
    control_->sum.store(1, std::memory_order_relaxed);
  return filled <= capacity_;
}

void RingWriter::publish_sums() {
  const SumTable& table = *sums_.table();
  if (table.held.load(std::memory_order_relaxed) != 0) {
    margay_record records[kMostPieceRecords];
    const std::uint32_t n = piece_records(SumPiece(table), records);
    const std::uint64_t head = control_->head.load(std::memory_order_relaxed);
    if (has_room(head, n)) {
      for (std::uint32_t i = 0; i < n; ++i) slots_[(head + i) & (capacity_ - 1)] = records[i];
      control_->head.store(head + n, std::memory_order_release);
      control_->produced.store(control_->produced.load(std::memory_order_relaxed) + n,
                               std::memory_order_relaxed);
    } else {
      drop(n);
    }
  }
  sums_.end();
  control_->summing.store(0, std::memory_order_relaxed);
}

void RingWriter::write_alone(std::uint32_t what, std::int64_t time_ns, std::uint64_t who, std::uint32_t comm,
                             std::uint64_t bytes, const std::uint16_t* open, std::uint32_t depth) {
  constexpr auto relaxed = std::memory_order_relaxed;
  if (control_->sum.load(relaxed) == 0 && control_->summing.load(relaxed) == 0)
    return put(what, time_ns, who, comm, bytes, open, depth);
  publish_and_put({0, bytes, CallArguments::peer_of(who), CallArguments::tag_of(who), comm,
                   static_cast<std::uint16_t>(what & UINT16_MAX), static_cast<std::uint8_t>(what >> 16), 0},
                  time_ns, open, depth, As::kUsual);
}

// Once a slice.
void RingWriter::publish_and_put(const margay_record& r, std::int64_t time_ns, const std::uint16_t* open,
                                 std::uint32_t depth, As as) {
  constexpr auto relaxed = std::memory_order_relaxed;
  if (control_->summing.load(relaxed) != 0) publish_sums();
  put(what(r.state, r.kind), time_ns, CallArguments::both(r.peer, r.tag), r.comm, r.bytes, open, depth);
  const bool wanted = control_->sum.load(relaxed) != 0 && as == As::kUsual;
  if (wanted && control_->lost.load(relaxed) == 0 && sums_.begin(r, time_ns, open, depth))
    control_->summing.store(1, relaxed);
}

void RingWriter::flush() {
  if (control_ == nullptr || control_->summing.load(std::memory_order_relaxed) == 0) return;
  control_->pending.store(1, std::memory_order_relaxed);
  order_pending_before_clock();
  publish_sums();
  control_->pending.store(0, std::memory_order_release);
}

}  // namespace margay::probe
