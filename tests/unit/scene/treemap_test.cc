#include "margay/scene/treemap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "small_view.h"

namespace margay::scene {
namespace treemap_test {

double aspect(const Rectangle& r) {
  return std::max(r.width / r.height, r.height / r.width);
}
double overlap(const Rectangle& a, const Rectangle& b) {
  const double w = std::min(a.x + a.width, b.x + b.width) - std::max(a.x, b.x);
  const double h = std::min(a.y + a.height, b.y + b.height) - std::max(a.y, b.y);
  return w > 0 && h > 0 ? w * h : 0;
}

// The example of the paper: areas 6, 6, 4, 3, 2, 2, 1 in a rectangle of 6 x 4 (its figure 4).
TEST(Squarified, IsThePapersExample) {
  const std::vector<double> areas = {6, 6, 4, 3, 2, 2, 1};
  const auto r = squarified({0, 0, 6, 4}, areas);
  ASSERT_EQ(r.size(), 7u);
  const std::vector<Rectangle> paper = {{0, 0, 3, 2},
                                        {0, 2, 3, 2},
                                        {3, 0, 12.0 / 7, 7.0 / 3},
                                        {3 + 12.0 / 7, 0, 9.0 / 7, 7.0 / 3},
                                        {3, 7.0 / 3, 6.0 / 5, 5.0 / 3},
                                        {3 + 6.0 / 5, 7.0 / 3, 6.0 / 5, 5.0 / 3},
                                        {3 + 12.0 / 5, 7.0 / 3, 3.0 / 5, 5.0 / 3}};
  for (std::size_t i = 0; i < r.size(); ++i) {
    EXPECT_NEAR(r[i].x, paper[i].x, 1e-9) << i;
    EXPECT_NEAR(r[i].y, paper[i].y, 1e-9) << i;
    EXPECT_NEAR(r[i].width, paper[i].width, 1e-9) << i;
    EXPECT_NEAR(r[i].height, paper[i].height, 1e-9) << i;
  }
}

// The paper's table: of random trees the mean of aspect ratios is far below that of slices, and near to 1.
TEST(Squarified, FillsItsRectangleWithNearlySquareOnes) {
  const std::uint64_t seed = 31;
  std::mt19937_64 rng(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  double sum = 0, slices = 0;
  std::size_t count = 0;
  for (int i = 0; i < 200; ++i) {
    const Rectangle in{1, 2, 50 + static_cast<double>(rng() % 500), 50 + static_cast<double>(rng() % 500)};
    std::vector<double> sizes;
    for (std::size_t n = 1 + rng() % 30; n > 0; --n)
      sizes.push_back(std::exp(std::normal_distribution<double>(0, 1)(rng)));
    std::sort(sizes.rbegin(), sizes.rend());
    const double all = std::accumulate(sizes.begin(), sizes.end(), 0.0);
    const auto r = squarified(in, sizes);
    ASSERT_EQ(r.size(), sizes.size());
    double area = 0;
    for (std::size_t a = 0; a < r.size(); ++a) {
      EXPECT_NEAR(r[a].width * r[a].height / (in.width * in.height), sizes[a] / all, 1e-9);
      EXPECT_NEAR(overlap(r[a], in), r[a].width * r[a].height, 1e-6);
      for (std::size_t b = 0; b < a; ++b) EXPECT_LT(overlap(r[a], r[b]), 1e-6);
      area += r[a].width * r[a].height;
      sum += aspect(r[a]);
      slices += aspect({0, 0, in.width, in.height * sizes[a] / all});
      ++count;
    }
    EXPECT_NEAR(area, in.width * in.height, 1e-6 * area);
  }
  const auto n = static_cast<double>(count);
  EXPECT_LT(sum / n, 2.0);
  EXPECT_LT(sum / n, slices / n / 5);
}

TEST(Squarified, OfNothingAndInNoRoomIsNothing) {
  EXPECT_TRUE(squarified({0, 0, 5, 5}, {}).empty());
  const std::vector<double> two = {2, 1};
  const auto flat = squarified({0, 0, 5, 0}, two);
  ASSERT_EQ(flat.size(), 2u);
  for (const Rectangle& r : flat) EXPECT_EQ(r.width * r.height, 0);
}

// Against proportions(), which looks at one rectangle at a time.
TEST(TreemapContents, AreTheProportionsOfEachNode) {
  const std::uint64_t seed = 5;
  std::mt19937_64 rng(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  for (int i = 0; i < 30; ++i) {
    support::ViewShape shape;
    shape.leaves = 1 + rng() % 40, shape.slices = 1 + rng() % 30;
    const ViewData d = *view_data_untrusted(support::random_view(rng, shape));
    const std::size_t first = rng() % d.slices(), last = first + 1 + rng() % (d.slices() - first);
    const TreemapContents c = contents_of(d, first, last);
    ASSERT_EQ(c.states, d.states.size());
    for (std::uint32_t n = 0; n < d.nodes.size(); ++n) {
      const Proportions p = proportions(d, n, first, last);
      EXPECT_NEAR(c.known[n], p.known, 1e-4);
      for (std::size_t x = 0; x < c.states; ++x) EXPECT_NEAR(c.of(n)[x], p.shares[x], 1e-4) << n << " " << x;
    }
  }
}

// The quick way, of what is drawn alone.
TEST(TreemapContents, OfFilledCellsAreThoseOfTheirNodes) {
  const std::uint64_t seed = 11;
  std::mt19937_64 rng(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  for (int i = 0; i < 30; ++i) {
    support::ViewShape shape;
    shape.leaves = 1 + rng() % 60, shape.slices = 1 + rng() % 30;
    const ViewData d = *view_data_untrusted(support::random_view(rng, shape));
    const std::size_t first = rng() % d.slices(), last = first + 1 + rng() % (d.slices() - first);
    TreemapOptions o;
    o.width = 300, o.height = 200, o.depth = static_cast<std::uint32_t>(rng() % 5), o.least = 0.01;
    const auto whole = contents_of(d, first, last);
    const auto cells = treemap(d, treemap_sizes(d, whole, TreemapSize::kResources), o);
    const auto filled = filled_cells(d, cells);
    const auto shares = cell_shares(d, cells, filled, first, last);
    std::size_t leaves = 0;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      if (cells[c].filled) leaves += d.nodes[cells[c].node].leaf_count;
      EXPECT_EQ(filled[cells[c].node], cells[c].filled ? static_cast<std::int32_t>(c) : -1);
      for (std::size_t x = 0; x < d.states.size(); ++x)
        EXPECT_NEAR(shares[c * d.states.size() + x], cells[c].filled ? whole.of(cells[c].node)[x] : 0, 1e-4);
    }
    EXPECT_EQ(leaves, d.leaves());
  }
}

TEST(Treemap, NodesAreInTheirParentsAsLargeAsTheirSize) {
  const std::uint64_t seed = 7;
  std::mt19937_64 rng(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  for (int i = 0; i < 40; ++i) {
    support::ViewShape shape;
    shape.leaves = 2 + rng() % 60;
    const ViewData d = *view_data_untrusted(support::random_view(rng, shape));
    const auto contents = contents_of(d, 0, d.slices());
    const auto by = i % 2 == 0 ? TreemapSize::kResources : TreemapSize::kAmount;
    const auto sizes = treemap_sizes(d, contents, by);
    TreemapOptions o;
    o.width = 900, o.height = 600, o.frame = 0, o.least = 0.01;
    const auto cells = treemap(d, sizes, o);
    ASSERT_FALSE(cells.empty());
    EXPECT_EQ(cells[0].node, 0u);
    std::map<std::uint32_t, const TreemapCell*> of;
    double filled = 0;
    for (const TreemapCell& c : cells) {
      EXPECT_TRUE(of.emplace(c.node, &c).second) << "once each";
      EXPECT_NEAR(c.width * c.height / (o.width * o.height), sizes[c.node] / sizes[0], 1e-6);
      if (c.filled) filled += c.width * c.height;
      if (c.node == 0) continue;
      const TreemapCell& above = *of.at(d.nodes[c.node].parent);
      EXPECT_EQ(c.depth, above.depth + 1);
      EXPECT_GE(c.x, above.x - 1e-6);
      EXPECT_GE(c.y, above.y - 1e-6);
      EXPECT_LE(c.x + c.width, above.x + above.width + 1e-6);
      EXPECT_LE(c.y + c.height, above.y + above.height + 1e-6);
    }
    EXPECT_NEAR(filled, o.width * o.height, 1e-3);
    for (std::uint32_t n = 0; n < d.nodes.size(); ++n) EXPECT_EQ(of.contains(n), sizes[n] > 0);
  }
}

TEST(Treemap, WhatIsTooSmallOrDeepIsOneCell) {
  std::mt19937_64 rng(3);
  const ViewData d = *view_data_untrusted(support::cluster_view(rng, 4096, 20, 500));
  const auto sizes = treemap_sizes(d, contents_of(d, 0, 20), TreemapSize::kResources);
  TreemapOptions o;
  o.width = 400, o.height = 300;
  o.depth = 1;
  for (const TreemapCell& c : treemap(d, sizes, o)) {
    EXPECT_LE(c.depth, 1u);
    EXPECT_EQ(c.filled, c.depth == 1);
  }
  o.depth = 99;
  o.least = 12;
  const auto cells = treemap(d, sizes, o);
  EXPECT_LT(cells.size(), 1500u);
  o.least = 3, o.frame = 0;
  EXPECT_GT(treemap(d, sizes, o).size(), cells.size());
  o.most = 100;
  EXPECT_LE(treemap(d, sizes, o).size(), 100u);
}

// An answer may have as many states as resources: what is drawn of it is bounded.
TEST(Treemap, OfManyStatesThereAreFewerCells) {
  support::ViewBuilder build(1);
  std::uint32_t state = 0;
  for (int i = 0; i < 40'000; ++i) state = build.state("s" + std::to_string(i), wire::FAMILY_WAIT);
  for (int i = 0; i < 2000; ++i) build.node("r" + std::to_string(i), 0);
  build.part(0, 0, 1, {{state, 1}});
  const ViewData d = *view_data_untrusted(build.answer());
  EXPECT_FALSE(has_room_for_contents(d));
  EXPECT_TRUE(has_room_for_contents(SmallView().data()));
  TreemapOptions o;
  o.width = 4000, o.height = 3000;
  EXPECT_LE(treemap(d, treemap_sizes(d, {}, TreemapSize::kResources), o).size(), kMostContents / 40'002);
}

TEST(Treemap, HeadsAreKeptWhereThereIsRoom) {
  const SmallView small;
  const ViewData d = small.data();
  const auto sizes = treemap_sizes(d, contents_of(d, 0, 4), TreemapSize::kResources);
  TreemapOptions o;
  o.width = 400, o.height = 200, o.frame = 2, o.head = 16;
  const auto cells = treemap(d, sizes, o);
  ASSERT_EQ(cells.size(), 7u);
  EXPECT_EQ(cells[1].y, 2) << "the root has no name";
  EXPECT_EQ(cells[1].x, 2);
  EXPECT_EQ(cells[2].y, 2 + 16);
  const std::int64_t at = cell_at(cells, cells[2].x + 1, cells[2].y + 1);
  EXPECT_EQ(at, 2);
  EXPECT_EQ(cell_at(cells, 1, 1), 0);
  EXPECT_EQ(cell_at(cells, -1, 1), -1);
}

TEST(Treemap, AmountsAreOfWhatIsKnown) {
  const SmallView small;
  const ViewData d = small.data();
  const auto c = contents_of(d, 0, 2);
  EXPECT_NEAR(c.of(small.r0)[small.send], 0.8, 1e-6);
  EXPECT_NEAR(c.of(small.a)[small.send], 0.4, 1e-6);
  EXPECT_NEAR(c.of(small.r2)[small.compute], 0.6, 1e-6);
  EXPECT_NEAR(c.known[small.r2], 0.8, 1e-6);
  const auto sizes = treemap_sizes(d, c, TreemapSize::kAmount);
  EXPECT_NEAR(sizes[small.a], 1.8, 1e-6);
  EXPECT_NEAR(sizes[small.b], 1.2, 1e-6);
  EXPECT_TRUE(treemap(ViewData{}, {}, {}).empty());
}

}  // namespace treemap_test
}  // namespace margay::scene
