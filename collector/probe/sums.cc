// Adding up, and making records of it (sums.h).
#include "margay/probe/sums.h"

#include "margay/probe/ring.h"

namespace margay::probe {
namespace {

constexpr std::uint32_t kWorld = 0;  // its number, whosever MPI it is

// Of pieces: so that a state more can always be entered.
constexpr std::uint32_t kDeepestPiece = kMostOpen - 1;

template <class T>
void grow(Shared<T>& to, T by) {
  to = static_cast<T>(to + by);
}

// What the innermost state was entered with; of one that is resumed nothing is known any more.
void post(SumTable& t, const margay_record& r) {
  const bool entered = r.kind == MARGAY_ENTER;
  t.posted_bytes = entered ? r.bytes : 0;
  t.posted_peer = entered ? r.peer : MARGAY_NO_PEER;
  t.posted_tag = entered ? r.tag : MARGAY_NO_TAG;
  t.posted_comm = entered ? r.comm : 0;
}

}  // namespace

std::uint32_t piece_records(const SumTable& table, margay_record* out) {
  std::uint32_t n = 0;
  std::int64_t t = table.begin_ns;
  const std::uint32_t entries = table.entries < kMostSums ? table.entries : kMostSums;
  for (std::uint32_t i = 0; i < entries; ++i) {
    const SumEntry& e = table.entry[i];
    const auto state = static_cast<std::uint16_t>(table.state[i]);
    t = static_cast<std::int64_t>(static_cast<std::uint64_t>(t) + static_cast<std::uint64_t>(e.duration_ns));
    if (e.visits != 0 || e.duration_ns != 0)
      out[n++] = {t, static_cast<std::uint64_t>(e.longest_ns), e.peer, e.tag, e.visits, state, MARGAY_SUM, 0};
    if (e.entered != 0 || e.messages != 0)
      out[n++] = {t,         e.bytes, MARGAY_NO_PEER,   static_cast<std::int32_t>(e.messages),
                  e.entered, state,   MARGAY_SUM_MOVED, 0};
  }
  if (t < table.until_ns) t = table.until_ns;  // of a thread that was killed while it added
  const std::uint32_t depth = table.depth < kMostOpen ? table.depth : kMostOpen;
  out[n++] = {t, 0, MARGAY_NO_PEER, MARGAY_NO_TAG, 0, 0, MARGAY_SUM_OPEN, 0};
  for (std::uint32_t i = 0; i < depth; ++i) {
    if (i > 0) out[n++] = {t, 0, MARGAY_NO_PEER, MARGAY_NO_TAG, 0, 0, MARGAY_SUM_INSIDE, 0};
    out[n - 1].state = table.open[i];
  }
  if (depth > 0) {
    out[n - 1].bytes = table.posted_bytes;
    out[n - 1].peer = table.posted_peer;
    out[n - 1].tag = table.posted_tag;
    out[n - 1].comm = table.posted_comm;
  }
  return n;
}

void SumWriter::begin(const margay_record& r, std::int64_t t, const std::uint16_t* open,
                      std::uint32_t depth) {
  if (table_ == nullptr || depth >= kDeepestPiece) return;
  // Behind a record of another kind a visit goes on that began before it.
  if (r.kind != MARGAY_ENTER && r.kind != MARGAY_LEAVE) return;
  if (r.kind == MARGAY_LEAVE && (depth == 0 || open[depth - 1] != r.state)) return;
  const std::int64_t end = slice_end_of(*header_, t);
  if (end <= t) return;
  SumTable& table = *table_;
  for (std::uint32_t i = 0; i < depth; ++i) table.open[i] = open[i];
  if (r.kind == MARGAY_ENTER) table.open[depth] = r.state;
  table.depth = static_cast<std::uint16_t>(r.kind == MARGAY_ENTER ? depth + 1 : depth - 1);
  table.entries = 0;
  for (std::uint32_t i = 0; i <= table.depth; ++i) place_[i] = kNowhere;
  table.begin_ns = t;
  table.until_ns = t;
  table.end_ns = end;
  post(table, r);
  table.generation.store(table.generation.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  active_ = true;
}

std::uint8_t SumWriter::place_of(std::uint16_t state) {
  SumTable& table = *table_;
  const std::uint32_t entries = table.entries;
  for (std::uint32_t i = 0; i < entries; ++i)
    if (table.state[i] == state) return static_cast<std::uint8_t>(i);
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
  table.state[entries] = state;
  table.entries = static_cast<std::uint16_t>(entries + 1);
  return static_cast<std::uint8_t>(entries);
}

bool SumWriter::add(const margay_record& r, std::int64_t t) {
  SumTable& table = *table_;
  const std::uint32_t depth = table.depth;
  const std::uint16_t top = depth == 0 ? std::uint16_t{0} : table.open[depth - 1];
  const bool enters = r.kind == MARGAY_ENTER;
  if (t >= table.end_ns || t < table.until_ns) return false;
  if (enters ? depth >= kDeepestPiece : r.kind != MARGAY_LEAVE || depth == 0 || top != r.state) return false;
  // An entry too many has nothing in it, and becomes no record.
  std::uint8_t& place = place_[depth];
  if (place == kNowhere && (place = place_of(top)) == kNowhere) return false;
  SumEntry* const visited = &table.entry[place];
  SumEntry* entered = visited;
  if (enters) {
    // Programs that poll enter the same again and again.
    if (entered_ >= table.entries || table.state[entered_] != r.state) {
      const std::uint8_t found = place_of(r.state);
      if (found == kNowhere) return false;
      entered_ = found;
    }
    place_[depth + 1] = entered_;
    entered = &table.entry[entered_];
  }

  const std::int64_t length = t - table.until_ns;
  grow(visited->duration_ns, length);
  grow(visited->visits, 1u);
  if (length > visited->longest_ns) {
    const bool told = r.peer != MARGAY_NO_PEER && !enters;
    const std::uint32_t comm = told ? r.comm : std::uint32_t{table.posted_comm};
    visited->longest_ns = length;
    visited->peer = comm != kWorld ? MARGAY_NO_PEER : told ? r.peer : std::int32_t{table.posted_peer};
    visited->tag = told ? r.tag : std::int32_t{table.posted_tag};
  }
  if (enters) {
    grow(entered->entered, 1u);
    table.open[depth] = r.state;
    table.depth = static_cast<std::uint16_t>(depth + 1);
  } else {
    const std::uint64_t bytes = r.bytes != 0 ? r.bytes : std::uint64_t{table.posted_bytes};
    const bool message = bytes != 0 || r.peer != MARGAY_NO_PEER || table.posted_peer != MARGAY_NO_PEER;
    grow(visited->bytes, bytes);
    grow(visited->messages, message ? 1u : 0u);
    table.depth = static_cast<std::uint16_t>(depth - 1);
  }
  post(table, r);
  table.until_ns = t;
  constexpr auto relaxed = std::memory_order_relaxed;
  table.held.store(table.held.load(relaxed) + 1, relaxed);
  table.summed.store(table.summed.load(relaxed) + 1, std::memory_order_release);
  return true;
}

void SumWriter::end() {
  // Whoever sees that nothing is held sees the records in the ring.
  table_->held.store(0, std::memory_order_release);
  active_ = false;
}

void RingWriter::publish_sums() {
  const SumTable& table = *sums_.table();
  if (table.held.load(std::memory_order_relaxed) != 0) {
    margay_record records[kMostPieceRecords];
    const std::uint32_t n = piece_records(table, records);
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
}

// Once a slice.
void RingWriter::publish_and_put(const margay_record& r, std::int64_t time_ns, const std::uint16_t* open,
                                 std::uint32_t depth, As as) {
  constexpr auto relaxed = std::memory_order_relaxed;
  if (sums_.active()) publish_sums();
  put(r, time_ns, open, depth);
  const bool wanted = control_->sum.load(relaxed) != 0 && as == As::kUsual;
  if (wanted && control_->lost.load(relaxed) == 0) sums_.begin(r, time_ns, open, depth);
}

void RingWriter::flush() {
  if (control_ == nullptr || !sums_.active()) return;
  control_->pending.store(1, std::memory_order_relaxed);
  order_pending_before_clock();
  publish_sums();
  control_->pending.store(0, std::memory_order_release);
}

}  // namespace margay::probe
