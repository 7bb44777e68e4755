// A Batch whose tree is changed, against one that was created with it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "margay/partition/batch.h"

namespace margay::partition {
namespace regroup_test {

// Another tree over the same cells, in place of the one it was made with: the same to the bit as one that was
// made so, at p that were solved before and at others.
TEST(Batch, RegroupedItIsAsOneThatWasCreatedSo) {
  const std::uint64_t seed = 43;
  std::mt19937_64 rng(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  for (int i = 0; i < 40; ++i) {
    const std::size_t leaves = 1 + rng() % 24, slices = 1 + rng() % 20, states = 1 + rng() % 4;
    // A leaf's cells, wherever it is.
    std::vector<double> v(leaves * slices * states), w(leaves * slices);
    for (std::size_t c = 0; c < w.size(); ++c) {
      w[c] = static_cast<double>(rng() % 5) / 4;
      for (std::size_t x = 0; x < states; ++x)
        v[c * states + x] = w[c] * static_cast<double>(rng() % 3) / (3.0 * static_cast<double>(states));
    }
    // A tree of some groups, and in which order it has the leaves.
    const auto grouped = [&](std::vector<std::size_t>& order) {
      order.resize(leaves);
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::shuffle(order.begin(), order.end(), rng);
      std::vector<NodeIndex> parents{kNoParent};
      std::uint32_t group = 0;
      for (std::size_t l = 0; l < leaves; ++l) {
        if (rng() % 3 == 0) {
          parents.push_back(NodeIndex(rng() % 2 == 0 ? 0 : group));
          group = static_cast<std::uint32_t>(parents.size() - 1);
        }
        parents.push_back(NodeIndex(group));
      }
      // A group without a leaf is a leaf: there is none, for each is followed by one.
      return *TreeShape::from_parents(parents);
    };
    const auto made = [&](const TreeShape& tree, const std::vector<std::size_t>& order) {
      std::vector<std::vector<double>> values(slices), weights(slices);
      std::vector<Column> columns;
      for (std::size_t t = 0; t < slices; ++t) {
        for (const std::size_t l : order) {
          weights[t].push_back(w[l * slices + t]);
          for (std::size_t x = 0; x < states; ++x) values[t].push_back(v[(l * slices + t) * states + x]);
        }
        columns.push_back({values[t], weights[t]});
      }
      Batch::Options options;
      options.tree = tree;
      options.states = states;
      options.regroups = true;
      auto out = Batch::create(std::move(options), columns);
      EXPECT_TRUE(out) << out.error().message;
      return std::move(*out);
    };
    std::vector<std::size_t> order;
    const TreeShape first = grouped(order);
    Batch batch = made(first, order);
    double p = static_cast<double>(rng() % 101) / 100;
    for (int step = 0; step < 6; ++step) {
      if (rng() % 2 == 0) {
        ASSERT_TRUE(batch.solve(p));
      }
      std::vector<std::size_t> next;
      const TreeShape tree = grouped(next);
      std::vector<LeafPosition> from;
      for (const std::size_t l : next)
        from.emplace_back(
            static_cast<std::uint32_t>(std::find(order.begin(), order.end(), l) - order.begin()));
      Batch fresh = made(tree, next);
      ASSERT_TRUE(batch.regroup(tree, from));
      order = next;
      if (rng() % 2 == 0) p = static_cast<double>(rng() % 101) / 100;
      const auto a = batch.solve(p), b = fresh.solve(p);
      ASSERT_TRUE(a && b);
      EXPECT_EQ(a->gain, b->gain);
      EXPECT_EQ(a->loss, b->loss);
      ASSERT_EQ(a->parts.size(), b->parts.size());
      for (std::size_t k = 0; k < a->parts.size(); ++k) {
        EXPECT_EQ(a->parts[k].node, b->parts[k].node);
        EXPECT_EQ(a->parts[k].first, b->parts[k].first);
        EXPECT_EQ(a->parts[k].last, b->parts[k].last);
        const Part of_table = batch.measured(a->parts[k].node, a->parts[k].first, a->parts[k].last);
        EXPECT_EQ(of_table.gain, fresh.measured(b->parts[k].node, b->parts[k].first, b->parts[k].last).gain);
      }
    }
  }
}

TEST(Batch, WhatHasNoTablesOrOtherLeavesIsNotRegrouped) {
  const std::vector<double> v(8, 0.25), w(4, 1);
  const std::vector<Column> columns(3, Column{v, w});
  std::vector<LeafPosition> from;
  for (std::uint32_t l = 0; l < 4; ++l) from.emplace_back(l);
  Batch::Options options;
  options.tree = TreeShape::flat(4);
  options.states = 2;
  options.regroups = true;
  auto batch = Batch::create(options, columns);
  ASSERT_TRUE(batch);
  EXPECT_FALSE(batch->regroup(TreeShape::flat(3), std::span(from).first(3)));
  // More nodes than there is room for: a chain of single children.
  std::vector<NodeIndex> chain{kNoParent};
  for (std::uint32_t k = 0; k < 20; ++k) chain.push_back(NodeIndex(k));
  for (int l = 0; l < 4; ++l) chain.push_back(NodeIndex(20));
  EXPECT_FALSE(batch->regroup(*TreeShape::from_parents(chain), from));
  EXPECT_TRUE(batch->regroup(TreeShape::flat(4), from));
  options.regroups = false;
  auto without = Batch::create(options, columns);
  ASSERT_TRUE(without);
  const std::vector<NodeIndex> two{kNoParent,    NodeIndex(0), NodeIndex(0), NodeIndex(1),
                                   NodeIndex(1), NodeIndex(2), NodeIndex(2)};
  EXPECT_FALSE(without->regroup(*TreeShape::from_parents(two), from)) << "it has more nodes than were";
  EXPECT_TRUE(batch->regroup(*TreeShape::from_parents(two), from));
  options.op = Operator::kTemporal;
  auto temporal = Batch::create(options, columns);
  ASSERT_TRUE(temporal);
  EXPECT_FALSE(temporal->regroup(TreeShape::flat(4), from));
}

}  // namespace regroup_test
}  // namespace margay::partition
