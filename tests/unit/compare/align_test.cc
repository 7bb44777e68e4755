// Which times of two runs belong together.
#include "margay/compare/align.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "margay/compare/run_in_blocks.h"

namespace margay::compare {
namespace align_test {

using testing::Each;
using testing::ElementsAre;

std::vector<SliceOf> slices(std::initializer_list<std::tuple<int, std::uint32_t, double>> stretches) {
  std::vector<SliceOf> out;
  for (const auto& [n, phase, calls] : stretches)
    out.insert(out.end(), static_cast<std::size_t>(n), {phase, calls});
  return out;
}
std::vector<std::size_t> lengths(const std::vector<std::uint32_t>& phases) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < phases.size(); ++i) {
    if (i == 0 || phases[i] != phases[i - 1]) out.push_back(0);
    ++out.back();
  }
  return out;
}

TEST(ByWork, ARunIsLikeItself) {
  const auto run =
      slices({{7, kNoPhase, 0}, {20, 0, 50}, {30, 1, 4}, {5, 2, 0}, {20, 0, 50}, {3, kNoPhase, 0}});
  const auto phases = by_work(run, run);
  ASSERT_EQ(phases.size(), run.size());
  for (std::size_t i = 0; i < run.size(); ++i) EXPECT_EQ(phases[i], run[i].phase) << i;
}

TEST(ByWork, WhatTakesLongerIsTheSamePhaseForLonger) {
  const auto baseline = slices({{20, 0, 50}, {30, 1, 4}, {20, 2, 50}});
  const auto slower = slices({{20, 7, 50}, {60, 7, 2}, {40, 7, 25}});
  EXPECT_THAT(lengths(by_work(baseline, slower)), ElementsAre(20, 60, 40));
}

TEST(ByWork, StretchesWithoutCallsAreHeldAgainstEachOther) {
  const auto baseline = slices({{20, 0, 50}, {10, 1, 0}, {20, 2, 50}});
  const auto slower = slices({{20, 7, 50}, {30, 7, 0}, {20, 7, 50}});
  EXPECT_THAT(lengths(by_work(baseline, slower)), ElementsAre(20, 30, 20));
  // Also where a hundredth of the calls is made elsewhere.
  const auto other = slices({{20, 7, 50.1}, {30, 7, 0}, {20, 7, 50}});
  EXPECT_THAT(lengths(by_work(baseline, other)), ElementsAre(20, 30, 20));
}

TEST(ByWork, OfNothingThereIsNoPhase) {
  EXPECT_THAT(by_work({}, slices({{3, 0, 1}})), Each(kNoPhase));
  EXPECT_TRUE(by_work(slices({{3, 0, 1}}), {}).empty());
}

TEST(ByLikeness, PhasesAreFoundAgainUnderOtherNames) {
  std::vector<PhaseOfRun> known = {{"A", "", {0.8, 0.2, 0}}, {"B", "", {0.3, 0, 0.7}}};
  const auto found =
      by_likeness(known, {{"A", "", {0.32, 0, 0.68}}, {"B", "", {0.78, 0.22, 0}}, {"C", "", {0, 1, 0}}});
  EXPECT_THAT(found, ElementsAre(1, 0, 2));
  ASSERT_EQ(known.size(), 3u);
  EXPECT_EQ(known[2].name, "C");
}

TEST(ByLikeness, WhatTheProgramCallsThemCounts) {
  std::vector<PhaseOfRun> known = {{"A", "solve", {0.8, 0.2}}, {"B", "output", {0.5, 0.5}}};
  const auto found = by_likeness(known, {{"A", "output", {0.8, 0.2}}, {"B", "other", {0.8, 0.2}}});
  EXPECT_THAT(found, ElementsAre(1, 2));
}

TEST(Divergence, IsNothingOfEqualOnesAndOneOfThoseThatShareNothing) {
  EXPECT_DOUBLE_EQ(divergence_bits({0.3, 0.7}, {0.3, 0.7}), 0);
  EXPECT_DOUBLE_EQ(divergence_bits({1, 0}, {0, 1}), 1);
  EXPECT_DOUBLE_EQ(divergence_bits({1}, {0, 1}), 1);
  // By hand: the mean of (1 log2 4/3 ...) of {1, 0} and {1/2, 1/2}.
  EXPECT_NEAR(divergence_bits({1, 0}, {0.5, 0.5}), 0.311278, 1e-6);
}

TEST(Blocks, AreOfEqualWork) {
  std::vector<double> calls(64, 1.0);
  for (std::size_t i = 32; i < 64; ++i) calls[i] = 3;
  const auto blocks = blocks_of(calls, 16);
  std::vector<double> work(16);
  for (std::size_t i = 0; i < calls.size(); ++i) work[blocks[i]] += calls[i];
  for (const double w : work) EXPECT_NEAR(w, 8, 3);
  EXPECT_TRUE(std::is_sorted(blocks.begin(), blocks.end()));
  // Hardly any calls: of equal time.
  EXPECT_THAT(blocks_of(std::vector<double>(8, 0.0), 4), ElementsAre(0, 0, 1, 1, 2, 2, 3, 3));
  EXPECT_EQ(blocks_for(2 * kLeastBlocks - 1), 0u);
  EXPECT_EQ(blocks_for(2 * kLeastBlocks), kLeastBlocks);
  EXPECT_EQ(blocks_for(1000), kBlocks);
}

TEST(SameWork, IsWithinAHundredth) {
  EXPECT_TRUE(same_work(1000, 1009));
  EXPECT_FALSE(same_work(1000, 1011));
  EXPECT_FALSE(same_work(0, 0));
}

}  // namespace align_test
}  // namespace margay::compare
