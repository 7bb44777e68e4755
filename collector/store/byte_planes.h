// Byte planes: byte k of every value, then byte k + 1. The high bytes of small numbers are runs of zeros,
// which compress; the low bytes of exact times are as good as random, which costs a compressor its time and
// gives nothing. These are told by a look at a few of their bytes and kept apart, in `plain`.
//
// Thread safety: functions are pure. Cost: about a nanosecond a value.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bytes.h"

namespace margay::store {

using Values = std::vector<std::uint64_t>;

// Appends to `packed` the width w of the values in bytes (0 to 8) and their w planes. Planes that would not
// shrink are appended to `plain` instead: then w + kApart, and a bit for each plane that went there.
inline constexpr std::uint8_t kApart = 0x80;
void put_planes(const std::uint64_t* values, std::size_t count, std::string& packed, std::string& plain);

// `count` values, from readers of both. False when the bytes are not there; `plain` empty: nothing is apart.
bool get_planes(ByteReader& packed, ByteReader& plain, std::size_t count, Values& values);

}  // namespace margay::store
