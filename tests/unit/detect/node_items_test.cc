// The nodes that are looked at.
#include "node_items.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trees.h"

namespace margay::detect::test {
namespace node_items_test {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

std::vector<std::uint32_t> below(const NodeItems& items, std::size_t item) {
  std::vector<std::uint32_t> out;
  for (const LeafIndex l : items.below(item)) out.push_back(l.value);
  return out;
}
// The inner item of these leaves that lies deepest.
std::uint32_t item_of(const NodeItems& items, const std::vector<std::uint32_t>& leaves) {
  for (auto i = static_cast<std::uint32_t>(items.size()); i-- > items.leaves();)
    if (below(items, i) == leaves) return i;
  return NodeItems::kNone;
}

TEST(NodeItems, AreTheLeavesAndWhatHoldsSomeOfThem) {
  const NodeItems items(tree({"a/x", "a/y", "b/x", "b/y", "b/z", "c"}));
  EXPECT_EQ(items.leaves(), 6u);
  EXPECT_EQ(items.size(), 8u) << "not the root, and not what holds one leaf";
  const std::uint32_t a = item_of(items, {0, 1}), b = item_of(items, {2, 3, 4});
  ASSERT_NE(a, NodeItems::kNone);
  ASSERT_NE(b, NodeItems::kNone);
  EXPECT_EQ(items.parent(0), a);
  EXPECT_EQ(items.parent(4), b);
  EXPECT_EQ(items.parent(5), NodeItems::kNone);
  EXPECT_EQ(items.parent(a), NodeItems::kNone);
  EXPECT_EQ(items.group(3), 0u);
  EXPECT_EQ(items.group(a), items.group(b));
  EXPECT_EQ(items.count(0), 6u);
  EXPECT_EQ(items.count(items.group(a)), 2u);
  EXPECT_EQ(items.smallest(items.group(a)), 2);
  EXPECT_THAT(below(items, 3), ElementsAre(3));
  EXPECT_THAT(items.upwards(), ElementsAre(a, b));
}

TEST(NodeItems, LeavesKeepTheirNumbersInAnyOrder) {
  const NodeItems items(tree({"b/x", "a/x", "b/y", "a/y"}));
  const std::uint32_t a = items.parent(1), b = items.parent(0);
  EXPECT_THAT(below(items, a), UnorderedElementsAre(1, 3));
  EXPECT_THAT(below(items, b), UnorderedElementsAre(0, 2));
}

TEST(NodeItems, ParentsAreTheSmallestThatHoldThem) {
  const NodeItems items(tree({"s/a/x", "s/a/y", "s/b/x", "s/b/y", "t/c/x", "t/c/y", "t/d"}));
  const std::uint32_t s = item_of(items, {0, 1, 2, 3}), a = item_of(items, {0, 1}),
                      t = item_of(items, {4, 5, 6});
  EXPECT_EQ(items.parent(0), a);
  EXPECT_EQ(items.parent(a), s);
  EXPECT_EQ(items.parent(s), NodeItems::kNone);
  EXPECT_EQ(items.parent(6), t);
  EXPECT_EQ(items.parent(items.parent(4)), t);
}

// A site of one cluster of one host of one rank.
TEST(NodeItems, ChainsOfNodesWithOneLeafAreTheLeaf) {
  const NodeItems items(tree({"a/b/c/x", "d/e/x", "d/e/y", "d/f/x"}));
  EXPECT_EQ(items.parent(0), NodeItems::kNone);
  EXPECT_EQ(items.parent(3), item_of(items, {1, 2, 3}));
  EXPECT_EQ(items.size(), 6u);
  EXPECT_EQ(NodeItems(tree({"a/b/x"})).size(), 1u);
  EXPECT_EQ(NodeItems(tree({"a/b/x", "a/b/y"})).size(), 2u) << "these nodes are all that there is";
  EXPECT_EQ(NodeItems(tree({})).size(), 0u);
}

// A cluster with one host: both hold the same leaves. What is settled upwards is settled of a node's parts
// first.
TEST(NodeItems, UpwardsComesNoNodeBeforeItsParts) {
  const NodeItems items(tree({"s/c/h/x", "s/c/h/y", "t/c/h/x", "t/c/h/y", "t/c/i/x", "t/c/i/y"}));
  std::vector<std::uint32_t> place(items.size());
  for (std::uint32_t k = 0; k < items.upwards().size(); ++k) place[items.upwards()[k]] = k;
  EXPECT_EQ(items.upwards().size(), items.size() - items.leaves());
  for (const std::uint32_t i : items.upwards()) {
    if (items.parent(i) == NodeItems::kNone) continue;
    EXPECT_GE(items.below(items.parent(i)).size(), items.below(i).size());
    EXPECT_LT(place[i], place[items.parent(i)]) << "item " << i;
  }
}

TEST(NodeItems, RowsAreAddedUp) {
  const NodeItems items(tree({"s/a/x", "s/a/y", "s/b/x", "s/b/y", "t/c/x", "t/c/y"}));
  Grid rows;
  rows.reach(items.size(), 2);
  rows.fill(7);  // what was there before
  for (std::uint32_t l = 0; l < items.leaves(); ++l) rows[l][0] = static_cast<float>(l), rows[l][1] = 1;
  items.add_up(rows);
  const std::uint32_t s = item_of(items, {0, 1, 2, 3});
  EXPECT_EQ(rows[s][0], 0 + 1 + 2 + 3);
  EXPECT_EQ(rows[s][1], 4);
  EXPECT_EQ(rows[items.parent(4)][0], 9);
  EXPECT_EQ(rows[3][0], 3);
}

}  // namespace node_items_test
}  // namespace margay::detect::test
