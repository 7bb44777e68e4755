// What is made from significant p: the envelope, the largest jump, the strengths of parts.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "lists.h"

namespace margay::partition {
namespace quality_test {

using support::Cells;

TEST(Envelope, CertificateHoldsAgainstTheExactList) {
  each_model(5154, 40, 30, 20, [](const Random& m, Batch& batch, Rng&, int round) {
    const auto exact = significant_p(batch);
    ASSERT_TRUE(exact);
    EnvelopeOptions options;
    options.relative_error = round % 2 ? 1e-4 : 0.01;
    options.most_solves = round % 4 ? 64 : 4;
    const auto shown = envelope(batch, options);
    ASSERT_TRUE(shown);
    ASSERT_LE(shown->solves, options.most_solves);
    ASSERT_EQ(shown->points.front().p, 0);
    const double range = std::abs(pic(exact->points.back(), 1) - pic(exact->points.front(), 0));
    if (shown->complete) {
      ASSERT_LE(shown->error, options.relative_error * range + 1e-6);
    } else {
      ASSERT_EQ(shown->solves, options.most_solves);
    }
    std::vector<double> p = {0, 1};
    for (const QualityPoint& point : exact->points) p.push_back(point.p);
    for (const QualityPoint& point : shown->points) p.push_back(point.p);
    for (const double value : p) {
      const double truth = pic(at(*exact, value), value);
      double curve = -1e300;
      for (const QualityPoint& point : shown->points) curve = std::max(curve, pic(point, value));
      ASSERT_GE(truth, curve - price(m.cells));
      ASSERT_LE(truth, curve + shown->error + price(m.cells));
      // The points are the maxima of their own segments.
      ASSERT_NEAR(curve, pic(at(*shown, value), value), price(m.cells));
    }
  });
  Rng again(1);
  const Random m = random_model(again, 5, 5);
  Batch batch = make_batch(m.parents, m.cells);
  EnvelopeOptions bad;
  bad.relative_error = std::nan("");
  EXPECT_FALSE(envelope(batch, bad));
}

TEST(LargestJump, IsThePBeforeTheLargestFall) {
  EXPECT_EQ(largest_jump({}), 0);
  const std::vector<QualityPoint> one = {{0, 5, 1, 1}};
  EXPECT_EQ(largest_jump(one), 0);
  // Quality: 0, 0.5 - 0.1, 0.8 - 0.3, 0.9 - 0.8, 0: the largest fall is from the third to the fourth.
  const std::vector<QualityPoint> points = {
      {0, 0, 0, 40}, {0.1, 5, 1, 20}, {0.2, 8, 3, 9}, {0.4, 9, 8, 3}, {0.6, 10, 10, 1}};
  EXPECT_EQ(largest_jump(points), 0.2);
  // No loss at all: quality only grows.
  const std::vector<QualityPoint> free = {{0, 1, 0, 2}, {0.5, 2, 0, 1}};
  EXPECT_EQ(largest_jump(free), 0.5);
}

TEST(Strengths, ArePointsAtWhichThePartIsGone) {
  each_model(5155, 40, 12, 10, [](const Random&, Batch& batch, Rng& rng, int) {
    const double p = 0.3 * uniform(rng);
    const auto partition = batch.solve(p);
    const auto list = significant_p(batch);
    const auto strong = strengths(batch, *partition);
    ASSERT_TRUE(partition && list && strong);
    ASSERT_EQ(strong->size(), partition->parts.size());
    // By hand: solve inside every later segment.
    std::vector<double> want(partition->parts.size(), 1.0);
    std::vector<bool> gone(want.size(), false);
    for (std::size_t i = 0; i < list->points.size(); ++i) {
      if (list->points[i].p <= p) continue;
      const double end = i + 1 < list->points.size() ? list->points[i + 1].p : 1;
      const auto later = batch.solve((list->points[i].p + end) / 2);
      for (std::size_t part = 0; part < want.size(); ++part) {
        const Part& mine = partition->parts[part];
        const bool there = std::any_of(later->parts.begin(), later->parts.end(), [&](const Part& other) {
          return other.node == mine.node && other.first == mine.first && other.last == mine.last;
        });
        if (there || gone[part]) continue;
        gone[part] = true;
        want[part] = list->points[i].p;
      }
    }
    for (std::size_t part = 0; part < want.size(); ++part) {
      if (partition->parts.size() == 1) want[part] = std::numeric_limits<double>::infinity();
      if (std::isinf(want[part])) {
        EXPECT_EQ((*strong)[part], want[part]);
      } else {
        EXPECT_NEAR((*strong)[part], want[part], 1e-7) << "part " << part;
      }
    }
  });
}

TEST(Strengths, RefusalsAndInterruption) {
  Rng rng(2);
  const Cells cells = random_cells(rng, Kind::kSmooth, 2, 6, 2);
  Batch batch = make_batch({-1, 0, 0}, cells);
  auto partition = *batch.solve(0);
  const auto stopped = strengths(batch, partition, {[] { return false; }});
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, ErrorCode::kTimeout);
  EXPECT_TRUE(strengths(batch, partition));
  partition.p = 2;
  EXPECT_FALSE(strengths(batch, partition));
  partition.p = 0;
  partition.parts.push_back(partition.parts.front());
  EXPECT_FALSE(strengths(batch, partition));
}

}  // namespace quality_test
}  // namespace margay::partition
