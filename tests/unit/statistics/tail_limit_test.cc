// The limit that a quiet slice's greatest score exceeds as seldom as was asked for.
#include "margay/statistics/tail_limit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace margay::statistics {
namespace tail_limit_test {

constexpr double kIndex = 0.3, kTests = 100;

// Greatest of kTests independent scores of exponential excesses, as the textbook has it.
float of_exponential(std::mt19937_64& random, double tests = kTests) {
  const double u = std::uniform_real_distribution<double>(1e-12, 1)(random);
  return static_cast<float>(-std::log(-std::expm1(std::log(u) / tests)));
}
// The same, of excesses that are a generalised Pareto's: the survival of x is (1 + index x)^(-1/index).
float of_pareto(std::mt19937_64& random, double index) {
  return static_cast<float>(std::expm1(index * static_cast<double>(of_exponential(random))) / index);
}

TEST(TailLimit, IsTheTextbooksBeforeAnythingIsSeen) {
  for (const double tests : {1.0, 30.0, 1e4})
    for (const double p : {1e-2, 1e-4}) {
      // A light prior hardly widens it; and it is finite from the first slice on.
      const double limit = TailLimit(1e-3).limit(p, tests);
      EXPECT_GE(limit, std::log(tests / p));
      EXPECT_LE(limit, 1.3 * std::log(tests / p)) << p << ' ' << tests;
    }
  for (const double p : {1e-3, 1e-6, 1e-9}) {
    const double limit = TailLimit(kIndex).limit(p, kTests);
    EXPECT_TRUE(std::isfinite(limit));
    EXPECT_GE(limit, std::log(kTests / p));
  }
}

TEST(TailLimit, StaysNearTheTextbooksWhereTheScoresAreAsItHasThem) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed)
    for (const std::size_t n : {100u, 1'000u, 20'000u}) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << " slices " << n);
      std::mt19937_64 random(seed);
      TailLimit t(kIndex);
      for (std::size_t i = 0; i < n; ++i) t.add(of_exponential(random));
      const double p = 0.1 / static_cast<double>(n);
      EXPECT_GE(t.limit(p, kTests), std::log(kTests / p));
      EXPECT_LE(t.limit(p, kTests), 2 * std::log(kTests / p));
    }
}

// Also where the limit of a young history is asked for no more.
TEST(TailLimit, TellsTheChanceOfAScore) {
  for (const double index : {0.01, 0.5})
    for (const std::size_t n : {0u, 30u, 1'000u}) {
      SCOPED_TRACE(testing::Message() << "index " << index << " slices " << n);
      std::mt19937_64 random(1);
      TailLimit t(kIndex);
      for (std::size_t i = 0; i < n; ++i) t.add(of_pareto(random, index));
      const double p = 1e-3;
      const double at_limit = t.chance(t.limit(p, kTests), kTests);
      if (n > 0)
        EXPECT_NEAR(std::log(at_limit), std::log(p), 0.01);
      else
        EXPECT_GT(at_limit, p) << "where nothing is known the limit is less than the tails ask for";
      const double limit = t.limit(1e-9, kTests);
      double before = t.chance(limit, kTests);
      for (const double times : {1.2, 2.0, 10.0}) {
        const double chance = t.chance(times * limit, kTests);
        EXPECT_LT(chance, before);
        EXPECT_GE(chance, kTests * std::exp(-times * limit)) << "never less than the textbook's";
        before = chance;
      }
    }
}

// How often the limit of `n` such maxima is exceeded by the next, of how often it may be.
double exceeded_of_asked(double index, std::size_t n, double p, int histories) {
  double sum = 0;
  for (int h = 0; h < histories; ++h) {
    std::mt19937_64 random(static_cast<std::uint64_t>(100 + h));
    TailLimit t(kIndex);
    for (std::size_t i = 0; i < n; ++i) t.add(of_pareto(random, index));
    const double one = std::pow(1 + index * t.limit(p, kTests), -1 / index);
    sum += -std::expm1(kTests * std::log1p(-one)) / p;
  }
  return sum / histories;
}

// Also where a score is a hundred times as great as usual now and then: what the tail is like is known only
// so well, and that is part of the limit.
TEST(TailLimit, HeavyTailsWidenIt) {
  for (const double index : {0.01, 0.2, 0.5}) {
    SCOPED_TRACE(index);
    for (const std::size_t n : {300u, 3'000u}) EXPECT_LE(exceeded_of_asked(index, n, 1e-4, 12), 10) << n;
    // Nor is it silence.
    EXPECT_GE(exceeded_of_asked(index, 16'384, 1e-3, 6), 1.0 / 4);
  }
  std::mt19937_64 random(1);
  TailLimit light(kIndex), heavy(kIndex);
  for (int i = 0; i < 1'000; ++i) light.add(of_exponential(random)), heavy.add(of_pareto(random, 0.5));
  EXPECT_GT(heavy.limit(1e-4, kTests), 3 * light.limit(1e-4, kTests));
}

TEST(TailLimit, IsNarrowerTheMoreOftenItMayBeExceededAndTheFewerTestsThereAre) {
  std::mt19937_64 random(2);
  TailLimit t(kIndex);
  for (int i = 0; i < 1'000; ++i) t.add(of_exponential(random));
  EXPECT_LT(t.limit(1e-2, kTests), t.limit(1e-3, kTests));
  EXPECT_LT(t.limit(1e-3, kTests), t.limit(1e-4, kTests));
  EXPECT_LE(t.limit(1e-3, kTests), t.limit(1e-3, 1e4 * kTests));
  EXPECT_LE(TailLimit(0.05).limit(1e-3, kTests), TailLimit(kIndex).limit(1e-3, kTests));
}

// Of the greatest scores one in ten is of an effect that is told: so many more may be beyond the limit.
TEST(TailLimit, IsOneOfWhatIsToldBeyondIt) {
  constexpr double kP = 1e-5, kPart = 0.1;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::bernoulli_distribution few(kPart);
    TailLimit of_told(kIndex), of_all(kIndex);
    for (int i = 0; i < 20'000; ++i) {
      const float score = of_exponential(random) * 2;
      of_told.add(score, few(random));
      of_all.add(score);
    }
    const double limit = of_told.limit(kP, kTests);
    EXPECT_LT(limit, of_all.limit(kP, kTests));
    EXPECT_LE(kPart * kTests * std::exp(-limit / 2), 3 * kP);
  }
}

TEST(TailLimit, FollowsWhatTheScoresHaveBecome) {
  TailLimit t(kIndex);
  for (std::size_t i = 0; i < TailLimit::kKept; ++i) t.add(100);
  const double high = t.limit(1e-4, kTests);
  EXPECT_GE(high, 100);
  for (std::size_t i = 0; i < TailLimit::kKept; ++i) t.add(1);
  EXPECT_LT(t.limit(1e-4, kTests), high / 3);
  EXPECT_EQ(t.size(), TailLimit::kKept);
}

// What is dropped has no say in any limit: the same as from all, told in any order.
TEST(TailLimit, ForgetsOnlyWhatHasNoSay) {
  std::mt19937_64 random(3);
  TailLimit t(kIndex);
  std::vector<float> all;
  for (int i = 0; i < 3'000; ++i) {
    // Rising and falling, with ties.
    const double level = 10 + 5 * std::sin(i * 0.01);
    all.push_back(static_cast<float>(std::floor(level * static_cast<double>(of_exponential(random))) / 4));
    t.add(all.back());
    if (i % 97 != 0) continue;
    std::vector<float> sorted = all;
    std::sort(sorted.begin(), sorted.end());
    TailLimit expected(kIndex);
    for (const float score : sorted) expected.add(score);
    t.limit(1e-3, kTests);  // so that it is computed anew
    ASSERT_EQ(t.limit(1e-4, kTests), expected.limit(1e-4, kTests)) << i;
  }
}

// One slice in 200 has a far greater score than the others: who has forgotten those is alarmed by them.
TEST(TailLimit, RemembersWhatComesSeldom) {
  std::mt19937_64 random(5);
  TailLimit t(kIndex);
  const auto seldom = [&] { return of_exponential(random) * (random() % 200 == 0 ? 10.0f : 1.0f); };
  for (int i = 0; i < 50'000; ++i) t.add(seldom());
  const double limit = t.limit(1e-4, kTests);
  int over = 0;
  for (int i = 0; i < 100'000; ++i) over += static_cast<double>(seldom()) > limit;
  EXPECT_LE(over, 30) << "of 10 that were asked for";
  EXPECT_LT(limit, 400) << "nor is it silence";
}

// One that is far beyond all others may be the first of a heavy tail, but nobody would ever be told again.
TEST(TailLimit, IsFourTimesTheGreatestAtMost) {
  std::mt19937_64 random(9);
  TailLimit t(kIndex);
  for (std::size_t i = 0; i < 1000; ++i) t.add(of_exponential(random));
  EXPECT_LE(t.limit(1e-7, kTests), 3 * std::log(kTests / 1e-7));
  t.add(500);
  EXPECT_GT(t.limit(1e-7, kTests), 500);
  EXPECT_LE(t.limit(1e-7, kTests), 4 * 500);
}

}  // namespace tail_limit_test
}  // namespace margay::statistics
