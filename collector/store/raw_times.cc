#include "raw_times.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>

namespace margay::store {
namespace {

constexpr std::size_t kGroups = 256;
// Low bits are read eight bytes at a time, from any bit on.
constexpr unsigned kMostLowBits = 56;
// Groups with fewer records are coded together with the next ones: a code of their own is not worth it.
constexpr std::size_t kLeastPart = 512;
// From so many records on, a table of many classes pays: it tells short differences exactly.
constexpr std::size_t kManyRecords = 4096;
constexpr std::uint8_t kThresholdOfFew = 3;

struct Class {
  std::uint64_t base = 0;
  std::uint64_t mask = 0;  // of its low bits
  std::uint8_t low_bits = 0;
};
using Classes = std::array<Class, 256>;

constexpr Classes classes_of(unsigned threshold) {
  Classes all{};
  const unsigned direct = 1u << threshold;
  for (unsigned c = 0; c < all.size(); ++c) {
    const unsigned low_bits = c < direct ? 0 : threshold + (c - direct) / 2 - 1;
    if (low_bits > kMostLowBits) break;
    all[c].base = c < direct ? c : std::uint64_t{2 + (c - direct) % 2} << low_bits;
    all[c].mask = (std::uint64_t{1} << low_bits) - 1;
    all[c].low_bits = static_cast<std::uint8_t>(low_bits);
  }
  return all;
}

template <class Word>
void take_words(const char* from, std::size_t count, std::uint64_t* to) {
  for (std::size_t i = 0; i < count; ++i) {
    Word word;
    std::memcpy(&word, from + i * sizeof(Word), sizeof(Word));
    to[i] = word;
  }
}
void take_words(const RawColumns::Column& c, std::size_t count, std::uint64_t* to) {
  if (c.width == 1) take_words<std::uint8_t>(c.from, count, to);
  if (c.width == 2) take_words<std::uint16_t>(c.from, count, to);
  if (c.width == 4) take_words<std::uint32_t>(c.from, count, to);
  if (c.width == 8) take_words<std::uint64_t>(c.from, count, to);
}

// The place of each group's first class, from how many records each group has.
using Counts = std::array<std::uint32_t, kGroups>;
Counts starts_of(const std::vector<std::uint8_t>& groups) {
  // Four counts in turn: records of the same group follow each other, and one addition waits for the last.
  std::array<Counts, 4> counts{};
  std::size_t i = 0;
  for (; i + counts.size() <= groups.size(); i += counts.size())
    for (std::size_t k = 0; k < counts.size(); ++k) ++counts[k][groups[i + k]];
  for (; i < groups.size(); ++i) ++counts[0][groups[i]];
  Counts starts;
  std::uint32_t at = 0;
  for (std::size_t g = 0; g < kGroups; ++g) {
    starts[g] = at;
    at += counts[0][g] + counts[1][g] + counts[2][g] + counts[3][g];
  }
  return starts;
}

// Reads low bits; beyond their end there are zeros.
class LowBits {
 public:
  explicit LowBits(std::string_view bytes)
      : bytes_(bytes.data()), whole_(bytes.size() < sizeof(std::uint64_t) ? 0 : bytes.size() - 7) {
    std::memcpy(tail_.data(), bytes_ + whole_, bytes.size() - whole_);
  }
  std::uint64_t take(unsigned n, std::uint64_t mask) {
    const std::size_t byte = at_ / 8;
    std::uint64_t bits;
    std::memcpy(&bits, byte < whole_ ? bytes_ + byte : tail_.data() + std::min<std::size_t>(byte - whole_, 8),
                sizeof(bits));
    bits = (bits >> (at_ % 8)) & mask;
    at_ += n;
    return bits;
  }
  std::size_t bytes_taken() const { return (at_ + 7) / 8; }

 private:
  const char* bytes_;
  std::size_t whole_;   // eight bytes can be read from any byte below it
  std::size_t at_ = 0;  // bit
  std::array<char, 16> tail_{};
};

template <class Word>
bool join_words(std::string_view body, TimeCode code, const std::vector<std::uint8_t>& groups, char* to) {
  static constexpr std::array<Classes, kMostThreshold> kTables = {classes_of(1), classes_of(2), classes_of(3),
                                                                  classes_of(4), classes_of(5), classes_of(6),
                                                                  classes_of(7)};
  const Classes& table = kTables[code.threshold - 1u];
  const unsigned direct = 1u << code.threshold;
  const std::uint64_t scale = std::uint64_t{1} << code.shift;
  Counts next = starts_of(groups);
  LowBits low(body.substr(groups.size()));
  for (std::size_t i = 0; i < groups.size(); ++i) {
    std::uint64_t w = static_cast<std::uint8_t>(body[next[groups[i]]++]);
    if (w >= direct) {
      const Class& c = table[w];
      w = c.base + low.take(c.low_bits, c.mask);
    }
    const auto word = static_cast<Word>(w * scale);
    std::memcpy(to + i * sizeof(Word), &word, sizeof(word));
  }
  return low.bytes_taken() == body.size() - groups.size();
}

}  // namespace

void time_groups(const char* kinds, const char* states, std::uint32_t count, std::vector<std::uint8_t>& out) {
  out.resize(count);
  // Eight at a time: the two lowest bits of the kind above what there is of the state.
  constexpr std::uint64_t kKindBits = 0xc0c0c0c0c0c0c0c0;
  for (std::size_t i = 0; i < count; i += sizeof(std::uint64_t)) {
    const std::size_t n = std::min<std::size_t>(sizeof(std::uint64_t), count - i);
    std::uint64_t kind = 0, state = 0;
    if (kinds != nullptr) std::memcpy(&kind, kinds + i, n);
    if (states != nullptr) std::memcpy(&state, states + i, n);
    state ^= (kind << 6) & kKindBits;
    std::memcpy(out.data() + i, &state, n);
  }
}

TimeCode put_times(const RawColumns::Column& time, const std::vector<std::uint8_t>& groups, std::string& out,
                   std::vector<std::size_t>& ends) {
  const std::size_t count = groups.size();
  thread_local std::vector<std::uint64_t> words;
  words.resize(count);
  take_words(time, count, words.data());
  std::uint64_t all = 0;
  for (const std::uint64_t w : words) all |= w;
  TimeCode code;
  code.shift = static_cast<std::uint8_t>(all == 0 ? 0 : std::countr_zero(all));
  if (std::bit_width(all >> code.shift) > kMostLowBits + 2) return code;
  code.threshold = count < kManyRecords ? kThresholdOfFew : kMostThreshold;

  const Counts starts = starts_of(groups);
  Counts next = starts;
  const unsigned threshold = code.threshold;
  const std::uint64_t direct = std::uint64_t{1} << threshold;
  const std::size_t begin = out.size();
  const std::size_t most_bits = std::bit_width(all >> code.shift);
  out.resize(begin + count + (count * most_bits) / 8 + 1 + sizeof(std::uint64_t));
  char* const classes = out.data() + begin;
  char* const low = classes + count;
  std::size_t at = 0;  // byte of `low`
  std::uint64_t held = 0;
  unsigned bits = 0;  // of `held`, below 8
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t w = words[i] >> code.shift;
    char& c = classes[next[groups[i]]++];
    if (w < direct) {
      c = static_cast<char>(w);
      continue;
    }
    const unsigned e = static_cast<unsigned>(std::bit_width(w)) - 1;
    c = static_cast<char>(direct + 2 * (e - threshold) + ((w >> (e - 1)) & 1));
    held |= (w & ((std::uint64_t{1} << (e - 1)) - 1)) << bits;
    std::memcpy(low + at, &held, sizeof(held));
    bits += e - 1;
    at += bits / 8;
    held >>= bits & 56;
    bits %= 8;
  }
  if (bits > 0) ++at;
  // A group is coded by itself if that is worth it; small ones go together.
  const std::size_t parts_before = ends.size();
  std::size_t from = 0;
  for (std::size_t g = 1; g <= kGroups; ++g) {
    const std::size_t to = g < kGroups ? starts[g] : count;
    if (to - from < kLeastPart && g < kGroups) continue;
    if (to - from < kLeastPart && ends.size() > parts_before) ends.pop_back();
    ends.push_back(begin + to);
    from = to;
  }
  out.resize(begin + count + at);
  if (at > 0) ends.push_back(out.size());
  return code;
}

bool get_times_untrusted(std::string_view body, TimeCode code, std::uint8_t width,
                         const std::vector<std::uint8_t>& groups, char* to) {
  if (code.threshold < 1 || code.threshold > kMostThreshold || code.shift > 63 || body.size() < groups.size())
    return false;
  if (width == 1) return join_words<std::uint8_t>(body, code, groups, to);
  if (width == 2) return join_words<std::uint16_t>(body, code, groups, to);
  if (width == 4) return join_words<std::uint32_t>(body, code, groups, to);
  return width == 8 && join_words<std::uint64_t>(body, code, groups, to);
}

}  // namespace margay::store
