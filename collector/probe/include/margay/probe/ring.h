// The producer's side of a ring: wait-free, no allocation, no system call but the clock.
//
// Promise to the consumer: records of one ring are in order of time; a LEAVE whose ENTER was dropped never
// follows a record directly: GAP (how many were dropped), STACK (the outermost state open just before) and an
// ENTER for each state inside it stand between. And *covered*: if the consumer reads its clock as W, then
// `pending` as 0, then `head` as h, every record that is not below h will have a time of at least W - kGuard
// (PROBE.md argues why the guard is needed).
//
// Where the consumer asks for it, and once the ring is half full, calls are summed (sums.h) and few records
// are written.
//
// Thread safety: one producer, one consumer. Ownership: the ring is mapped elsewhere and outlives the writer.
// Cost of a record: the clock and about ten stores to two cache lines.
#pragma once

#include <atomic>
#include <cstdint>

#include "margay/base/record.h"
#include "margay/probe/segment.h"
#include "margay/probe/sums.h"

namespace margay::probe {

inline constexpr std::int64_t kGuardNs = 50'000;

// Keeps `pending = 1` before the reading of the clock. On x86 the compiler is stopped and the store buffer is
// covered by the guard; elsewhere a full fence is cheap enough beside the clock.
inline void order_pending_before_clock() {
#if defined(__x86_64__)
  std::atomic_signal_fence(std::memory_order_seq_cst);
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

class RingWriter {
 public:
  // Takes over the ring where its last producer left it. REQUIRES: nobody else produces into it; capacity is
  // a power of two and `slots` has that many.
  // Without a table nothing is summed, whoever asks.
  void bind(RingControl* control, margay_record* slots, std::uint64_t capacity, SumTable* sums = nullptr,
            const SegmentHeader* header = nullptr) {
    control_ = control;
    slots_ = slots;
    capacity_ = capacity;
    tail_seen_ = control->tail.load(std::memory_order_acquire);
    control->summing.store(0, std::memory_order_relaxed);
    sums_ = {};
    sums_.bind(sums, header);
  }
  void unbind() {
    control_ = nullptr;
    sums_ = {};
  }
  bool bound() const { return control_ != nullptr; }
  RingControl* control() const { return control_; }

  // Records `r` at the time `now()` gives; its time_ns is ignored. `open[0, depth)` are the states in which
  // the thread was until now, outermost first, to be told after a gap. `now` must not go backwards.
  // kAlone: it is a record of its own whatever is asked, and what was summed before it is published.
  enum class As : bool { kUsual, kAlone };
  template <class Now>
  [[gnu::always_inline]] void write(const margay_record& r, const std::uint16_t* open, std::uint32_t depth,
                                    Now now, As as = As::kUsual) {
    constexpr auto relaxed = std::memory_order_relaxed;
    RingControl& c = *control_;
    c.pending.store(1, relaxed);
    order_pending_before_clock();
    const std::int64_t t = now();
    const CallArguments arguments{CallArguments::both(r.peer, r.tag), r.comm, r.bytes};
    if (as == As::kAlone)
      publish_and_put(r, t, open, depth, as);
    else if (!(to_sum(c) && (r.kind == MARGAY_ENTER   ? sums_.enter(r.state, t, arguments)
                             : r.kind == MARGAY_LEAVE ? sums_.leave(r.state, t, arguments)
                                                      : false)))
      write_alone(what(r.state, r.kind), t, arguments.who, arguments.comm, arguments.bytes, open, depth);
    c.pending.store(0, std::memory_order_release);
  }
  // The same of a call, in as few cache lines of text as may be (PROBE.md, *Pages*).
  template <std::uint8_t kKind, class Now>
  [[gnu::always_inline]] void call(std::uint16_t state, const CallArguments& arguments,
                                   const std::uint16_t* open, std::uint32_t depth, Now now) {
    static_assert(kKind == MARGAY_ENTER || kKind == MARGAY_LEAVE);
    RingControl& c = *control_;
    c.pending.store(1, std::memory_order_relaxed);
    order_pending_before_clock();
    const std::int64_t t = now();
    if (__builtin_expect(!to_sum(c), 0) ||
        __builtin_expect(
            !(kKind == MARGAY_ENTER ? sums_.enter(state, t, arguments) : sums_.leave(state, t, arguments)),
            0))
      write_alone(what(state, kKind), t, arguments.who, arguments.comm, arguments.bytes, open, depth);
    c.pending.store(0, std::memory_order_release);
  }
  // Publishes what is summed: the thread has come to its end.
  void flush();

 private:
  // A piece is being made, and nobody wants it to be published before anything is added to it.
  [[gnu::always_inline]] bool to_sum(const RingControl& c) const {
    constexpr auto relaxed = std::memory_order_relaxed;
    return __builtin_expect(c.summing.load(relaxed) != 0, 1) &&
           __builtin_expect(c.sum.load(relaxed) != 0, 1) &&
           __builtin_expect(c.claim.load(relaxed) != sums_.table()->generation.load(relaxed), 1);
  }
  // The last four bytes of a record.
  [[gnu::always_inline]] static constexpr std::uint32_t what(std::uint16_t state, std::uint8_t kind) {
    return state | std::uint32_t{kind} << 16;
  }
  // A record of its own. Its parts in registers: a record just made in memory costs a store-forwarding stall.
  [[gnu::noinline, gnu::hot]] void write_alone(std::uint32_t what, std::int64_t time_ns, std::uint64_t who,
                                               std::uint32_t comm, std::uint64_t bytes,
                                               const std::uint16_t* open, std::uint32_t depth);
  // For what cannot be added: then another piece begins, if it may.
  [[gnu::noinline, gnu::cold]] void publish_and_put(const margay_record& r, std::int64_t time_ns,
                                                    const std::uint16_t* open, std::uint32_t depth, As as);
  [[gnu::noinline, gnu::cold]] void publish_sums();

  [[gnu::always_inline]] void put(std::uint32_t what, std::int64_t time_ns, std::uint64_t who,
                                  std::uint32_t comm, std::uint64_t bytes, const std::uint16_t* open,
                                  std::uint32_t depth) {
    constexpr auto relaxed = std::memory_order_relaxed;
    RingControl& c = *control_;
    const std::uint64_t head = c.head.load(relaxed);
    const std::uint64_t lost = c.lost.load(relaxed);
    const std::uint64_t need = lost == 0 ? 1 : 2 + (depth == 0 ? 1 : depth);
    if (!has_room(head, need)) {
      drop(1);
      return;
    }
    std::uint64_t at = head;
    if (__builtin_expect(lost != 0, 0)) at = tell_gap(at, time_ns, open, depth);
    margay_record& slot = slots_[at++ & (capacity_ - 1)];
    slot.time_ns = time_ns;
    slot.bytes = bytes;
    slot.peer = CallArguments::peer_of(who);
    slot.tag = CallArguments::tag_of(who);
    slot.comm = comm;
    slot.state = static_cast<std::uint16_t>(what & UINT16_MAX);
    slot.kind = static_cast<std::uint8_t>(what >> 16);
    slot.flags = 0;
    c.head.store(at, std::memory_order_release);
    c.produced.store(c.produced.load(relaxed) + need, relaxed);
  }

  // Before the record at `at`; answers where that is now.
  [[gnu::noinline, gnu::cold]] std::uint64_t tell_gap(std::uint64_t at, std::int64_t time_ns,
                                                      const std::uint16_t* open, std::uint32_t depth) {
    const std::uint64_t lost = control_->lost.load(std::memory_order_relaxed);
    slots_[at++ & (capacity_ - 1)] = {time_ns, lost, MARGAY_NO_PEER, MARGAY_NO_TAG, 0, 0, MARGAY_GAP, 0};
    std::uint32_t i = 0;
    do {
      const std::uint16_t state = depth == 0 ? std::uint16_t{0} : open[i];
      const std::uint8_t kind = i == 0 ? MARGAY_STACK : MARGAY_ENTER;
      slots_[at++ & (capacity_ - 1)] = {time_ns, 0, MARGAY_NO_PEER, MARGAY_NO_TAG, 0, state, kind, 0};
    } while (++i < depth);
    control_->lost.store(0, std::memory_order_relaxed);
    return at;
  }

  // A tail beyond the head (only a broken agent writes one) wraps to a huge difference and counts as full.
  bool has_room(std::uint64_t head, std::uint64_t need) {
    return __builtin_expect(head + need - tail_seen_ <= capacity_ / 2, 1) || look_for_room(head, need);
  }
  // The consumer does not come, or not often enough: sums take so little room that the rest lasts.
  [[gnu::noinline, gnu::cold]] bool look_for_room(std::uint64_t head, std::uint64_t need);
  void drop(std::uint64_t records) {
    constexpr auto relaxed = std::memory_order_relaxed;
    RingControl& c = *control_;
    c.lost.store(c.lost.load(relaxed) + records, relaxed);
    c.dropped.store(c.dropped.load(relaxed) + records, relaxed);
    c.produced.store(c.produced.load(relaxed) + records, relaxed);
  }

  RingControl* control_ = nullptr;
  SumWriter sums_;
  margay_record* slots_ = nullptr;
  std::uint64_t capacity_ = 0;
  std::uint64_t tail_seen_ = 0;

 public:
  static constexpr std::size_t kFirst = 2 * sizeof(void*);  // what a call reads of it where calls are summed
};

}  // namespace margay::probe
