#include "margay/model/hierarchy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace margay::model {
namespace hierarchy_test {

using testing::ElementsAre;

std::vector<std::string> paths(const Hierarchy& h) {
  std::vector<std::string> out;
  for (const auto& n : h.nodes()) out.push_back(n.path);
  return out;
}
Attributes rank(const std::string& host, int rank, int thread = 0) {
  return {{"host", host}, {"rank", std::to_string(rank)}, {"thread", std::to_string(thread)}};
}

TEST(Hierarchy, RanksOfOneThreadAreLeavesInNaturalOrder) {
  const std::vector<Attributes> leaves = {rank("n7", 10), rank("n7", 2), rank("n1", 0)};
  const Hierarchy h(leaves);
  EXPECT_THAT(paths(h), ElementsAre("/", "/n1", "/n1/rank0", "/n7", "/n7/rank2", "/n7/rank10"));
  EXPECT_EQ(h.path_of(LeafIndex(0)), "/n7/rank10");
  EXPECT_EQ(h[NodeIndex(3)].leaf_count, 2u);
  EXPECT_THAT(h.leaves_below(NodeIndex(3)), ElementsAre(LeafIndex(1), LeafIndex(0)));
  EXPECT_EQ(h[Hierarchy::kRoot].leaf_count, 3u);
}

TEST(Hierarchy, ThreadsShowWhereARankHasSeveral) {
  const std::vector<Attributes> leaves = {rank("n", 0), rank("n", 1, 0), rank("n", 1, 1)};
  const Hierarchy h(leaves);
  EXPECT_EQ(h.path_of(LeafIndex(0)), "/n/rank0");
  EXPECT_EQ(h.path_of(LeafIndex(1)), "/n/rank1/thread0");
  EXPECT_EQ(h.path_of(LeafIndex(2)), "/n/rank1/thread1");
}

TEST(Hierarchy, AnotherViewOfTheSameLeaves) {
  const std::vector<Attributes> leaves = {rank("n1", 0), rank("n2", 0)};
  const Hierarchy h(leaves, *View::parse("rank/host"));
  EXPECT_THAT(paths(h), ElementsAre("/", "/rank0", "/rank0/n1", "/rank0/n2"));
}

TEST(Hierarchy, LeavesThatSayTheSameStayApart) {
  const std::vector<Attributes> leaves = {{}, {}, rank("n", 0), rank("n", 0)};
  const Hierarchy h(leaves);
  EXPECT_EQ(h.leaf_count(), 4u);
  EXPECT_NE(h.path_of(LeafIndex(0)), h.path_of(LeafIndex(1)));
  EXPECT_NE(h.path_of(LeafIndex(2)), h.path_of(LeafIndex(3)));
}

TEST(Hierarchy, ALeafHasNothingBelowIt) {
  const std::vector<Attributes> leaves = {{{"host", "n"}}, rank("n", 0)};
  const Hierarchy h(leaves);
  EXPECT_EQ(h.path_of(LeafIndex(0)), "/n/self");
  EXPECT_EQ(h.path_of(LeafIndex(1)), "/n/rank0");
}

TEST(Hierarchy, EmptyIsARootAlone) {
  const Hierarchy h;
  EXPECT_THAT(paths(h), ElementsAre("/"));
  EXPECT_EQ(h.leaf_count(), 0u);
}

// As many as there are leaves, each would be looked for past all before it.
TEST(Hierarchy, ManyLeavesOfOneNameAreNumbered) {
  const std::vector<Attributes> leaves(8192, Attributes{{"host", "n"}});
  const Hierarchy h(leaves);
  EXPECT_EQ(h.leaf_order().size(), leaves.size());
  EXPECT_EQ(h.path_of(LeafIndex(0)), "/n");
  EXPECT_EQ(h.path_of(LeafIndex(1)), "/n#2");
  EXPECT_EQ(h.path_of(LeafIndex(8191)), "/n#8192");
}

TEST(Hierarchy, PathOfAnImportedLeafShowsAsItIs) {
  const std::vector<Attributes> leaves = {{{"path1", "cluster"}, {"path2", "7"}, {"path3", "a/b"}},
                                          {{"path1", "cluster"}, {"path2", "07"}},
                                          {{"path1", "cluster"}},
                                          {{"path2", "no first"}}};
  const Hierarchy h(leaves);
  EXPECT_EQ(h.path_of(LeafIndex(0)), "/cluster/7/a_b");
  EXPECT_EQ(h.path_of(LeafIndex(1)), "/cluster/07");
  EXPECT_EQ(h.path_of(LeafIndex(2)), "/cluster/self");
  EXPECT_EQ(h.path_of(LeafIndex(3)), "/unnamed");
}

TEST(Hierarchy, ALeafThatIsCalledSelfLosesNobodyItsPlace) {
  const std::vector<Attributes> leaves = {{{"host", "n"}}, {{"host", "n"}, {"rank", "self"}}};
  const Hierarchy h(leaves);
  EXPECT_EQ(h.leaf_order().size(), 2u);
  EXPECT_EQ(h.path_of(LeafIndex(0)), "/n/self#2");
  EXPECT_EQ(h.path_of(LeafIndex(1)), "/n/self");
}

}  // namespace hierarchy_test
}  // namespace margay::model
