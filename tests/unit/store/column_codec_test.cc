#include "margay/store/column_codec.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "store_support.h"

namespace margay::store {
namespace column_codec_test {

using model::SliceColumn;
using testing::random_column;
using testing::some_takers;

constexpr std::uint64_t kSeed = 20240611;

SliceColumn round_trip(const SliceColumn& column, DurationNs slice, std::size_t* bytes = nullptr) {
  SliceColumn back(column.level, column.index, 0, 0);
  std::string chunk;
  for (std::uint32_t c = 0; c < chunk_count(column.leaves()); ++c) {
    const Status s = encode_chunk(column, c, slice, chunk);
    EXPECT_TRUE(s) << s.error().message;
    if (bytes) *bytes += chunk.size();
    const auto told = decode_chunk_untrusted(chunk, c, back);
    EXPECT_TRUE(told) << told.error().message;
    EXPECT_EQ(told ? *told : ~0u, column.leaves());
  }
  return back;
}

TEST(ColumnCodec, RoundTripsRandomColumnsOfEveryLevel) {
  std::mt19937_64 random(kSeed);
  for (const DurationNs slice : {milliseconds(100), seconds(1), seconds(60), seconds(86'400)})
    for (int i = 0; i < 20; ++i) {
      const auto leaves = static_cast<std::uint32_t>(random() % 100);
      const auto states = static_cast<std::uint32_t>(random() % 12);
      // Some decades around 1970, as far as times go.
      const std::int64_t most = 2'000'000'000'000'000'000 / slice.value;
      const SliceIndex index(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(2 * most)) -
                             most);
      const auto column = random_column(random, LevelIndex(2), index, leaves, states, slice);
      EXPECT_EQ(round_trip(*column, slice), *column) << "seed " << kSeed;
      EXPECT_EQ(round_trip(*column, DurationNs(0)), *column) << "without knowing the slice's duration";
    }
}

TEST(ColumnCodec, RoundTripsAnyBitsInAnyCell) {
  std::mt19937_64 random(kSeed + 1);
  for (int i = 0; i < 50; ++i) {
    SliceColumn column(LevelIndex(0), SliceIndex(static_cast<std::int64_t>(random())), 9, 5);
    column.lost_events = random();
    for (std::uint32_t l = 0; l < 9; ++l) {
      for (std::uint32_t x = 0; x < 5; ++x) {
        if (random() % 3 == 0) continue;
        column.duration_ns(LeafIndex(l))[x] = static_cast<std::int64_t>(random());
        column.longest_ns(LeafIndex(l))[x] = static_cast<std::int64_t>(random());
        column.visits(LeafIndex(l))[x] = static_cast<std::uint32_t>(random());
      }
      column.open(LeafIndex(l)) = {StateId(static_cast<std::uint16_t>(random() % 1024)),
                                   TimeNs(static_cast<std::int64_t>(random()))};
    }
    column.duration_ns(LeafIndex(0))[0] = std::numeric_limits<std::int64_t>::max();
    column.duration_ns(LeafIndex(0))[1] = std::numeric_limits<std::int64_t>::min();
    EXPECT_EQ(round_trip(column, milliseconds(100)), column) << "seed " << kSeed + 1;
  }
}

TEST(ColumnCodec, SplitsManyLeavesIntoChunksThatFitTogether) {
  std::mt19937_64 random(kSeed + 2);
  for (const std::uint32_t leaves : {1023u, 1024u, 1025u, 3000u}) {
    const auto column = random_column(random, LevelIndex(0), SliceIndex(5), leaves, 3, milliseconds(100));
    EXPECT_EQ(round_trip(*column, milliseconds(100)), *column);
  }
  EXPECT_EQ(chunk_count(0), 1u);
  EXPECT_EQ(chunk_count(1024), 1u);
  EXPECT_EQ(chunk_count(1025), 2u);
}

TEST(ColumnCodec, ChunkOfAnotherColumnIsRefused) {
  std::mt19937_64 random(kSeed + 3);
  const auto a = random_column(random, LevelIndex(0), SliceIndex(5), 2000, 3, milliseconds(100));
  const auto b = random_column(random, LevelIndex(0), SliceIndex(5), 2000, 4, milliseconds(100));
  std::string first;
  std::string second;
  ASSERT_TRUE(encode_chunk(*a, 0, milliseconds(100), first));
  ASSERT_TRUE(encode_chunk(*b, 1, milliseconds(100), second));
  SliceColumn back;
  ASSERT_TRUE(decode_chunk_untrusted(first, 0, back));
  EXPECT_FALSE(decode_chunk_untrusted(second, 1, back));
  EXPECT_FALSE(decode_chunk_untrusted(first, 2, back)) << "behind the column's end";
}

TEST(ColumnCodec, EmptyCellsCostLittle) {
  // A steady slice: every leaf in one state that opened long ago.
  SliceColumn column(LevelIndex(0), SliceIndex(100), 1000, 64);
  for (std::uint32_t l = 0; l < 1000; ++l) {
    column.duration_ns(LeafIndex(l))[2] = 100'000'000;
    column.longest_ns(LeafIndex(l))[2] = 10'100'000'000;
    column.open(LeafIndex(l)) = {StateId(2), TimeNs(0)};
  }
  std::size_t bytes = 0;
  EXPECT_EQ(round_trip(column, milliseconds(100), &bytes), column);
  EXPECT_LT(bytes, 200u);
}

TEST(ColumnCodec, EveryTruncationIsRefused) {
  std::mt19937_64 random(kSeed + 4);
  const auto column = random_column(random, LevelIndex(0), SliceIndex(7), 40, 6, milliseconds(100));
  std::string bytes;
  ASSERT_TRUE(encode_chunk(*column, 0, milliseconds(100), bytes));
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    SliceColumn back;
    EXPECT_FALSE(decode_chunk_untrusted(std::string_view(bytes).substr(0, n), 0, back)) << n << " bytes";
  }
  SliceColumn back;
  EXPECT_FALSE(decode_chunk_untrusted(bytes + '\0', 0, back)) << "a byte too many";
  EXPECT_FALSE(decode_chunk_untrusted(bytes + bytes, 0, back));
}

TEST(ColumnCodec, BitFlipsNeverCrashAndBodyFlipsAreSeen) {
  std::mt19937_64 random(kSeed + 5);
  const auto column = random_column(random, LevelIndex(0), SliceIndex(7), 60, 6, milliseconds(100));
  std::string bytes;
  ASSERT_TRUE(encode_chunk(*column, 0, milliseconds(100), bytes));
  std::size_t wrong = 0;
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string broken = bytes;
    broken[bit / 8] = static_cast<char>(broken[bit / 8] ^ (1 << (bit % 8)));
    SliceColumn back(column->level, column->index, 0, 0);
    if (decode_chunk_untrusted(broken, 0, back) && !(back == *column)) ++wrong;
  }
  // The header's lost count, flag and slice duration may flip into other valid values; the body has a
  // checksum.
  EXPECT_LE(wrong, 8u * 8u);
}

TEST(ColumnCodec, RandomBytesNeverCrash) {
  std::mt19937_64 random(kSeed + 6);
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes(random() % 64, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    if (!bytes.empty()) bytes[0] = 1;
    SliceColumn back;
    EXPECT_FALSE(decode_chunk_untrusted(bytes, static_cast<std::uint32_t>(random() % 3), back));
  }
}

TEST(ColumnCodec, NewerVersionIsNamed) {
  SliceColumn column(LevelIndex(0), SliceIndex(7), 1, 1);
  std::string bytes;
  ASSERT_TRUE(encode_chunk(column, 0, DurationNs(0), bytes));
  bytes[0] = 6;
  const auto r = decode_chunk_untrusted(bytes, 0, column);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, ErrorCode::kVersion);
}

// What nobody has is not written: it stays readable for the version before.
TEST(ColumnCodec, WhoUsesStorageComesBackInAVersionOfItsOwn) {
  std::mt19937_64 random(kSeed + 8);
  for (const std::uint32_t leaves : {40u, 700u}) {
    auto column = random_column(random, LevelIndex(0), SliceIndex(7), leaves, 6, milliseconds(100));
    std::string bytes;
    ASSERT_TRUE(encode_chunk(*column, 0, milliseconds(100), bytes));
    EXPECT_LT(bytes[0], 4);
    for (std::uint32_t l = 0; l < leaves; l += 3) {
      model::NodeEvidence& e = column->evidence(LeafIndex(l));
      e.blocked_ns =
          l == 3 ? std::numeric_limits<std::int64_t>::max() : static_cast<std::int64_t>(random() >> 37);
      e.storage_bytes =
          l == 6 ? std::numeric_limits<std::int64_t>::max() : static_cast<std::int64_t>(random() >> 40);
    }
    ASSERT_TRUE(encode_chunk(*column, 0, milliseconds(100), bytes));
    EXPECT_EQ(bytes[0], 4);
    EXPECT_EQ(round_trip(*column, milliseconds(100)), *column) << "seed " << kSeed + 8;
    for (std::size_t n = 0; n < bytes.size(); n += 1 + n / 64) {
      SliceColumn back;
      EXPECT_FALSE(decode_chunk_untrusted(std::string_view(bytes).substr(0, n), 0, back)) << n << " bytes";
    }
  }
}

TEST(ColumnCodec, WhoHadTheCpu_ComesBackAndIsChecked) {
  std::mt19937_64 random(5);
  SliceColumn c =
      *random_column(random, LevelIndex(0), SliceIndex(7), kChunkLeaves + 3, 4, milliseconds(100));
  c.takers = some_takers();
  std::string first, second, without;
  ASSERT_TRUE(encode_chunk(c, 0, milliseconds(100), first));
  ASSERT_TRUE(encode_chunk(c, 1, milliseconds(100), second));
  EXPECT_EQ(first[0], 5);
  EXPECT_NE(second[0], 5) << "told once";
  SliceColumn got(LevelIndex(0), SliceIndex(7), 0, 0);
  ASSERT_TRUE(decode_chunk_untrusted(first, 0, got));
  ASSERT_TRUE(decode_chunk_untrusted(second, 1, got));
  EXPECT_EQ(got, c);
  EXPECT_FALSE(decode_chunk_untrusted(first, 1, got));
  for (std::size_t n = 0; n < first.size(); n += 1 + n / 64)
    EXPECT_FALSE(decode_chunk_untrusted({first.data(), n}, 0, got)) << n;
  // A kind that there is not.
  const std::size_t name = first.find("python3");
  ASSERT_NE(name, std::string::npos);
  for (std::size_t i = 8; i < name; ++i) {
    std::string wrong = first;
    wrong[i] = '\x7f';
    static_cast<void>(decode_chunk_untrusted(wrong, 0, got));
  }
  SliceColumn more = c;
  more.takers.assign(SliceColumn::kMostTakers, c.takers[0]);
  ASSERT_TRUE(encode_chunk(more, 0, milliseconds(100), first));
  ASSERT_TRUE(decode_chunk_untrusted(first, 0, got));
  EXPECT_EQ(got.takers, more.takers);
}

// A chunk as version 1 wrote it: it knew nothing of silence.
TEST(ColumnCodec, ReadsTheVersionBefore) {
  constexpr std::string_view kHex =
      "01020401056405736f6c76652c28b52ffd242c61010000020101020201010000500100500100030001030002d0400706010054"
      "0100650"
      "1006401001401000e0100648837c3a2";
  std::string bytes;
  for (std::size_t i = 0; i < kHex.size(); i += 2)
    bytes.push_back(static_cast<char>(std::stoi(std::string(kHex.substr(i, 2)), nullptr, 16)));
  SliceColumn want(LevelIndex(0), SliceIndex(7), 2, 4);
  want.lost_events = 5;
  want.region = "solve";
  want.provisional = true;
  want.duration_ns(LeafIndex(0))[2] = 60;
  want.longest_ns(LeafIndex(0))[2] = 40;
  want.visits(LeafIndex(0))[2] = 3;
  want.duration_ns(LeafIndex(0))[3] = 40;
  want.longest_ns(LeafIndex(0))[3] = 1000;
  want.duration_ns(LeafIndex(1))[1] = 100;
  want.open(LeafIndex(0)) = {StateId(3), TimeNs(-200)};
  model::NodeEvidence& e = want.evidence(LeafIndex(1));
  e.process_state = 'T';
  e.stopped_since = TimeNs(750);
  e.sampled_ns = 50;
  e.cpu_ns = 10;
  e.run_delay_ns = 7;
  e.stopped_ns = 50;
  SliceColumn got(LevelIndex(0), SliceIndex(7), 0, 0);
  const auto r = decode_chunk_untrusted(bytes, 0, got);
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(got, want);
}

// Exact durations: the low bytes of a thousand of them do not compress, and are apart.
TEST(ColumnCodec, RandomPlanesAreApart_ComeBackAndAreChecked) {
  RecordProperty("seed", std::to_string(kSeed + 7));
  std::mt19937_64 random(kSeed + 7);
  SliceColumn column(LevelIndex(0), SliceIndex(9), 700, 3);
  for (std::uint32_t l = 0; l < 700; ++l) {
    const auto part = static_cast<std::int64_t>(random() % 100'000'000);
    column.duration_ns(LeafIndex(l))[0] = part;
    column.duration_ns(LeafIndex(l))[2] = 100'000'000 - part;
    column.longest_ns(LeafIndex(l))[0] = part / 2;
    column.longest_ns(LeafIndex(l))[2] = 100'000'000 - part;
    column.visits(LeafIndex(l))[0] = 2;
    column.open(LeafIndex(l)) = {StateId(2), TimeNs(900'000'000 + part)};
  }
  std::size_t size = 0;
  ASSERT_EQ(round_trip(column, milliseconds(100), &size), column);
  // Of a leaf: two durations, the longer of which follows, the shorter's longest visit and the age of the
  // open one: 27 bits each.
  EXPECT_LT(size, 700u * 15);
  std::string bytes;
  ASSERT_TRUE(encode_chunk(column, 0, milliseconds(100), bytes));
  ASSERT_EQ(bytes[0], 3);
  std::size_t wrong = 0;
  for (std::size_t i = 16; i < bytes.size(); ++i) {
    std::string broken = bytes;
    broken[i] = static_cast<char>(broken[i] ^ (1 << (i % 8)));
    SliceColumn back(column.level, column.index, 0, 0);
    if (decode_chunk_untrusted(broken, 0, back) && !(back == column)) ++wrong;
    EXPECT_FALSE(decode_chunk_untrusted(std::string_view(bytes).substr(0, i), 0, back)) << i;
  }
  EXPECT_EQ(wrong, 0u) << "behind the header every byte is in a sum";
}

TEST(ColumnCodec, RefusesToWriteWhatItWouldNotRead) {
  SliceColumn column(LevelIndex(0), SliceIndex(7), 1, 1025);
  std::string bytes;
  EXPECT_FALSE(encode_chunk(column, 0, DurationNs(0), bytes));
  SliceColumn open(LevelIndex(0), SliceIndex(7), 1, 1);
  open.open(LeafIndex(0)).state = StateId(1024);
  EXPECT_FALSE(encode_chunk(open, 0, DurationNs(0), bytes));
  EXPECT_FALSE(encode_chunk(SliceColumn(), 1, DurationNs(0), bytes)) << "no such chunk";
}

}  // namespace column_codec_test
}  // namespace margay::store
