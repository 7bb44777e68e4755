// From a stream's clock to one host time.
//
// The first clock that is seen gives the common time: its raw value, without its offset to the wall clock.
// A clock of the same host's boot (same UUID; LTTng takes the boot's) and name has the same raw values,
// though its offset, which each trace measures anew, differs by microseconds: no shift. Any other clock is
// shifted by the difference of the offsets, that is by the wall clocks.
//
// Units: nanoseconds. Errors: none; values beyond 64 bits are held at their ends. Thread safety: none.
// Cost: an addition a value for a clock of 1 GHz.
#pragma once

#include <babeltrace2/babeltrace.h>

#include <array>
#include <cstdint>
#include <string>

#include "margay/base/time.h"

namespace margay::lttng {

// Converts the raw values of one clock.
struct ClockScale {
  std::uint64_t frequency = 1'000'000'000;  // 0: there is no clock
  std::int64_t shift = 0;

  TimeNs time(std::uint64_t raw) const {
    constexpr std::uint64_t kMost = INT64_MAX / 2;
    if (frequency == 1'000'000'000 && raw <= kMost) [[likely]]
      return TimeNs(static_cast<std::int64_t>(raw) + shift);
    return slow(raw);
  }

 private:
  TimeNs slow(std::uint64_t raw) const;
};

class Clocks {
 public:
  // nullptr: the stream has no clock.
  ClockScale scale(const bt_clock_class* clock);

  const std::string& name() const { return name_; }
  bool monotonic() const { return monotonic_; }
  DurationNs offset() const { return DurationNs(offset_); }

 private:
  bool any_ = false;
  std::string name_;
  bool monotonic_ = false;
  bool has_uuid_ = false;
  std::array<std::uint8_t, 16> uuid_{};
  std::int64_t offset_ = 0;
};

}  // namespace margay::lttng
