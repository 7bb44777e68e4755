#include "raw_times.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <random>

#include "margay/base/record.h"
#include "margay/wire/columns.h"
#include "record_codec.h"

namespace margay::store {
namespace raw_times_test {

constexpr std::uint64_t kSeed = 21;

// Calls of a program: what they take and what lies between them is of the order of what is usual for each.
std::vector<EventRecord> calls(std::mt19937_64& random, std::size_t count, std::int64_t grid) {
  constexpr std::array<double, 4> kUsual = {7, 9, 5.5, 11};  // ln ns
  std::vector<EventRecord> records;
  std::int64_t now = 1'000'000'000'000;
  std::lognormal_distribution<double> spread(0, 0.4);
  for (std::size_t i = 0; i < count; ++i) {
    const auto state = static_cast<std::uint16_t>((i / 2) % 2);
    const std::size_t what = state * 2u + i % 2;
    now += static_cast<std::int64_t>(std::exp(kUsual[what]) * spread(random));
    const auto kind = static_cast<std::uint8_t>(i % 2 == 0 ? MARGAY_ENTER : MARGAY_LEAVE);
    records.push_back({now / grid * grid, 8, 1, 0, 0, state, kind, 0});
  }
  return records;
}
RawBlock block_of(const std::vector<EventRecord>& records) {
  RawBlock b{LeafIndex(0),
             0,
             TimeNs(records.front().time_ns),
             TimeNs(records.back().time_ns),
             static_cast<std::uint32_t>(records.size()),
             {},
             SourceId(99)};
  wire::encode_columns(records, b.columns);
  return b;
}
double bytes_per_event(const RawBlock& b) {
  std::string value;
  EXPECT_TRUE(encode_raw(b, value));
  RawBlock back;
  EXPECT_TRUE(decode_raw_untrusted(value, back));
  back.leaf = b.leaf;
  back.first = b.first;
  back.begin = b.begin;
  EXPECT_EQ(back, b);
  return static_cast<double>(value.size()) / b.count;
}

// The entropy of a lognormal of log-spread s at a grid of g ns: log2(median s sqrt(2 pi e) / g) bits.
TEST(RawTimes, CostWhatTheirNoiseHas) {
  for (const std::int64_t grid : {1, 16}) {
    std::mt19937_64 random(kSeed);
    double bits = 0;
    for (const double usual : {7.0, 9.0, 5.5, 11.0})
      bits += std::log2(std::exp(usual) * 0.4 * std::sqrt(2 * std::acos(-1.0) * std::exp(1.0)) /
                        static_cast<double>(grid)) /
              4;
    const double measured = 8 * bytes_per_event(block_of(calls(random, 16000, grid)));
    EXPECT_GT(measured, bits - 0.1) << "grid " << grid << ": less than there is, seed " << kSeed;
    EXPECT_LT(measured, bits + 0.6) << "grid " << grid << ", seed " << kSeed;
  }
}

TEST(RawTimes, TimesThatRunBackComeBack) {
  std::mt19937_64 random(kSeed);
  std::vector<EventRecord> records = calls(random, 3000, 1);
  for (std::size_t i = 0; i < records.size(); i += 100) records[i].time_ns -= 1'000'000;
  static_cast<void>(bytes_per_event(block_of(records)));
  records[5].time_ns = INT64_MIN;  // a difference that no class holds
  records[6].time_ns = INT64_MAX;
  static_cast<void>(bytes_per_event(block_of(records)));
}

TEST(RawTimes, WordsOfEveryLengthComeBack) {
  std::mt19937_64 random(kSeed);
  for (const std::size_t count : {0u, 1u, 7u, 8u, 9u, 511u, 512u, 4095u, 4096u, 9000u})
    for (const unsigned width : {1u, 2u, 4u, 8u})
      for (const unsigned shift : {0u, 1u, 5u, 7u}) {
        std::string from(count * width, '\0'), body("x"), to(count * width, '?');
        std::vector<std::uint8_t> groups;
        for (std::size_t i = 0; i < count; ++i) {
          // Up to the longest word that has a class.
          const unsigned most = std::min(8 * width, 58 + shift);
          const std::uint64_t word = (random() >> (64 - most + random() % (most - shift))) >> shift << shift;
          std::memcpy(from.data() + i * width, &word, width);
          groups.push_back(static_cast<std::uint8_t>(random() % 3 * 100));
        }
        std::vector<std::size_t> ends;
        const TimeCode code =
            put_times({static_cast<std::uint8_t>(width), 0, from.data()}, groups, body, ends);
        ASSERT_GT(code.threshold, 0) << count << " words of " << width;
        ASSERT_FALSE(ends.empty());
        EXPECT_EQ(ends.back(), body.size());
        EXPECT_TRUE(std::is_sorted(ends.begin(), ends.end()));
        const std::string_view times = std::string_view(body).substr(1);
        ASSERT_TRUE(get_times_untrusted(times, code, static_cast<std::uint8_t>(width), groups, to.data()));
        EXPECT_EQ(to, from) << count << " words of " << width << " bytes, shift " << shift << ", seed "
                            << kSeed;
        if (count == 0) continue;
        EXPECT_FALSE(get_times_untrusted(times.substr(0, times.size() - 1), code,
                                         static_cast<std::uint8_t>(width), groups, to.data()));
        EXPECT_FALSE(get_times_untrusted(std::string(times) + '\0', code, static_cast<std::uint8_t>(width),
                                         groups, to.data()));
      }
}

// What no checksum has looked at: nothing is read beyond the body, and nothing written beyond the words.
TEST(RawTimes, BodiesOfAnyBytesAreBounded) {
  std::mt19937_64 random(kSeed);
  int read = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::size_t count = random() % 40;
    std::vector<std::uint8_t> groups(count);
    for (auto& g : groups) g = static_cast<std::uint8_t>(random());
    std::string body(count + random() % 80, '\0');
    const unsigned most = 1 + random() % 256;
    for (char& c : body) c = static_cast<char>(random() % most);
    const TimeCode code{static_cast<std::uint8_t>(random() % 10), static_cast<std::uint8_t>(random() % 70)};
    const std::uint8_t width = std::array<std::uint8_t, 5>{0, 1, 2, 4, 8}[random() % 5];
    std::string to(width * count, '\0');
    read += get_times_untrusted(body, code, width, groups, to.data()) ? 1 : 0;
  }
  EXPECT_GT(read, 100) << "some are well formed, seed " << kSeed;
}

}  // namespace raw_times_test
}  // namespace margay::store
