// Few parts of many: the cheapest merges first, every cell in one part, what is kept stays.
#include "margay/partition/coarsen.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "margay/partition/batch.h"

namespace margay::partition {
namespace coarsen_test {

constexpr std::int64_t kSlices = 24;

TreeShape tree_of(std::uint32_t hosts, std::uint32_t ranks) {
  std::vector<NodeIndex> parents{kNoParent};
  for (std::uint32_t h = 0; h < hosts; ++h) {
    const NodeIndex host(static_cast<std::uint32_t>(parents.size()));
    parents.push_back(NodeIndex(0));
    for (std::uint32_t r = 0; r < ranks; ++r) parents.push_back(host);
  }
  return *TreeShape::from_parents(parents);
}

// `share(leaf, slice)` of the first of two states.
template <class Share>
Batch model_of(const TreeShape& tree, Share share) {
  const std::size_t leaves = tree.leaf_count();
  std::vector<double> v, w(leaves, 1.0);
  for (std::int64_t t = 0; t < kSlices; ++t)
    for (std::uint32_t l = 0; l < leaves; ++l) {
      const double x = share(l, t);
      v.push_back(x);
      v.push_back(1 - x);
    }
  std::vector<Column> columns;
  for (std::size_t t = 0; t < kSlices; ++t)
    columns.push_back({std::span(v).subspan(t * leaves * 2, leaves * 2), w});
  Batch::Options options;
  options.tree = tree;
  options.states = 2;
  auto batch = Batch::create(std::move(options), columns);
  EXPECT_TRUE(batch);
  return std::move(*batch);
}

Worth worth_in(const Batch& batch, double p) {
  return [&batch, p](const Part& part) {
    const Part m = batch.measured(part.node, part.first, part.last);
    return p * m.gain - (1 - p) * m.loss;
  };
}

TEST(Coarsen, LeavesWhatIsWorthMost) {
  // One rank does otherwise for a third of the time; each cell is a little unlike its neighbours.
  const TreeShape tree = tree_of(2, 3);
  std::mt19937_64 random(7);
  Batch batch = model_of(tree, [&](std::uint32_t l, std::int64_t t) {
    return (l == 4 && t >= 8 && t < 16 ? 0.8 : 0.3) + 0.001 * static_cast<double>(random() % 100);
  });
  Partition p = *batch.solve(0.0001);
  ASSERT_GT(p.parts.size(), 60u);
  coarsen(p, tree, 8, worth_in(batch, 0.0001));
  EXPECT_LE(p.parts.size(), 8u);
  const auto is_there = std::any_of(p.parts.begin(), p.parts.end(), [&](const Part& part) {
    return part.node == tree.leaf_node(LeafPosition(4)) && part.first == SliceIndex(8) &&
           part.last == SliceIndex(15);
  });
  EXPECT_TRUE(is_there);
  batch.evaluate(p);
  const double coarse = p.pIC;
  EXPECT_LE(coarse, batch.solve(0.0001)->pIC);
  EXPECT_GT(coarse, 0.0001 * batch.whole().gain - 0.9999 * batch.whole().loss) << "better than one part";
}

TEST(Coarsen, FewEnoughStayAsTheyAre) {
  const TreeShape tree = tree_of(2, 2);
  Batch batch = model_of(tree, [](std::uint32_t l, std::int64_t) { return 0.1 * (l + 1); });
  Partition p = *batch.solve(0.001);
  const Partition before = p;
  coarsen(p, tree, p.parts.size(), [](const Part&) -> double {
    ADD_FAILURE() << "nothing to ask";
    return 0;
  });
  EXPECT_EQ(p, before);
}

TEST(Coarsen, OfAnyOptimumPartsAreUnionsOfThoseBeforeAndWhatIsKeptStays) {
  constexpr std::uint64_t kSeed = 20261127;
  std::printf("seed %llu\n", static_cast<unsigned long long>(kSeed));
  std::mt19937_64 random(kSeed);
  int coarsened = 0;
  for (int round = 0; round < 60; ++round) {
    const TreeShape tree = tree_of(1 + random() % 4, 1 + random() % 5);
    Batch batch = model_of(
        tree, [&](std::uint32_t, std::int64_t) { return static_cast<double>(random() % 1000) / 1000; });
    const double p = static_cast<double>(1 + random() % 60) / 1000;
    const Partition before = *batch.solve(p);
    const Part kept = before.parts[random() % before.parts.size()];
    const auto is_kept = [&](const Part& part) {
      return part.node == kept.node && part.first == kept.first && part.last == kept.last;
    };
    Partition after = before;
    const std::size_t most = 1 + random() % 30;
    coarsen(after, tree, most, worth_in(batch, p), is_kept);
    if (after.parts.size() < before.parts.size()) ++coarsened;
    EXPECT_EQ(std::count_if(after.parts.begin(), after.parts.end(), is_kept), 1);
    std::vector<int> times(tree.leaf_count() * kSlices);
    for (const Part& part : after.parts)
      for (const LeafPosition l : tree.leaves_under(part.node))
        for (SliceIndex s = part.first; s <= part.last; ++s)
          ++times[l.value * kSlices + static_cast<std::size_t>(s.value)];
    EXPECT_TRUE(std::all_of(times.begin(), times.end(), [](int n) { return n == 1; }));
    for (const Part& part : before.parts) {
      const auto below = tree.leaves_under(part.node);
      EXPECT_TRUE(std::any_of(after.parts.begin(), after.parts.end(), [&](const Part& whole) {
        const auto of = tree.leaves_under(whole.node);
        return whole.first <= part.first && part.last <= whole.last &&
               std::find(of.begin(), of.end(), below.front()) != of.end() && of.size() >= below.size();
      })) << "a part was cut";
    }
    Partition free = before;
    coarsen(free, tree, most, worth_in(batch, p));
    EXPECT_LE(free.parts.size(), most) << "everything can become one";
  }
  EXPECT_GT(coarsened, 30);
}

}  // namespace coarsen_test
}  // namespace margay::partition
