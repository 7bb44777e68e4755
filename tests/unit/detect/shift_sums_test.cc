// Small shifts of a mean, in noise that is correlated in time.
#include "shift_sums.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "trees.h"

namespace margay::detect::test {
namespace shift_sums_test {

constexpr float kDeviation = 0.04f;  // of a slice

// Eight ranks on each of four hosts, one channel. Every residual is noise whose correlation falls by `keep`
// from block to block.
struct Noise {
  explicit Noise(float kept, unsigned seed) : keep(kept), engine(seed), state(items.size(), 0.0f) {
    sums.lay_out(items, 1, items.size());
    for (Grid* g : {&block.apart, &block.own, &block.lost}) g->reach(items.size(), 1);
    block.known.assign(items.size(), 1);
    none.assign(items.size(), 0);
  }
  // `shift`: of leaf 5, the mean of its slices.
  void take(float shift = 0) {
    std::normal_distribution<float> normal;
    for (std::size_t i = 0; i < items.size(); ++i) {
      state[i] = keep * state[i] + std::sqrt(1 - keep * keep) * normal(engine);
      block.apart[i][0] = kDeviation * std::sqrt(static_cast<float>(ShiftSums::kBlock)) * state[i];
    }
    block.apart[5][0] += shift * static_cast<float>(ShiftSums::kBlock);
    block.own[5][0] = block.apart[5][0];
    sums.take(items, block, SliceIndex(slice), none);
    slice += static_cast<std::int64_t>(ShiftSums::kBlock);
  }
  void quiet() {
    take();
    sums.learn(items, block, none);
  }
  ShiftSums::Score strongest(std::size_t item) const {
    ShiftSums::Score best;
    for (std::size_t s = 0; s < ShiftSums::kScales; ++s) {
      const ShiftSums::Score score = sums.of(items, item, 0, s);
      if (score.nats > best.nats) best = score;
    }
    return best;
  }
  NodeItems items{hosts_of(4, 8)};
  float keep;
  std::mt19937 engine;
  std::vector<float> state;
  ShiftSums sums;
  ShiftSums::Block block;
  std::vector<char> none;
  std::int64_t slice = 0;
};

// By the time a shift is z deviations of the mean since it began, its evidence is some z^2 / 2.
TEST(ShiftSums, AShiftIsWorthHalfTheSquareOfItsDeviations) {
  for (const unsigned seed : {1u, 2u, 3u}) {
    SCOPED_TRACE(seed);
    Noise noise(0, seed);
    for (int i = 0; i < 3000; ++i) noise.quiet();
    const std::int64_t begin = noise.slice;
    constexpr float kShift = 0.01f;
    constexpr double kSlices = 1200, kZ = 0.01 / 0.04 * 34.6;  // sqrt(1200)
    while (static_cast<double>(noise.slice - begin) < kSlices) noise.take(kShift);
    const ShiftSums::Score score = noise.strongest(5);
    EXPECT_GT(static_cast<double>(score.nats), 0.6 * kZ * kZ / 2);
    EXPECT_LT(static_cast<double>(score.nats), 1.6 * kZ * kZ / 2);
    EXPECT_LE(std::abs(score.begin.value - begin), 150);
    EXPECT_NEAR(score.own, kShift, 0.3f * kShift);
    for (std::size_t i = 0; i < noise.items.size(); ++i) {
      if (i == 5) continue;
      EXPECT_LT(noise.strongest(i).nats, score.nats / 2);
    }
  }
}

// What is measured over long spans knows that noise hangs together: evidence of x nats comes about once in
// exp(x) periods, and not several times as often.
TEST(ShiftSums, NoiseThatHangsTogetherIsNoEvidence) {
  for (const float keep : {0.0f, 0.9f}) {
    SCOPED_TRACE(keep);
    Noise noise(keep, 4);
    for (int i = 0; i < 2000; ++i) noise.quiet();
    constexpr std::size_t kScale = 3;
    constexpr float kNats = 5;
    constexpr double kBlocks = 6000;
    double stretches = 0;
    for (int i = 0; i < static_cast<int>(kBlocks); ++i) {
      noise.quiet();
      stretches += noise.sums.ended(0, kScale) >= kNats;
    }
    const double periods = kBlocks * ShiftSums::kBlock / static_cast<double>(ShiftSums::period(kScale));
    EXPECT_LE(stretches, 2 * periods * 32 * std::exp(-static_cast<double>(kNats)));
  }
}

// A second of somebody is not the mean of minutes.
TEST(ShiftSums, ASingleBlockIsWorthFewNats) {
  Noise noise(0, 5);
  for (int i = 0; i < 3000; ++i) noise.quiet();
  const float before = noise.strongest(5).nats;
  noise.take(100);
  EXPECT_LE(noise.strongest(5).nats - before, 5);
}

// Of few spans nothing can be said of how much they vary.
TEST(ShiftSums, AScaleSpeaksOnceItsNoiseIsKnown) {
  Noise noise(0, 6);
  EXPECT_FALSE(noise.sums.speaks(0, 0));
  for (std::size_t i = 0; i < 16 * ShiftSums::period(2) / ShiftSums::kBlock; ++i) noise.quiet();
  EXPECT_TRUE(noise.sums.speaks(0, 2));
  EXPECT_FALSE(noise.sums.speaks(0, 3));
}

}  // namespace shift_sums_test
}  // namespace margay::detect::test
