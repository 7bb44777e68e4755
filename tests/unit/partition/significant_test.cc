#include "margay/partition/significant.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "lists.h"

namespace margay::partition {
namespace significant_test {

using support::Cells;
using support::Covers;
using support::Parents;

// What holds for every complete list: order, ends, and that neighbours are worth the same where they meet.
void expect_list(Batch& batch, const Cells& cells, const SignificantP& list) {
  ASSERT_TRUE(list.complete);
  ASSERT_LE(list.error, price(cells, 1));
  ASSERT_FALSE(list.points.empty());
  ASSERT_EQ(list.points.front().p, 0);
  const auto zero = batch.solve(0);
  ASSERT_NEAR(list.points.front().loss, zero->loss, 1e-8);
  // At p = 0 the gain does not count; right after, the largest is best.
  ASSERT_EQ(list.points.front().aggregates, zero->parts.size());
  ASSERT_GE(list.points.front().gain, zero->gain - 1e-8);
  const Partition whole = batch.whole();
  ASSERT_EQ(list.points.back().aggregates, 1u);
  ASSERT_NEAR(list.points.back().gain, whole.gain, 1e-8);
  ASSERT_NEAR(list.points.back().loss, whole.loss, 1e-8);
  for (std::size_t i = 1; i < list.points.size(); ++i) {
    const QualityPoint &before = list.points[i - 1], &now = list.points[i];
    ASSERT_GT(now.p, before.p);
    ASSERT_LE(now.p, 1);
    ASSERT_GE(now.gain, before.gain);
    ASSERT_GE(now.loss, before.loss);
    const double parts = static_cast<double>(now.aggregates) - static_cast<double>(before.aggregates);
    ASSERT_NEAR(pic(before, now.p), pic(now, now.p), price(cells, parts));
  }
}

// Away from the breakpoints, the listed partition is the solver's.
void expect_in_force(Batch& batch, const SignificantP& list, double p) {
  for (const QualityPoint& point : list.points) {
    if (std::abs(point.p - p) < 1e-7) return;
  }
  const auto partition = batch.solve(p);
  ASSERT_TRUE(partition);
  const QualityPoint& point = at(list, p);
  ASSERT_EQ(point.aggregates, partition->parts.size()) << "p " << p;
  ASSERT_NEAR(point.gain, partition->gain, 1e-8) << "p " << p;
  ASSERT_NEAR(point.loss, partition->loss, 1e-8) << "p " << p;
}

TEST(SignificantP, GridOfP_GivesThePointBelow) {
  const std::uint64_t seed = 5150;
  std::size_t points = 0;
  each_model(seed, 200, 12, 12, [&](const Random& m, Batch& batch, Rng&, int) {
    const auto list = significant_p(batch);
    ASSERT_TRUE(list);
    ASSERT_NO_FATAL_FAILURE(expect_list(batch, m.cells, *list)) << text(m.cells);
    points += list->points.size();
    for (int g = 1; g < 64; ++g) {
      ASSERT_NO_FATAL_FAILURE(expect_in_force(batch, *list, g / 64.0)) << text(m.cells);
    }
    // Narrow segments lie between the points of a grid.
    for (std::size_t i = 0; i + 1 < list->points.size(); ++i) {
      const double middle = (list->points[i].p + list->points[i + 1].p) / 2;
      ASSERT_NO_FATAL_FAILURE(expect_in_force(batch, *list, middle)) << text(m.cells);
    }
  });
  std::printf("%zu points, seed %llu\n", points, static_cast<unsigned long long>(seed));
}

TEST(SignificantP, BruteForce_TheListIsTheMaximumOfAllCovers) {
  SeededRng rng(5151);
  for (const Parents& parents : {Parents{-1, 0, 0, 1, 1}, Parents{-1, 0, 1, 1}, Parents{-1, 0, 0, 0}}) {
    const Covers covers(parents, 3);
    for (int round = 0; round < 20; ++round) {
      SCOPED_TRACE("round " + std::to_string(round));
      const auto kind = static_cast<Kind>(rng() % static_cast<std::size_t>(Kind::kCount));
      const Cells cells = random_cells(rng, kind, leaf_count(parents), 3, 1 + rng() % 3);
      Batch batch = make_batch(parents, cells);
      const auto list = significant_p(batch);
      ASSERT_TRUE(list);
      std::vector<double> p;
      for (int g = 0; g <= 50; ++g) p.push_back(g / 50.0);
      for (const QualityPoint& point : list->points) p.push_back(point.p);
      for (const double value : p) {
        ASSERT_NEAR(pic(at(*list, value), value), covers.best(cells, value, 1e-9).pic, 1e-8)
            << "p " << value << "\n"
            << text(cells);
      }
    }
  }
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE("temporal round " + std::to_string(round));
    const auto kind = static_cast<Kind>(rng() % static_cast<std::size_t>(Kind::kCount));
    const Cells cells = random_cells(rng, kind, 3, 1 + rng() % 7, 1 + rng() % 3);
    Batch batch = make_batch({-1, 0, 0, 0}, cells, Operator::kTemporal);
    const auto list = significant_p(batch);
    ASSERT_TRUE(list);
    for (int g = 0; g <= 50; ++g) {
      ASSERT_NEAR(pic(at(*list, g / 50.0), g / 50.0), support::best_composition(cells, g / 50.0, 1e-9).pic,
                  1e-8);
    }
  }
}

// Larger models, in which nodes are left out where they are linear.
TEST(SignificantP, LargerModels_EverySegmentIsTheSolvers) {
  const std::uint64_t seed = 5152;
  std::size_t points = 0;
  double share = 0, solves = 0;
  each_model(seed, 12, 70, 26, [&](const Random& m, Batch& batch, Rng&, int) {
    const auto list = significant_p(batch);
    ASSERT_TRUE(list);
    ASSERT_NO_FATAL_FAILURE(expect_list(batch, m.cells, *list));
    points += list->points.size();
    share += list->node_share;
    solves += static_cast<double>(list->solves);
    for (std::size_t i = 0; i + 1 < list->points.size(); ++i) {
      const double middle = (list->points[i].p + list->points[i + 1].p) / 2;
      ASSERT_NO_FATAL_FAILURE(expect_in_force(batch, *list, middle));
    }
  });
  std::printf("%zu points, %.0f %% of the nodes solved, seed %llu\n", points, 100 * share / solves,
              static_cast<unsigned long long>(seed));
}

// Thousands of partitions close together: what the solver finds in a segment is never better than the list's.
TEST(SignificantP, NoisyModel_NothingIsMissed) {
  const std::uint64_t seed = 5156;
  SeededRng rng(seed);
  Parents parents{-1};
  for (int n = 0; n < 12; ++n) parents.push_back(n < 4 ? 0 : 1 + n % 4);
  for (int s = 0; s < 120; ++s) parents.push_back(5 + s % 8);
  const std::size_t leaves = 120, slices = 24, states = 4;
  Cells cells{leaves, slices, states, std::vector<double>(leaves * slices * states),
              std::vector<double>(leaves * slices, 1.0)};
  std::vector<double> shares(8 * states);
  for (std::size_t t = 0; t < slices; ++t) {
    for (double& share : shares) {
      if (t == 0 || rng() % 10 == 0) share = uniform(rng) / static_cast<double>(states);
    }
    for (std::size_t i = 0; i < leaves * states; ++i) {
      cells.v[t * leaves * states + i] =
          shares[i / states % 8 * states + i % states] * (0.9 + 0.1 * uniform(rng));
    }
  }
  Batch batch = make_batch(parents, cells);
  const auto list = significant_p(batch);
  ASSERT_TRUE(list);
  ASSERT_NO_FATAL_FAILURE(expect_list(batch, cells, *list));
  ASSERT_GT(list->points.size(), 100u);
  const double tie = internal::default_tie(internal::cells_of(leaves, slices), states);
  for (std::size_t i = 0; i + 1 < list->points.size(); ++i) {
    const QualityPoint& point = list->points[i];
    const double p = (point.p + list->points[i + 1].p) / 2;
    const auto partition = batch.solve(p);
    const double listed = pic(point, p) - tie * static_cast<double>(point.aggregates);
    const double solved = partition->pIC - tie * static_cast<double>(partition->parts.size());
    ASSERT_GE(listed, solved - tie / 4) << "p " << p;
  }
  std::printf("%zu points, seed %llu\n", list->points.size(), static_cast<unsigned long long>(seed));
}

TEST(SignificantP, Interrupted_WhatIsToldIsTrue) {
  SeededRng rng(5153);
  const Parents parents = {-1, 0, 0, 1, 1, 1, 2, 2, 2};
  for (const Operator op : kBoth) {
    // A model with something to interrupt.
    Cells cells;
    Result<SignificantP> all;
    do {
      cells = random_cells(rng, Kind::kBlocks, 6, 10, 3);
      Batch batch = make_batch(parents, cells, op);
      all = significant_p(batch);
      ASSERT_TRUE(all && all->complete);
    } while (all->points.size() < 6);
    Batch batch = make_batch(parents, cells, op);
    std::size_t prefix_before = 0;
    for (int allowed = 0;; ++allowed) {
      SCOPED_TRACE("calls " + std::to_string(allowed));
      int calls = 0;
      const auto some = significant_p(batch, {[&] { return ++calls <= allowed; }});
      ASSERT_TRUE(some);
      if (some->complete) {
        EXPECT_EQ(some->points.size(), all->points.size());
        break;
      }
      ASSERT_EQ(calls, allowed + 1);  // not asked again
      ASSERT_GE(some->points.size(), 2u);
      ASSERT_EQ(some->points.front().p, 0);
      std::size_t prefix = 0, next = 0;
      for (const QualityPoint& point : some->points) {
        // Every partition told is one of the list.
        while (next < all->points.size() && std::abs(all->points[next].gain - point.gain) > 1e-9) ++next;
        ASSERT_LT(next, all->points.size());
        EXPECT_EQ(all->points[next].aggregates, point.aggregates);
        if (prefix == next && std::abs(all->points[next].p - point.p) < 1e-9) ++prefix;
      }
      EXPECT_GE(prefix, prefix_before);  // the left is searched first
      prefix_before = prefix;
      for (int g = 0; g <= 100; ++g) {
        double curve = -1e300;
        for (const QualityPoint& point : some->points) curve = std::max(curve, pic(point, g / 100.0));
        const double truth = pic(at(*all, g / 100.0), g / 100.0);
        ASSERT_LE(truth, curve + some->error + price(cells));
        ASSERT_GE(truth, curve - price(cells));
      }
    }
    EXPECT_GT(prefix_before, 2u);
  }
}

TEST(SignificantP, LongSolution_IsInterruptedInside) {
  Parents parents(401, 0);
  parents[0] = -1;
  Rng rng(12);
  const Cells cells = random_cells(rng, Kind::kBlocks, 400, 100, 1);
  Batch batch = make_batch(parents, cells);
  int calls = 0;
  const auto stop = [&] {
    ++calls;
    return false;
  };
  EnvelopeOptions options;
  options.go_on = stop;
  for (const auto& list : {significant_p(batch, {stop}), envelope(batch, options)}) {
    ASSERT_TRUE(list);
    EXPECT_FALSE(list->complete);
    // Not even the optimum at p = 0 was ready.
    ASSERT_EQ(list->points.size(), 1u);
    EXPECT_EQ(list->points[0].p, 1);
    EXPECT_EQ(list->points[0].aggregates, 1u);
    EXPECT_EQ(list->error, batch.whole().loss > 0 ? list->points[0].loss : 0);
  }
  EXPECT_EQ(calls, 2);
  // The model is as good as before.
  EXPECT_EQ(batch.solve(1)->parts.size(), 1u);
}

TEST(SignificantP, MemoryEnds_WhatIsToldIsTrue) {
  Rng rng(11);
  const Parents parents = {-1, 0, 0, 1, 1, 2, 2};
  const Cells cells = random_cells(rng, Kind::kSmooth, 4, 20, 2);
  Batch::Options o;
  o.tree = *TreeShape::from_parents(parents_of(parents));
  o.states = 2;
  o.memory_budget_bytes = Batch::memory_needed(o, 20);
  auto batch = Batch::create(o, columns(cells));
  ASSERT_TRUE(batch);
  const auto list = significant_p(*batch);
  ASSERT_TRUE(list);
  EXPECT_FALSE(list->complete);
  ASSERT_FALSE(list->points.empty());
  EXPECT_EQ(list->points.back().aggregates, 1u);
  EXPECT_GT(list->error, 0);
}

TEST(SignificantP, DeepChainDoesNotOverflowTheStack) {
  Parents parents(100'000);
  for (std::size_t k = 0; k < parents.size(); ++k) parents[k] = static_cast<int>(k) - 1;
  Cells cells{1, 2, 1, {0.1, 0.9}, {1, 1}};
  Batch batch = make_batch(parents, cells);
  const auto list = significant_p(batch);
  ASSERT_TRUE(list);
  ASSERT_EQ(list->points.size(), 2u);
  EXPECT_EQ(list->points[0].aggregates, 2u);
  EXPECT_EQ(list->points[1].aggregates, 1u);
}

TEST(SignificantP, EqualCells_OnePoint) {
  Cells cells{3, 4, 2, std::vector<double>(24, 0.3), std::vector<double>(12, 1.0)};
  for (const Operator op : kBoth) {
    Batch batch = make_batch({-1, 0, 0, 0}, cells, op);
    const auto list = significant_p(batch);
    ASSERT_TRUE(list && list->complete);
    ASSERT_EQ(list->points.size(), 1u);
    EXPECT_EQ(list->points[0].p, 0);
  }
}

}  // namespace significant_test
}  // namespace margay::partition
