// How surprising long visits are, by normal scores and by bets: what is so of both.
#include <gtest/gtest.h>

#include "visit_scores.h"
#include "visit_surprise.h"
#include "visiting_leaves.h"

namespace margay::detect::test {
namespace visit_judges_test {

struct Scores {
  using Judge = VisitScores;
  static constexpr double kMost = static_cast<double>(VisitScores::kMostScore);
  static constexpr double kForEver = 3;  // what a visit without an end is worth at least
  static double score(const Leaves<Judge>& leaves, std::uint32_t leaf) {
    return static_cast<double>(leaves.judge.score()[leaf][0]);
  }
  // That the scores of visits are by so much higher than standard normal ones.
  static double evidence(const Leaves<Judge>& leaves, std::uint32_t leaf, double shift = 2) {
    return shift * score(leaves, leaf) -
           shift * shift / 2 * static_cast<double>(leaves.judge.visits()[leaf][0]);
  }
  static double bet(const Leaves<Judge>& leaves, std::uint32_t leaf) { return evidence(leaves, leaf, 1); }
};

struct Bets {
  using Judge = Surprise;
  static constexpr double kMost = static_cast<double>(VisitBets::kMostOfOne);
  static constexpr double kForEver = 4;
  static double evidence(const Leaves<Judge>& leaves, std::uint32_t leaf) {
    return static_cast<double>(leaves.judge.evidence()[leaf][0]);
  }
  static double score(const Leaves<Judge>& leaves, std::uint32_t leaf) { return evidence(leaves, leaf); }
  static double bet(const Leaves<Judge>& leaves, std::uint32_t leaf) { return evidence(leaves, leaf); }
};

template <class T>
class VisitJudges : public testing::Test {};
using Both = testing::Types<Scores, Bets>;
TYPED_TEST_SUITE(VisitJudges, Both);

// A bet that wins what it costs, in the mean: then sums of evidence are exceeded as seldom as they say. Of a
// leaf whose visit goes on the bet is open, and counts once it is over.
TYPED_TEST(VisitJudges, WhereAllIsAsUsualBetsWinNothing) {
  constexpr int kLearn = 200, kSlices = 2'000;
  for (const Kind& kind : kKinds)
    for (const int visits : {1, 3}) {
      double sum = 0, n = 0;
      for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        std::mt19937_64 random(seed);
        Leaves<typename TypeParam::Judge> leaves(hosts_of(2, 4));
        leaves.live(kLearn, visits, kind.lengths, random);
        std::vector<double> open(leaves.size(), 0.0);
        for (int k = 0; k < kSlices; ++k) {
          for (std::uint32_t l = 0; l < leaves.size(); ++l)
            for (int v = 0; v < visits && leaves.done(l); ++v)
              leaves.spend(l, 1e-3f, kind.lengths(random, l));
          leaves.slice();
          for (std::uint32_t l = 0; l < leaves.size(); ++l) {
            open[l] += TypeParam::bet(leaves, l);
            if (!leaves.done(l)) continue;
            sum += std::exp(open[l]), n += 1;
            open[l] = 0;
          }
          leaves.learn();
        }
      }
      EXPECT_GT(n, 40'000);
      EXPECT_LE(sum / n, 1.1) << kind.name << ", " << visits << " visits a slice";
      EXPECT_GE(sum / n, 0.5) << kind.name << ", " << visits << " visits a slice: nothing would be told";
    }
}

TYPED_TEST(VisitJudges, VisitsTenTimesAsLongAreWorthMuch) {
  const Lengths usual = kKinds[0].lengths;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    std::mt19937_64 random(seed);
    Leaves<typename TypeParam::Judge> leaves(hosts_of(2, 4));
    leaves.live(100, 2, usual, random);
    double sum = 0, others = 0;
    for (int k = 0; k < 4; ++k) {
      for (std::uint32_t l = 0; l < leaves.size(); ++l)
        leaves.spend(l, 1e-3f, usual(random, l) * (l == 5 ? 10.0f : 1.0f));
      leaves.slice();
      sum += TypeParam::evidence(leaves, 5);
      others = std::max(others, TypeParam::evidence(leaves, 2));
      EXPECT_LE(TypeParam::score(leaves, 5), TypeParam::kMost);
      EXPECT_NEAR(static_cast<double>(leaves.judge.ratio()[5][0]), std::log(10), 1.2);
      EXPECT_GT(leaves.judge.lost()[5][0], 0.02f);
    }
    EXPECT_GE(sum, 10) << "seed " << seed;
    EXPECT_LE(others, 4) << "seed " << seed;
  }
}

// The same work in slices a hundred times as short: what one visit is worth is no matter of slices.
TYPED_TEST(VisitJudges, AVisitThatGoesOnIsWorthWhatItIsWorthWhenItHasEnded) {
  const auto worth = [](float scale, float length, float idle, double* greatest) {
    std::mt19937_64 random(1);
    Leaves<typename TypeParam::Judge> leaves(hosts_of(2, 4));
    const auto usual = [&] { return scale * log_normal(random, 0.02f, 0.5f); };
    for (int visit = 0; visit < 150; ++visit) {
      // As many slices for each visit.
      for (std::uint32_t l = 0; l < leaves.size(); ++l) leaves.spend(l, scale > 1 ? 0.3f : 4.3f, usual());
      do {
        leaves.slice();
        leaves.learn();
      } while (!leaves.done(0) || !leaves.done(7));
    }
    leaves.spend(3, idle, scale * length);
    double sum = 0;
    while (!leaves.done(3)) {
      leaves.slice();
      sum += TypeParam::score(leaves, 3);
      *greatest = std::max(*greatest, sum);
    }
    leaves.slice();
    return sum + TypeParam::score(leaves, 3);
  };
  for (const float length : {0.07f, 0.12f}) {
    double most = 0, in_one_most = 0;
    const double in_one = worth(1, length, 0.1f, &in_one_most);
    EXPECT_GT(in_one, 1);
    for (const float idle : {0.1f, 0.5f, 0.9f}) {
      const double in_many = worth(100, length, idle, &most);
      EXPECT_NEAR(in_many, in_one, 0.5) << length << ' ' << idle;
      EXPECT_LE(most, in_many + 0.2) << "never more than in the end";
    }
  }
}

TYPED_TEST(VisitJudges, AVisitThatGoesOnForEverIsWorthNoMoreThanOne) {
  std::mt19937_64 random(2);
  Leaves<typename TypeParam::Judge> leaves(hosts_of(2, 4));
  leaves.live(100, 1, kKinds[0].lengths, random);
  leaves.spend(2, 0.5f, 300);
  double sum = 0;
  for (int k = 0; k < 200; ++k) {
    leaves.slice();
    sum += TypeParam::score(leaves, 2);
    EXPECT_LE(sum, TypeParam::kMost + 1e-3);
    if (k > 1) {
      EXPECT_EQ(leaves.judge.told()[2][0], 1);
    }
  }
  EXPECT_GE(sum, TypeParam::kForEver);
}

// One of four always takes eight times as long.
TYPED_TEST(VisitJudges, EachOfUnequalSiblingsIsComparedWithItself) {
  const auto usual = [](std::mt19937_64& random, std::uint32_t l) {
    return log_normal(random, l == 3 ? 0.08f : 0.01f, 0.3f);
  };
  std::mt19937_64 random(1);
  Leaves<typename TypeParam::Judge> leaves(hosts_of(2, 4));
  leaves.live(200, 2, usual, random);
  double slow = 0;
  for (int k = 0; k < 300; ++k) {
    for (std::uint32_t l = 0; l < leaves.size(); ++l) leaves.spend(l, 1e-3f, usual(random, l));
    leaves.slice();
    slow += std::exp(TypeParam::bet(leaves, 3)) / 300;
    leaves.learn();
  }
  EXPECT_LE(slow, 1.2) << "it is as it always is";
  // Another that becomes like it does not.
  double other = 0;
  for (int k = 0; k < 4; ++k) {
    leaves.spend(0, 1e-3f, usual(random, 3));
    leaves.slice();
    other += TypeParam::evidence(leaves, 0);
  }
  EXPECT_GE(other, 6);
}

TYPED_TEST(VisitJudges, OfWhomNothingIsKnownNothingIsSaid) {
  std::mt19937_64 random(1);
  Leaves<typename TypeParam::Judge> leaves(hosts_of(2, 4));
  for (int k = 0; k < 50; ++k) {
    for (std::uint32_t l = 0; l < 4; ++l) leaves.spend(l, 1e-3f, kKinds[0].lengths(random, l));
    leaves.slice();
    leaves.learn();
  }
  leaves.spend(0, 1e-3f, 0.3f);
  leaves.spend(5, 1e-3f, 0.3f);
  leaves.spend(6, 1e-3f, 3);  // and goes on
  leaves.slice();
  EXPECT_GT(TypeParam::evidence(leaves, 0), 2);
  for (const std::uint32_t l : {5u, 6u}) {
    EXPECT_EQ(TypeParam::evidence(leaves, l), 0) << "its host has shown no visits";
    EXPECT_EQ(leaves.judge.told()[l][0], 0);
  }
}

TYPED_TEST(VisitJudges, ALeafThatComesNewIsJudgedByItsSiblings) {
  std::mt19937_64 random(1);
  Leaves<typename TypeParam::Judge> leaves(hosts_of(2, 4));
  for (int k = 0; k < 50; ++k) {
    for (std::uint32_t l = 0; l < 8; ++l)
      if (l != 2) leaves.spend(l, 1e-3f, kKinds[0].lengths(random, l));
    leaves.slice();
    leaves.learn();
  }
  leaves.spend(2, 1e-3f, 0.01f);
  leaves.slice();
  EXPECT_LT(TypeParam::evidence(leaves, 2), 0.5);
  leaves.spend(2, 1e-3f, 0.5f);
  leaves.slice();
  EXPECT_GT(TypeParam::evidence(leaves, 2), 2);
}

TYPED_TEST(VisitJudges, WhatIsKnownOutlivesAnotherHierarchyAndNotForget) {
  std::mt19937_64 random(1);
  Leaves<typename TypeParam::Judge> leaves(hosts_of(2, 4));
  leaves.live(100, 1, kKinds[0].lengths, random);
  const auto of_long = [&] {
    leaves.spend(1, 1e-3f, 0.2f);
    leaves.slice();
    return TypeParam::evidence(leaves, 1);
  };
  const double before = of_long();
  EXPECT_GT(before, 2);
  // A rank joins each host: inner nodes are others, leaves keep their numbers.
  leaves.judge.set_hierarchy(tree(
      {"h0/r0", "h0/r1", "h0/r2", "h0/r3", "h1/r0", "h1/r1", "h1/r2", "h1/r3", "g/r0", "h0/r4", "h1/r4"}));
  EXPECT_NEAR(of_long(), before, 0.5);
  leaves.judge.forget();
  EXPECT_EQ(of_long(), 0);
}

// Those that are blamed teach nothing meanwhile.
TYPED_TEST(VisitJudges, OfWhomItIsToldNothingIsLearned) {
  std::mt19937_64 random(1);
  Leaves<typename TypeParam::Judge> leaves(hosts_of(2, 4));
  leaves.live(100, 1, kKinds[0].lengths, random);
  std::vector<char> but(leaves.size(), 0);
  but[1] = 1;
  double last = 0;
  for (int k = 0; k < 100; ++k) {
    for (std::uint32_t l = 0; l < leaves.size(); ++l) leaves.spend(l, 1e-3f, l == 1 ? 0.2f : 0.01f);
    leaves.slice();
    last = TypeParam::evidence(leaves, 1);
    leaves.judge.learn(but);
  }
  EXPECT_GT(last, 3) << "still as surprising";
}

}  // namespace visit_judges_test
}  // namespace margay::detect::test
