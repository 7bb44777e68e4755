#include "margay/wire/columns.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

namespace margay::wire {
namespace {

static_assert(std::endian::native == std::endian::little, "columns are little-endian in memory");

constexpr std::uint8_t kColumnsVersion = 1;
constexpr std::size_t kColumnHeader = 1 + 8;
constexpr std::array<const char*, 7> kColumnNames = {"time", "bytes", "peer", "tag", "comm", "state", "kind"};

std::uint64_t zigzag(std::int64_t v) {
  return (static_cast<std::uint64_t>(v) << 1) ^ static_cast<std::uint64_t>(v >> 63);
}
std::int64_t unzigzag(std::uint64_t v) {
  return static_cast<std::int64_t>(v >> 1) ^ -static_cast<std::int64_t>(v & 1);
}
// Differences wrap: a hostile or broken clock may hold any 64 bits.
std::int64_t wrapping_difference(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}
std::int64_t wrapping_sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

template <class T>
void append(std::string& out, T value) {
  char raw[sizeof(T)];
  std::memcpy(raw, &value, sizeof(T));
  out.append(raw, sizeof(T));
}

template <class Word, class Get>
void append_words(std::size_t count, std::uint64_t base, Get get, std::string& out) {
  const std::size_t at = out.size();
  out.resize(at + count * sizeof(Word));
  char* to = out.data() + at;
  for (std::size_t i = 0; i < count; ++i) {
    const Word word = static_cast<Word>(get(i) - base);
    std::memcpy(to + i * sizeof(Word), &word, sizeof(Word));
  }
}

// `get(i)` is the column's value of record i as an unsigned 64-bit integer.
template <class Get>
void encode_column(std::size_t count, Get get, std::string& out) {
  std::uint64_t low = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t high = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t v = get(i);
    low = std::min(low, v);
    high = std::max(high, v);
  }
  if (count == 0) low = high = 0;
  const std::uint64_t range = high - low;
  const std::uint8_t width = range == 0            ? 0
                             : range <= 0xff       ? 1
                             : range <= 0xffff     ? 2
                             : range <= 0xffffffff ? 4
                                                   : 8;
  append(out, width);
  append(out, low);
  switch (width) {
    case 1:
      append_words<std::uint8_t>(count, low, get, out);
      break;
    case 2:
      append_words<std::uint16_t>(count, low, get, out);
      break;
    case 4:
      append_words<std::uint32_t>(count, low, get, out);
      break;
    case 8:
      append_words<std::uint64_t>(count, low, get, out);
      break;
    default:
      break;
  }
}

template <class Word, class Set>
void read_words(const char* from, std::size_t count, std::uint64_t base, Set set) {
  for (std::size_t i = 0; i < count; ++i) {
    Word word;
    std::memcpy(&word, from + i * sizeof(Word), sizeof(Word));
    set(i, base + word);
  }
}

template <class Set>
Status decode_column(std::span<const char>& bytes, std::size_t count, const char* name, Set set) {
  if (bytes.size() < kColumnHeader)
    return fail(ErrorCode::kCorrupt, std::string("column '") + name + "' has no header");
  const auto width = static_cast<std::uint8_t>(bytes[0]);
  std::uint64_t base;
  std::memcpy(&base, bytes.data() + 1, sizeof(base));
  bytes = bytes.subspan(kColumnHeader);
  if (width != 0 && width != 1 && width != 2 && width != 4 && width != 8)
    return fail(ErrorCode::kCorrupt, std::string("column '") + name + "' has width " + std::to_string(width));
  if (bytes.size() / (width == 0 ? 1 : width) < count && width != 0)
    return fail(ErrorCode::kCorrupt, std::string("column '") + name + "' is cut short");
  switch (width) {
    case 0:
      for (std::size_t i = 0; i < count; ++i) set(i, base);
      break;
    case 1:
      read_words<std::uint8_t>(bytes.data(), count, base, set);
      break;
    case 2:
      read_words<std::uint16_t>(bytes.data(), count, base, set);
      break;
    case 4:
      read_words<std::uint32_t>(bytes.data(), count, base, set);
      break;
    default:
      read_words<std::uint64_t>(bytes.data(), count, base, set);
      break;
  }
  bytes = bytes.subspan(width * count);
  return {};
}

}  // namespace

void encode_columns(std::span<const EventRecord> records, std::string& out) {
  append(out, kColumnsVersion);
  const std::size_t n = records.size();
  append(out, n == 0 ? std::int64_t{0} : records[0].time_ns);
  encode_column(
      n,
      [&](std::size_t i) {
        return zigzag(i == 0 ? 0 : wrapping_difference(records[i].time_ns, records[i - 1].time_ns));
      },
      out);
  encode_column(
      n, [&](std::size_t i) { return records[i].bytes; }, out);
  encode_column(
      n, [&](std::size_t i) { return zigzag(records[i].peer); }, out);
  encode_column(
      n, [&](std::size_t i) { return zigzag(records[i].tag); }, out);
  encode_column(
      n, [&](std::size_t i) { return std::uint64_t{records[i].comm}; }, out);
  encode_column(
      n, [&](std::size_t i) { return std::uint64_t{records[i].state}; }, out);
  encode_column(
      n, [&](std::size_t i) { return std::uint64_t{records[i].kind}; }, out);
}

Status decode_columns_untrusted(std::span<const char> bytes, std::uint32_t count,
                                std::vector<EventRecord>& out) {
  out.clear();
  if (count > kMaxBatchRecords)
    return fail(ErrorCode::kLimit, "a batch of " + std::to_string(count) + " records; at most " +
                                       std::to_string(kMaxBatchRecords) + " are accepted");
  if (bytes.empty() || static_cast<std::uint8_t>(bytes[0]) != kColumnsVersion)
    return fail(ErrorCode::kVersion, "columns are not of version " + std::to_string(kColumnsVersion));
  if (bytes.size() < 1 + sizeof(std::int64_t))
    return fail(ErrorCode::kCorrupt, "columns end before the first time");
  std::int64_t time;
  std::memcpy(&time, bytes.data() + 1, sizeof(time));
  bytes = bytes.subspan(1 + sizeof(time));
  out.resize(count);
  for (EventRecord& r : out) r.flags = 0;
  Status status;
  const auto column = [&](int index, auto set) {
    if (status) status = decode_column(bytes, count, kColumnNames[static_cast<std::size_t>(index)], set);
  };
  column(0, [&](std::size_t i, std::uint64_t v) {
    time = wrapping_sum(time, unzigzag(v));
    out[i].time_ns = time;
  });
  column(1, [&](std::size_t i, std::uint64_t v) { out[i].bytes = v; });
  column(2, [&](std::size_t i, std::uint64_t v) { out[i].peer = static_cast<std::int32_t>(unzigzag(v)); });
  column(3, [&](std::size_t i, std::uint64_t v) { out[i].tag = static_cast<std::int32_t>(unzigzag(v)); });
  column(4, [&](std::size_t i, std::uint64_t v) { out[i].comm = static_cast<std::uint32_t>(v); });
  column(5, [&](std::size_t i, std::uint64_t v) { out[i].state = static_cast<std::uint16_t>(v); });
  column(6, [&](std::size_t i, std::uint64_t v) { out[i].kind = static_cast<std::uint8_t>(v); });
  if (status && !bytes.empty())
    status = fail(ErrorCode::kCorrupt, std::to_string(bytes.size()) + " bytes after the last column");
  if (!status) out.clear();
  return status;
}

}  // namespace margay::wire
