#include "margay/partition/tree_shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models.h"

namespace margay::partition {
namespace tree_shape_test {

std::string error_of(const support::Parents& parents) {
  const auto tree = TreeShape::from_parents(parents_of(parents));
  return tree ? "no error" : tree.error().message;
}

TEST(TreeShape, UnbalancedTree_ChildrenPostOrderAndLeaves) {
  //        3
  //      / | \.
  //     0  4  6
  //    / \    |
  //   1   2   5
  const auto tree = TreeShape::from_parents(parents_of({3, 0, 0, -1, 3, 6, 3}));
  ASSERT_TRUE(tree);
  const auto n = [](std::uint32_t k) { return NodeIndex(k); };
  EXPECT_EQ(tree->root(), n(3));
  EXPECT_EQ(tree->parent(n(3)), kNoParent);
  EXPECT_THAT(tree->children(n(3)), testing::ElementsAre(n(0), n(4), n(6)));
  EXPECT_THAT(tree->post_order(), testing::ElementsAre(n(1), n(2), n(0), n(4), n(5), n(6), n(3)));
  ASSERT_EQ(tree->leaf_count(), 4u);
  EXPECT_EQ(tree->leaf_node(LeafPosition(2)), n(4));
  EXPECT_EQ(tree->leaf_node(LeafPosition(3)), n(5));
  EXPECT_THAT(tree->leaves_under(n(0)), testing::ElementsAre(LeafPosition(0), LeafPosition(1)));
  EXPECT_THAT(tree->leaves_under(n(6)), testing::ElementsAre(LeafPosition(3)));
  EXPECT_EQ(tree->leaves_under(n(3)).size(), 4u);
}

TEST(TreeShape, LoneRootIsALeaf) {
  const auto tree = TreeShape::flat(0);
  EXPECT_EQ(tree.size(), 1u);
  EXPECT_EQ(tree.leaf_count(), 1u);
  EXPECT_TRUE(tree.is_leaf(tree.root()));
}

TEST(TreeShape, ChainOfAMillionNodes_NoRecursion) {
  std::vector<NodeIndex> parents(1'000'000);
  parents[0] = kNoParent;
  for (std::uint32_t k = 1; k < parents.size(); ++k) parents[k] = NodeIndex(k - 1);
  const auto tree = TreeShape::from_parents(parents);
  ASSERT_TRUE(tree);
  EXPECT_EQ(tree->leaf_count(), 1u);
  EXPECT_EQ(tree->post_order().front(), NodeIndex(999'999));
  EXPECT_EQ(tree->leaves_under(tree->root()).size(), 1u);
}

TEST(TreeShape, ErrorsNameTheNode) {
  EXPECT_THAT(error_of({}), testing::HasSubstr("no nodes"));
  EXPECT_THAT(error_of({-1, 0, 7}), testing::HasSubstr("node 2 has parent 7"));
  EXPECT_THAT(error_of({-1, 0, -1}), testing::HasSubstr("two roots, node 0 and node 2"));
  EXPECT_THAT(error_of({-1, 1}), testing::HasSubstr("cycle, node 1"));
  EXPECT_THAT(error_of({1, 0}), testing::HasSubstr("cycle, node"));
  // Node 4 hangs on the cycle 1-2-3 without being on it: a node of the cycle is named.
  EXPECT_THAT(error_of({-1, 2, 3, 1, 1}), testing::ContainsRegex("cycle, node [123] "));
}

}  // namespace tree_shape_test
}  // namespace margay::partition
