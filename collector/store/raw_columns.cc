#include "raw_columns.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <unordered_set>

#include "bytes.h"
#include "margay/base/word_width.h"
#include "raw_times.h"

namespace margay::store {
namespace {

static_assert(std::endian::native == std::endian::little, "columns are little-endian in memory");

constexpr char kColumnsVersion = 1;
constexpr std::size_t kHeader = 1 + sizeof(std::int64_t);
constexpr std::size_t kColumnHeader = 1 + sizeof(std::uint64_t);
constexpr std::size_t kStateColumn = 5;
constexpr std::size_t kKindColumn = 6;

bool is_width(std::size_t w) {
  return w == 0 || w == 1 || w == 2 || w == 4 || w == 8;
}

template <class Word>
void spread(const char* from, std::size_t count, char* to) {
  for (std::size_t k = 0; k < sizeof(Word); ++k)
    for (std::size_t i = 0; i < count; ++i) *to++ = from[i * sizeof(Word) + k];
}

using Bytes = std::uint8_t __attribute__((vector_size(16)));
Bytes load(const char* from) {
  Bytes v;
  std::memcpy(&v, from, sizeof(v));
  return v;
}
Bytes first_halves(Bytes a, Bytes b) {
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
Bytes last_halves(Bytes a, Bytes b) {
  return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}

// The other way round: each word is written once. Words of two and four bytes, which time mostly has, sixteen
// at a time: decoding must not be slower than it was without planes.
template <class Word>
void gather(const char* from, std::size_t count, char* to) {
  std::size_t i = 0;
  if constexpr (sizeof(Word) == 2)
    for (; i + 16 <= count; i += 16) {
      const Bytes a = load(from + i), b = load(from + count + i);
      const Bytes out[] = {first_halves(a, b), last_halves(a, b)};
      std::memcpy(to + 2 * i, out, sizeof(out));
    }
  if constexpr (sizeof(Word) == 4)
    for (; i + 16 <= count; i += 16) {
      const Bytes a = load(from + i), b = load(from + count + i), c = load(from + 2 * count + i),
                  d = load(from + 3 * count + i);
      const Bytes ac = first_halves(a, c), bd = first_halves(b, d), ac2 = last_halves(a, c),
                  bd2 = last_halves(b, d);
      const Bytes out[] = {first_halves(ac, bd), last_halves(ac, bd), first_halves(ac2, bd2),
                           last_halves(ac2, bd2)};
      std::memcpy(to + 4 * i, out, sizeof(out));
    }
  for (; i < count; ++i)
    for (std::size_t k = 0; k < sizeof(Word); ++k) to[i * sizeof(Word) + k] = from[k * count + i];
}

void put_planes(const RawColumns::Column& c, std::uint32_t count, std::string& out) {
  const std::size_t at = out.size();
  out.resize(at + std::size_t{c.width} * count);
  char* const to = out.data() + at;
  if (c.width == 1) spread<std::uint8_t>(c.from, count, to);
  if (c.width == 2) spread<std::uint16_t>(c.from, count, to);
  if (c.width == 4) spread<std::uint32_t>(c.from, count, to);
  if (c.width == 8) spread<std::uint64_t>(c.from, count, to);
}
void get_planes(const RawColumns::Column& c, std::uint32_t count, char* to) {
  if (c.width == 1) std::memcpy(to, c.from, count);
  if (c.width == 2) gather<std::uint16_t>(c.from, count, to);
  if (c.width == 4) gather<std::uint32_t>(c.from, count, to);
  if (c.width == 8) gather<std::uint64_t>(c.from, count, to);
}

template <class Word>
void append_values(const RawColumns::Column& column, std::size_t count, std::vector<std::uint64_t>& out) {
  for (std::size_t i = 0; i < count; ++i) {
    Word word;
    std::memcpy(&word, column.from + i * sizeof(Word), sizeof(Word));
    out.push_back(column.base + word);
  }
}
void append_values(const RawColumns::Column& column, std::size_t count, std::vector<std::uint64_t>& out) {
  if (column.width == 0) {
    out.insert(out.end(), count, column.base);
    return;
  }
  with_word(column.width, [&](auto word) { append_values<decltype(word)>(column, count, out); });
}

// As the wire would have encoded them: least width over the least value.
void append_column(const std::vector<std::uint64_t>& values, std::string& out) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const std::uint64_t base = *low;
  const std::size_t width = word_width(*high - base);
  const std::size_t at = out.size();
  out.resize(at + kColumnHeader + width * values.size());
  char* to = out.data() + at;
  *to++ = static_cast<char>(width);
  std::memcpy(to, &base, sizeof(base));
  to += sizeof(base);
  for (const std::uint64_t v : values) {
    const std::uint64_t word = v - base;
    std::memcpy(to, &word, width);  // the low bytes: little-endian
    to += width;
  }
}

// A block and its columns, if they are well formed.
struct Part {
  const RawBlock* block = nullptr;
  RawColumns columns;
};

RawBlock join(const std::vector<Part>& parts) {
  RawBlock joined = *parts[0].block;
  if (parts.size() == 1) return joined;
  joined.count = 0;
  for (const Part& p : parts) {
    joined.begin = std::min(joined.begin, p.block->begin);
    joined.end = std::max(joined.end, p.block->end);
    joined.count += p.block->count;
  }
  std::string out(1, kColumnsVersion);
  out.resize(kHeader);
  std::memcpy(out.data() + 1, &parts[0].columns.first_time, sizeof(std::int64_t));
  std::vector<std::uint64_t> values;
  values.reserve(joined.count);
  for (std::size_t c = 0; c < kRawColumns; ++c) {
    values.clear();
    std::int64_t last = parts[0].columns.first_time;
    for (const Part& p : parts) {
      const std::size_t at = values.size();
      append_values(p.columns.columns[c], p.block->count, values);
      if (c != 0) continue;
      // Time: what was measured from the begin of its batch is now measured from the end of the one before.
      if (at != 0)
        values[at] = zigzag(wrapping_add(wrapping_sub(p.columns.first_time, last), unzigzag(values[at])));
      for (std::size_t i = at; i < values.size(); ++i) last = wrapping_add(last, unzigzag(values[i]));
    }
    append_column(values, out);
  }
  joined.columns = std::move(out);
  return joined;
}

}  // namespace

bool parse_columns_untrusted(std::string_view bytes, std::uint32_t count, RawColumns& out) {
  if (bytes.size() < kHeader || bytes[0] != kColumnsVersion) return false;
  std::memcpy(&out.first_time, bytes.data() + 1, sizeof(out.first_time));
  bytes.remove_prefix(kHeader);
  for (RawColumns::Column& c : out.columns) {
    if (bytes.size() < kColumnHeader) return false;
    c.width = static_cast<std::uint8_t>(bytes[0]);
    std::memcpy(&c.base, bytes.data() + 1, sizeof(c.base));
    bytes.remove_prefix(kColumnHeader);
    const std::size_t size = std::size_t{c.width} * count;
    if (!is_width(c.width) || bytes.size() < size) return false;
    c.from = bytes.data();
    bytes.remove_prefix(size);
  }
  return bytes.empty();
}

void put_raw_body(const RawColumns& columns, std::uint32_t count, std::string& out,
                  std::vector<std::size_t>& ends) {
  ByteWriter w(out);
  w.signed_varint(columns.first_time);
  for (const RawColumns::Column& c : columns.columns) {
    w.u8(c.width);
    w.varint(c.base);
  }
  const std::size_t code_at = out.size();
  out.append(2, '\0');
  std::array<std::size_t, 2> groups_at{};  // the lowest planes of state and kind
  for (std::size_t i = 1; i < kRawColumns; ++i) {
    if (i >= kStateColumn) groups_at[i - kStateColumn] = out.size();
    put_planes(columns.columns[i], count, out);
  }
  ends.assign(1, out.size());
  const RawColumns::Column& time = columns.columns[0];
  if (time.width == 0) return;
  thread_local std::vector<std::uint8_t> groups;
  const auto plane = [&](std::size_t i) {
    return columns.columns[i].width == 0 ? nullptr : out.data() + groups_at[i - kStateColumn];
  };
  time_groups(plane(kKindColumn), plane(kStateColumn), count, groups);
  const TimeCode code = put_times(time, groups, out, ends);
  out[code_at] = static_cast<char>(code.threshold);
  out[code_at + 1] = static_cast<char>(code.shift);
  if (code.threshold == 0) {
    for (std::size_t k = 1; k <= time.width; ++k) ends.push_back(out.size() + k * count);
    put_planes(time, count, out);
  }
}

bool get_raw_body_untrusted(std::string_view body, RawForm form, std::uint32_t count, std::size_t size,
                            std::string& out) {
  ByteReader in(body);
  const std::int64_t first_time = in.signed_varint();
  std::array<RawColumns::Column, kRawColumns> columns;
  std::size_t total = kHeader;
  for (RawColumns::Column& c : columns) {
    c.width = in.u8();
    c.base = in.varint();
    if (!is_width(c.width)) return false;
    total += kColumnHeader + std::size_t{c.width} * count;
  }
  TimeCode code;
  if (form == RawForm::kTimeClasses) {
    code.threshold = in.u8();
    code.shift = in.u8();
  }
  const bool classes = code.threshold != 0;
  if (!in.ok() || total != size) return false;
  for (std::size_t i = 1; i < kRawColumns; ++i)
    columns[i].from = in.bytes(std::size_t{columns[i].width} * count).data();
  std::string_view times = in.rest();
  // Each value takes a byte at least, or none: what is there bounds what is taken, but for a factor of eight.
  const std::size_t least = classes ? std::size_t{count} : std::size_t{columns[0].width} * count;
  if (!in.ok() || (classes ? times.size() < least || columns[0].width == 0 : times.size() != least))
    return false;
  columns[0].from = times.data();
  out.resize(size);
  char* to = out.data();
  *to++ = kColumnsVersion;
  std::memcpy(to, &first_time, sizeof(first_time));
  to += sizeof(first_time);
  for (std::size_t i = 0; i < kRawColumns; ++i) {
    const RawColumns::Column& c = columns[i];
    *to++ = static_cast<char>(c.width);
    std::memcpy(to, &c.base, sizeof(c.base));
    to += sizeof(c.base);
    if (i == 0 && classes) {
      thread_local std::vector<std::uint8_t> groups;
      time_groups(columns[kKindColumn].width == 0 ? nullptr : columns[kKindColumn].from,
                  columns[kStateColumn].width == 0 ? nullptr : columns[kStateColumn].from, count, groups);
      if (!get_times_untrusted(times, code, c.width, groups, to)) return false;
    } else {
      get_planes(c, count, to);
    }
    to += std::size_t{c.width} * count;
  }
  return true;
}

std::vector<RawBlock> join_raw(const std::vector<RawBlock>& blocks) {
  std::vector<std::vector<Part>> groups;
  struct Open {
    std::size_t group = 0;
    std::optional<SourceId> source;
    std::uint64_t next = 0;
    std::uint32_t count = 0;
    TimeNs begin{};
    TimeNs end{};
  };
  std::unordered_map<std::uint32_t, Open> open;  // by leaf
  for (const RawBlock& b : blocks) {
    Part part{&b, {}};
    const bool good = b.count != 0 && parse_columns_untrusted(b.columns, b.count, part.columns);
    const auto o = open.find(b.leaf.value);
    if (good && o != open.end() && o->second.source == b.source && o->second.next == b.first &&
        b.begin >= o->second.begin && b.count <= kMostJoined - o->second.count) {
      const TimeNs from = std::min(o->second.begin, b.begin), to = std::max(o->second.end, b.end);
      // As unsigned numbers: times of broken clocks may be any 64 bits apart.
      if (static_cast<std::uint64_t>(wrapping_sub(to.value, from.value)) <=
          static_cast<std::uint64_t>(kLongestJoined.value)) {
        groups[o->second.group].push_back(part);
        o->second = {o->second.group, b.source, b.first + b.count, o->second.count + b.count, from, to};
        continue;
      }
    }
    if (good && b.count < kMostJoined)
      open[b.leaf.value] = {groups.size(), b.source, b.first + b.count, b.count, b.begin, b.end};
    else
      open.erase(b.leaf.value);
    groups.push_back({part});
  }
  std::vector<RawBlock> joined;
  joined.reserve(groups.size());
  for (const auto& g : groups) joined.push_back(join(g));
  return joined;
}

std::vector<RawBlock> RawTails::extend(std::uint64_t sequence, const std::vector<RawBlock>& blocks) {
  const Tails& tails = sequence == sequence_ ? before_ : tails_;
  std::vector<RawBlock> all;
  all.reserve(blocks.size());
  std::unordered_set<std::uint32_t> seen;
  for (const RawBlock& b : blocks) {
    const auto t = tails.find(b.leaf.value);
    if (seen.insert(b.leaf.value).second && t != tails.end() && t->second.block.source == b.source &&
        t->second.block.first + t->second.block.count == b.first && b.begin >= t->second.block.begin)
      all.push_back(t->second.block);
    all.push_back(b);
  }
  return join_raw(all);
}

void RawTails::committed(std::uint64_t sequence, const std::vector<RawBlock>& written) {
  if (sequence == sequence_)
    tails_ = before_;
  else
    before_ = tails_;
  sequence_ = sequence;
  for (const RawBlock& b : written) {
    std::uint32_t extensions = 0;
    if (const auto t = tails_.find(b.leaf.value); t != tails_.end()) {
      if (t->second.block.first == b.first && t->second.block.source == b.source)
        extensions = t->second.extensions + 1;
      tails_.erase(t);
    }
    if (b.count < kEnough && extensions < kMostExtensions) tails_.insert({b.leaf.value, {b, extensions}});
  }
  std::size_t bytes = 0;
  for (const auto& [leaf, tail] : tails_) bytes += tail.block.columns.size() + sizeof(Tail);
  if (bytes > kMostBytes) tails_.clear();
}

void RawTails::clear() {
  before_.clear();
  tails_.clear();
}

}  // namespace margay::store
