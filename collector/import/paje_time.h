// The times of a Pajé trace: decimal seconds, made nanoseconds exactly. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace margay::trace::paje {

// Times lie within this of 0 (146 years), so that differences of two never overflow.
inline constexpr std::int64_t kLatestTime = (std::int64_t{1} << 62) - 1;

// "12", "12.5", "-.5", "1.25e-3": nanoseconds, rounded once to the nearest (halves away from 0). Nothing:
// not such a number, or beyond kLatestTime. Cost: one pass; digits from the 10th behind the point are only
// looked at for rounding.
std::optional<std::int64_t> parse_time(std::string_view text);

}  // namespace margay::trace::paje
