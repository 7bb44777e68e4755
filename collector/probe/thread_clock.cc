// Time for the price of a counter (probe.h).
#include "probe.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace margay::probe {

bool g_counter_is_time = false;

bool counter_is_invariant() {
#if defined(__x86_64__)
  // Ticks at one rate whatever the core's frequency, and also while it sleeps.
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & (1u << 8)) != 0;
#else
  return false;
#endif
}

#if defined(__x86_64__)
namespace {

// How far the counter was off at the end of a stretch that it was trusted for: the worst is told.
void tell_error(std::int64_t error) {
  if (g_page.segment == nullptr) return;
  std::atomic<std::uint32_t>& worst = g_page.segment->clock_error_ns;
  const auto e = static_cast<std::uint32_t>(error < UINT32_MAX ? error : UINT32_MAX);
  std::uint32_t seen = worst.load(std::memory_order_relaxed);
  while (e > seen && !worst.compare_exchange_weak(seen, e, std::memory_order_relaxed)) {
  }
}

}  // namespace
#endif

std::int64_t ThreadClock::anchor([[maybe_unused]] Baseline& first) {
#if defined(__x86_64__)
  constexpr std::int64_t kBaselineNs = 1'000'000;  // the counter's rate is taken over at least this
  constexpr std::uint64_t kValidNs = 20'000'000;   // at most, and no longer than the rate was measured over
  // Two readings of the counter around the kernel's: were we interrupted between, the anchor would be off.
  const std::uint64_t before = __builtin_ia32_rdtsc();
  std::int64_t t = kernel_time();
  const std::uint64_t after = __builtin_ia32_rdtsc();
  if (g_counter_is_time && after - before < 2000) {
    const std::uint64_t ticks = before + (after - before) / 2;
    if (valid_ticks > 0) {
      // What it would have said now. Beyond its stretch (the thread was silent for long) nobody asked it.
      const std::uint64_t since = ticks - anchor_ticks;
      const std::int64_t error = anchor_ns + static_cast<std::int64_t>((since * rate) >> 32) - t;
      if (since < 2 * valid_ticks) tell_error(error < 0 ? -error : error);
    }
    if (first.ns == 0) {
      first.ns = t;
      first.ticks = ticks;
    } else if (t - first.ns >= kBaselineNs && ticks > first.ticks) {
      const auto ns = static_cast<std::uint64_t>(t - first.ns);
      const auto now_rate =
          static_cast<std::uint64_t>((static_cast<unsigned __int128>(ns) << 32) / (ticks - first.ticks));
      const std::uint64_t change = now_rate > rate ? now_rate - rate : rate - now_rate;
      const bool same = rate == 0 || change < rate / 1000;
      rate = same ? now_rate : 0;  // the machine slept or moved: begin again
      if (!same) first.ns = 0;
      const std::uint64_t valid_ns = ns < kValidNs ? ns : kValidNs;
      valid_ticks =
          rate == 0 ? 0 : static_cast<std::uint64_t>((static_cast<unsigned __int128>(valid_ns) << 32) / rate);
      anchor_ns = t;
      anchor_ticks = ticks;
      // The baseline moves along once a second, for the kernel's rate does.
      if (ns > 1'000'000'000) {
        first.ns = t;
        first.ticks = ticks;
      }
    }
  }
  if (t < last_ns) t = last_ns;
  last_ns = t;
  return t;
#else
  return kernel_time();
#endif
}

}  // namespace margay::probe
