#include "margay/scene/quality.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "synthetic_view.h"

namespace margay::scene {
namespace quality_test {

using testing::HasSubstr;

struct Point {
  double p, gain, loss;
  std::uint32_t parts;
};

ViewData with_curve(const std::vector<Point>& points, double p = 0) {
  support::ViewBuilder build(1);
  build.part(0, 0, 1, {});
  build.raw().set_p(p);
  build.raw().set_curve_complete(true);
  for (const Point& point : points) {
    wire::QualityPoint* const q = build.raw().add_curve();
    q->set_p(point.p);
    q->set_gain(point.gain);
    q->set_loss(point.loss);
    q->set_parts(point.parts);
  }
  return *view_data_untrusted(build.answer());
}

// Quality: 0, 0.5, 0.6, 0.2, 0.
const std::vector<Point> kCurve = {
    {0, 0, 0, 100}, {0.1, 60, 1, 40}, {0.2, 80, 2, 20}, {0.5, 90, 7, 4}, {0.9, 100, 10, 1}};

TEST(Quality, StepsOfTheCurve) {
  const Steps s = steps_of(with_curve(kCurve, 0.3));
  ASSERT_EQ(s.steps.size(), 5u);
  EXPECT_TRUE(s.complete);
  EXPECT_EQ(s.steps[1].p, 0.1);
  EXPECT_EQ(s.steps[1].until, 0.2);
  EXPECT_DOUBLE_EQ(s.steps[1].ask, 0.15);
  EXPECT_DOUBLE_EQ(s.steps[1].gain_share, 0.6);
  EXPECT_DOUBLE_EQ(s.steps[1].loss_share, 0.1);
  EXPECT_EQ(s.steps[1].parts, 40u);
  EXPECT_EQ(s.steps[4].until, 1);
  EXPECT_DOUBLE_EQ(s.steps[4].ask, 0.95);
  EXPECT_EQ(s.current, 2);
  EXPECT_EQ(s.jump, 2);  // 0.6 to 0.2
}

TEST(Quality, JumpIsTheFirstOfTheLargestAndOfNoFallTheLast) {
  EXPECT_EQ(steps_of(with_curve({{0, 0, 0, 3}, {0.5, 1, 0, 2}, {0.9, 2, 0, 1}})).jump, 2);
  // Falls of 0.5 twice.
  EXPECT_EQ(steps_of(with_curve({{0, 2, 0, 3}, {0.5, 2, 1, 2}, {0.9, 2, 2, 1}})).jump, 0);
  EXPECT_EQ(steps_of(with_curve({{0, 0, 0, 1}})).jump, 0);
  const Steps none = steps_of(with_curve({}));
  EXPECT_EQ(none.jump, -1);
  EXPECT_EQ(none.current, -1);
  EXPECT_TRUE(none.steps.empty());
}

TEST(Quality, WholeWithoutGainOrLossHasNoShares) {
  const Steps s = steps_of(with_curve({{0, 0, 0, 1}, {0.5, 0, 0, 1}}));
  for (const Step& step : s.steps) {
    EXPECT_EQ(step.gain_share, 0);
    EXPECT_EQ(step.loss_share, 0);
  }
  EXPECT_EQ(steps_of(with_curve({{0, -3, 20, 2}, {0.5, 1, 10, 1}})).steps[0].gain_share, 0);  // clamped
  EXPECT_EQ(steps_of(with_curve({{0, -3, 20, 2}, {0.5, 1, 10, 1}})).steps[0].loss_share, 1);
}

TEST(Quality, StepThatHoldsP) {
  const Steps s = steps_of(with_curve(kCurve));
  EXPECT_EQ(step_at(s, 0), 0);
  EXPECT_EQ(step_at(s, 0.0999), 0);
  EXPECT_EQ(step_at(s, 0.1), 1);
  EXPECT_EQ(step_at(s, 0.89), 3);
  EXPECT_EQ(step_at(s, 1), 4);
  EXPECT_EQ(step_at(s, -1), 0);
  EXPECT_EQ(step_at(s, std::nan("")), -1);
  for (std::size_t i = 0; i < s.steps.size(); ++i)
    EXPECT_EQ(step_at(s, s.steps[i].ask), static_cast<std::int64_t>(i));
  EXPECT_EQ(step_at(Steps{}, 0.5), -1);
}

TEST(Quality, NearestStep) {
  const Steps s = steps_of(with_curve(kCurve));
  EXPECT_EQ(nearest_step(s, 0.34), 2);
  EXPECT_EQ(nearest_step(s, 0.36), 3);
  EXPECT_EQ(nearest_step(s, 1), 4);
  EXPECT_EQ(nearest_step(s, 0), 0);
  EXPECT_EQ(nearest_step(Steps{}, 0.5), -1);
  EXPECT_EQ(nearest_step(steps_of(with_curve({{0, 0, 0, 1}, {0.5, 0, 0, 1}})), 0.25), 0);
}

TEST(Quality, Stepping) {
  const Steps s = steps_of(with_curve(kCurve));
  EXPECT_EQ(next_step(s, 1, 1), 2);
  EXPECT_EQ(next_step(s, 1, -1), 0);
  EXPECT_EQ(next_step(s, 0, -1), 0);
  EXPECT_EQ(next_step(s, 4, 1), 4);
  EXPECT_EQ(next_step(s, 99, 0), 4);
  EXPECT_EQ(next_step(s, 2, std::numeric_limits<std::int64_t>::max()), 4);
  EXPECT_EQ(next_step(s, 2, std::numeric_limits<std::int64_t>::min()), 0);
  EXPECT_EQ(next_step(Steps{}, 0, 1), -1);
}

TEST(Quality, TypedValues) {
  EXPECT_EQ(*parse_p("0.25"), 0.25);
  EXPECT_EQ(*parse_p("  .5\n"), 0.5);
  EXPECT_EQ(*parse_p("0,25"), 0.25);
  EXPECT_EQ(*parse_p("25%"), 0.25);
  EXPECT_EQ(*parse_p("25 %"), 0.25);
  EXPECT_EQ(*parse_p("+1"), 1);
  EXPECT_EQ(*parse_p("3e-2"), 0.03);
  EXPECT_EQ(*parse_p("1e-999"), 0);
  EXPECT_FALSE(std::signbit(*parse_p("-0")));
  for (const char* text : {"1.01", "-0.5", "101%", "inf", "1e999", "7"}) {
    const auto p = parse_p(text);
    ASSERT_FALSE(p) << text;
    EXPECT_THAT(p.error().message, HasSubstr("is out of range: p goes from 0 to 1")) << text;
    EXPECT_THAT(p.error().message, HasSubstr(text));
  }
  for (const char* text :
       {"x", "nan", "0.5.5", "0.5 0.6", "--1", "+-1", "%", "0x1", "1,000,000", "\xff\x1b"}) {
    const auto p = parse_p(text);
    ASSERT_FALSE(p) << text;
    EXPECT_THAT(p.error().message, HasSubstr("is no number")) << text;
  }
  EXPECT_THAT(parse_p(" ").error().message, HasSubstr("empty"));
  EXPECT_EQ(parse_p("\x1b").error().message, "\"?\" is no number: p goes from 0 to 1");
}

TEST(Quality, AsATable) {
  EXPECT_EQ(curve_csv(steps_of(with_curve({{0, 0, 0, 100}, {0.25, 60, 1, 40}, {0.5, 80, 4, 1}}))),
            "p,until,parts,gain (bits),loss (bits),gain (share),loss (share)\r\n"
            "0,0.25,100,0,0,0,0\r\n"
            "0.25,0.5,40,60,1,0.75,0.25\r\n"
            "0.5,1,1,80,4,1,1\r\n");
  EXPECT_EQ(curve_csv(Steps{}), "p,until,parts,gain (bits),loss (bits),gain (share),loss (share)\r\n");
}

TEST(Quality, TextOfP) {
  EXPECT_EQ(p_text(0.072134), "0.07213");
  EXPECT_EQ(p_text(1), "1");
  EXPECT_EQ(p_text(0), "0");
  EXPECT_EQ(p_text(3.2e-5), "3.2e-05");
}

}  // namespace quality_test
}  // namespace margay::scene
