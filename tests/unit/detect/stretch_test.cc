// Whose visits take longer than usual: what visits show is summed up against what others show.
#include "stretch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace margay::detect {
namespace stretch_test {

// Eight leaves on two machines, one state; visits of which the logarithm is normal.
struct Machines {
  Machines() { stretch.lay_out(kItems, 2, 1); }
  // A slice in which visits of these leaves last so many times as long; `each` of them end in it.
  void slice(const std::vector<std::uint32_t>& slow, float times, bool quiet = true, int each = 2) {
    for (Grid* g : stretch.slice().grids()) g->fill(0);
    for (std::uint32_t l = 0; l < 8; ++l) {
      const bool is_slow = std::find(slow.begin(), slow.end(), l) != slow.end();
      const float longer = is_slow ? std::log(times) / kDeviation : 0;
      for (int n = 0; n < each; ++n) add(l, normal(random) + longer);
    }
    stretch.take(group);
    if (quiet) stretch.learn(group);
  }
  // One visit that is so many deviations from usual.
  void add(std::uint32_t leaf, float z) {
    Stretch::Slice& s = stretch.slice();
    for (const std::uint32_t i : {leaf, 8 + leaf / 4}) {
      for (std::size_t k = 0; k < Stretch::kFactors; ++k) {
        const float shift = std::log(VisitLengths::kFactors[k]) / kDeviation;
        s.evidence[k][i][0] += shift * z - shift * shift / 2;
      }
      s.at[i][0] += 1, s.ended[i][0] += 1, s.far[i][0] += z;
    }
  }
  static constexpr std::size_t kItems = 10;
  static constexpr float kDeviation = 0.7f;
  std::vector<std::uint32_t> group{0, 0, 0, 0, 0, 0, 0, 0, 1, 1};
  Stretch stretch;
  std::mt19937 random{7};
  std::normal_distribution<float> normal;
};

TEST(Stretch, ChanceDoesNotSumUp) {
  Machines m;
  float most = 0;
  for (int s = 0; s < 5000; ++s) {
    m.slice({}, 1);
    for (std::size_t i = 0; i < Machines::kItems; ++i) most = std::max(most, m.stretch.of(i).score);
  }
  // Page's sums exceed h by chance once in about exp(h) slices.
  EXPECT_GT(most, 4);
  EXPECT_LT(most, 16);
}

TEST(Stretch, ALeafWhoseVisitsLastLongerIsFoundAndSinceWhen) {
  Machines m;
  for (int s = 0; s < 200; ++s) m.slice({}, 1);
  int found = 0;
  for (int s = 1; s <= 60 && found == 0; ++s) {
    m.slice({5}, 4, false, 1);
    if (m.stretch.of(5).score > 20) found = s;
  }
  ASSERT_GT(found, 0);
  // A visit of four times the length is worth two nats or so.
  EXPECT_LT(found, 25);
  EXPECT_NEAR(static_cast<int>(m.stretch.of(5).slices), found, 8);
  EXPECT_LT(m.stretch.of(2).score, 10);
  EXPECT_LT(m.stretch.of(8).score, 20);
}

TEST(Stretch, AMachineIsFoundBeforeItsLeaves) {
  Machines m;
  for (int s = 0; s < 200; ++s) m.slice({}, 1);
  int machine = 0, leaf = 0;
  for (int s = 1; s <= 100; ++s) {
    m.slice({0, 1, 2, 3}, 3, false);
    if (machine == 0 && m.stretch.of(8).score > 20) machine = s;
    for (std::size_t l = 0; l < 4; ++l)
      if (leaf == 0 && m.stretch.of(l).score > 20) leaf = s;
  }
  ASSERT_GT(machine, 0);
  EXPECT_TRUE(leaf == 0 || machine < leaf) << machine << " " << leaf;
}

TEST(Stretch, WhatSlowsAllAlikeIsNobodys) {
  Machines m;
  for (int s = 0; s < 200; ++s) m.slice({}, 1);
  for (int s = 0; s < 50; ++s) m.slice({0, 1, 2, 3, 4, 5, 6, 7}, 4, false);
  for (std::size_t i = 0; i < Machines::kItems; ++i) EXPECT_LT(m.stretch.of(i).score, 16) << i;
}

TEST(Stretch, VisitsScatterByMoreThanChanceWhereTheyAlwaysHave) {
  // What is long comes in clumps: the same difference counts for less.
  Machines calm, clumps;
  for (int s = 0; s < 400; ++s) {
    calm.slice({}, 1);
    for (Grid* g : clumps.stretch.slice().grids()) g->fill(0);
    for (std::uint32_t l = 0; l < 8; ++l)
      for (int n = 0; n < 2; ++n) clumps.add(l, s / 4 % 2 == 0 ? 1.5f : -1.5f);
    clumps.stretch.take(clumps.group);
    clumps.stretch.learn(clumps.group);
  }
  for (Machines* m : {&calm, &clumps}) {
    m->stretch.restart();
    for (int s = 0; s < 10; ++s) {
      for (Grid* g : m->stretch.slice().grids()) g->fill(0);
      for (std::uint32_t l = 0; l < 8; ++l) m->add(l, l == 3 ? 2.0f : -0.5f);
      m->stretch.take(m->group);
    }
  }
  EXPECT_GT(calm.stretch.of(3).score, 10);
  EXPECT_LT(clumps.stretch.of(3).score, calm.stretch.of(3).score / 2);
}

}  // namespace stretch_test
}  // namespace margay::detect
