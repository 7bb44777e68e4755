// Evidence of long visits, summed up over nodes and time.
#include "surprise_sums.h"

#include <gtest/gtest.h>

#include "node_items.h"
#include "stretches.h"
#include "trees.h"

namespace margay::detect::test {
namespace surprise_sums_test {

// Two hosts of two leaves, two columns. Evidence of a visit is shown to the leaf, and goes up.
struct Sums {
  Sums() { sums.lay_out(items.size(), 2); }
  using Evidence = std::vector<std::array<float, 2>>;  // by leaf
  void take(const Evidence& evidence, float lost = 0.5f) {
    SurpriseSums::Slice& s = sums.slice();
    for (Grid* g : {&s.evidence, &s.told, &s.lost, &s.ratio}) g->fill(0);
    for (std::size_t l = 0; l < items.leaves(); ++l)
      for (std::size_t x = 0; x < 2; ++x) {
        if (evidence[l][x] == 0) continue;
        s.evidence[l][x] = evidence[l][x], s.told[l][x] = 1, s.lost[l][x] = lost, s.ratio[l][x] = 2;
      }
    for (Grid* g : {&s.evidence, &s.told, &s.lost, &s.ratio}) items.add_up(*g);
    for (std::size_t i = 0; i < items.size(); ++i)
      s.busy[i] = s.there[i] = static_cast<float>(items.below(i).size());
    sums.take(items.leaves());
  }
  // Only leaf 0 has any, of the first column.
  void take_of_one(float e) { take({{e, 0}, {}, {}, {}}); }
  const NodeItems items{hosts_of(2, 2)};
  SurpriseSums sums;
};

TEST(SurpriseSums, BeginsAnewWhereTheEvidenceIsGone) {
  Sums s;
  for (int i = 0; i < 10; ++i) s.take_of_one(-5);
  EXPECT_EQ(strongest(s.sums.stretches(), 0).score, 0) << "what was as usual before is no credit";
  for (int i = 0; i < 3; ++i) s.take_of_one(2);
  const StretchSums::Score score = strongest(s.sums.stretches(), 0);
  EXPECT_FLOAT_EQ(score.score, 6);
  EXPECT_EQ(score.slices, 3u);
  EXPECT_FLOAT_EQ(score.effect, 0.5f);
  EXPECT_FLOAT_EQ(score.ratio, 2);
  // Slices without a visit are part of the stretch.
  s.take_of_one(0);
  EXPECT_EQ(strongest(s.sums.stretches(), 0).slices, 4u);
  EXPECT_FLOAT_EQ(strongest(s.sums.stretches(), 0).effect, 1.5f / 4);
}

TEST(SurpriseSums, EndsWhereItHasFallenBack) {
  Sums s;
  for (int i = 0; i < 10; ++i) s.take_of_one(2);
  EXPECT_FLOAT_EQ(strongest(s.sums.stretches(), 0).score, 20);
  for (float fallen = 1; fallen < StretchSums::kFallsBack; ++fallen) {
    s.take_of_one(-1);
    EXPECT_FLOAT_EQ(strongest(s.sums.stretches(), 0).score, 20 - fallen);
    EXPECT_EQ(ended(s.sums.stretches(), 0).score, 0);
  }
  s.take_of_one(-1);
  EXPECT_EQ(strongest(s.sums.stretches(), 0).score, 0);
  EXPECT_FLOAT_EQ(ended(s.sums.stretches(), 0).score, 20) << "the most that it was";
  EXPECT_FLOAT_EQ(ended(s.sums.stretches(), 0).effect, 0.5f);
  s.take_of_one(3);
  EXPECT_EQ(ended(s.sums.stretches(), 0).score, 0) << "told once";
  EXPECT_FLOAT_EQ(strongest(s.sums.stretches(), 0).score, 3);
  EXPECT_EQ(strongest(s.sums.stretches(), 0).slices, 1u);
}

TEST(SurpriseSums, WhatAllShowIsNobodys) {
  Sums s;
  for (int i = 0; i < 5; ++i) s.take({{3, 0}, {3, 0}, {3, 0}, {3, 0}});
  for (std::size_t i = 0; i < s.items.size(); ++i) EXPECT_EQ(strongest(s.sums.stretches(), i).score, 0) << i;
  // Who shows more than the others has what is more.
  s.take({{9, 0}, {3, 0}, {3, 0}, {3, 0}});
  EXPECT_FLOAT_EQ(strongest(s.sums.stretches(), 0).score, 6);
  EXPECT_EQ(strongest(s.sums.stretches(), 1).score, 0);
  // What the others show less is no credit.
  Sums less;
  less.take({{3, 0}, {-3, 0}, {-3, 0}, {-3, 0}});
  EXPECT_FLOAT_EQ(strongest(less.sums.stretches(), 0).score, 3);
}

TEST(SurpriseSums, ANodeHasWhatItsLeavesHaveAndAllStatesTogetherWhatEachHas) {
  Sums s;
  const std::uint32_t host = s.items.parent(0);
  for (int i = 0; i < 4; ++i) s.take({{2, 0}, {2, 0}, {}, {}});
  EXPECT_FLOAT_EQ(strongest(s.sums.stretches(), host).score, 16);
  EXPECT_EQ(strongest(s.sums.stretches(), s.items.parent(2)).score, 0);
  Sums apart;
  for (int i = 0; i < 4; ++i) apart.take({{2, 0}, {0, 2}, {}, {}});
  const std::vector<char> first{1, 0}, second{0, 1}, both{1, 1};
  EXPECT_GT(strongest(apart.sums.stretches(), host).score, 12);
  EXPECT_FLOAT_EQ(apart.sums.stretches().of(host, first).score, 8);
  EXPECT_FLOAT_EQ(apart.sums.stretches().of(0, second).score, 0);
  EXPECT_FLOAT_EQ(apart.sums.stretches().of(host, both).score, 8) << "of the strongest column";
}

// What hits many at once may be one thing: a slice is worth no more than four visits.
TEST(SurpriseSums, ASliceIsWorthNoMoreHoweverManyLeavesShowIt) {
  Sums s;
  s.take({{20, 0}, {20, 0}, {}, {}});
  EXPECT_FLOAT_EQ(strongest(s.sums.stretches(), s.items.parent(0)).score, SurpriseSums::kMostOfSlice);
  s.take({{20, 0}, {20, 0}, {}, {}});
  EXPECT_FLOAT_EQ(strongest(s.sums.stretches(), s.items.parent(0)).score, 2 * SurpriseSums::kMostOfSlice);
}

TEST(SurpriseSums, RestartsOfAnItemOrOfAllAndOfItemsThatAreOthersNow) {
  Sums s;
  s.take({{5, 0}, {}, {5, 0}, {}});
  const float kept = strongest(s.sums.stretches(), 2).score;
  EXPECT_GT(kept, 0);
  s.sums.stretches().restart(0);
  EXPECT_EQ(strongest(s.sums.stretches(), 0).score, 0);
  EXPECT_EQ(ended(s.sums.stretches(), 0).score, 0) << "it has been told";
  EXPECT_EQ(strongest(s.sums.stretches(), 2).score, kept);
  s.sums.stretches().clear_from(4);
  EXPECT_EQ(strongest(s.sums.stretches(), 4).score, 0);
  EXPECT_EQ(strongest(s.sums.stretches(), 2).score, kept);
  s.sums.stretches().restart();
  EXPECT_EQ(strongest(s.sums.stretches(), 2).score, 0);
}

TEST(SurpriseSums, AStateThatComesNewLeavesTheSumsAsTheyAre) {
  Sums s;
  s.take({{3, 0}, {}, {}, {}});
  s.take({{0, 3}, {}, {}, {}});
  const float all = strongest(s.sums.stretches(), 0).score;
  EXPECT_FLOAT_EQ(all, 6) << "of both states";
  s.sums.lay_out(s.items.size(), 3);
  EXPECT_FLOAT_EQ(strongest(s.sums.stretches(), 0).score, all);
  EXPECT_FLOAT_EQ(s.sums.stretches().of(0, {1, 0, 0}).score, 3);
  EXPECT_FLOAT_EQ(s.sums.stretches().of(0, {0, 0, 1}).score, 0);
}

}  // namespace surprise_sums_test
}  // namespace margay::detect::test
