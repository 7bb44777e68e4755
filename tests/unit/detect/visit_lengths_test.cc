// How much likelier it is that visits take longer than usual, of those that ended and of one that goes on.
#include "visit_lengths.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace margay::detect {
namespace visit_lengths_test {

constexpr std::uint16_t kWork = 5;

// Leaves that do one visit to a single state after the other.
struct Workers {
  explicit Workers(std::size_t n) : leaves(n), before(n), after(n), there(n, 1), until(n), began(n) {
    for (Grid* g : {&spent, &ended, &longest}) g->reach(n, 1);
  }
  // A slice; visits that begin in it take exp(usual + 0.4 * chance) slices, `times` as long for the first
  // leaf.
  void slice(float times = 1, bool quiet = true) {
    for (Grid* g : {&spent, &ended, &longest}) g->fill(0);
    before = after;
    const double end = now + 1;
    for (std::size_t l = 0; l < leaves; ++l) {
      if (until[l] <= 0) until[l] = next(l, 1);
      while (until[l] <= end) {
        ended[l][0] += 1;
        longest[l][0] = std::max(longest[l][0], static_cast<float>(until[l] - began[l]));
        began[l] = until[l];
        until[l] += next(l, l == 0 ? times : 1);
      }
      spent[l][0] = 1;
      longest[l][0] = std::max(longest[l][0], static_cast<float>(end - began[l]));
      after[l] = {kWork, static_cast<float>(end - began[l])};
    }
    now = end;
    lengths.measure({spent, ended, longest, before, after, there, counted, state_of}, 1);
    if (quiet) lengths.learn();
  }
  double next(std::size_t l, float times) {
    return times * std::exp(usual + (own ? 0.3 * static_cast<double>(l) : 0.0) + scatter * normal(random));
  }
  std::size_t leaves;
  Grid spent, ended, longest;
  std::vector<OpenVisit> before, after;
  std::vector<char> there, counted{1};
  std::vector<std::uint16_t> state_of{kWork};
  std::vector<double> until, began;
  double now = 0, usual = 1, scatter = 0.4;
  bool own = false;
  VisitLengths lengths;
  std::mt19937 random{11};
  std::normal_distribution<double> normal;
};

TEST(VisitLengths, NothingIsSaidBeforeSomethingIsKnown) {
  Workers w(4);
  w.slice();
  w.slice();
  for (std::size_t l = 0; l < 4; ++l) EXPECT_EQ(w.lengths.at()[l][0], 0);
}

TEST(VisitLengths, ByChanceTheEvidenceFalls) {
  // The mean ratio of likelihoods is 1, so the mean of its logarithm is below 0; also with leaves that
  // differ, and for visits of many slices as well as for many in a slice.
  for (const double usual : {-1.5, 0.0, 1.5}) {
    Workers w(8);
    w.usual = usual;
    w.own = true;
    for (int s = 0; s < 400; ++s) w.slice();
    double sum = 0, visits = 0;
    for (int s = 0; s < 2000; ++s) {
      w.slice();
      for (std::size_t l = 0; l < 8; ++l)
        sum += w.lengths.evidence()[0][l][0], visits += w.lengths.ended()[l][0];
    }
    EXPECT_LT(sum / visits, -0.3) << usual;
  }
}

TEST(VisitLengths, AVisitThatGoesOnIsEvidenceWhenItsSiblingsWereOver) {
  Workers w(8);
  for (int s = 0; s < 400; ++s) w.slice();
  // From the next visit on the first leaf does not come to an end.
  while (w.ended[0][0] == 0) w.slice(1000, false);
  w.slice(1000, false);
  float sum = 0, highest = 0, at_siblings = 0;
  for (int s = 0; s < 60; ++s) {
    sum += w.lengths.evidence()[1][0][0];
    if (w.after[0].age > 6 && at_siblings == 0) at_siblings = sum;
    highest = std::max(highest, sum);
    w.slice(1000, false);
  }
  // Nearly none takes 6 slices; it is said then. But one visit proves nothing.
  EXPECT_GT(at_siblings, 2);
  EXPECT_LT(highest, 5);
}

TEST(VisitLengths, ShortVisitsDoNotUndoWhatManyHaveShown) {
  Workers w(2);
  for (int s = 0; s < 400; ++s) w.slice();
  for (Grid* g : {&w.spent, &w.ended, &w.longest}) g->fill(0);
  w.before.assign(2, {}), w.after.assign(2, {});
  w.spent[0][0] = w.longest[0][0] = 1e-3f, w.ended[0][0] = 1;
  w.lengths.measure({w.spent, w.ended, w.longest, w.before, w.after, w.there, w.counted, w.state_of}, 1);
  for (const Grid& e : w.lengths.evidence()) {
    EXPECT_LT(e[0][0], -2);
    EXPECT_GT(e[0][0], -2.5);
  }
}

TEST(VisitLengths, WorkThatComesInKindsIsFollowed) {
  // All leaves' visits take three times as long, then a third, and so on, for 20 slices each.
  Workers w(16);
  for (int s = 0; s < 1200; ++s) {
    w.usual = s / 20 % 2 == 0 ? -1.6 : -0.5;
    w.slice();
  }
  double sum = 0, visits = 0;
  for (int s = 0; s < 400; ++s) {
    w.usual = s / 20 % 2 == 0 ? -1.6 : -0.5;
    w.slice();
    for (std::size_t l = 0; l < 16; ++l) {
      visits += w.lengths.ended()[l][0];
      sum += w.lengths.evidence()[1][l][0];
    }
  }
  EXPECT_LT(sum / visits, -0.8);
}

// Visits of which some take thousands of times as long as others, told together: no error makes the
// deviation, nor that the next error, greater and greater.
TEST(VisitLengths, HoweverFarVisitsScatterTheEvidenceStaysFinite) {
  Workers w(4);
  w.usual = -4;
  w.scatter = 3;
  for (int s = 0; s < 4000; ++s) {
    w.slice();
    for (std::size_t l = 0; l < 4; ++l)
      for (const Grid& g : w.lengths.evidence()) ASSERT_LT(std::abs(g[l][0]), 1e6f) << "slice " << s;
  }
}

}  // namespace visit_lengths_test
}  // namespace margay::detect
