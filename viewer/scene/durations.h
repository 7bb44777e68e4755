// Units of time, for the texts of time_axis.h. Private to the folder.
#pragma once

#include <cstdint>
#include <string>

namespace margay::scene::internal {

inline constexpr std::int64_t kSecond = 1'000'000'000;
inline constexpr std::int64_t kMinute = 60 * kSecond;
inline constexpr std::int64_t kHour = 60 * kMinute;
inline constexpr std::int64_t kDay = 24 * kHour;

// The difference, or the nearest there is in 64 bits.
inline std::int64_t minus(std::int64_t a, std::int64_t b) {
  std::int64_t r = 0;
  if (!__builtin_sub_overflow(a, b, &r)) return r;
  return a < 0 ? INT64_MIN : INT64_MAX;
}
inline std::int64_t plus(std::int64_t a, std::int64_t b) {
  std::int64_t r = 0;
  if (!__builtin_add_overflow(a, b, &r)) return r;
  return a < 0 ? INT64_MIN : INT64_MAX;
}

}  // namespace margay::scene::internal
