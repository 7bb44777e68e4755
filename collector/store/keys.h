// Keys of the store. Integers are big-endian, signed ones with the sign bit flipped, so that the byte order
// of keys is the order of time. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "margay/base/ids.h"

namespace margay::store {

template <class T>
void put_big_endian(T v, std::string& out) {
  for (unsigned shift = 8 * sizeof(T); shift != 0;) out.push_back(static_cast<char>(v >> (shift -= 8)));
}
inline void put_time(std::int64_t v, std::string& out) {
  put_big_endian(static_cast<std::uint64_t>(v) ^ (std::uint64_t{1} << 63), out);
}
inline std::uint64_t get_big_endian(std::string_view bytes) {
  std::uint64_t v = 0;
  for (const char c : bytes) v = v << 8 | static_cast<std::uint8_t>(c);
  return v;
}
inline std::int64_t get_time(std::string_view bytes) {
  return static_cast<std::int64_t>(get_big_endian(bytes) ^ (std::uint64_t{1} << 63));
}

// slices: level u8 | slice i64 | chunk u16
struct SliceKey {
  LevelIndex level{};
  SliceIndex slice{};
  std::uint16_t chunk = 0;

  std::string encode() const {
    std::string k;
    put_big_endian(level.value, k);
    put_time(slice.value, k);
    put_big_endian(chunk, k);
    return k;
  }
  static std::optional<SliceKey> decode(std::string_view k) {
    if (k.size() != 11) return std::nullopt;
    return SliceKey{LevelIndex(static_cast<std::uint8_t>(k[0])), SliceIndex(get_time(k.substr(1, 8))),
                    static_cast<std::uint16_t>(get_big_endian(k.substr(9)))};
  }
};

// Joined slices lie behind the levels, by the last of them: the first join at or behind a slice is the only
// one that can hold it.
inline constexpr std::uint8_t kJoinedLevels = 0x80;
inline std::string join_key(LevelIndex level, SliceIndex last) {
  return SliceKey{LevelIndex(static_cast<std::uint8_t>(level.value | kJoinedLevels)), last, 0}.encode();
}

// raw: begin i64 | leaf u32 | first ordinal u64
struct RawKey {
  TimeNs begin{};
  LeafIndex leaf{};
  std::uint64_t first = 0;

  std::string encode() const {
    std::string k;
    put_time(begin.value, k);
    put_big_endian(leaf.value, k);
    put_big_endian(first, k);
    return k;
  }
  static std::optional<RawKey> decode(std::string_view k) {
    if (k.size() != 20) return std::nullopt;
    return RawKey{TimeNs(get_time(k.substr(0, 8))),
                  LeafIndex(static_cast<std::uint32_t>(get_big_endian(k.substr(8, 4)))),
                  get_big_endian(k.substr(12))};
  }
};

// journal: 'e' newest slice i64 | sequence u64, and 'v' slice i64 | sequence u64 | chunk u16
inline constexpr char kEntryKey = 'e';
inline constexpr char kVersionKey = 'v';
inline std::string journal_key(char letter, SliceIndex slice, std::uint64_t sequence) {
  std::string k(1, letter);
  put_time(slice.value, k);
  put_big_endian(sequence, k);
  return k;
}
inline std::string version_key(SliceIndex slice, std::uint64_t sequence, std::uint16_t chunk) {
  std::string k = journal_key(kVersionKey, slice, sequence);
  put_big_endian(chunk, k);
  return k;
}

// meta, reports and sources: a small letter, then an integer or a name; single values have a capital.
inline constexpr char kStateKey = 's';       // meta: state id u16
inline constexpr char kLeafKey = 'l';        // meta: leaf u32
inline constexpr char kOpenKey = 'o';        // meta: leaf u32
inline constexpr char kPackedOpenKey = 'w';  // meta: chunk u16
inline constexpr char kMeasureKey = 'm';     // meta: leaf u32
inline constexpr char kGapKey = 'x';         // meta: first slice i64
inline constexpr char kBlobKey = 'b';        // meta: name
inline constexpr char kSignatureKey = 'g';   // meta: name
inline constexpr char kAlertKey = 'a';       // reports: id
inline constexpr char kPhaseKey = 'p';       // reports: index u32
inline constexpr char kLevelPhaseKey = 'q';  // reports: level u8 | index u32; not of the finest
inline constexpr char kReportKey = 'r';      // reports: watermark i64
inline constexpr char kSourceKey = 's';      // sources: source u64
inline constexpr char kStreamKey = 't';      // sources: source u64 | stream u32
inline constexpr char kFormerKey = 'f';      // sources: leaf u32
inline constexpr char kNamesKey = 'n';       // sources: end i64 | source u64
inline std::string names_key(TimeNs end, SourceId source) {
  std::string k(1, kNamesKey);
  put_time(end.value, k);
  put_big_endian(source.value, k);
  return k;
}
inline std::string phase_key(LevelIndex level, std::uint32_t index) {
  std::string k(1, level.value == 0 ? kPhaseKey : kLevelPhaseKey);
  if (level.value > 0) put_big_endian(level.value, k);
  put_big_endian(index, k);
  return k;
}
// Beyond all phases of the level.
inline std::string end_of_phase_keys(LevelIndex level) {
  std::string k(1, level.value == 0 ? static_cast<char>(kPhaseKey + 1) : kLevelPhaseKey);
  if (level.value > 0) put_big_endian(static_cast<std::uint8_t>(level.value + 1), k);
  return k;
}
inline constexpr std::string_view kRunKey = "Run";        // meta
inline constexpr std::string_view kCutKey = "Cut";        // meta
inline constexpr std::string_view kClosedKey = "Closed";  // meta
inline constexpr std::string_view kRawSpanKey = "Span";   // meta

template <class T>
std::string key_of(char letter, T v) {
  std::string k(1, letter);
  put_big_endian(v, k);
  return k;
}
inline std::string key_of(char letter, const std::string& name) {
  return letter + name;
}
inline std::string gap_key(SliceIndex first) {
  std::string k(1, kGapKey);
  put_time(first.value, k);
  return k;
}
inline std::string report_key(TimeNs t) {
  std::string k(1, kReportKey);
  put_time(t.value, k);
  return k;
}
inline std::string stream_key(SourceId source, std::uint32_t stream) {
  std::string k = key_of(kStreamKey, source.value);
  put_big_endian(stream, k);
  return k;
}

}  // namespace margay::store
