// Properties of the spatiotemporal partition that hold whatever its size.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <tuple>

#include "engines.h"

namespace margay::partition {
namespace spatiotemporal_properties_test {

using support::Cells;
using support::Parents;

// Larger models against each other: what must not matter does not.
struct Large {
  Parents parents;
  std::size_t leaves, slices, states;
  Cells cells;
};

Large large(Rng& rng, Kind kind) {
  Large m;
  m.parents = random_tree(rng, 20 + rng() % 20);
  m.leaves = leaf_count(m.parents);
  m.slices = 10 + rng() % 20;
  m.states = 1 + rng() % 5;
  m.cells = random_cells(rng, kind, m.leaves, m.slices, m.states);
  return m;
}

Spatiotemporal solved(const Large& m) {
  auto engine = make(m.parents, m.states, m.slices);
  EXPECT_TRUE(engine.push_all(columns(m.cells)));
  return engine;
}

TEST(Spatiotemporal, POne_OneAggregate_PZero_NoLoss) {
  Rng rng(1);
  for (int round = 0; round < 100; ++round) {
    const auto kind = static_cast<Kind>(rng() % static_cast<std::size_t>(Kind::kCount));
    const Large m = large(rng, kind);
    auto engine = solved(m);
    const auto one = engine.partition(kP.size() - 1);
    ASSERT_TRUE(one);
    ASSERT_EQ(one->parts.size(), 1u);
    EXPECT_EQ(one->parts[0].node, engine.tree().root());
    const auto zero = engine.partition(0);
    ASSERT_TRUE(zero);
    EXPECT_LE(zero->loss, engine.tie_bits() * static_cast<double>(m.leaves * m.slices));
    if (kind == Kind::kSmooth && m.states > 1) {
      EXPECT_EQ(zero->parts.size(), m.leaves * m.slices);
    }
    if (kind == Kind::kEqual) {
      EXPECT_EQ(zero->parts.size(), 1u);
    }
  }
}

TEST(Spatiotemporal, EqualCellsAreNeverSplit_AnyPAndSize) {
  Rng rng(2);
  for (int round = 0; round < 60; ++round) {
    Large m = large(rng, Kind::kEqual);
    // The same row everywhere, at random values and one random weight.
    std::vector<double> row(m.states);
    double w = 1;
    random_cell(rng, round % 2 ? Kind::kWeighted : Kind::kSmooth, row, w);
    for (std::size_t c = 0; c < m.cells.w.size(); ++c) {
      std::copy(row.begin(), row.end(), m.cells.v.begin() + static_cast<std::ptrdiff_t>(c * m.states));
      m.cells.w[c] = w;
    }
    auto engine = solved(m);
    for (std::size_t q = 0; q < kP.size(); ++q) ASSERT_EQ(engine.partition(q)->parts.size(), 1u);
  }
}

TEST(Spatiotemporal, SiblingAndStateOrderDoNotMatter) {
  Rng rng(3);
  for (int round = 0; round < 80; ++round) {
    const Large m = large(rng, static_cast<Kind>(rng() % static_cast<std::size_t>(Kind::kCount)));
    // Renumber all nodes at random: other order of siblings, leaves and sums, same tree.
    std::vector<std::size_t> number(m.parents.size()), state(m.states);
    std::iota(number.begin(), number.end(), 0);
    std::iota(state.begin(), state.end(), 0);
    std::shuffle(number.begin(), number.end(), rng);
    std::shuffle(state.begin(), state.end(), rng);
    Large o = m;
    for (std::size_t k = 0; k < m.parents.size(); ++k) {
      o.parents[number[k]] =
          m.parents[k] < 0 ? -1 : static_cast<int>(number[static_cast<std::size_t>(m.parents[k])]);
    }
    const auto before = TreeShape::from_parents(parents_of(m.parents));
    const auto after = TreeShape::from_parents(parents_of(o.parents));
    ASSERT_TRUE(before && after);
    std::vector<std::size_t> at(m.parents.size());  // node of `after` -> position
    for (std::uint32_t s = 0; s < m.leaves; ++s) at[after->leaf_node(LeafPosition(s)).value] = s;
    for (std::uint32_t s = 0; s < m.leaves; ++s) {
      const std::size_t there = at[number[before->leaf_node(LeafPosition(s)).value]];
      for (std::size_t t = 0; t < m.slices; ++t) {
        o.cells.w[t * m.leaves + there] = m.cells.weight(s, t);
        for (std::size_t x = 0; x < m.states; ++x) {
          o.cells.v[(t * m.leaves + there) * m.states + state[x]] = m.cells.value(s, t, x);
        }
      }
    }
    auto a = solved(m), b = solved(o);
    for (std::size_t q = 0; q < kP.size(); ++q) {
      const auto pa = a.partition(q), pb = b.partition(q);
      ASSERT_NEAR(pa->pIC, pb->pIC, 1e-8);
      ASSERT_EQ(pa->parts.size(), pb->parts.size());
      auto key = [](const Part& part, std::size_t node) {
        return std::tuple(node, part.first.value, part.last.value);
      };
      std::vector<std::tuple<std::size_t, std::int64_t, std::int64_t>> ka, kb;
      for (const Part& part : pa->parts) ka.push_back(key(part, number[part.node.value]));
      for (const Part& part : pb->parts) kb.push_back(key(part, part.node.value));
      std::sort(ka.begin(), ka.end());
      std::sort(kb.begin(), kb.end());
      ASSERT_EQ(ka, kb) << "round " << round << " p " << kP[q];
    }
  }
}

TEST(Spatiotemporal, ScalingValuesAndWeightsTogetherKeepsThePartition) {
  Rng rng(4);
  for (int round = 0; round < 60; ++round) {
    const Large m = large(rng, round % 2 ? Kind::kSmooth : Kind::kBlocks);
    Large half = m;
    for (double& v : half.cells.v) v *= 0.25;
    for (double& w : half.cells.w) w *= 0.25;
    auto a = solved(m), b = solved(half);
    for (std::size_t q = 0; q < kP.size(); ++q) {
      const auto pa = a.partition(q), pb = b.partition(q);
      ASSERT_EQ(pa->parts.size(), pb->parts.size());
      for (std::size_t i = 0; i < pa->parts.size(); ++i) {
        ASSERT_EQ(pa->parts[i].node, pb->parts[i].node);
        ASSERT_EQ(pa->parts[i].first, pb->parts[i].first);
        ASSERT_EQ(pa->parts[i].last, pb->parts[i].last);
      }
      ASSERT_NEAR(pb->loss, 0.25 * pa->loss, 1e-8);
    }
  }
}

TEST(Spatiotemporal, WeightOne_IsThePapersFormula) {
  // Two leaves, one slice, one state: 1 and 0.5. S = 1.5, n = 2, I = -0.5.
  auto engine = make({-1, 0, 0}, 1, 1, {1});
  const std::vector<double> v = {1, 0.5}, w = {1, 1};
  ASSERT_TRUE(engine.push({v, w}));
  const auto partition = engine.partition(0);
  ASSERT_EQ(partition->parts.size(), 1u);
  const double gain = 1.5 * std::log2(1.5) - -0.5;
  EXPECT_NEAR(partition->gain, gain, 1e-12);
  EXPECT_NEAR(partition->loss, 1.5 * std::log2(2) - gain, 1e-12);
}

TEST(Spatiotemporal, CellsOfWeightZeroJoinTheirNeighbours) {
  auto engine = make({-1, 0, 0}, 2, 6, {0, 0.1});
  const std::vector<double> known = {0.3, 0.7, 0.3, 0.7}, hole = {0.3, 0.7, 0, 0};
  const std::vector<double> one = {1, 1}, half = {1, 0};
  for (int t = 0; t < 6; ++t) ASSERT_TRUE(engine.push(t % 2 ? Column{hole, half} : Column{known, one}));
  for (std::size_t q = 0; q < 2; ++q) EXPECT_EQ(engine.partition(q)->parts.size(), 1u);
}

TEST(Spatiotemporal, DeepChainDoesNotOverflowTheStack) {
  Parents parents(20'000);
  for (std::size_t k = 0; k < parents.size(); ++k) parents[k] = static_cast<int>(k) - 1;
  auto engine = make(parents, 1, 2, {0});
  const std::vector<double> low = {0.1}, high = {0.9}, w = {1};
  ASSERT_TRUE(engine.push({low, w}));
  ASSERT_TRUE(engine.push({high, w}));
  EXPECT_EQ(engine.partition(0)->parts.size(), 2u);
  EXPECT_EQ(engine.partition(0)->parts[0].node, NodeIndex(0));  // the topmost of the chain
}

TEST(Spatiotemporal, PlainRecurrence_WindowsOfManyTiles) {
  const std::uint64_t seed = 2024;
  SeededRng rng(seed);
  const int models = 120;
  for (int round = 0; round < models; ++round) {
    const Parents parents = random_tree(rng, 1 + rng() % 16);
    const std::size_t leaves = leaf_count(parents), slices = 5 + rng() % 40, states = 1 + rng() % 3;
    const auto kind = static_cast<Kind>(rng() % static_cast<std::size_t>(Kind::kCount));
    const Cells cells = random_cells(rng, kind, leaves, slices, states);
    auto engine = make(parents, states, slices, {kP[rng() % kP.size()], 0.2 * uniform(rng)});
    // Slices that fall off again, so that the window begins anywhere in a tile.
    const Cells before = random_cells(rng, kind, leaves, rng() % 20, states);
    ASSERT_TRUE(engine.push_all(columns(before)));
    ASSERT_TRUE(engine.push_all(columns(cells)));
    for (std::size_t q = 0; q < 2; ++q) {
      const auto partition = engine.partition(q);
      ASSERT_TRUE(partition);
      expect_cover(engine, *partition);
      const double tie = engine.tie_bits();
      const double best = support::priced_optimum(parents, cells, partition->p, tie);
      ASSERT_NEAR(partition->pIC - tie * static_cast<double>(partition->parts.size()), best, tie)
          << "round " << round << " p " << partition->p;
    }
  }
  std::printf("%d models, seed %llu\n", models, static_cast<unsigned long long>(seed));
}

TEST(Spatiotemporal, EqualCellsAreNeverSplit_700x100x8) {
  Parents parents{-1};
  for (int m = 0; m < 44; ++m) parents.push_back(0);
  for (int r = 0; r < 700; ++r) parents.push_back(1 + r % 44);
  auto engine = make(parents, 8, 100, {0});
  std::vector<double> v(700 * 8), w(700, 0.9);
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = 0.1 / static_cast<double>(1 + i % 8);
  for (int t = 0; t < 100; ++t) ASSERT_TRUE(engine.push({v, w}));
  EXPECT_EQ(engine.partition(0)->parts.size(), 1u);
}

// Not a benchmark (no limit, one run): prints what a push costs, so that a slip shows.
TEST(Spatiotemporal, PushCost_700x100x8) {
  Rng rng(5);
  Parents parents{-1};
  for (int m = 0; m < 44; ++m) parents.push_back(0);
  for (int r = 0; r < 700; ++r) parents.push_back(1 + r % 44);
  auto engine = make(parents, 8, 100, {0.05});
  const Cells cells = random_cells(rng, Kind::kSmooth, 700, 130, 8);
  for (std::size_t t = 0; t < 110; ++t) ASSERT_TRUE(engine.push(column(cells, t)));
  engine.settle();
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t t = 110; t < 130; ++t) {
    ASSERT_TRUE(engine.push(column(cells, t)));
    engine.settle();
  }
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
  const auto begin = std::chrono::steady_clock::now();
  const auto partition = engine.partition(0);
  const std::chrono::duration<double, std::milli> walk = std::chrono::steady_clock::now() - begin;
  ASSERT_TRUE(partition);
  std::printf("push %.2f ms; partition %.2f ms (%zu parts)", spent.count() / 20, walk.count(),
              partition->parts.size());
  ASSERT_TRUE(engine.set_p(0, 0));
  const auto micro = std::chrono::steady_clock::now();
  const auto finest = engine.partition(0);
  const std::chrono::duration<double, std::milli> slow = std::chrono::steady_clock::now() - micro;
  std::printf(", %.2f ms (%zu parts)\n", slow.count(), finest->parts.size());
}

}  // namespace spatiotemporal_properties_test
}  // namespace margay::partition
