// The limit that a quiet slice's greatest score exceeds as seldom as was asked for.
#include "tail_limit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace margay::detect {
namespace tail_limit_test {

TailLimit::Options bare() {
  TailLimit::Options o;
  o.least = 0;
  return o;
}

// How often a score of the same kind exceeds the limit, over many histories.
template <class Draw>
double exceeded(std::size_t history, double p, Draw draw, int histories = 200) {
  std::mt19937 random(7);
  double sum = 0;
  for (int h = 0; h < histories; ++h) {
    TailLimit t(bare());
    for (std::size_t i = 0; i < history; ++i) t.add(static_cast<float>(draw(random)));
    const double limit = t.limit(p);
    int over = 0;
    constexpr int kDraws = 5'000;
    for (int i = 0; i < kDraws; ++i) over += draw(random) > limit;
    sum += static_cast<double>(over) / kDraws;
  }
  return sum / histories;
}

double exponential(std::mt19937& random) {
  return 5 + std::exponential_distribution<double>(0.5)(random);
}
double pareto(std::mt19937& random) {
  return 5 * std::pow(std::uniform_real_distribution<double>(1e-9, 1)(random), -0.2);
}

TEST(TailLimit, IsInfiniteBeforeAnythingIsKnownAndNeverBelowTheLeast) {
  TailLimit t({});
  EXPECT_TRUE(std::isinf(t.limit(1e-3)));
  for (int i = 0; i < 100; ++i) t.add(0);
  EXPECT_EQ(t.limit(1e-3), TailLimit::Options{}.least);
}

TEST(TailLimit, AQuietSliceExceedsItNoMoreOftenThanAskedForLightTails) {
  for (const std::size_t n : {30, 100, 1000}) {
    const double p = exceeded(n, 1e-3, exponential);
    EXPECT_LE(p, 3e-3) << n;
  }
}

TEST(TailLimit, AndForHeavyOnes) {
  for (const std::size_t n : {30, 100, 1000}) {
    const double p = exceeded(n, 1e-3, pareto);
    EXPECT_LE(p, 3e-3) << n;
  }
}

// How often the limit of a long history is exceeded, of how often it may be; the greatest of `n` are drawn as
// quantiles of uniform ones. `index` of a generalised Pareto tail: the survival of x is (1 + index
// x)^(-1/index).
double exceeded_of_asked(double index, std::size_t n, double p, int histories = 12) {
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> uniform(1e-12, 1);
  double sum = 0;
  for (int h = 0; h < histories; ++h) {
    TailLimit t(bare());
    for (std::size_t i = 0; i < n; ++i)
      t.add(static_cast<float>(5 * (1 + std::expm1(-index * std::log(uniform(random))) / index)));
    sum += std::pow(1 + index * (t.limit(p) / 5 - 1), -1 / index) / p;
  }
  return sum / histories;
}

// Also where one score in ten thousand is a thousand times as great as usual: what the tail is like is known
// only so well, and that is part of the limit.
TEST(TailLimit, ALongHistoryTellsHowHeavyItsTailIs) {
  for (const double index : {0.01, 0.2, 0.5, 1.0}) {
    SCOPED_TRACE(index);
    for (const double p : {1e-4, 1e-5, 1e-6}) EXPECT_LE(exceeded_of_asked(index, 16'384, p), 10) << p;
    // Nor is it silence: with ten times as many as the limit is made of, it is as asked for.
    EXPECT_GE(exceeded_of_asked(index, 16'384, 1e-4), 1.0 / 3);
  }
}

// Of the greatest scores one in four is of an effect that is told: so many more may be beyond the limit.
TEST(TailLimit, IsOneOfWhatIsToldBeyondIt) {
  constexpr double kP = 1e-3;
  std::mt19937 random(13);
  std::bernoulli_distribution one_in_four(0.25);
  double exceeded_by_told = 0;
  constexpr int kHistories = 40, kDraws = 20'000;
  for (int h = 0; h < kHistories; ++h) {
    TailLimit of_told(bare()), of_all(bare());
    for (int i = 0; i < 20'000; ++i) {
      const auto score = static_cast<float>(exponential(random));
      of_told.add(score, one_in_four(random));
      of_all.add(score);
    }
    const double limit = of_told.limit(kP);
    EXPECT_LT(limit, of_all.limit(kP));
    int over = 0;
    for (int i = 0; i < kDraws; ++i) over += exponential(random) > limit && one_in_four(random);
    exceeded_by_told += static_cast<double>(over) / kDraws / kHistories;
  }
  EXPECT_GE(exceeded_by_told, kP / 2);
  EXPECT_LE(exceeded_by_told, kP * 2);
}

TEST(TailLimit, ALongHistoryOrALaxerKnobMakesItNarrower) {
  double before = 1e300;
  for (const int n : {10, 100, 1000}) {
    TailLimit t(bare());
    for (int i = 0; i < n; ++i) t.add(static_cast<float>(5 - 2 * std::log((i + 0.5) / n)));  // quantiles
    EXPECT_LT(t.limit(1e-6), before);
    before = t.limit(1e-6);
    EXPECT_LT(t.limit(1e-4), t.limit(1e-6));
    EXPECT_LT(t.limit(1e-6), t.limit(1e-6, 5)) << "few leaves";
  }
}

TEST(TailLimit, FollowsWhatTheScoresHaveBecome) {
  TailLimit t(bare());
  for (std::size_t i = 0; i < TailLimit::Options{}.kept; ++i) t.add(100);
  const double high = t.limit(1e-4);
  for (std::size_t i = 0; i < TailLimit::Options{}.kept; ++i) t.add(10);
  EXPECT_LT(t.limit(1e-4), high / 5);
  EXPECT_EQ(t.size(), TailLimit::Options{}.kept);
}

// What is dropped has no say in any limit: the same as from all that count, told alone in any order.
TEST(TailLimit, ForgetsOnlyWhatHasNoSay) {
  std::mt19937 random(3);
  TailLimit::Options o = bare();
  o.kept = 300;
  TailLimit t(o);
  std::vector<float> all;
  for (int i = 0; i < 2000; ++i) {
    // Rising and falling, with ties.
    const double level = 10 + 5 * std::sin(i * 0.01);
    all.push_back(static_cast<float>(std::floor(level * exponential(random)) / 4));
    t.add(all.back());
    if (i % 7 != 0) continue;
    std::vector<float> newest(all.end() - static_cast<std::ptrdiff_t>(std::min(all.size(), o.kept)),
                              all.end());
    std::sort(newest.begin(), newest.end());
    TailLimit expected(o);
    for (const float score : newest) expected.add(score);
    ASSERT_EQ(t.limit(1e-4), expected.limit(1e-4)) << i;
    ASSERT_EQ(t.size(), newest.size());
  }
}

// One slice in 200 has a far greater score than the others: who has seen few of those would be alarmed by
// them.
TEST(TailLimit, RemembersWhatComesSeldom) {
  std::uniform_real_distribution<double> uniform(1e-9, 1);
  const auto seldom = [&](std::mt19937& random) {
    return uniform(random) < 0.005 ? 20 - 60 * std::log(uniform(random)) : exponential(random);
  };
  EXPECT_LE(exceeded(TailLimit::Options{}.kept, 1e-5, seldom, 20), 3e-5);
}

// Of logarithms of ratios of likelihoods the tail is known: small ones are no sign of a heavy tail.
TEST(TailLimit, AShortHistoryOfLikelihoodRatiosIsExtrapolatedAsTheyFall) {
  std::mt19937 random(5);
  for (const double slope : {1.0, 3.0}) {
    TailLimit::Options known, unknown;
    known.excess = 1;
    known.least = unknown.least = 1;
    TailLimit ratio(known), score(unknown);
    for (int i = 0; i < 120; ++i) {
      const auto x = static_cast<float>(std::exponential_distribution(1 / slope)(random));
      ratio.add(x);
      score.add(x);
    }
    const double truth = -slope * std::log(1e-6);
    EXPECT_GT(ratio.limit(1e-6), 0.8 * truth) << slope;
    EXPECT_LT(ratio.limit(1e-6), 1.6 * truth) << slope;
    EXPECT_GT(score.limit(1e-6), ratio.limit(1e-6)) << slope;
  }
}

TEST(TailLimit, WhatIsSeldomIsExceededByAboutOneInAThousand) {
  TailLimit t({});
  for (int i = 0; i < 999; ++i) t.add(static_cast<float>(i));
  EXPECT_TRUE(std::isinf(t.seldom()));
  for (int i = 999; i < 20'000; ++i) t.add(static_cast<float>(i));
  EXPECT_EQ(t.seldom(), 20'000 - 20);
}

}  // namespace tail_limit_test
}  // namespace margay::detect
