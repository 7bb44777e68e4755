// How surprising long visits are: normal scores.
#include "visit_scores.h"

#include <gtest/gtest.h>

#include "visiting_leaves.h"

namespace margay::detect::test {
namespace visit_scores_test {

using Lanes = Leaves<VisitScores>;

double score(const Lanes& leaves, std::uint32_t leaf) {
  return static_cast<double>(leaves.judge.score()[leaf][0]);
}
// That the scores of visits are by so much higher than standard normal ones.
double evidence(const Lanes& leaves, std::uint32_t leaf, double shift = 2) {
  return shift * score(leaves, leaf) -
         shift * shift / 2 * static_cast<double>(leaves.judge.visits()[leaf][0]);
}

}  // namespace visit_scores_test
}  // namespace margay::detect::test
