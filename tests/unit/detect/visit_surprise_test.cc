// How surprising long visits are: bets.
#include "visit_surprise.h"

#include <gtest/gtest.h>

#include "visiting_leaves.h"

namespace margay::detect::test {
namespace visit_surprise_test {

using Loops = Leaves<Surprise>;

double evidence(const Loops& leaves, std::uint32_t leaf) {
  return static_cast<double>(leaves.judge.evidence()[leaf][0]);
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

// One of a node has a hundred times as little to do at once: what it usually takes is known as well as that
// of the others, and it does not blur theirs. The mean of ten.
TEST(VisitSurprise, WhoHasARoleOfItsOwnIsComparedWithItself) {
  const Lengths roles = [](auto& r, std::uint32_t l) { return log_normal(r, l == 0 ? 0.002f : 0.2f, 0.05f); };
  std::array<double, 3> worth{};
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    std::mt19937_64 random(seed);
    Loops leaves(hosts_of(2, 4));
    leaves.one_kind = true;
    leaves.live(30, 1, roles, random);
    for (std::uint32_t l = 0; l < leaves.size(); ++l)
      leaves.spend(l, 1e-3f, roles(random, l) * (l == 0 || l == 2 ? 1.5f : 1.0f));
    leaves.slice();
    for (std::uint32_t l = 0; l < worth.size(); ++l) worth[l] += evidence(leaves, l) / 10;
    EXPECT_NEAR(static_cast<double>(leaves.judge.ratio()[0][0]), std::log(1.5), 0.2);
  }
  EXPECT_GE(worth[0], 4);
  EXPECT_LE(worth[1], 0);
  EXPECT_GE(worth[2], 4) << "one of the others on its node";
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

}  // namespace visit_surprise_test
}  // namespace margay::detect::test
