// How many independent tests several are worth.
#include "overlap.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>

namespace margay::detect {
namespace overlap_test {

constexpr double kManyExpected = 1000;

TEST(Overlap, OfWhatHasNotBeenSeenNothingIsBelieved) {
  const Overlap o;
  EXPECT_EQ(o.independent(9, 9, 0), 9);
  EXPECT_EQ(o.independent(9, 9, kManyExpected), 9);
}

TEST(Overlap, TestsThatAreAlwaysBeyondTogetherAreNearlyOne) {
  Overlap o;
  for (std::uint64_t k = 1; k <= 2000; ++k) o.add(k * 100, 9);
  EXPECT_NEAR(o.independent(9, 9, kManyExpected), 1, 0.05);
  EXPECT_EQ(o.independent(9, 9, 0), 9) << "seldomer ones may be apart";
  EXPECT_NEAR(o.independent(9, 9, 4), 5, 0.05) << "half of it has been seen";
  EXPECT_EQ(o.independent(0, 0, kManyExpected), 1) << "one at least";
}

TEST(Overlap, TestsThatNeverComeNearNeedNoPart) {
  const Overlap o;
  EXPECT_EQ(o.independent(9, 3, 0), 9);
  EXPECT_EQ(o.independent(9, 3, 4), 6);
  EXPECT_EQ(o.independent(9, 3, kManyExpected), 3);
}

TEST(Overlap, SlicesInARowAreOneAlarm) {
  Overlap o;
  for (std::uint64_t k = 1; k <= 2000; ++k)
    for (std::uint64_t i = 0; i < 4; ++i) o.add(k * 100 + 2 * i, 1);
  EXPECT_NEAR(o.independent(4, 4, kManyExpected), 1, 0.05);
}

TEST(Overlap, TestsThatAreApartStayApart) {
  Overlap o;
  std::mt19937 random(5);
  std::bernoulli_distribution beyond(0.001);
  for (std::uint64_t slice = 1; slice <= 500'000; ++slice) {
    std::size_t tests = 0;
    for (int t = 0; t < 6; ++t) tests += beyond(random);
    o.add(slice, tests);
  }
  EXPECT_GT(o.independent(6, 6, kManyExpected), 5.5);
  EXPECT_LE(o.independent(6, 6, kManyExpected), 6);
}

}  // namespace overlap_test
}  // namespace margay::detect
