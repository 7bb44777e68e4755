// What comes back by the clock.
#include "recurrence.h"

#include <gtest/gtest.h>

namespace margay::detect {
namespace recurrence_test {

constexpr std::uint16_t kState = 4, kOther = 5;

TEST(Recurrence, ThreeTimesItIsToldAndThenItIsUsual) {
  Recurrence r;
  for (int k = 0; k < 10; ++k)
    EXPECT_EQ(r.usual({3}, kState, SliceIndex(1'000 + 60 * k + k % 3)), k >= 3) << "time " << k;
}

TEST(Recurrence, WhatComesAtAnyTimeIsToldEachTime) {
  Recurrence r;
  std::int64_t at = 0;
  for (const std::int64_t gap : {50, 90, 60, 200, 20, 70, 50, 110, 30})
    EXPECT_FALSE(r.usual({3}, kState, SliceIndex(at += gap)));
}

TEST(Recurrence, IsToldAgainWhereItDoesNotKeepItsTime) {
  Recurrence r;
  for (int k = 0; k < 5; ++k) r.usual({3}, kState, SliceIndex(100 * k));
  EXPECT_FALSE(r.usual({3}, kState, SliceIndex(430)));
  EXPECT_FALSE(r.usual({3}, kState, SliceIndex(800)));
}

TEST(Recurrence, IsOfTheSameLeavesAndTheSameState) {
  Recurrence r;
  for (int k = 0; k < 5; ++k) r.usual({0, 1, 2, 3}, kState, SliceIndex(100 * k));
  EXPECT_FALSE(r.usual({8, 9}, kState, SliceIndex(500)));
  EXPECT_FALSE(r.usual({0, 1, 2, 3}, kOther, SliceIndex(500)));
  EXPECT_TRUE(r.usual({0, 1, 2}, kState, SliceIndex(500))) << "most of them";
}

// It would begin again in every slice in which it goes on.
TEST(Recurrence, WhatBeginsAgainAtOnceIsTheSameTime) {
  Recurrence r;
  for (int k = 0; k < 8; ++k)
    for (int slice = 0; slice < 4; ++slice)
      EXPECT_EQ(r.usual({3}, kState, SliceIndex(100 * k + slice)), k >= 3)
          << "time " << k << " slice " << slice;
}

TEST(Recurrence, OfManyKindsTheNewestAreRemembered) {
  Recurrence r;
  for (int k = 0; k < 8; ++k)
    for (std::uint32_t leaf = 0; leaf < 16; ++leaf)
      EXPECT_EQ(r.usual({leaf}, kState, SliceIndex(100 * k + leaf)), k >= 3);
  for (std::uint32_t leaf = 100; leaf < 1'100; ++leaf) EXPECT_FALSE(r.usual({leaf}, kState, SliceIndex(800)));
  EXPECT_FALSE(r.usual({3}, kState, SliceIndex(803))) << "forgotten";
}

}  // namespace recurrence_test
}  // namespace margay::detect
