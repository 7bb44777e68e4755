#include "margay/trace/raw_block.h"

#include <gtest/gtest.h>

#include <random>

#include "margay/wire/columns.h"

namespace margay::trace {
namespace raw_block_test {

// A source whose clock is 1000 s behind, and drifts by 5 us in the block; records that no reader takes among
// them.
store::RawBlock example(std::mt19937_64& random) {
  std::vector<EventRecord> records;
  std::int64_t now = 7'000'000'003;
  for (int i = 0; i < 500; ++i) {
    const auto kind = static_cast<std::uint8_t>(i == 100 ? 77 : i % 2 == 0 ? MARGAY_ENTER : MARGAY_LEAVE);
    records.push_back({now, 8, 1, 2, 0, 1, kind, 0});
    now += static_cast<std::int64_t>(random() % 1000);
  }
  store::RawBlock b{LeafIndex(0),
                    70,
                    TimeNs(records.front().time_ns) + seconds(1000),
                    TimeNs(records.back().time_ns + 5'000) + seconds(1000),
                    static_cast<std::uint32_t>(records.size()),
                    {},
                    SourceId(3)};
  wire::encode_columns(records, b.columns);
  return b;
}

TEST(RawBlock, RoundedTimesAreThoseOfBeforeRoundedDown) {
  constexpr std::uint64_t kSeed = 31;
  std::mt19937_64 random(kSeed);
  std::vector<EventRecord> scratch, exact, rounded;
  for (const std::int64_t grid : {1, 2, 16, 1024}) {
    const store::RawBlock before = example(random);
    store::RawBlock block = before;
    ASSERT_TRUE(round_times(block, DurationNs(grid), scratch));
    EXPECT_EQ(block.leaf, before.leaf);
    EXPECT_EQ(block.first, before.first);
    EXPECT_EQ(block.count, before.count) << "ordinals stay";
    EXPECT_EQ(block.source, before.source);
    EXPECT_EQ(block.begin.value, before.begin.value / grid * grid);
    EXPECT_EQ(block.end.value, before.end.value / grid * grid);
    std::uint64_t rejected_before = 0, rejected = 0;
    ASSERT_TRUE(decode_block("a", before, exact, rejected_before));
    ASSERT_TRUE(decode_block("a", block, rounded, rejected));
    EXPECT_EQ(rejected, 1u);
    EXPECT_EQ(rejected_before, 1u);
    ASSERT_EQ(rounded.size(), exact.size());
    for (std::size_t i = 0; i < exact.size(); ++i) {
      ASSERT_EQ(rounded[i].time_ns, exact[i].time_ns / grid * grid) << i << ", seed " << kSeed;
      EXPECT_EQ(rounded[i].kind, exact[i].kind);
      if (i == 0) continue;
      EXPECT_GE(rounded[i].time_ns, rounded[i - 1].time_ns);
    }
  }
}

TEST(RawBlock, ABrokenBlockIsNotRounded) {
  store::RawBlock block{LeafIndex(0), 0, TimeNs(17), TimeNs(33), 3, "no columns"};
  const store::RawBlock before = block;
  std::vector<EventRecord> scratch;
  EXPECT_FALSE(round_times(block, DurationNs(16), scratch));
  EXPECT_EQ(block, before);
}

}  // namespace raw_block_test
}  // namespace margay::trace
