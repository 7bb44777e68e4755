// Durations and sizes as people write them. The configuration file and the command line share these. Pure.
//
// A duration is a number and a unit without a space between them: ns us ms s min h d ("100ms", "1.5s"). A
// size is a number and B, KiB, MiB or GiB ("64MiB"); 0 needs no unit. Fractions are allowed where the result
// is whole. Thread safety: functions are safe.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "margay/base/result.h"
#include "margay/base/time.h"

namespace margay::config {

struct SizeBytes {
  std::uint64_t value = 0;
  constexpr SizeBytes() = default;
  constexpr explicit SizeBytes(std::uint64_t v) : value(v) {}
  constexpr auto operator<=>(const SizeBytes&) const = default;
};
constexpr SizeBytes mebibytes(std::uint64_t n) {
  return SizeBytes(n << 20);
}

// Not negative, below 2^63 ns (292 years). Errors: kInvalidArgument, telling what was expected.
Result<DurationNs> parse_duration(std::string_view text);
// A moment of a run: seconds since `zero` ("12.5"), a duration since then ("90s", "3min"), or "@" and trace
// time in ns. Errors: kInvalidArgument, as above; beyond the end of time.
Result<TimeNs> parse_moment(std::string_view text, TimeNs zero);
// Below 2^63. Errors: kInvalidArgument.
Result<SizeBytes> parse_size(std::string_view text);

// The shortest form with a whole number, which parses back to the same value: "1500ms", "64MiB".
std::string to_text(DurationNs d);
std::string to_text(SizeBytes s);

}  // namespace margay::config
