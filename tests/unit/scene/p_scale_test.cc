#include "margay/scene/p_scale.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace margay::scene {
namespace p_scale_test {

Steps steps_at(const std::vector<double>& begins) {
  Steps out;
  for (std::size_t i = 0; i < begins.size(); ++i) {
    Step step;
    step.p = begins[i];
    step.until = i + 1 < begins.size() ? begins[i + 1] : 1;
    step.ask = step.p + (step.until - step.p) / 2;
    out.steps.push_back(step);
  }
  return out;
}

// As curves are: most of them near 0.
Steps clustered(std::size_t n, std::uint32_t seed = 5) {
  std::mt19937_64 rng(seed);
  std::uniform_real_distribution<double> exponent(-8, 0);
  std::vector<double> begins{0};
  while (begins.size() < n) begins.push_back(std::pow(10, exponent(rng)));
  std::sort(begins.begin(), begins.end());
  return steps_at(begins);
}

void expect_inverse(const PScale& scale, const Steps& steps) {
  EXPECT_EQ(scale.x_of(0), 0);
  EXPECT_EQ(scale.x_of(1), 1);
  EXPECT_EQ(scale.p_of(0), 0);
  EXPECT_EQ(scale.p_of(1), 1);
  for (std::size_t k = 0; k < steps.steps.size(); ++k) {
    const Step& step = steps.steps[k];
    EXPECT_EQ(scale.x_of(step.p), k == 0 ? 0 : scale.begin_of(k)) << k;
    EXPECT_EQ(scale.p_of(scale.begin_of(k)), k == 0 ? 0 : step.p) << k;
    // Rounding leads to no neighbour.
    for (const double p : {step.p, step.ask, std::nextafter(step.until, 0.0)}) {
      if (p < step.p) continue;
      EXPECT_EQ(scale.step_at(scale.x_of(p)), step_at(steps, p)) << k << " at " << p;
      EXPECT_NEAR(scale.p_of(scale.x_of(p)), p, 1e-12) << k;
    }
    const double end = scale.begin_of(k + 1);
    ASSERT_GT(end, scale.begin_of(k)) << k;
    for (const double x : {scale.begin_of(k), (scale.begin_of(k) + end) / 2, std::nextafter(end, 0.0)}) {
      EXPECT_EQ(scale.step_at(x), static_cast<std::int64_t>(k)) << x;
      const double p = scale.p_of(x);
      EXPECT_GE(p, k == 0 ? 0 : step.p) << k;
      EXPECT_LT(p, step.until) << k;
    }
  }
}

void expect_ascending(const PScale& scale) {
  double x = 0, p = 0;
  for (int i = 0; i <= 20'000; ++i) {
    // Finely near 0, where most steps are.
    const double at = std::pow(i / 20'000.0, 6);
    EXPECT_GE(scale.x_of(at), x) << at;
    x = scale.x_of(at);
    EXPECT_GE(scale.p_of(i / 20'000.0), p) << i;
    p = scale.p_of(i / 20'000.0);
  }
}

TEST(PScale, IsPItselfWithoutStepsAndWithOne) {
  for (const Steps& steps : {Steps{}, steps_at({0})}) {
    const PScale scale(steps, 0.01);
    for (const double p : {0.0, 1e-9, 0.1, 0.25, 0.99, 1.0}) {
      EXPECT_DOUBLE_EQ(scale.x_of(p), p);
      EXPECT_DOUBLE_EQ(scale.p_of(p), p);
    }
  }
  EXPECT_EQ(PScale(Steps{}).step_at(0.5), -1);
  EXPECT_EQ(PScale(Steps{}).steps(), 0u);
  EXPECT_EQ(PScale(steps_at({0})).step_at(0), 0);
  EXPECT_EQ(PScale(steps_at({0})).step_at(1), 0);
}

// By hand: two steps have a quarter each, and half of the axis is p.
TEST(PScale, IsHalfStepsAndHalfP) {
  const PScale scale(steps_at({0, 0.1}));
  EXPECT_DOUBLE_EQ(scale.x_of(0.1), 0.25 + 0.05);
  EXPECT_DOUBLE_EQ(scale.x_of(0.05), 0.15);
  EXPECT_DOUBLE_EQ(scale.x_of(0.55), 0.65);
  EXPECT_DOUBLE_EQ(scale.p_of(0.65), 0.55);
  EXPECT_EQ(scale.step_at(0.2999), 0);
  EXPECT_EQ(scale.step_at(0.3001), 1);
  EXPECT_EQ(scale.step_at(1), 1);
  EXPECT_EQ(scale.step_at(7), 1);
  EXPECT_EQ(scale.step_at(-7), 0);
  EXPECT_EQ(scale.step_at(std::nan("")), 0);
  EXPECT_EQ(scale.x_of(std::nan("")), 0);
}

TEST(PScale, HasOneInverseOfClusteredCurves) {
  for (const std::size_t n : {std::size_t{2}, std::size_t{3}, std::size_t{40}, std::size_t{5000}}) {
    const Steps steps = clustered(n);
    for (const double least : {0.0, 4.0 / 230, 4.0 / 1200}) {
      const PScale scale(steps, least);
      expect_inverse(scale, steps);
      expect_ascending(scale);
    }
  }
}

TEST(PScale, HasOneInverseWhereStepsAreAsNearAsNumbersCanBe) {
  double p = 0.25;
  std::vector<double> begins{0};
  for (int i = 0; i < 20; ++i, p = std::nextafter(p, 1.0)) begins.push_back(p);
  begins.push_back(std::nextafter(1.0, 0.0));
  const Steps steps = steps_at(begins);
  expect_inverse(PScale(steps), steps);
}

// Every step can be hit: with as much as was asked for where there is room, else with an equal share.
TEST(PScale, GivesEachStepItsRoom) {
  for (const std::size_t n : {2, 20, 50, 500, 5000}) {
    const Steps steps = clustered(n);
    for (const double width : {230.0, 1200.0}) {
      const PScale scale(steps, 4 / width);
      const double due = std::min(4.0, width / static_cast<double>(n));
      for (std::size_t k = 0; k < n; ++k)
        EXPECT_GE((scale.begin_of(k + 1) - scale.begin_of(k)) * width, due * (1 - 1e-9)) << n << " " << k;
    }
  }
  // Most of them near 0 have no more than a pixel all together on an axis that is p itself.
  const Steps steps = clustered(40);
  EXPECT_LT(steps.steps[20].p * 230, 1);
}

TEST(PScale, StepsThatBeginAtOnePHaveRoomAllTheSame) {
  const Steps steps = steps_at({0, 0.5, 0.5, 0.5, 1});
  const PScale scale(steps);
  for (std::size_t k = 0; k < 5; ++k) {
    EXPECT_GT(scale.begin_of(k + 1) - scale.begin_of(k), 0.09) << k;
    EXPECT_EQ(scale.step_at((scale.begin_of(k) + scale.begin_of(k + 1)) / 2), static_cast<std::int64_t>(k));
  }
  EXPECT_EQ(scale.x_of(0.5), scale.begin_of(3)) << "the last one, as step_at(steps, p)";
  EXPECT_EQ(scale.x_of(1), scale.begin_of(4));
  EXPECT_EQ(scale.p_of(0.5), 0.5);
  EXPECT_EQ(scale.p_of((scale.begin_of(4) + 1) / 2), 1);
  // A curve that does not begin at 0.
  const PScale late(steps_at({0.2, 0.6}));
  EXPECT_EQ(late.x_of(0), 0);
  EXPECT_EQ(late.step_at(late.x_of(0.1)), 0);
  EXPECT_EQ(late.step_at(late.x_of(0.6)), 1);
}

std::vector<std::string> labels(const Steps& steps, double width) {
  std::vector<std::string> out;
  for (const PTick& tick : p_ticks(PScale(steps, 4 / width), steps, {width, 7, 12}))
    out.push_back(tick.label);
  return out;
}

TEST(PTicks, AreRoundValuesThatHaveRoom) {
  EXPECT_THAT(labels(Steps{}, 120), testing::ElementsAre("0", "0.5", "1"));
  EXPECT_THAT(labels(Steps{}, 400),
              testing::ElementsAre("0", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "1"));
  EXPECT_THAT(labels(Steps{}, 0), testing::IsEmpty());
  EXPECT_THAT(labels(Steps{}, std::nan("")), testing::IsEmpty());
  EXPECT_THAT(labels(Steps{}, 5), testing::IsEmpty()) << "narrower than a figure";
  const auto near_zero = labels(clustered(60), 1200);
  EXPECT_THAT(near_zero, testing::IsSupersetOf({"0", "0.001", "0.01", "0.1", "1"}));
}

TEST(PTicks, ArePOfStepsWhereNoRoundOneIs) {
  EXPECT_THAT(labels(steps_at({0, 0.9123, 0.9124, 0.9125}), 600),
              testing::IsSupersetOf({"0.9124", "0.9125"}));
}

TEST(PTicks, DoNotTouchAndStayWithinTheAxis) {
  for (const std::size_t n : {1, 7, 100, 5000})
    for (const double width : {100.0, 230.0, 1200.0}) {
      const Steps steps = clustered(n);
      const PScale scale(steps, 4 / width);
      double end = -1e9, p = -1;
      for (const PTick& tick : p_ticks(scale, steps, {width, 7, 12})) {
        EXPECT_GT(tick.p, p);
        EXPECT_DOUBLE_EQ(tick.x, scale.x_of(tick.p) * width);
        const double wide = 7 * static_cast<double>(tick.label.size());
        const double from = std::clamp(tick.x - wide / 2, 0.0, width - wide);
        EXPECT_GE(from, end + 12 - 1e-9) << n << " " << width << " " << tick.label;
        end = from + wide, p = tick.p;
      }
      EXPECT_GT(end, 0);
    }
}

}  // namespace p_scale_test
}  // namespace margay::scene
