// Whose visits end later than usual: visits that should have ended are counted against those that did.
#include "tempo.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace margay::detect {
namespace {

// Eight leaves on two machines, one state.
struct Machines {
  Machines() {
    tempo.lay_out(kItems, 2, 1);
    passed.reach(kItems, 1);
    ended.reach(kItems, 1);
  }
  // A slice in which visits of these leaves last so many times as long; 1 for all others.
  void slice(const std::vector<std::uint32_t>& slow, float times, bool quiet = true) {
    for (std::uint32_t i = 8; i < kItems; ++i) passed[i][0] = ended[i][0] = 0;
    for (std::uint32_t l = 0; l < 8; ++l) {
      const bool is_slow = std::find(slow.begin(), slow.end(), l) != slow.end();
      // On the clock of the hazard so many visits end, by chance.
      passed[l][0] = 2;
      ended[l][0] = static_cast<float>(std::poisson_distribution<int>(is_slow ? 2.0 / times : 2.0)(random));
      passed[8 + l / 4][0] += passed[l][0];
      ended[8 + l / 4][0] += ended[l][0];
    }
    tempo.take(passed, ended, group);
    if (quiet) tempo.learn(group);
  }
  static constexpr std::size_t kItems = 10;
  std::vector<std::uint32_t> group{0, 0, 0, 0, 0, 0, 0, 0, 1, 1};
  Tempo tempo;
  Grid passed, ended;
  std::mt19937 random{7};
};

TEST(Tempo, ChanceDoesNotSumUp) {
  Machines m;
  float most = 0;
  for (int s = 0; s < 5000; ++s) {
    m.slice({}, 1);
    for (std::size_t i = 0; i < Machines::kItems; ++i) most = std::max(most, m.tempo.of(i).score);
  }
  // Page's sums exceed h by chance once in about exp(h) slices.
  EXPECT_GT(most, 4);
  EXPECT_LT(most, 16);
}

TEST(Tempo, ALeafWhoseVisitsLastLongerIsFoundAndSinceWhen) {
  Machines m;
  for (int s = 0; s < 200; ++s) m.slice({}, 1);
  int found = 0;
  for (int s = 1; s <= 60 && found == 0; ++s) {
    m.slice({5}, 4, false);
    if (m.tempo.of(5).score > 20) found = s;
  }
  ASSERT_GT(found, 0);
  EXPECT_LT(found, 60);
  EXPECT_NEAR(static_cast<int>(m.tempo.of(5).slices), found, 8);
  EXPECT_LT(m.tempo.of(2).score, 10);
  EXPECT_LT(m.tempo.of(8).score, 10);
}

TEST(Tempo, AMachineIsFoundBeforeItsLeaves) {
  Machines m;
  for (int s = 0; s < 200; ++s) m.slice({}, 1);
  int machine = 0, leaf = 0;
  for (int s = 1; s <= 100; ++s) {
    m.slice({0, 1, 2, 3}, 3, false);
    if (machine == 0 && m.tempo.of(8).score > 20) machine = s;
    for (std::size_t l = 0; l < 4; ++l)
      if (leaf == 0 && m.tempo.of(l).score > 20) leaf = s;
  }
  ASSERT_GT(machine, 0);
  EXPECT_TRUE(leaf == 0 || machine < leaf) << machine << " " << leaf;
}

TEST(Tempo, WhatSlowsAllAlikeIsNobodys) {
  Machines m;
  for (int s = 0; s < 200; ++s) m.slice({}, 1);
  for (int s = 0; s < 50; ++s) m.slice({0, 1, 2, 3, 4, 5, 6, 7}, 4, false);
  for (std::size_t i = 0; i < Machines::kItems; ++i) EXPECT_LT(m.tempo.of(i).score, 16) << i;
}

TEST(Tempo, AVisitScattersByMoreThanChanceWhereItAlwaysHas) {
  // Visits come in clumps: the same difference counts for less.
  Machines calm, clumps;
  for (int s = 0; s < 400; ++s) {
    calm.slice({}, 1);
    for (std::uint32_t l = 0; l < 8; ++l) clumps.passed[l][0] = 2, clumps.ended[l][0] = s % 8 == 0 ? 16 : 0;
    for (std::uint32_t i = 8; i < 10; ++i) clumps.passed[i][0] = 8, clumps.ended[i][0] = s % 8 == 0 ? 64 : 0;
    clumps.tempo.take(clumps.passed, clumps.ended, clumps.group);
    clumps.tempo.learn(clumps.group);
  }
  calm.tempo.restart();
  clumps.tempo.restart();
  for (Machines* m : {&calm, &clumps}) {
    for (std::uint32_t l = 0; l < 8; ++l) m->passed[l][0] = 2, m->ended[l][0] = l == 3 ? 0 : 2;
    for (std::uint32_t i = 8; i < 10; ++i) m->passed[i][0] = 8, m->ended[i][0] = i == 8 ? 6 : 8;
    for (int s = 0; s < 10; ++s) m->tempo.take(m->passed, m->ended, m->group);
  }
  EXPECT_GT(calm.tempo.of(3).score, 10);
  EXPECT_LT(clumps.tempo.of(3).score, calm.tempo.of(3).score / 2);
}

}  // namespace
}  // namespace margay::detect
