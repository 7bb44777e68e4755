#include "margay/wire/columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <random>

namespace margay::wire {
namespace columns_test {

bool same(const EventRecord& a, const EventRecord& b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

std::vector<EventRecord> random_records(std::mt19937_64& rng, std::size_t n, bool wild) {
  std::vector<EventRecord> out(n);
  std::int64_t t = 1'000'000'000'000;
  for (auto& r : out) {
    r = EventRecord{};
    t += static_cast<std::int64_t>(rng() % 100'000);
    r.time_ns = wild ? static_cast<std::int64_t>(rng()) : t;
    r.bytes = wild ? rng() : rng() % 70'000;
    r.peer = wild ? static_cast<std::int32_t>(rng()) : static_cast<std::int32_t>(rng() % 5) - 1;
    r.tag = wild ? static_cast<std::int32_t>(rng()) : -1;
    r.comm = wild ? static_cast<std::uint32_t>(rng()) : 0;
    r.state = static_cast<std::uint16_t>(wild ? rng() : rng() % 90);
    r.kind = static_cast<std::uint8_t>(wild ? rng() : 1 + rng() % 2);
  }
  return out;
}

TEST(Columns, RoundTrip_RandomRecords) {
  const std::uint64_t seed = 20240611;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 rng(seed);
  for (int round = 0; round < 200; ++round) {
    const auto records = random_records(rng, rng() % 300, round % 2 == 1);
    std::string bytes;
    encode_columns(records, bytes);
    std::vector<EventRecord> back;
    ASSERT_TRUE(decode_columns_untrusted(bytes, static_cast<std::uint32_t>(records.size()), back));
    ASSERT_EQ(back.size(), records.size());
    for (std::size_t i = 0; i < back.size(); ++i) ASSERT_TRUE(same(back[i], records[i])) << i;
    Changes changes;
    ASSERT_TRUE(decode_changes_untrusted(bytes, static_cast<std::uint32_t>(records.size()), changes));
    ASSERT_EQ(changes.time_ns.size(), records.size());
    for (std::size_t i = 0; i < records.size(); ++i) {
      ASSERT_EQ(changes.time_ns[i], records[i].time_ns) << i;
      ASSERT_EQ(changes.state[i], records[i].state) << i;
      ASSERT_EQ(changes.kind[i], records[i].kind) << i;
    }
  }
}

std::string random_columns(std::uint64_t seed, std::size_t count, bool wild) {
  std::mt19937_64 rng(seed);
  std::string bytes;
  encode_columns(random_records(rng, count, wild), bytes);
  return bytes;
}

TEST(Columns, EveryTruncationIsRefused) {
  std::string bytes = random_columns(7, 20, false);
  std::vector<EventRecord> back;
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    EXPECT_FALSE(decode_columns_untrusted({bytes.data(), n}, 20, back)) << n;
    EXPECT_TRUE(back.empty());
    Changes changes;
    EXPECT_FALSE(decode_changes_untrusted({bytes.data(), n}, 20, changes)) << n;
    EXPECT_TRUE(changes.time_ns.empty() && changes.state.empty() && changes.kind.empty());
  }
  bytes.push_back('x');
  const auto status = decode_columns_untrusted(bytes, 20, back);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, testing::HasSubstr("after the last column"));
}

TEST(Columns, WrongCountAndWidthAreRefusedByName) {
  std::string bytes = random_columns(8, 20, true);
  std::vector<EventRecord> back;
  EXPECT_FALSE(decode_columns_untrusted(bytes, 21, back));
  EXPECT_FALSE(decode_columns_untrusted(bytes, 19, back));
  EXPECT_EQ(decode_columns_untrusted(bytes, kMaxBatchRecords + 1, back).error().code, ErrorCode::kLimit);
  bytes[9] = 3;  // the first column's width
  EXPECT_THAT(decode_columns_untrusted(bytes, 20, back).error().message,
              testing::HasSubstr("'time' has width 3"));
}

TEST(Columns, SteadyTrafficTakesFewBytes) {
  EXPECT_LE(random_columns(9, 4096, false).size(),
            4096u * 14);  // 4 time, 4 bytes, 1 peer, 1 state, 1 kind, and headers
}

}  // namespace columns_test
}  // namespace margay::wire
