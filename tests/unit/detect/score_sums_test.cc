// Scores of long visits, summed up over nodes and time.
#include "score_sums.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "node_items.h"
#include "stretches.h"
#include "trees.h"

namespace margay::detect::test {
namespace score_sums_test {

// Hosts of leaves, two columns. A visit's score is shown to the leaf, and goes up.
struct Sums {
  explicit Sums(std::uint32_t hosts = 2, std::uint32_t ranks = 2) : items(hosts_of(hosts, ranks)) {
    sums.lay_out(items.size(), 2);
  }
  using Scores = std::vector<std::array<float, 2>>;  // by leaf; 0 is no visit
  void take(const Scores& scores, float lost = 0.5f) {
    ScoreSums::Slice& s = sums.slice();
    const std::vector<Grid*> grids = {&s.score, &s.visits, &s.told, &s.lost, &s.ratio};
    for (Grid* g : grids) g->fill(0);
    for (std::size_t l = 0; l < items.leaves(); ++l)
      for (std::size_t x = 0; x < 2; ++x) {
        if (scores[l][x] == 0) continue;
        s.score[l][x] = scores[l][x], s.visits[l][x] = s.told[l][x] = 1;
        s.lost[l][x] = lost, s.ratio[l][x] = 2;
      }
    for (Grid* g : grids) items.add_up(*g);
    for (std::size_t i = 0; i < items.size(); ++i) s.busy[i] = static_cast<float>(items.below(i).size());
    sums.take(items);
  }
  // All alike, in the first column.
  void take_of_all(float z) { take(Scores(items.leaves(), {z, 0})); }
  // Only leaf 0 has any, of the first column.
  void take_of_one(float z) {
    Scores scores(items.leaves());
    scores[0][0] = z;
    take(scores);
  }
  const NodeItems items;
  ScoreSums sums;
};

TEST(ScoreSums, BeginsAnewWhereTheEvidenceIsGone) {
  Sums s;
  for (int i = 0; i < 10; ++i) s.take_of_one(-2);
  EXPECT_EQ(strongest(s.sums.stretches(), 0).score, 0) << "what was as usual before is no credit";
  for (int i = 0; i < 3; ++i) s.take_of_one(3);
  const StretchSums::Score score = strongest(s.sums.stretches(), 0);
  EXPECT_GT(score.score, 6);
  EXPECT_EQ(score.slices, 3u);
  EXPECT_FLOAT_EQ(score.effect, 0.5f);
  EXPECT_FLOAT_EQ(score.ratio, 2);
  EXPECT_FLOAT_EQ(s.sums.shift(0, score.column), 3);
  // Slices without a visit are part of the stretch.
  s.take_of_one(0);
  EXPECT_EQ(strongest(s.sums.stretches(), 0).slices, 4u);
  EXPECT_FLOAT_EQ(strongest(s.sums.stretches(), 0).effect, 1.5f / 4);
}

// Sums of evidence of what is as usual exceed x as seldom as exp(-x) says, however often one looks.
TEST(ScoreSums, ByChanceAStretchGoesSoFarAsSeldomAsItSays) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<float> usual;
    Sums s;
    int stretches = 0, far = 0;
    for (int i = 0; i < 20'000; ++i) {
      s.take_of_one(usual(random));
      const float most = ended(s.sums.stretches(), 0).score;
      stretches += most > 0, far += most > 5;
    }
    EXPECT_GT(stretches, 500) << "seed " << seed;
    EXPECT_LE(far, 3 * std::exp(-5) * stretches) << "seed " << seed;
  }
}

TEST(ScoreSums, WhatAllShowIsNobodys) {
  Sums s(4, 8);
  for (int i = 0; i < 5; ++i) s.take_of_all(3);
  for (std::size_t i = 0; i < s.items.size(); ++i) EXPECT_EQ(strongest(s.sums.stretches(), i).score, 0) << i;
  // Who shows more than the others has what is more.
  Sums::Scores scores(s.items.leaves(), {1, 0});
  scores[0][0] = 3.5f;
  s.take(scores);
  EXPECT_GT(strongest(s.sums.stretches(), 0).score, 2);
  EXPECT_EQ(strongest(s.sums.stretches(), 1).score, 0);
}

// Work comes in kinds: now all visits are long, now all are short. Who is as long as ever while all others
// are short is late; where they have not been seen to go together, what the others do less is no credit.
TEST(ScoreSums, WhereVisitsAreLongTogetherEachIsComparedWithTheOthers) {
  const auto score = [](bool together) {
    Sums s(4, 8);
    for (int i = 0; i < 64; ++i) {
      Sums::Scores scores(s.items.leaves());
      for (std::size_t l = 0; l < scores.size(); ++l)
        scores[l][0] = (static_cast<int>(together ? i : i + static_cast<int>(l)) / 4) % 2 == 0 ? -1.0f : 1.0f;
      s.take(scores);
      s.sums.learn(s.items);
    }
    s.sums.restart();
    for (int i = 0; i < 4; ++i) {
      Sums::Scores scores(s.items.leaves(), {-1.5f, 0});
      scores[0][0] = 0.5f;
      s.take(scores);
    }
    return strongest(s.sums.stretches(), 0).score;
  };
  EXPECT_GT(score(true), 5);
  EXPECT_EQ(score(false), 0);
}

// The visits of a host hang together: ten of them tell little more than one.
TEST(ScoreSums, VisitsThatHangTogetherTellLess) {
  const auto score = [](bool together) {
    Sums s(8, 10);
    std::mt19937_64 random(1);
    std::normal_distribution<float> usual;
    for (int i = 0; i < 400; ++i) {
      Sums::Scores scores(s.items.leaves());
      for (std::size_t l = 0; l < scores.size(); l += 10) {
        const float of_host = usual(random);
        for (std::size_t k = l; k < l + 10; ++k) scores[k][0] = together ? of_host : usual(random);
      }
      s.take(scores);
      s.sums.learn(s.items);
    }
    s.sums.restart();
    Sums::Scores scores(s.items.leaves(), {0.01f, 0});
    for (std::size_t k = 0; k < 10; ++k) scores[k][0] = 2.5f;
    s.take(scores);
    return strongest(s.sums.stretches(), s.items.parent(0)).score;
  };
  EXPECT_GT(score(false), 2 * score(true));
  EXPECT_GT(score(true), 0);
}

TEST(ScoreSums, ANodeHasWhatItsLeavesHaveAndAllStatesTogetherWhatEachHas) {
  Sums s;
  const std::uint32_t host = s.items.parent(0);
  for (int i = 0; i < 4; ++i) s.take({{3, 0}, {3, 0}, {}, {}});
  EXPECT_GT(strongest(s.sums.stretches(), host).score, strongest(s.sums.stretches(), 0).score);
  EXPECT_EQ(strongest(s.sums.stretches(), s.items.parent(2)).score, 0);
  Sums apart;
  for (int i = 0; i < 4; ++i) apart.take({{3, 0}, {0, 3}, {}, {}});
  const std::vector<char> first{1, 0}, second{0, 1}, both{1, 1};
  EXPECT_GT(apart.sums.stretches().of(host, first).score, 5);
  EXPECT_GT(strongest(apart.sums.stretches(), host).score, apart.sums.stretches().of(host, first).score)
      << "of all together";
  EXPECT_FLOAT_EQ(apart.sums.stretches().of(0, second).score, 0);
  EXPECT_FLOAT_EQ(apart.sums.stretches().of(host, both).score, apart.sums.stretches().of(host, first).score)
      << "of the strongest column";
}

TEST(ScoreSums, RestartsOfAnItemOrOfAllAndOfItemsThatAreOthersNow) {
  Sums s;
  s.take({{3, 0}, {}, {3, 0}, {}});
  const float kept = strongest(s.sums.stretches(), 2).score;
  EXPECT_GT(kept, 0);
  s.sums.restart(0);
  EXPECT_EQ(strongest(s.sums.stretches(), 0).score, 0);
  EXPECT_EQ(ended(s.sums.stretches(), 0).score, 0) << "it has been told";
  EXPECT_EQ(strongest(s.sums.stretches(), 2).score, kept);
  s.sums.stretches().clear_from(4);
  EXPECT_EQ(strongest(s.sums.stretches(), 4).score, 0);
  EXPECT_EQ(strongest(s.sums.stretches(), 2).score, kept);
  s.sums.restart();
  EXPECT_EQ(strongest(s.sums.stretches(), 2).score, 0);
}

TEST(ScoreSums, AStateThatComesNewLeavesTheSumsAsTheyAre) {
  Sums s;
  s.take({{3, 0}, {}, {}, {}});
  s.take({{0, 3}, {}, {}, {}});
  const float all = strongest(s.sums.stretches(), 0).score;
  EXPECT_GT(all, s.sums.stretches().of(0, {1, 0}).score) << "of both states";
  const float first = s.sums.stretches().of(0, {1, 0}).score;
  s.sums.lay_out(s.items.size(), 3);
  EXPECT_FLOAT_EQ(strongest(s.sums.stretches(), 0).score, all);
  EXPECT_FLOAT_EQ(s.sums.stretches().of(0, {1, 0, 0}).score, first);
  EXPECT_FLOAT_EQ(s.sums.stretches().of(0, {0, 0, 1}).score, 0);
}

}  // namespace score_sums_test
}  // namespace margay::detect::test
