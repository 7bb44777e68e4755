#include "byte_planes.h"

#include <bitset>
#include <cstring>

namespace margay::store {
namespace {

constexpr std::size_t kAtOnce = 16;  // values
using Bytes = std::uint8_t __attribute__((vector_size(16)));
using Words = std::uint32_t __attribute__((vector_size(16)));
using Longs = std::uint64_t __attribute__((vector_size(16)));

Bytes low_bytes(Bytes a, Bytes b) {
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
Bytes high_bytes(Bytes a, Bytes b) {
  return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}

// Bytes 0 to 3 of the sixteen values, or 4 to 7, from four vectors that hold them for four values each, byte
// after byte.
void transpose(const Bytes* fours, Bytes* planes) {
  Words f[4];
  std::memcpy(f, fours, sizeof f);
  const auto low01 = reinterpret_cast<Longs>(__builtin_shufflevector(f[0], f[1], 0, 4, 1, 5));
  const auto low23 = reinterpret_cast<Longs>(__builtin_shufflevector(f[2], f[3], 0, 4, 1, 5));
  const auto high01 = reinterpret_cast<Longs>(__builtin_shufflevector(f[0], f[1], 2, 6, 3, 7));
  const auto high23 = reinterpret_cast<Longs>(__builtin_shufflevector(f[2], f[3], 2, 6, 3, 7));
  planes[0] = reinterpret_cast<Bytes>(__builtin_shufflevector(low01, low23, 0, 2));
  planes[1] = reinterpret_cast<Bytes>(__builtin_shufflevector(low01, low23, 1, 3));
  planes[2] = reinterpret_cast<Bytes>(__builtin_shufflevector(high01, high23, 0, 2));
  planes[3] = reinterpret_cast<Bytes>(__builtin_shufflevector(high01, high23, 1, 3));
}

// Writes plane k at to + k * count, `width` of them.
void transpose_all(const std::uint64_t* values, std::size_t count, unsigned width, char* to) {
  std::size_t i = 0;
  for (; i + kAtOnce <= count; i += kAtOnce) {
    Bytes pair[8];
    std::memcpy(pair, values + i, sizeof pair);
    Bytes low[4], high[4], planes[8];
    for (unsigned g = 0; g < 4; ++g) {
      const Bytes even = low_bytes(pair[2 * g], pair[2 * g + 1]);
      const Bytes odd = high_bytes(pair[2 * g], pair[2 * g + 1]);
      low[g] = low_bytes(even, odd);
      high[g] = high_bytes(even, odd);
    }
    transpose(low, planes);
    if (width > 4) transpose(high, planes + 4);
    for (unsigned k = 0; k < width; ++k) std::memcpy(to + k * count + i, &planes[k], kAtOnce);
  }
  for (; i < count; ++i)
    for (unsigned k = 0; k < width; ++k) to[k * count + i] = static_cast<char>(values[i] >> (8 * k));
}

// Of 256 bytes drawn evenly from 256, 162 differ, give or take 5. Where bytes have 7.5 bits, 130 do.
constexpr std::size_t kSample = 256;
constexpr std::size_t kRandom = 140;

bool looks_random(const char* plane, std::size_t count) {
  if (count < kSample) return false;
  std::bitset<256> seen;
  const std::size_t step = count / kSample;
  for (std::size_t i = 0; i < kSample; ++i) seen.set(static_cast<std::uint8_t>(plane[i * step]));
  return seen.count() >= kRandom;
}

}  // namespace

void put_planes(const std::uint64_t* values, std::size_t count, std::string& packed, std::string& plain) {
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < count; ++i) all |= values[i];
  unsigned width = 0;
  for (; all != 0; all >>= 8) ++width;
  if (width == 0) {
    packed.push_back(0);
    return;
  }
  thread_local std::string planes;
  planes.resize(width * count);
  transpose_all(values, count, width, planes.data());
  std::uint8_t apart = 0;
  for (unsigned k = 0; k < width; ++k)
    if (looks_random(planes.data() + k * count, count)) apart = static_cast<std::uint8_t>(apart | (1u << k));
  packed.push_back(static_cast<char>(apart != 0 ? width | kApart : width));
  if (apart != 0) packed.push_back(static_cast<char>(apart));
  for (unsigned k = 0; k < width; ++k)
    ((apart >> k & 1u) != 0 ? plain : packed).append(planes, k * count, count);
}

bool get_planes(ByteReader& packed, ByteReader& plain, std::size_t count, Values& values) {
  values.assign(count, 0);
  const std::uint8_t head = packed.u8();
  const unsigned width = head & (kApart - 1u);
  const std::uint8_t apart = (head & kApart) != 0 ? packed.u8() : 0;
  // One way to write a thing: a mark that marks nothing, or more than there is, is not ours.
  if (width > 8 || ((head & kApart) != 0 && apart == 0) || apart >> width != 0) packed.refuse();
  for (unsigned k = 0; packed.ok() && k < width; ++k) {
    ByteReader& in = (apart >> k & 1u) != 0 ? plain : packed;
    const std::string_view plane = in.bytes(count);
    if (!in.ok()) return false;
    for (std::size_t i = 0; i < count; ++i)
      values[i] |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(plane[i])) << (8 * k);
  }
  return packed.ok();
}

}  // namespace margay::store
