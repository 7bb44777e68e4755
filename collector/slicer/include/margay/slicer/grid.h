// A range of time cut into equal slices, wherever it begins and however long they are. Pure.
//
// Slice k of N covers [boundary(k), boundary(k + 1)), boundary(k) = from + floor(k * (to - from) / N): slices
// differ by a nanosecond at most, and nothing is counted twice or left out. Thread safety: values.
#pragma once

#include <cstdint>
#include <string>

#include "margay/base/ids.h"
#include "margay/base/result.h"

namespace margay::slicer {

struct Grid {
  static constexpr std::uint32_t kMostSlices = 1'000'000;

  TimeNs from{};
  TimeNs to{};  // not inside
  std::uint32_t slices = 1;

  // Errors: kInvalidArgument (an empty range, no slices, more slices than nanoseconds), kLimit.
  static Result<Grid> make(TimeNs from, TimeNs to, std::uint64_t slices) {
    if (to <= from) return fail(ErrorCode::kInvalidArgument, "the range of time is empty");
    if (slices == 0) return fail(ErrorCode::kInvalidArgument, "no slices");
    if (slices > kMostSlices)
      return fail(ErrorCode::kLimit,
                  std::to_string(slices) + " slices, at most " + std::to_string(kMostSlices));
    const std::uint64_t length =
        static_cast<std::uint64_t>(to.value) - static_cast<std::uint64_t>(from.value);
    if (length < slices)
      return fail(ErrorCode::kInvalidArgument, "more slices (" + std::to_string(slices) +
                                                   ") than nanoseconds (" + std::to_string(length) + ")");
    return Grid{from, to, static_cast<std::uint32_t>(slices)};
  }

  // REQUIRES: k <= slices.
  TimeNs boundary(std::uint32_t k) const {
    const auto length = static_cast<unsigned __int128>(static_cast<std::uint64_t>(to.value) -
                                                       static_cast<std::uint64_t>(from.value));
    return TimeNs(static_cast<std::int64_t>(static_cast<std::uint64_t>(from.value) +
                                            static_cast<std::uint64_t>(k * length / slices)));
  }
  bool operator==(const Grid&) const = default;
};

}  // namespace margay::slicer
