// Space alone, and the product of space alone and time alone, against the brute-force judge of both.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "engines.h"
#include "margay/partition/batch.h"
#include "margay/partition/significant.h"

namespace margay::partition {
namespace unidimensional_test {

using support::Cells;
using support::Parents;

Result<Batch> batch_of(const Parents& parents, const Cells& cells, Operator op,
                       std::uint64_t budget = std::uint64_t{1} << 30) {
  Batch::Options o;
  o.op = op;
  o.tree = *TreeShape::from_parents(parents_of(parents));
  o.states = cells.states;
  o.first_slice = SliceIndex(17);
  o.memory_budget_bytes = budget;
  return Batch::create(std::move(o), columns(cells));
}

// The mean over time of each leaf, or over the leaves of each slice.
Cells mean_of(const Cells& c, bool over_time) {
  Cells out{over_time ? c.leaves : 1, over_time ? 1 : c.slices, c.states, {}, {}};
  out.v.assign(out.leaves * out.slices * c.states, 0);
  out.w.assign(out.leaves * out.slices, 0);
  const double count = static_cast<double>(over_time ? c.slices : c.leaves);
  for (std::size_t t = 0; t < c.slices; ++t)
    for (std::size_t s = 0; s < c.leaves; ++s) {
      const std::size_t cell = over_time ? s : t;
      if (c.weight(s, t) <= 0) continue;
      for (std::size_t x = 0; x < c.states; ++x) out.v[cell * c.states + x] += c.value(s, t, x) / count;
      out.w[cell] += c.weight(s, t) / count;
    }
  return out;
}

struct Shape {
  std::set<std::uint32_t> nodes;
  std::set<std::pair<std::int64_t, std::int64_t>> intervals;
};
Shape shape_of(const Partition& p) {
  Shape out;
  for (const Part& part : p.parts) {
    out.nodes.insert(part.node.value);
    out.intervals.insert({part.first.value - 17, part.last.value - 17});
  }
  return out;
}

class Case {
 public:
  explicit Case(Rng& rng) : parents(random_tree(rng, 1 + rng() % 7)) {
    const std::size_t slices = 1 + rng() % (24 / leaf_count(parents) > 6 ? 6 : 24 / leaf_count(parents));
    cells = random_cells(rng, static_cast<Kind>(rng() % static_cast<std::size_t>(Kind::kCount)),
                         leaf_count(parents), slices, 1 + rng() % 4);
  }
  Parents parents;
  Cells cells;
};

TEST(Unidimensional, EachDimensionIsOptimalForTheMeanOverTheOther) {
  SeededRng rng(3);
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const Case c(rng);
    const Cells space = mean_of(c.cells, true), time = mean_of(c.cells, false);
    const support::Covers covers(c.parents, 1);
    auto spatial = batch_of(c.parents, c.cells, Operator::kSpatial);
    auto product = batch_of(c.parents, c.cells, Operator::kProduct);
    ASSERT_TRUE(spatial && product);
    for (const double p : kP) {
      SCOPED_TRACE("p " + std::to_string(p));
      const auto nodes = spatial->solve(p), both = product->solve(p);
      ASSERT_TRUE(nodes && both);
      const Shape shape = shape_of(*both);
      EXPECT_EQ(shape_of(*nodes).nodes, shape.nodes);
      EXPECT_THAT(shape_of(*nodes).intervals, testing::ElementsAre(std::pair(0, c.cells.slices - 1)));
      EXPECT_EQ(both->parts.size(), shape.nodes.size() * shape.intervals.size());
      double of_space = 0, of_time = 0;
      for (const std::uint32_t k : shape.nodes)
        of_space += measure_area(space, support::leaves_below(c.parents, k), 0, 0).pic(p);
      for (const auto& [first, last] : shape.intervals)
        of_time +=
            measure_area(time, {0}, static_cast<std::size_t>(first), static_cast<std::size_t>(last)).pic(p);
      EXPECT_NEAR(of_space, covers.best(space, p, 0).pic, 1e-7);
      EXPECT_NEAR(of_time, best_composition(time, p, 0).pic, 1e-7);
    }
  }
}

TEST(Unidimensional, PartsCoverTheWholeModelAndAreMeasuredInIt) {
  SeededRng rng(4);
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const Case c(rng);
    for (const Operator op : {Operator::kSpatial, Operator::kProduct}) {
      auto batch = batch_of(c.parents, c.cells, op);
      ASSERT_TRUE(batch);
      for (const double p : kP) {
        const auto got = batch->solve(p);
        ASSERT_TRUE(got);
        double gain = 0, loss = 0;
        std::vector<int> times(c.cells.leaves * c.cells.slices, 0);
        for (const Part& part : got->parts) {
          const auto leaves = support::leaves_below(c.parents, part.node.value);
          const auto first = static_cast<std::size_t>(part.first.value - 17);
          const auto last = static_cast<std::size_t>(part.last.value - 17);
          const support::Measure want = measure_area(c.cells, leaves, first, last);
          EXPECT_NEAR(part.gain, want.gain, 1e-9);
          EXPECT_NEAR(part.loss, want.loss, 1e-9);
          const Part by_sums = batch->measured(part.node, part.first, part.last);
          EXPECT_NEAR(by_sums.gain, want.gain, 1e-9);
          EXPECT_NEAR(by_sums.loss, want.loss, 1e-9);
          gain += want.gain, loss += want.loss;
          for (const std::size_t s : leaves)
            for (std::size_t t = first; t <= last; ++t) ++times[s * c.cells.slices + t];
        }
        EXPECT_THAT(times, testing::Each(1));
        EXPECT_NEAR(got->gain, gain, 1e-8);
        EXPECT_NEAR(got->loss, loss, 1e-8);
      }
    }
  }
}

// What the paper says of Fig. 3.c and 3.d: what is optimal in both at once is worth at least as much.
TEST(Unidimensional, SpaceAndTimeAtOnceIsNeverWorthLess) {
  SeededRng rng(5);
  int better = 0;
  for (int round = 0; round < 200; ++round) {
    const Case c(rng);
    auto at_once = batch_of(c.parents, c.cells, Operator::kSpatiotemporal);
    auto product = batch_of(c.parents, c.cells, Operator::kProduct);
    ASSERT_TRUE(at_once && product);
    for (const double p : kP) {
      const double best = at_once->solve(p)->pIC, other = product->solve(p)->pIC;
      EXPECT_GE(best, other - 1e-7) << "round " << round << ", p " << p;
      better += best > other + 1e-3;
    }
  }
  EXPECT_GT(better, 100);  // of 1400, most of models with a few cells
}

TEST(Unidimensional, BetweenTwoSignificantPNothingChanges) {
  SeededRng rng(6);
  std::size_t steps = 0;
  for (int round = 0; round < 100; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const Case c(rng);
    for (const Operator op : {Operator::kSpatial, Operator::kProduct}) {
      auto batch = batch_of(c.parents, c.cells, op);
      ASSERT_TRUE(batch);
      const auto list = significant_p(*batch);
      const auto certified = envelope(*batch);
      ASSERT_TRUE(list && certified);
      EXPECT_TRUE(list->complete);
      EXPECT_EQ(certified->points.size(), list->points.size());
      ASSERT_FALSE(list->points.empty());
      EXPECT_EQ(list->points.front().p, 0);
      steps += list->points.size();
      for (std::size_t i = 0; i < list->points.size(); ++i) {
        const QualityPoint& point = list->points[i];
        const double until = i + 1 < list->points.size() ? list->points[i + 1].p : 1;
        if (until - point.p < 1e-6) continue;
        for (const double at : {0.02, 0.3, 0.98}) {
          const auto got = batch->solve(point.p + at * (until - point.p));
          ASSERT_TRUE(got);
          EXPECT_EQ(got->parts.size(), point.aggregates) << "p " << got->p;
          EXPECT_NEAR(got->gain, point.gain, 1e-8);
          EXPECT_NEAR(got->loss, point.loss, 1e-8);
        }
      }
    }
  }
  EXPECT_GT(steps, 300u);
}

// For display: as many as are wanted, both ends among them, each a point of the whole list.
TEST(Unidimensional, OfManySignificantPThereAreAsManyAsAreWanted) {
  SeededRng rng(9);
  const Parents parents{-1, 0, 0, 0, 0, 0};
  auto batch = batch_of(parents, random_cells(rng, Kind::kSmooth, 5, 60, 3), Operator::kProduct);
  ASSERT_TRUE(batch);
  const auto all = significant_p(*batch);
  ASSERT_TRUE(all);
  ASSERT_GT(all->points.size(), 20u);
  EnvelopeOptions options;
  options.most_solves = 7;
  const auto some = envelope(*batch, options);
  ASSERT_TRUE(some);
  EXPECT_FALSE(some->complete);
  ASSERT_EQ(some->points.size(), 7u);
  EXPECT_EQ(some->points.front().p, 0);
  EXPECT_EQ(some->points.back().p, all->points.back().p);
  for (const QualityPoint& point : some->points)
    EXPECT_TRUE(std::any_of(all->points.begin(), all->points.end(), [&](const QualityPoint& p) {
      return p.p == point.p && p.gain == point.gain && p.loss == point.loss &&
             p.aggregates == point.aggregates;
    })) << point.p;
}

TEST(Unidimensional, TheWholeAndTheCells) {
  SeededRng rng(7);
  const Parents parents{-1, 0, 0, 1, 1};  // leaves 2, 3, 4
  const Cells cells = random_cells(rng, Kind::kSmooth, 3, 4, 2);
  auto product = batch_of(parents, cells, Operator::kProduct);
  auto spatial = batch_of(parents, cells, Operator::kSpatial);
  auto at_once = batch_of(parents, cells, Operator::kSpatiotemporal);
  ASSERT_TRUE(product && spatial && at_once);
  EXPECT_EQ(product->microscopic().parts.size(), 12u);
  EXPECT_EQ(spatial->microscopic().parts.size(), 3u);
  EXPECT_EQ(product->whole(), at_once->whole());
  EXPECT_EQ(spatial->whole(), at_once->whole());
  EXPECT_EQ(product->microscopic(), at_once->microscopic());
}

TEST(Unidimensional, MemoryAndStrengthsAreRefused) {
  SeededRng rng(8);
  const Parents parents{-1, 0, 0};
  const Cells cells = random_cells(rng, Kind::kSmooth, 2, 5, 2);
  for (const Operator op : {Operator::kSpatial, Operator::kProduct}) {
    Batch::Options o;
    o.op = op;
    o.tree = *TreeShape::from_parents(parents_of(parents));
    o.states = 2;
    const std::uint64_t need = Batch::memory_needed(o, 5);
    const auto small = batch_of(parents, cells, op, need - 1);
    ASSERT_FALSE(small);
    EXPECT_EQ(small.error().code, ErrorCode::kLimit);
    auto fits = batch_of(parents, cells, op, need);
    ASSERT_TRUE(fits);
    const auto refused = strengths(*fits, *fits->solve(0.5));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
    int asked = 0;
    const auto ended = significant_p(*fits, {[&] { return ++asked < 2; }});
    ASSERT_TRUE(ended);
    EXPECT_FALSE(ended->complete);
  }
}

}  // namespace unidimensional_test
}  // namespace margay::partition
