// How probably each is of those that cause a departure.
#include "candidates.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace margay::detect {
namespace candidates_test {

using Groups = std::vector<std::vector<std::uint32_t>>;
constexpr double kShows = 0.05, kLeast = 0.0125;
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

TEST(Candidates, WhoIsFarFromTheOthersIsSurely) {
  const std::vector<double> departure{0.01, -0.02, 0.6, 0.02, -0.01, 0.0};
  const auto p = probabilities(departure, Groups{{2}, {0}, {1}, {3}, {4}, {5}}, 1, kShows, kLeast);
  EXPECT_GT(p[0], 0.999);
  for (std::size_t i = 1; i < p.size(); ++i) EXPECT_LT(p[i], 0.001) << i;
}

// The farther, the more; half the way between both is as good as a throw, but for how many there are of each.
TEST(Candidates, WhoIsInBetweenIsSoLessSurely) {
  double before = 0;
  for (const double at : {0.05, 0.10, 0.15, 0.20, 0.25}) {
    const std::vector<double> departure{0.3, 0.3, at, 0.05, -0.05, 0.05, -0.05};
    const auto p = probabilities(departure, Groups{{0}, {1}, {2}, {3}, {4}, {5}, {6}}, 2, kShows, kLeast);
    EXPECT_GT(p[2], before) << at;
    before = p[2];
  }
  EXPECT_GT(before, 0.5);
  EXPECT_LT(before, 1);
}

// A node is told by what its leaves do in the mean: where some had no turn yet it is no less the node.
TEST(Candidates, ANodeIsAskedAsAWhole) {
  const std::vector<double> departure{0.4, 0.0, 0.4, 0.0, 0.01, -0.01, 0.02, -0.02};
  EXPECT_GT(probabilities(departure, Groups{{0, 1, 2, 3}, {4}, {5}, {6}, {7}}, 1, kShows, kLeast)[0], 0.99);
}

// It is not this that tells them from the others, or there are none: nobody else is it.
TEST(Candidates, TheBlamedWhereItDoesNotShow) {
  const std::vector<double> told{1, 0, 0};
  const Groups each{{0}, {1}, {2}};
  for (const double its : {kNone, 0.0, 0.12})
    EXPECT_EQ(probabilities(std::vector<double>{its, 0.1, 0.1}, each, 1, kShows, kLeast), told) << its;
  EXPECT_EQ(probabilities(std::vector<double>{0.3, 0.1, 0.2}, each, 3, kShows, kLeast),
            (std::vector<double>{1, 1, 1}));
}

}  // namespace candidates_test
}  // namespace margay::detect
