// The producer's side of a ring: wait-free, no allocation, no system call but the clock.
//
// Promise to the consumer: records of one ring are in order of time; a LEAVE whose ENTER was dropped never
// follows a record directly: GAP (how many were dropped), STACK (the outermost state open just before) and an
// ENTER for each state inside it stand between. And *covered*: if the consumer reads its clock as W, then
// `pending` as 0, then `head` as h, every record that is not below h will have a time of at least W - kGuard
// (PROBE.md argues why the guard is needed).
//
// Thread safety: one producer, one consumer. Ownership: the ring is mapped elsewhere and outlives the writer.
// Cost of a record: the clock and about ten stores to two cache lines.
#pragma once

#include <atomic>
#include <cstdint>

#include "margay/base/record.h"
#include "margay/probe/segment.h"

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
  void bind(RingControl* control, margay_record* slots, std::uint64_t capacity) {
    control_ = control;
    slots_ = slots;
    capacity_ = capacity;
    tail_seen_ = control->tail.load(std::memory_order_acquire);
  }
  void unbind() { control_ = nullptr; }
  bool bound() const { return control_ != nullptr; }
  RingControl* control() const { return control_; }

  // Records `r` at the time `now()` gives; its time_ns is ignored. `open[0, depth)` are the states in which
  // the thread was until now, outermost first, to be told after a gap. `now` must not go backwards.
  template <class Now>
  [[gnu::always_inline]] void write(const margay_record& r, const std::uint16_t* open, std::uint32_t depth,
                                    Now now) {
    constexpr auto relaxed = std::memory_order_relaxed;
    RingControl& c = *control_;
    c.pending.store(1, relaxed);
    order_pending_before_clock();
    const std::int64_t time_ns = now();

    const std::uint64_t head = c.head.load(relaxed);
    const std::uint64_t lost = c.lost.load(relaxed);
    const std::uint64_t need = lost == 0 ? 1 : 2 + (depth == 0 ? 1 : depth);
    // A tail beyond the head (only a broken agent writes one) wraps to a huge difference and counts as full.
    if (head + need - tail_seen_ > capacity_) {
      tail_seen_ = c.tail.load(std::memory_order_acquire);
      if (head + need - tail_seen_ > capacity_) {
        c.lost.store(lost + 1, relaxed);
        c.dropped.store(c.dropped.load(relaxed) + 1, relaxed);
        c.produced.store(c.produced.load(relaxed) + 1, relaxed);
        c.pending.store(0, std::memory_order_release);
        return;
      }
    }
    std::uint64_t at = head;
    if (lost != 0) {
      slots_[at++ & (capacity_ - 1)] = {time_ns, lost, MARGAY_NO_PEER, MARGAY_NO_TAG, 0, 0, MARGAY_GAP, 0};
      std::uint32_t i = 0;
      do {
        const std::uint16_t state = depth == 0 ? std::uint16_t{0} : open[i];
        const std::uint8_t kind = i == 0 ? MARGAY_STACK : MARGAY_ENTER;
        slots_[at++ & (capacity_ - 1)] = {time_ns, 0, MARGAY_NO_PEER, MARGAY_NO_TAG, 0, state, kind, 0};
      } while (++i < depth);
      c.lost.store(0, relaxed);
    }
    // Field by field: copied as a whole, a record just made costs a store-forwarding stall.
    margay_record& slot = slots_[at++ & (capacity_ - 1)];
    slot.time_ns = time_ns;
    slot.bytes = r.bytes;
    slot.peer = r.peer;
    slot.tag = r.tag;
    slot.comm = r.comm;
    slot.state = r.state;
    slot.kind = r.kind;
    slot.flags = 0;
    c.head.store(at, std::memory_order_release);
    c.produced.store(c.produced.load(relaxed) + need, relaxed);
    c.pending.store(0, std::memory_order_release);
  }

 private:
  RingControl* control_ = nullptr;
  margay_record* slots_ = nullptr;
  std::uint64_t capacity_ = 0;
  std::uint64_t tail_seen_ = 0;
};

}  // namespace margay::probe
