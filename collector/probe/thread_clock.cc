// Time for the price of a counter (probe.h).
#include "probe.h"

namespace margay::probe {

bool g_counter_is_time = false;

std::int64_t ThreadClock::anchor() {
#if defined(__x86_64__)
  constexpr std::int64_t kBaselineNs = 1'000'000;  // the counter's rate is taken over at least this
  constexpr std::int64_t kValidNs = 1'000'000;
  // Two readings of the counter around the kernel's: were we interrupted between, the anchor would be off.
  const std::uint64_t before = __builtin_ia32_rdtsc();
  std::int64_t t = kernel_time();
  const std::uint64_t after = __builtin_ia32_rdtsc();
  if (g_counter_is_time && after - before < 2000) {
    const std::uint64_t ticks = before + (after - before) / 2;
    if (first_ns == 0) {
      first_ns = t;
      first_ticks = ticks;
    } else if (t - first_ns >= kBaselineNs && ticks > first_ticks) {
      const auto ns = static_cast<std::uint64_t>(t - first_ns);
      const auto now_rate =
          static_cast<std::uint64_t>((static_cast<unsigned __int128>(ns) << 32) / (ticks - first_ticks));
      const std::uint64_t change = now_rate > rate ? now_rate - rate : rate - now_rate;
      const bool same = rate == 0 || change < rate / 1000;
      rate = same ? now_rate : 0;  // the machine slept or moved: begin again
      if (!same) first_ns = 0;
      valid_ticks =
          rate == 0 ? 0 : static_cast<std::uint64_t>((static_cast<unsigned __int128>(kValidNs) << 32) / rate);
      anchor_ns = t;
      anchor_ticks = ticks;
      // The baseline moves along once a second, for the kernel's rate does.
      if (ns > 1'000'000'000) {
        first_ns = t;
        first_ticks = ticks;
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
