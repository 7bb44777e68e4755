// How long a round of side work takes those that have done with it.
#include "side_rounds.h"

#include <gtest/gtest.h>

namespace margay::detect::test {
namespace {

constexpr std::uint16_t kWrite = 4;

// Eight leaves, one column.
struct Seen {
  Grid spent, ended, longest;
  std::vector<OpenVisit> before, after;
  std::vector<char> there = std::vector<char>(8, 1), counted{1};
  std::vector<std::uint16_t> state_of{kWrite};
  Seen() {
    for (Grid* g : {&spent, &ended, &longest}) g->reach(8, 1);
    before.resize(8), after.resize(8);
  }
  // In it where the slice ends.
  void goes_on(std::uint32_t leaf, float age) {
    after[leaf] = {kWrite, age};
    spent[leaf][0] = std::min(1.0f, age), longest[leaf][0] = age;
  }
  void ends(std::uint32_t leaf, float length) {
    spent[leaf][0] = std::min(1.0f, length), ended[leaf][0] = 1, longest[leaf][0] = length;
  }
  VisitsSeen operator()() const { return {spent, ended, longest, before, after, there, counted, state_of}; }
};

class SideRoundsTest : public testing::Test {
 protected:
  float take(const Seen& seen) {
    rounds_.take(seen(), {1}, SliceIndex(now_++));
    return rounds_.lengths()[0];
  }
  std::int64_t now_ = 10;
  SideRounds rounds_;
};

TEST_F(SideRoundsTest, IsTheMedianOfThoseThatHaveDoneWithItFromWhenTheyAreHalf) {
  Seen first, second, third;
  for (std::uint32_t l = 0; l < 8; ++l) first.goes_on(l, 0.5f);
  EXPECT_EQ(take(first), 0);
  EXPECT_TRUE(rounds_.going_on()[0]);
  EXPECT_TRUE(rounds_.shared()[0]);
  for (std::uint32_t l = 0; l < 8; ++l)
    l < 3 ? second.ends(l, 1.0f + 0.1f * static_cast<float>(l)) : second.goes_on(l, 1.5f);
  EXPECT_EQ(take(second), 0) << "three of eight";
  for (std::uint32_t l = 3; l < 8; ++l) l < 5 ? third.ends(l, 2) : third.goes_on(l, 2.5f);
  EXPECT_FLOAT_EQ(take(third), 1.2f);
  EXPECT_EQ(rounds_.lengths_before()[0], 0);
}

TEST_F(SideRoundsTest, ARoundEndsWhereNobodyIsAtIt) {
  Seen all, few;
  for (std::uint32_t l = 0; l < 8; ++l) all.ends(l, 0.5f);
  EXPECT_FLOAT_EQ(take(all), 0.5f);
  EXPECT_EQ(take(Seen()), 0);
  EXPECT_FALSE(rounds_.going_on()[0]);
  for (std::uint32_t l = 0; l < 3; ++l) few.ends(l, 0.9f);
  EXPECT_EQ(take(few), 0) << "who writes alone has nobody to be compared with";
  EXPECT_FALSE(rounds_.shared()[0]);
}

TEST_F(SideRoundsTest, ASliceThatWasNotSeenEndsTheRound) {
  Seen all, one;
  for (std::uint32_t l = 0; l < 8; ++l) all.ends(l, 0.5f);
  EXPECT_FLOAT_EQ(take(all), 0.5f);
  ++now_;
  one.goes_on(0, 3);
  EXPECT_EQ(take(one), 0);
  EXPECT_EQ(rounds_.lengths_before()[0], 0);
}

}  // namespace
}  // namespace margay::detect::test
