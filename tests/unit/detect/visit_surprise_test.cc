// How surprising long visits are.
#include "visit_surprise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <functional>
#include <random>

#include "trees.h"

namespace margay::detect::test {
namespace visit_surprise_test {

constexpr std::uint16_t kState = 7;
using Lengths = std::function<float(std::mt19937_64&, std::uint32_t leaf)>;

// Leaves of one column, a slice at a time; visits are spent, and cut into slices.
class Leaves {
 public:
  explicit Leaves(const model::Hierarchy& hierarchy)
      : n_(static_cast<std::uint32_t>(hierarchy.leaf_count())), todo_(n_), none_(n_, 0), there_(n_, 1) {
    surprise.set_hierarchy(hierarchy);
    before_.resize(n_), after_.resize(n_);
    for (Grid* g : {&spent_, &ended_, &longest_}) g->reach(n_, 1);
  }
  std::uint32_t size() const { return n_; }
  // After what it does, or has been told to do: the leaf is idle, then in the state, for so many slices each.
  void spend(std::uint32_t leaf, float idle, float visit) {
    todo_[leaf].push_back({false, idle, 0});
    todo_[leaf].push_back({true, visit, 0});
  }
  bool done(std::uint32_t leaf) const { return todo_[leaf].empty(); }
  // The next slice; who has nothing left to do is idle.
  void slice() {
    before_ = after_;
    for (Grid* g : {&spent_, &ended_, &longest_}) g->fill(0);
    for (std::uint32_t l = 0; l < n_; ++l) cut(l);
    surprise.measure({spent_, ended_, longest_, before_, after_, there_, counted_, states_}, one_kind);
  }
  void learn() { surprise.learn(none_); }
  double evidence(std::uint32_t leaf) const { return static_cast<double>(surprise.evidence()[leaf][0]); }
  // Slices in which all have so many visits, of lengths that are short; these are learned from.
  void live(int slices, int visits, const Lengths& lengths, std::mt19937_64& random) {
    for (int k = 0; k < slices; ++k) {
      for (std::uint32_t l = 0; l < n_; ++l)
        for (int v = 0; v < visits; ++v) spend(l, 1e-3f, lengths(random, l));
      slice();
      learn();
    }
  }

  VisitSurprise surprise;
  bool one_kind = false;

 private:
  struct Part {
    bool visit;
    float length, spent;
  };
  void cut(std::uint32_t l) {
    float t = 0;
    after_[l] = {};
    while (!todo_[l].empty() && t < 1) {
      Part& p = todo_[l].front();
      const float dt = std::min(p.length - p.spent, 1 - t);
      p.spent += dt, t += dt;
      const bool over = p.spent >= p.length * 0.99999f;
      if (p.visit) {
        spent_[l][0] += dt;
        longest_[l][0] = std::max(longest_[l][0], p.spent);
        if (over)
          ended_[l][0] += 1;
        else
          after_[l] = {kState, p.spent};
      }
      if (over) todo_[l].pop_front();
    }
  }

  std::uint32_t n_;
  std::vector<std::deque<Part>> todo_;
  Grid spent_, ended_, longest_;
  std::vector<OpenVisit> before_, after_;
  std::vector<char> none_, there_, counted_{1};
  std::vector<std::uint16_t> states_{kState};
};

float log_normal(std::mt19937_64& random, float median, float deviation) {
  return median * std::exp(deviation * std::normal_distribution<float>()(random));
}
float pareto(std::mt19937_64& random, float least, float index) {
  return least * std::pow(std::uniform_real_distribution<float>(1e-6f, 1)(random), -1 / index);
}

struct Kind {
  const char* name;
  Lengths lengths;  // short, but for very few
};
const std::vector<Kind> kKinds = {
    {"log-normal", [](auto& random, std::uint32_t) { return log_normal(random, 0.01f, 0.5f); }},
    {"wide", [](auto& random, std::uint32_t) { return log_normal(random, 0.002f, 1.2f); }},
    {"two kinds of work",
     [](auto& random, std::uint32_t) {
       return log_normal(random, random() % 5 == 0 ? 0.05f : 0.002f, 0.2f);
     }},
    {"Pareto 1.5", [](auto& random, std::uint32_t) { return pareto(random, 0.002f, 1.5f); }},
    {"Pareto 1.1", [](auto& random, std::uint32_t) { return std::min(20.0f, pareto(random, 0.002f, 1.1f)); }},
    {"unequal", [](auto& random, std::uint32_t l) {
       return log_normal(random, 0.002f * static_cast<float>(1 + l % 4), 0.5f);
     }}};

// A bet that wins what it costs, in the mean: then sums of evidence are exceeded as seldom as they say. Of a
// leaf whose visit goes on the bet is open, and counts once it is over.
TEST(VisitSurprise, WhereAllIsAsUsualBetsWinNothing) {
  constexpr int kLearn = 200, kSlices = 2'000;
  for (const Kind& kind : kKinds)
    for (const int visits : {1, 3}) {
      double sum = 0, n = 0;
      for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        std::mt19937_64 random(seed);
        Leaves leaves(hosts_of(2, 4));
        leaves.live(kLearn, visits, kind.lengths, random);
        std::vector<double> open(leaves.size(), 0.0);
        for (int k = 0; k < kSlices; ++k) {
          for (std::uint32_t l = 0; l < leaves.size(); ++l)
            for (int v = 0; v < visits && leaves.done(l); ++v)
              leaves.spend(l, 1e-3f, kind.lengths(random, l));
          leaves.slice();
          for (std::uint32_t l = 0; l < leaves.size(); ++l) {
            open[l] += leaves.evidence(l);
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
      Leaves leaves(hosts_of(2, 4));
      leaves.one_kind = one_kind;
      leaves.live(100, 1, loop, random);
      // A few visits of many that are long do not make long ones usual.
      const Lengths disturbed = [&](auto& r, std::uint32_t l) { return loop(r, l) * (l == 5 ? 2.0f : 1.0f); };
      if (disturbed_before) leaves.live(5, 1, disturbed, random);
      for (std::uint32_t l = 0; l < leaves.size(); ++l)
        leaves.spend(l, 1e-3f, loop(random, l) * (l == 5 ? factor : 1.0f));
      leaves.slice();
      sum += leaves.evidence(5) / 10;
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
      Leaves leaves(hosts_of(2, 4));
      leaves.one_kind = true;
      leaves.live(200, 1, kind.lengths, random);
      for (int k = 0; k < 2'000; ++k) {
        for (std::uint32_t l = 0; l < leaves.size(); ++l) leaves.spend(l, 1e-3f, kind.lengths(random, l));
        leaves.slice();
        for (std::uint32_t l = 0; l < leaves.size(); ++l) sum += std::exp(leaves.evidence(l)), n += 1;
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
    Leaves leaves(hosts_of(2, 4));
    leaves.live(100, 2, usual, random);
    double sum = 0, others = 0;
    for (int k = 0; k < 4; ++k) {
      for (std::uint32_t l = 0; l < leaves.size(); ++l)
        leaves.spend(l, 1e-3f, usual(random, l) * (l == 5 ? 10.0f : 1.0f));
      leaves.slice();
      sum += leaves.evidence(5);
      others = std::max(others, leaves.evidence(2));
      EXPECT_LE(leaves.evidence(5), static_cast<double>(VisitSurprise::kMostOfOne));
      EXPECT_NEAR(static_cast<double>(leaves.surprise.ratio()[5][0]), std::log(10), 1.2);
      EXPECT_GT(leaves.surprise.lost()[5][0], 0.02f);
    }
    EXPECT_GE(sum, 10) << "seed " << seed;
    EXPECT_LE(others, 4) << "seed " << seed;
  }
}

// The same work in slices a hundred times as short: what one visit is worth is no matter of slices.
TEST(VisitSurprise, AVisitThatGoesOnIsWorthWhatItIsWorthWhenItHasEnded) {
  const auto worth = [](float scale, float length, float idle, double* greatest) {
    std::mt19937_64 random(1);
    Leaves leaves(hosts_of(2, 4));
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
      sum += leaves.evidence(3);
      *greatest = std::max(*greatest, sum);
    }
    leaves.slice();
    return sum + leaves.evidence(3);
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
  Leaves leaves(hosts_of(2, 4));
  leaves.live(100, 1, kKinds[0].lengths, random);
  leaves.spend(2, 0.5f, 300);
  double sum = 0;
  for (int k = 0; k < 200; ++k) {
    leaves.slice();
    sum += leaves.evidence(2);
    EXPECT_LE(sum, static_cast<double>(VisitSurprise::kMostOfOne) + 1e-3);
    if (k > 1) {
      EXPECT_EQ(leaves.surprise.told()[2][0], 1);
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
  Leaves leaves(hosts_of(2, 4));
  leaves.live(200, 2, usual, random);
  double slow = 0;
  for (int k = 0; k < 300; ++k) {
    for (std::uint32_t l = 0; l < leaves.size(); ++l) leaves.spend(l, 1e-3f, usual(random, l));
    leaves.slice();
    slow += std::exp(leaves.evidence(3)) / 300;
    leaves.learn();
  }
  EXPECT_LE(slow, 1.2) << "it is as it always is";
  // Another that becomes like it does not.
  double other = 0;
  for (int k = 0; k < 4; ++k) {
    leaves.spend(0, 1e-3f, usual(random, 3));
    leaves.slice();
    other += leaves.evidence(0);
  }
  EXPECT_GE(other, 6);
}

TEST(VisitSurprise, OfWhomNothingIsKnownNothingIsSaid) {
  std::mt19937_64 random(1);
  Leaves leaves(hosts_of(2, 4));
  for (int k = 0; k < 50; ++k) {
    for (std::uint32_t l = 0; l < 4; ++l) leaves.spend(l, 1e-3f, kKinds[0].lengths(random, l));
    leaves.slice();
    leaves.learn();
  }
  leaves.spend(0, 1e-3f, 0.3f);
  leaves.spend(5, 1e-3f, 0.3f);
  leaves.spend(6, 1e-3f, 3);  // and goes on
  leaves.slice();
  EXPECT_GT(leaves.evidence(0), 2);
  for (const std::uint32_t l : {5u, 6u}) {
    EXPECT_EQ(leaves.evidence(l), 0) << "its host has shown no visits";
    EXPECT_EQ(leaves.surprise.told()[l][0], 0);
  }
}

TEST(VisitSurprise, ALeafThatComesNewIsJudgedByItsSiblings) {
  std::mt19937_64 random(1);
  Leaves leaves(hosts_of(2, 4));
  for (int k = 0; k < 50; ++k) {
    for (std::uint32_t l = 0; l < 8; ++l)
      if (l != 2) leaves.spend(l, 1e-3f, kKinds[0].lengths(random, l));
    leaves.slice();
    leaves.learn();
  }
  leaves.spend(2, 1e-3f, 0.01f);
  leaves.slice();
  EXPECT_LT(leaves.evidence(2), 0.5);
  leaves.spend(2, 1e-3f, 0.5f);
  leaves.slice();
  EXPECT_GT(leaves.evidence(2), 2);
}

TEST(VisitSurprise, WhatIsKnownOutlivesAnotherHierarchyAndNotForget) {
  std::mt19937_64 random(1);
  Leaves leaves(hosts_of(2, 4));
  leaves.live(100, 1, kKinds[0].lengths, random);
  const auto of_long = [&] {
    leaves.spend(1, 1e-3f, 0.2f);
    leaves.slice();
    return leaves.evidence(1);
  };
  const double before = of_long();
  EXPECT_GT(before, 2);
  // A rank joins each host: inner nodes are others, leaves keep their numbers.
  leaves.surprise.set_hierarchy(tree(
      {"h0/r0", "h0/r1", "h0/r2", "h0/r3", "h1/r0", "h1/r1", "h1/r2", "h1/r3", "g/r0", "h0/r4", "h1/r4"}));
  EXPECT_NEAR(of_long(), before, 0.5);
  leaves.surprise.forget();
  EXPECT_EQ(of_long(), 0);
}

// Those that are blamed teach nothing meanwhile.
TEST(VisitSurprise, OfWhomItIsToldNothingIsLearned) {
  std::mt19937_64 random(1);
  Leaves leaves(hosts_of(2, 4));
  leaves.live(100, 1, kKinds[0].lengths, random);
  std::vector<char> but(leaves.size(), 0);
  but[1] = 1;
  double last = 0;
  for (int k = 0; k < 100; ++k) {
    for (std::uint32_t l = 0; l < leaves.size(); ++l) leaves.spend(l, 1e-3f, l == 1 ? 0.2f : 0.01f);
    leaves.slice();
    last = leaves.evidence(1);
    leaves.surprise.learn(but);
  }
  EXPECT_GT(last, 3) << "still as surprising";
}

}  // namespace visit_surprise_test
}  // namespace margay::detect::test
