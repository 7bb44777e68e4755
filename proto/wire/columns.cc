#include "margay/wire/columns.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "margay/base/word_width.h"

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
  const std::uint8_t width = word_width(high - low);
  append(out, width);
  append(out, low);
  if (width == 0) return;
  with_word(width, [&](auto word) { append_words<decltype(word)>(count, low, get, out); });
}

// A column of a batch, found and checked, not yet read.
struct ColumnAt {
  const char* from = nullptr;
  std::uint64_t base = 0;
  std::size_t width = 0;
};

Status find_column(std::span<const char>& bytes, std::size_t count, const char* name, ColumnAt& out) {
  if (bytes.size() < kColumnHeader)
    return fail(ErrorCode::kCorrupt, std::string("column '") + name + "' has no header");
  const auto width = static_cast<std::uint8_t>(bytes[0]);
  std::memcpy(&out.base, bytes.data() + 1, sizeof(out.base));
  bytes = bytes.subspan(kColumnHeader);
  if (width != 0 && width != 1 && width != 2 && width != 4 && width != 8)
    return fail(ErrorCode::kCorrupt, std::string("column '") + name + "' has width " + std::to_string(width));
  if (bytes.size() / (width == 0 ? 1 : width) < count && width != 0)
    return fail(ErrorCode::kCorrupt, std::string("column '") + name + "' is cut short");
  out.from = bytes.data();
  out.width = width;
  bytes = bytes.subspan(width * count);
  return {};
}

// Records are made some at a time: what their columns become stays in the nearest cache until they are
// joined, and each loop is one that a compiler makes vectors of.
constexpr std::size_t kTile = 128;
using Tile = std::array<std::uint64_t, kTile>;

template <class Word>
void widen(const char* from, std::size_t count, std::uint64_t base, Tile& to) {
  for (std::size_t i = 0; i < count; ++i) {
    Word word;
    std::memcpy(&word, from + i * sizeof(Word), sizeof(Word));
    to[i] = base + word;
  }
}

// Values [first, first + count) of a column; of a constant one they are there since the first tile.
void widen(const ColumnAt& column, std::size_t first, std::size_t count, Tile& to) {
  const char* const from = column.from + first * column.width;
  if (column.width != 0)
    with_word(column.width, [&](auto word) { widen<decltype(word)>(from, count, column.base, to); });
  else if (first == 0)
    to.fill(column.base);
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

namespace {

// The columns of a batch, found and checked.
struct Found {
  std::int64_t first_time = 0;
  std::array<ColumnAt, kColumnNames.size()> columns;
};
enum Column : std::size_t { kTime = 0, kState = 5, kKind = 6 };

Status find_columns(std::span<const char> bytes, std::uint32_t count, Found& out) {
  if (count > kMaxBatchRecords)
    return fail(ErrorCode::kLimit, "a batch of " + std::to_string(count) + " records; at most " +
                                       std::to_string(kMaxBatchRecords) + " are accepted");
  if (bytes.empty() || static_cast<std::uint8_t>(bytes[0]) != kColumnsVersion)
    return fail(ErrorCode::kVersion, "columns are not of version " + std::to_string(kColumnsVersion));
  if (bytes.size() < 1 + sizeof(std::int64_t))
    return fail(ErrorCode::kCorrupt, "columns end before the first time");
  std::memcpy(&out.first_time, bytes.data() + 1, sizeof(out.first_time));
  bytes = bytes.subspan(1 + sizeof(out.first_time));
  for (std::size_t c = 0; c < out.columns.size(); ++c)
    if (Status ok = find_column(bytes, count, kColumnNames[c], out.columns[c]); !ok) return ok;
  if (!bytes.empty())
    return fail(ErrorCode::kCorrupt, std::to_string(bytes.size()) + " bytes after the last column");
  return {};
}

// `put(i, value)` for each value of a column: a loop for each width, without a table in between.
template <class Word, class Put>
void each_word(const ColumnAt& column, std::size_t count, Put put) {
  const char* from = column.from;
  for (std::size_t i = 0; i < count; ++i) {
    Word word;
    std::memcpy(&word, from + i * sizeof(Word), sizeof(Word));
    put(i, column.base + word);
  }
}
template <class Put>
void each(const ColumnAt& column, std::size_t count, Put put) {
  if (column.width != 0)
    with_word(column.width, [&](auto word) { each_word<decltype(word)>(column, count, put); });
  else
    for (std::size_t i = 0; i < count; ++i) put(i, column.base);
}

}  // namespace

Status decode_changes_untrusted(std::span<const char> bytes, std::uint32_t count, Changes& out) {
  Found found;
  if (Status ok = find_columns(bytes, count, found); !ok) {
    out.time_ns.clear();
    out.state.clear();
    out.kind.clear();
    return ok;
  }
  out.time_ns.resize(count);
  out.state.resize(count);
  out.kind.resize(count);
  std::int64_t time = found.first_time;
  std::int64_t* const times = out.time_ns.data();
  std::uint16_t* const states = out.state.data();
  std::uint8_t* const kinds = out.kind.data();
  each(found.columns[kTime], count, [&](std::size_t i, std::uint64_t v) {
    time = wrapping_sum(time, unzigzag(v));
    times[i] = time;
  });
  each(found.columns[kState], count,
       [&](std::size_t i, std::uint64_t v) { states[i] = static_cast<std::uint16_t>(v); });
  each(found.columns[kKind], count,
       [&](std::size_t i, std::uint64_t v) { kinds[i] = static_cast<std::uint8_t>(v); });
  return {};
}

Status decode_columns_untrusted(std::span<const char> bytes, std::uint32_t count,
                                std::vector<EventRecord>& out) {
  Found found;
  if (Status ok = find_columns(bytes, count, found); !ok) {
    out.clear();
    return ok;
  }
  std::int64_t time = found.first_time;
  const auto& columns = found.columns;
  out.resize(count);  // what is in it already is written over
  std::array<Tile, kColumnNames.size()> tiles;
  for (std::size_t first = 0; first < count; first += kTile) {
    const std::size_t n = std::min<std::size_t>(kTile, count - first);
    for (std::size_t c = 0; c < columns.size(); ++c) widen(columns[c], first, n, tiles[c]);
    const auto& [times, sizes, peers, tags, comms, states, kinds] = tiles;
    EventRecord* const to = out.data() + first;
    for (std::size_t i = 0; i < n; ++i) {
      time = wrapping_sum(time, unzigzag(times[i]));
      to[i] = {time,
               sizes[i],
               static_cast<std::int32_t>(unzigzag(peers[i])),
               static_cast<std::int32_t>(unzigzag(tags[i])),
               static_cast<std::uint32_t>(comms[i]),
               static_cast<std::uint16_t>(states[i]),
               static_cast<std::uint8_t>(kinds[i]),
               0};
    }
  }
  return {};
}

}  // namespace margay::wire
