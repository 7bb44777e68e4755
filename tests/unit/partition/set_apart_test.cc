// Areas that are set apart are parts, every cell stays in one part, and the other parts are the partition's.
#include "margay/partition/set_apart.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "margay/partition/batch.h"

namespace margay::partition {
namespace set_apart_test {

constexpr std::size_t kNoBound = 100'000;
// For partitions that need not be coarsened, or anyhow.
double alike(const Part&) {
  return 0;
}

// Three levels: `hosts` of `ranks` leaves.
TreeShape tree_of(std::uint32_t hosts, std::uint32_t ranks) {
  std::vector<NodeIndex> parents{kNoParent};
  for (std::uint32_t h = 0; h < hosts; ++h) {
    const NodeIndex host(static_cast<std::uint32_t>(parents.size()));
    parents.push_back(NodeIndex(0));
    for (std::uint32_t r = 0; r < ranks; ++r) parents.push_back(host);
  }
  return *TreeShape::from_parents(parents);
}

Partition whole(std::int64_t slices) {
  Partition out;
  out.parts.push_back({NodeIndex(0), SliceIndex(0), SliceIndex(slices - 1)});
  return out;
}

// Part of each cell; fails where there are several or none.
std::vector<std::vector<int>> owners(const Partition& partition, const TreeShape& tree, std::int64_t slices) {
  std::vector out(tree.leaf_count(), std::vector<int>(static_cast<std::size_t>(slices), -1));
  for (int i = 0; i < static_cast<int>(partition.parts.size()); ++i) {
    const Part& p = partition.parts[static_cast<std::size_t>(i)];
    for (const LeafPosition l : tree.leaves_under(p.node))
      for (SliceIndex s = p.first; s <= p.last; ++s) {
        int& owner = out.at(l.value).at(static_cast<std::size_t>(s.value));
        EXPECT_EQ(owner, -1) << "leaf " << l.value << ", slice " << s.value << " is in two parts";
        owner = i;
      }
  }
  for (const auto& row : out)
    for (const int owner : row) EXPECT_GE(owner, 0) << "a cell is in no part";
  return out;
}

TEST(SetApart, ARankForAMomentCutsAsLittleAsCanBe) {
  const TreeShape tree = tree_of(4, 4);
  Partition p = whole(100);
  const Area area{{LeafPosition(5)}, SliceIndex(40), SliceIndex(49)};
  EXPECT_FALSE(is_apart(p, tree, area));
  set_apart(p, tree, std::vector{area}, alike, kNoBound);
  EXPECT_TRUE(is_apart(p, tree, area));
  EXPECT_EQ(p.parts.size(), 2u + 3 + 4) << "before, behind; three hosts; four ranks of its own";
  owners(p, tree, 100);
}

TEST(SetApart, AHostIsOnePart) {
  const TreeShape tree = tree_of(3, 2);
  Partition p = whole(10);
  set_apart(p, tree, std::vector{Area{{LeafPosition(2), LeafPosition(3)}, SliceIndex(0), SliceIndex(4)}},
            alike, kNoBound);
  ASSERT_EQ(p.parts.size(), 4u);
  EXPECT_EQ(p.parts[1].node, tree.parent(tree.leaf_node(LeafPosition(2))));
}

TEST(SetApart, WhereThereIsNoRoomItsParentIsShownThenTheTimeAlone) {
  const Area area{{LeafPosition(5)}, SliceIndex(40), SliceIndex(49)};
  const TreeShape wide_hosts = tree_of(3, 200), many_hosts = tree_of(100, 200);
  Partition p = whole(100);
  set_apart(p, wide_hosts, std::vector{area}, alike, 60);
  EXPECT_EQ(p.parts.size(), 2u + 3) << "200 ranks of a host are no overview";
  Partition in_time = whole(100);
  set_apart(in_time, many_hosts, std::vector{area}, alike, 60);
  EXPECT_EQ(in_time.parts.size(), 3u) << "nor are 100 hosts";
  owners(in_time, many_hosts, 100);
}

TEST(SetApart, ManyAreasHaveTheRoomThereIsTheFirstOfThemFirst) {
  const TreeShape tree = tree_of(4, 4);
  std::vector<Area> areas;
  for (std::int64_t i = 0; i < 20; ++i)
    areas.push_back({{LeafPosition(5)}, SliceIndex(10 * i + 2), SliceIndex(10 * i + 7)});
  Partition p = whole(200);
  set_apart(p, tree, areas, alike, 60);
  EXPECT_LE(p.parts.size(), 60u);
  EXPECT_TRUE(is_apart(p, tree, areas.front()));
  EXPECT_FALSE(is_apart(p, tree, areas.back()));
}

TEST(SetApart, ParentsAreDrawnElsewhereToMakeRoom) {
  const TreeShape tree = tree_of(4, 4);
  Partition p;  // hosts 2 and 3 in slices of their own
  for (std::uint32_t host = 0; host < 4; ++host)
    for (std::int64_t t = 0; t < 100; t += host < 2 ? 100 : 4)
      p.parts.push_back({NodeIndex(1 + 5 * host), SliceIndex(t), SliceIndex(t + (host < 2 ? 99 : 3))});
  ASSERT_EQ(p.parts.size(), 52u);
  const std::vector<Area> areas{{{LeafPosition(1)}, SliceIndex(40), SliceIndex(49)},
                                {{LeafPosition(6)}, SliceIndex(10), SliceIndex(19)}};
  set_apart(p, tree, areas, alike, 20);
  EXPECT_LE(p.parts.size(), 20u);
  for (const Area& area : areas) EXPECT_TRUE(is_apart(p, tree, area));
  owners(p, tree, 100);
}

TEST(SetApart, WithoutAreasThereAreNoMorePartsThanAPictureShows) {
  const TreeShape tree = tree_of(2, 2);
  Partition p;
  for (std::uint32_t leaf = 0; leaf < 4; ++leaf)
    for (std::int64_t t = 0; t < 40; ++t)
      p.parts.push_back({tree.leaf_node(LeafPosition(leaf)), SliceIndex(t), SliceIndex(t)});
  set_apart(p, tree, {}, alike);
  EXPECT_LE(p.parts.size(), kMostShown);
  owners(p, tree, 40);
}

TEST(SetApart, WhatLiesElsewhereChangesNothing) {
  const TreeShape tree = tree_of(2, 2);
  Partition p = whole(10);
  set_apart(p, tree,
            std::vector{Area{{LeafPosition(0)}, SliceIndex(20), SliceIndex(25)},
                        Area{{}, SliceIndex(0), SliceIndex(5)},
                        Area{{LeafPosition(99)}, SliceIndex(0), SliceIndex(5)}},
            alike, kNoBound);
  EXPECT_EQ(p.parts, whole(10).parts);
}

TEST(SetApart, OfAnyOptimumEachCellStaysInOnePartAndOthersAreAsBefore) {
  constexpr std::uint64_t kSeed = 20261126;
  std::printf("seed %llu\n", static_cast<unsigned long long>(kSeed));
  std::mt19937_64 random(kSeed);
  constexpr std::int64_t kSlices = 24;
  int cut = 0;
  for (int round = 0; round < 60; ++round) {
    const std::uint32_t hosts = 1 + random() % 4, ranks = 1 + random() % 5;
    const TreeShape tree = tree_of(hosts, ranks);
    const std::size_t leaves = tree.leaf_count();
    std::vector<double> v(leaves * 2 * kSlices), w(leaves, 1.0);
    for (std::size_t c = 0; c < leaves * kSlices; ++c) {
      v[2 * c] = static_cast<double>(random() % 1000) / 1000;
      v[2 * c + 1] = 1 - v[2 * c];
    }
    std::vector<Column> columns;
    for (std::int64_t t = 0; t < kSlices; ++t)
      columns.push_back({std::span(v).subspan(static_cast<std::size_t>(t) * leaves * 2, leaves * 2), w});
    Batch::Options options;
    options.tree = tree;
    options.states = 2;
    auto batch = Batch::create(std::move(options), columns);
    ASSERT_TRUE(batch) << batch.error().message;
    const Partition before = *batch->solve(static_cast<double>(random() % 100) / 100);
    Partition after = before;
    Area area{{}, SliceIndex(static_cast<std::int64_t>(random() % kSlices)), SliceIndex(0)};
    area.last = std::min(area.first + static_cast<std::int64_t>(random() % 8), SliceIndex(kSlices - 1));
    for (std::uint32_t l = 0; l < leaves; ++l)
      if (random() % 3 == 0) area.leaves.emplace_back(l);
    const bool was_apart = is_apart(before, tree, area);
    set_apart(after, tree, std::vector{area}, alike, kNoBound);
    if (area.leaves.empty()) continue;
    EXPECT_TRUE(is_apart(after, tree, area));
    if (was_apart) {
      EXPECT_EQ(after.parts, before.parts);
      continue;
    }
    ++cut;
    const auto was = owners(before, tree, kSlices), is = owners(after, tree, kSlices);
    std::set<std::uint32_t> in;
    for (const LeafPosition l : area.leaves) in.insert(l.value);
    for (std::uint32_t l = 0; l < leaves; ++l)
      for (std::int64_t s = 0; s < kSlices; ++s) {
        const auto at = static_cast<std::size_t>(s);
        const Part& now = after.parts[static_cast<std::size_t>(is[l][at])];
        if (in.contains(l) && s >= area.first.value && s <= area.last.value) {
          EXPECT_EQ(now.first, area.first);
          EXPECT_EQ(now.last, area.last);
        } else {  // a piece of what it was
          const Part& then = before.parts[static_cast<std::size_t>(was[l][at])];
          EXPECT_GE(now.first, then.first);
          EXPECT_LE(now.last, then.last);
          EXPECT_LE(tree.leaves_under(now.node).size(), tree.leaves_under(then.node).size());
        }
      }
    batch->evaluate(after);
    EXPECT_LE(after.pIC, before.pIC + 1e-9) << "no partition is better than the optimum";
    double gain = 0, loss = 0;
    for (const Part& p : after.parts) gain += p.gain, loss += p.loss;
    EXPECT_NEAR(after.gain, gain, 1e-9);
    EXPECT_NEAR(after.loss, loss, 1e-9);
  }
  EXPECT_GT(cut, 20);
}

}  // namespace set_apart_test
}  // namespace margay::partition
