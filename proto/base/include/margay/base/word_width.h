// Columns of unsigned integers as words of the least width, over the least value: 0 bytes (all are equal), 1,
// 2, 4 or 8.
//
// Thread safety: pure.
#pragma once

#include <cstddef>
#include <cstdint>

namespace margay {

// In bytes, of values that are at most `range` above the least.
constexpr std::uint8_t word_width(std::uint64_t range) {
  return range == 0 ? 0 : range <= 0xff ? 1 : range <= 0xffff ? 2 : range <= 0xffffffff ? 4 : 8;
}

// take(word) with a word of that type; of 64 bits, where `width` is none of 1, 2 and 4.
template <class Take>
void with_word(std::size_t width, Take take) {
  if (width == 1) return take(std::uint8_t{});
  if (width == 2) return take(std::uint16_t{});
  if (width == 4) return take(std::uint32_t{});
  take(std::uint64_t{});
}

}  // namespace margay
