// How surprising long visits are: bets.
#include "visit_surprise.h"

#include <gtest/gtest.h>

#include "visiting_leaves.h"

namespace margay::detect::test {
namespace visit_surprise_test {

using Loops = Leaves<VisitSurprise>;

double evidence(const Loops& leaves, std::uint32_t leaf) {
  return static_cast<double>(leaves.judge.evidence()[leaf][0]);
}

// A bet that wins what it costs, in the mean: then sums of evidence are exceeded as seldom as they say. Of a
// leaf whose visit goes on the bet is open, and counts once it is over.
TEST(VisitSurprise, WhereAllIsAsUsualBetsWinNothing) {
  constexpr int kLearn = 200, kSlices = 2'000;
  for (const Kind& kind : kKinds)
    for (const int visits : {1, 3}) {
      double sum = 0, n = 0;
      for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        std::mt19937_64 random(seed);
        Loops leaves(hosts_of(2, 4));
        leaves.live(kLearn, visits, kind.lengths, random);
        std::vector<double> open(leaves.size(), 0.0);
        for (int k = 0; k < kSlices; ++k) {
          for (std::uint32_t l = 0; l < leaves.size(); ++l)
            for (int v = 0; v < visits && leaves.done(l); ++v)
              leaves.spend(l, 1e-3f, kind.lengths(random, l));
          leaves.slice();
          for (std::uint32_t l = 0; l < leaves.size(); ++l) {
            open[l] += evidence(leaves, l);
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

// A loop that always takes as long: who bets on factors sees a half more in one visit, who bets on the tail
// does not.
TEST(VisitSurprise, WhereVisitsAreOfOneKindAHalfMoreIsWorthMuch) {
  const Lengths loop = [](auto& random, std::uint32_t) { return log_normal(random, 0.2f, 0.05f); };
  // The mean of ten.
  const auto worth = [&](bool one_kind, float factor, bool disturbed_before) {
    double sum = 0;
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      std::mt19937_64 random(seed);
      Loops leaves(hosts_of(2, 4));
      leaves.one_kind = one_kind;
      leaves.live(100, 1, loop, random);
      // A few visits of many that are long do not make long ones usual.
      const Lengths disturbed = [&](auto& r, std::uint32_t l) { return loop(r, l) * (l == 5 ? 2.0f : 1.0f); };
      if (disturbed_before) leaves.live(5, 1, disturbed, random);
      for (std::uint32_t l = 0; l < leaves.size(); ++l)
        leaves.spend(l, 1e-3f, loop(random, l) * (l == 5 ? factor : 1.0f));
      leaves.slice();
      sum += evidence(leaves, 5) / 10;
    }
    return sum;
  };
  EXPECT_GE(worth(true, 1.5f, false), 4);
  EXPECT_GE(worth(true, 1.5f, true), 3);
  EXPECT_LE(worth(false, 1.5f, true), 3);
  EXPECT_LE(worth(true, 1.0f, false), 0) << "as usual";
}

TEST(VisitSurprise, OfOneKindBetsOnFactorsWinNothingWhereAllIsAsUsual) {
  const std::vector<Kind> kinds = {
      {"a loop", [](auto& random, std::uint32_t) { return log_normal(random, 0.2f, 0.05f); }},
      {"log-normal", kKinds[0].lengths},
      {"unequal", kKinds.back().lengths}};
  for (const Kind& kind : kinds) {
    double sum = 0, n = 0;
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      std::mt19937_64 random(seed);
      Loops leaves(hosts_of(2, 4));
      leaves.one_kind = true;
      leaves.live(200, 1, kind.lengths, random);
      for (int k = 0; k < 2'000; ++k) {
        for (std::uint32_t l = 0; l < leaves.size(); ++l) leaves.spend(l, 1e-3f, kind.lengths(random, l));
        leaves.slice();
        for (std::uint32_t l = 0; l < leaves.size(); ++l) sum += std::exp(evidence(leaves, l)), n += 1;
        leaves.learn();
      }
    }
    EXPECT_LE(sum / n, 1.1) << kind.name;
    EXPECT_GE(sum / n, 0.3) << kind.name << ": nothing would be told";
  }
}

TEST(VisitSurprise, VisitsTenTimesAsLongAreWorthMuch) {
  const Lengths usual = kKinds[0].lengths;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    std::mt19937_64 random(seed);
    Loops leaves(hosts_of(2, 4));
    leaves.live(100, 2, usual, random);
    double sum = 0, others = 0;
    for (int k = 0; k < 4; ++k) {
      for (std::uint32_t l = 0; l < leaves.size(); ++l)
        leaves.spend(l, 1e-3f, usual(random, l) * (l == 5 ? 10.0f : 1.0f));
      leaves.slice();
      sum += evidence(leaves, 5);
      others = std::max(others, evidence(leaves, 2));
      EXPECT_LE(evidence(leaves, 5), static_cast<double>(VisitSurprise::kMostOfOne));
      EXPECT_NEAR(static_cast<double>(leaves.judge.ratio()[5][0]), std::log(10), 1.2);
      EXPECT_GT(leaves.judge.lost()[5][0], 0.02f);
    }
    EXPECT_GE(sum, 10) << "seed " << seed;
    EXPECT_LE(others, 4) << "seed " << seed;
  }
}

// The same work in slices a hundred times as short: what one visit is worth is no matter of slices.
TEST(VisitSurprise, AVisitThatGoesOnIsWorthWhatItIsWorthWhenItHasEnded) {
  const auto worth = [](float scale, float length, float idle, double* greatest) {
    std::mt19937_64 random(1);
    Loops leaves(hosts_of(2, 4));
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
      sum += evidence(leaves, 3);
      *greatest = std::max(*greatest, sum);
    }
    leaves.slice();
    return sum + evidence(leaves, 3);
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

TEST(VisitSurprise, AVisitThatGoesOnForEverIsWorthNoMoreThanOne) {
  std::mt19937_64 random(2);
  Loops leaves(hosts_of(2, 4));
  leaves.live(100, 1, kKinds[0].lengths, random);
  leaves.spend(2, 0.5f, 300);
  double sum = 0;
  for (int k = 0; k < 200; ++k) {
    leaves.slice();
    sum += evidence(leaves, 2);
    EXPECT_LE(sum, static_cast<double>(VisitSurprise::kMostOfOne) + 1e-3);
    if (k > 1) {
      EXPECT_EQ(leaves.judge.told()[2][0], 1);
    }
  }
  EXPECT_GE(sum, 4);
}

// One of four always takes eight times as long.
TEST(VisitSurprise, EachOfUnequalSiblingsIsComparedWithItself) {
  const auto usual = [](std::mt19937_64& random, std::uint32_t l) {
    return log_normal(random, l == 3 ? 0.08f : 0.01f, 0.3f);
  };
  std::mt19937_64 random(1);
  Loops leaves(hosts_of(2, 4));
  leaves.live(200, 2, usual, random);
  double slow = 0;
  for (int k = 0; k < 300; ++k) {
    for (std::uint32_t l = 0; l < leaves.size(); ++l) leaves.spend(l, 1e-3f, usual(random, l));
    leaves.slice();
    slow += std::exp(evidence(leaves, 3)) / 300;
    leaves.learn();
  }
  EXPECT_LE(slow, 1.2) << "it is as it always is";
  // Another that becomes like it does not.
  double other = 0;
  for (int k = 0; k < 4; ++k) {
    leaves.spend(0, 1e-3f, usual(random, 3));
    leaves.slice();
    other += evidence(leaves, 0);
  }
  EXPECT_GE(other, 6);
}

TEST(VisitSurprise, OfWhomNothingIsKnownNothingIsSaid) {
  std::mt19937_64 random(1);
  Loops leaves(hosts_of(2, 4));
  for (int k = 0; k < 50; ++k) {
    for (std::uint32_t l = 0; l < 4; ++l) leaves.spend(l, 1e-3f, kKinds[0].lengths(random, l));
    leaves.slice();
    leaves.learn();
  }
  leaves.spend(0, 1e-3f, 0.3f);
  leaves.spend(5, 1e-3f, 0.3f);
  leaves.spend(6, 1e-3f, 3);  // and goes on
  leaves.slice();
  EXPECT_GT(evidence(leaves, 0), 2);
  for (const std::uint32_t l : {5u, 6u}) {
    EXPECT_EQ(evidence(leaves, l), 0) << "its host has shown no visits";
    EXPECT_EQ(leaves.judge.told()[l][0], 0);
  }
}

TEST(VisitSurprise, ALeafThatComesNewIsJudgedByItsSiblings) {
  std::mt19937_64 random(1);
  Loops leaves(hosts_of(2, 4));
  for (int k = 0; k < 50; ++k) {
    for (std::uint32_t l = 0; l < 8; ++l)
      if (l != 2) leaves.spend(l, 1e-3f, kKinds[0].lengths(random, l));
    leaves.slice();
    leaves.learn();
  }
  leaves.spend(2, 1e-3f, 0.01f);
  leaves.slice();
  EXPECT_LT(evidence(leaves, 2), 0.5);
  leaves.spend(2, 1e-3f, 0.5f);
  leaves.slice();
  EXPECT_GT(evidence(leaves, 2), 2);
}

TEST(VisitSurprise, WhatIsKnownOutlivesAnotherHierarchyAndNotForget) {
  std::mt19937_64 random(1);
  Loops leaves(hosts_of(2, 4));
  leaves.live(100, 1, kKinds[0].lengths, random);
  const auto of_long = [&] {
    leaves.spend(1, 1e-3f, 0.2f);
    leaves.slice();
    return evidence(leaves, 1);
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
TEST(VisitSurprise, OfWhomItIsToldNothingIsLearned) {
  std::mt19937_64 random(1);
  Loops leaves(hosts_of(2, 4));
  leaves.live(100, 1, kKinds[0].lengths, random);
  std::vector<char> but(leaves.size(), 0);
  but[1] = 1;
  double last = 0;
  for (int k = 0; k < 100; ++k) {
    for (std::uint32_t l = 0; l < leaves.size(); ++l) leaves.spend(l, 1e-3f, l == 1 ? 0.2f : 0.01f);
    leaves.slice();
    last = evidence(leaves, 1);
    leaves.judge.learn(but);
  }
  EXPECT_GT(last, 3) << "still as surprising";
}

}  // namespace visit_surprise_test
}  // namespace margay::detect::test
