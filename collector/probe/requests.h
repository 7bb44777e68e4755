// Which requests are receives: what came is known only when they complete, and then nothing else tells.
//
// A table of fixed size, by the request's handle. A receive that finds no room in it is not tracked: it then
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

class Requests {
 public:
  static constexpr std::size_t kSlots = 4096;  // a power of two
  static constexpr std::size_t kNear = 16;     // slots that a handle may be in

  // False: there is no room. `posted`: bytes, at most. A persistent one stays until it is freed.
  bool add(std::uintptr_t handle, std::uint64_t posted, bool persistent) {
    if (handle == 0) return false;
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
    Slot* const slot = find(handle);
    if (slot == nullptr) return false;
    const std::uint64_t known = slot->posted.load(std::memory_order_relaxed);
    posted = known & ~kPersistent;
    if ((known & kPersistent) == 0) release(*slot, handle);
    return true;
  }
  // It is no more, or is another's.
  void forget(std::uintptr_t handle) {
    if (!any()) return;
    if (Slot* const slot = find(handle)) release(*slot, handle);
  }

 private:
  static constexpr std::uint64_t kPersistent = std::uint64_t{1} << 63;
  struct Slot {
    std::atomic<std::uintptr_t> handle;  // 0: free
    std::atomic<std::uint64_t> posted;
  };
  // Handles are addresses of objects of some hundred bytes, or numbers that differ in the lowest bits.
  Slot& at(std::uintptr_t handle, std::size_t n) {
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

  Slot slots_[kSlots];
  std::atomic<std::uint32_t> tracked_;
};

}  // namespace margay::probe
