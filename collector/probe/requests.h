// Which requests are receives: what came is known only when they complete, and then nothing else tells.
//
// Tables of fixed size, by the request's handle. A receive that finds no room is not tracked: it then
// counts as posted. Handles are used again by MPI: an entry is taken out by the call that completes the
// request, and one handle may be there twice for the moment between its completion and that.
//
// Thread safety: all functions from any thread, without a lock. Cost: some nanoseconds; nothing where nothing
// is tracked.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace margay::probe {

// Slots: a power of two, or few; and how many of them a handle may be in.
template <std::size_t kSlotsHere, std::size_t kNearHere>
class RequestTable {
 public:
  static constexpr std::size_t kSlots = kSlotsHere, kNear = kNearHere;
  // False: there is no room. `posted`: bytes, at most. A persistent one stays until it is freed.
  bool add(std::uintptr_t handle, std::uint64_t posted, bool persistent) {
    for (std::size_t n = 0; n < kNear; ++n) {
      Slot& slot = at(handle, n);
      std::uintptr_t none = 0;
      if (slot.handle.load(std::memory_order_relaxed) != 0 ||
          !slot.handle.compare_exchange_strong(none, handle, std::memory_order_acq_rel))
        continue;
      slot.posted.store((posted & ~kPersistent) | (persistent ? kPersistent : 0), std::memory_order_relaxed);
      tracked_.fetch_add(1, std::memory_order_relaxed);
      return true;
    }
    return false;
  }
  bool any() const { return tracked_.load(std::memory_order_relaxed) > 0; }
  bool has(std::uintptr_t handle) { return any() && find(handle) != nullptr; }
  // It has completed. False: it was none.
  bool complete(std::uintptr_t handle, std::uint64_t& posted) {
    Slot* const slot = any() ? find(handle) : nullptr;
    if (slot == nullptr) return false;
    const std::uint64_t known = slot->posted.load(std::memory_order_relaxed);
    posted = known & ~kPersistent;
    if ((known & kPersistent) == 0) release(*slot, handle);
    return true;
  }
  // It is no more, or is another's. False: it was none.
  bool forget(std::uintptr_t handle) {
    Slot* const slot = any() ? find(handle) : nullptr;
    if (slot == nullptr) return false;
    release(*slot, handle);
    return true;
  }

 private:
  static constexpr std::uint64_t kPersistent = std::uint64_t{1} << 63;
  struct Slot {
    std::atomic<std::uintptr_t> handle;  // 0: free
    std::atomic<std::uint64_t> posted;
  };
  // Handles are addresses of objects of some hundred bytes, or numbers that differ in the lowest bits.
  Slot& at(std::uintptr_t handle, std::size_t n) {
    if constexpr (kNear == kSlots) return slots_[n];
    return slots_[((handle ^ (handle >> 7) ^ (handle >> 16)) + n) & (kSlots - 1)];
  }
  Slot* find(std::uintptr_t handle) {
    for (std::size_t n = 0; n < kNear; ++n)
      if (Slot& slot = at(handle, n); slot.handle.load(std::memory_order_acquire) == handle) return &slot;
    return nullptr;
  }
  void release(Slot& slot, std::uintptr_t handle) {
    if (slot.handle.compare_exchange_strong(handle, 0, std::memory_order_acq_rel))
      tracked_.fetch_sub(1, std::memory_order_relaxed);
  }

  std::atomic<std::uint32_t> tracked_;
  Slot slots_[kSlots];
};

// The few that most programs have at a time take two cache lines of the page that each call looks at
// (page.h).
using FewRequests = RequestTable<7, 7>;
using FarRequests = RequestTable<4096, 16>;

class Requests {
 public:
  static constexpr std::size_t kSlots = FewRequests::kSlots + FarRequests::kSlots;
  static constexpr std::size_t kNear = FewRequests::kNear + FarRequests::kNear;
  // `more`: whether the far ones were ever needed; looked at instead of them, where it lies near.
  constexpr Requests(FewRequests& few, std::atomic<bool>& more, FarRequests& far)
      : few_(few), more_(more), far_(far) {}
  bool add(std::uintptr_t handle, std::uint64_t posted, bool persistent) const {
    if (handle == 0) return false;
    if (few_.add(handle, posted, persistent)) return true;
    more_.store(true, std::memory_order_release);
    return far_.add(handle, posted, persistent);
  }
  bool any() const { return few_.any() || (more() && far_.any()); }
  bool has(std::uintptr_t handle) const { return few_.has(handle) || (more() && far_.has(handle)); }
  bool complete(std::uintptr_t handle, std::uint64_t& posted) const {
    return few_.complete(handle, posted) || (more() && far_.complete(handle, posted));
  }
  bool forget(std::uintptr_t handle) const { return few_.forget(handle) || (more() && far_.forget(handle)); }

 private:
  bool more() const { return __builtin_expect(more_.load(std::memory_order_acquire), 0); }
  FewRequests& few_;
  std::atomic<bool>& more_;
  FarRequests& far_;
};

}  // namespace margay::probe
