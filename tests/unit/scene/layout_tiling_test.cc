// What must hold of every picture, on random trees, tilings, folds, searches, thresholds and viewports.
// Judged cell by cell: which part holds each visible leaf in each slice.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "margay/scene/layout.h"
#include "synthetic_view.h"

namespace margay::scene {
namespace layout_tiling_test {

struct Case {
  ViewData data;
  Folding folding;
  Rows rows;
  Viewport view;
  LayoutOptions options;
};

Case make(std::uint64_t seed) {
  std::mt19937_64 rng(seed);
  const auto uniform = [&](double a, double b) { return std::uniform_real_distribution(a, b)(rng); };
  const auto one_in = [&](unsigned n) { return rng() % n == 0; };
  support::ViewShape shape;
  shape.leaves = 1 + rng() % 40;
  shape.slices = 1 + rng() % 30;
  shape.most_children = 1 + static_cast<int>(rng() % 7);
  shape.restless = uniform(0.3, 0.98);
  wire::ViewAnswer answer = support::random_view(rng, shape);
  if (one_in(3)) {  // slices of uneven length
    std::int64_t at = -5'000'000'000;
    for (std::int64_t& t : *answer.mutable_boundaries())
      t = at += 1 + static_cast<std::int64_t>(rng() % 2'000'000'000);
  }
  Case c;
  c.data = *view_data_untrusted(answer);
  if (one_in(2)) c.folding.unit = RowUnit::kLeaf;
  if (one_in(3))
    for (const Node& node : c.data.nodes)
      if (one_in(6)) c.folding.folded.insert(node.path);
  if (one_in(4)) c.folding.search = "n" + std::to_string(rng() % 3);
  c.rows = rows_of(c.data, c.folding);
  c.view = {uniform(1, 120), uniform(1, 120), c.data.range(), whole(c.rows)};
  c.options.threshold = one_in(5) ? 0 : uniform(0.5, 12);
  c.options.most_whole = one_in(3) ? 0 : one_in(3) ? std::numeric_limits<double>::infinity() : uniform(0, 9);
  return c;
}

Viewport scrolled(const Case& c, std::mt19937_64& rng) {
  const auto uniform = [&](double a, double b) { return std::uniform_real_distribution(a, b)(rng); };
  Viewport v = c.view;
  const double fx = uniform(0.1, 1), fy = uniform(0.1, 1);
  const auto length = static_cast<double>((v.time.to - v.time.from).value);
  const double from = uniform(-0.3, 1.1 - fx);
  v.time.from = TimeNs(c.view.time.from.value + static_cast<std::int64_t>(length * from));
  v.time.to = TimeNs(v.time.from.value + std::max<std::int64_t>(1, static_cast<std::int64_t>(length * fx)));
  const double top = uniform(0, 1 - fy);
  v.rows = {c.rows.height * top, c.rows.height * (top + fy)};
  v.width *= static_cast<double>((v.time.to - v.time.from).value) / length;
  v.height *= fy;
  return v;
}

// How often each point of the viewport is covered, between all edges that there are.
void expect_tiling(const Case& c, const Viewport& v, const Layout& l) {
  const TimeRange data = c.data.range();
  const double x0 = std::clamp(x_of(v, data.from), 0.0, v.width),
               x1 = std::clamp(x_of(v, data.to), 0.0, v.width);
  const double y0 = std::clamp(y_of(v, 0), 0.0, v.height),
               y1 = std::clamp(y_of(v, c.rows.height), 0.0, v.height);
  std::set<double> xs{x0, x1}, ys{y0, y1};
  for (const Rect& r : l.rects) {
    ASSERT_LT(r.x0, r.x1);
    ASSERT_LT(r.y0, r.y1);
    xs.insert({r.x0, r.x1});
    ys.insert({r.y0, r.y1});
  }
  // Nothing lies outside, and no edges are almost the same.
  ASSERT_EQ(*xs.begin(), x0);
  ASSERT_EQ(*xs.rbegin(), x1);
  ASSERT_EQ(*ys.begin(), y0);
  ASSERT_EQ(*ys.rbegin(), y1);
  const auto place = [](const std::set<double>& s, double x) {
    return static_cast<std::size_t>(std::distance(s.begin(), s.find(x)));
  };
  const std::size_t columns = xs.size() - 1, lines = ys.size() - 1;
  std::vector<int> covered(columns * lines);
  for (const Rect& r : l.rects)
    for (std::size_t y = place(ys, r.y0); y < place(ys, r.y1); ++y)
      for (std::size_t x = place(xs, r.x0); x < place(xs, r.x1); ++x) ++covered[y * columns + x];
  for (const int n : covered) ASSERT_EQ(n, 1);
}

// The part of each cell, by leaf and slice.
std::vector<std::vector<std::size_t>> cells_of(const ViewData& d) {
  std::vector<std::vector<std::size_t>> out(d.leaves(), std::vector<std::size_t>(d.slices()));
  for (std::size_t i = 0; i < d.parts.size(); ++i) {
    const Part& p = d.parts[i];
    const Node& n = d.nodes[p.node];
    for (std::uint32_t leaf = n.first_leaf; leaf < n.first_leaf + n.leaf_count; ++leaf)
      for (std::uint32_t t = p.first; t < p.last; ++t) out[leaf][t] = i;
  }
  return out;
}

// A rectangle against the cells that it covers.
void expect_rect(const Case& c, const std::vector<std::vector<std::size_t>>& cells, const Rect& r) {
  const ViewData& d = c.data;
  std::map<std::size_t, double> area;  // of each part in the rectangle
  std::set<std::vector<std::uint32_t>> cuts;
  double all = 0, known = 0;
  std::vector<double> sums(d.states.size());
  for (std::uint32_t row = r.first_row; row < r.last_row; ++row) {
    const Node& node = d.nodes[c.rows.rows[row].node];
    for (std::uint32_t leaf = node.first_leaf; leaf < node.first_leaf + node.leaf_count; ++leaf) {
      std::vector<std::uint32_t> of_leaf;
      ASSERT_TRUE(r.first == 0 || cells[leaf][r.first - 1] != cells[leaf][r.first]);  // no part is cut
      ASSERT_TRUE(r.last == d.slices() || cells[leaf][r.last - 1] != cells[leaf][r.last]);
      for (std::uint32_t t = r.first; t < r.last; ++t) {
        if (t > r.first && cells[leaf][t] != cells[leaf][t - 1]) of_leaf.push_back(t);
        const Part& p = d.parts[cells[leaf][t]];
        const double s = d.seconds(t, t + 1);
        area[cells[leaf][t]] += s;
        all += s;
        known += p.known * s;
        for (const StateShare& share : d.shares_of(p)) sums[share.state] += share.share * s;
      }
      cuts.insert(of_leaf);
    }
  }
  ASSERT_EQ(r.parts, area.size());
  for (const auto& [i, seconds] : area) {
    ASSERT_GE(d.parts[i].node, r.node);
    ASSERT_LT(d.parts[i].node, d.nodes[r.node].end);
  }
  ASSERT_EQ(r.mark, area.size() == 1 ? Mark::kNone : cuts.size() == 1 ? Mark::kDiagonal : Mark::kCross);
  ASSERT_EQ(r.part, area.size() == 1 ? static_cast<std::int64_t>(area.begin()->first) : kNoPart);
  ASSERT_NEAR(r.known, known / all, 1e-5);
  double most = 0;
  for (std::size_t s = 0; s < sums.size(); ++s)
    if (d.states[s].known()) most = std::max(most, sums[s]);
  if (most <= 0) {
    ASSERT_EQ(r.strength, 0);
    ASSERT_TRUE(r.state == kNoState || !d.states[static_cast<std::size_t>(r.state)].known());
  } else {
    ASSERT_NE(r.state, kNoState);
    ASSERT_NEAR(sums[static_cast<std::size_t>(r.state)], most, 1e-6 * all);
    ASSERT_NEAR(r.strength, std::min(1.0, most / known), 1e-5);
  }
}

double width_of(const Case& c, const Rect& r) {
  return x_of(c.view, c.data.boundaries[r.last]) - x_of(c.view, c.data.boundaries[r.first]);
}

using Place = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, Mark, std::int32_t>;
Place place_of(const Rect& r) {
  return {r.first_row, r.last_row, r.first, r.last, r.mark, r.state};
}

TEST(LayoutTiling, NothingIsLostAndEveryRectangleIsWhatItSays) {
  int visual = 0, crosses = 0, searched = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Case c = make(seed);
    const Layout l = layout(c.data, c.rows, c.view, c.options);
    if (c.rows.rows.empty()) {
      ASSERT_TRUE(l.rects.empty());
      continue;
    }
    ASSERT_NO_FATAL_FAILURE(expect_tiling(c, c.view, l));
    const auto cells = cells_of(c.data);
    for (const Rect& r : l.rects) ASSERT_NO_FATAL_FAILURE(expect_rect(c, cells, r));
    ASSERT_EQ(l.aggregates + l.visual, l.rects.size());
    visual += l.visual > 0;
    searched += !c.folding.search.empty();
    crosses +=
        std::any_of(l.rects.begin(), l.rects.end(), [](const Rect& r) { return r.mark == Mark::kCross; });
  }
  // The cases are not all trivial.
  EXPECT_GT(visual, 400);
  EXPECT_GT(crosses, 200);
  EXPECT_GT(searched, 50);
}

TEST(LayoutTiling, NoTwoNarrowRectanglesTouch) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Case c = make(seed);
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, double>
        begins;  // of narrow ones, by rows
    const Layout l = layout(c.data, c.rows, c.view, c.options);
    const double least = c.options.threshold * (1 - 1e-6);
    for (const Rect& r : l.rects)
      if (width_of(c, r) < least) begins[{r.first_row, r.last_row, r.first}] = r.x0;
    for (const Rect& r : l.rects)
      ASSERT_FALSE(width_of(c, r) < least && begins.contains({r.first_row, r.last_row, r.last}));
  }
}

TEST(LayoutTiling, ScrollingAndPanningChangeNothingThatIsSeen) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Case c = make(seed);
    if (c.rows.rows.empty()) continue;
    std::mt19937_64 rng(seed);
    std::set<Place> all;
    for (const Rect& r : layout(c.data, c.rows, c.view, c.options).rects) all.insert(place_of(r));
    const Viewport v = scrolled(c, rng);
    const Layout l = layout(c.data, c.rows, v, c.options);
    if (v.time.from < c.data.range().to && v.time.to > c.data.range().from) {
      ASSERT_NO_FATAL_FAILURE(expect_tiling(c, v, l));
    }
    for (const Rect& r : l.rects) ASSERT_TRUE(all.contains(place_of(r)));
  }
}

TEST(LayoutTiling, WithoutAThresholdEveryPartComesOnce) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Case c = make(seed);
    c.rows = rows_of(c.data, {});
    c.view.rows = whole(c.rows);
    c.options.threshold = 0;
    const Layout l = layout(c.data, c.rows, c.view, c.options);
    std::set<std::int64_t> parts;
    for (const Rect& r : l.rects) parts.insert(r.part);
    ASSERT_EQ(l.rects.size(), c.data.parts.size());
    ASSERT_EQ(parts.size(), c.data.parts.size());
    ASSERT_FALSE(parts.contains(kNoPart));
  }
}

TEST(LayoutTiling, FewRectanglesHoweverManyParts) {
  for (const std::size_t leaves : {300u, 20'000u}) {
    std::mt19937_64 rng(leaves);
    const ViewData d = *view_data_untrusted(support::cluster_view(rng, leaves, 200, 20'000));
    const Rows rows = rows_of(d, {});
    const Layout l = layout(d, rows, {300, 200, d.range(), whole(rows)});
    EXPECT_LT(l.rects.size(), 4 * 300 * 200 / 9u);
    EXPECT_GT(l.visual, 0u);
  }
}

}  // namespace layout_tiling_test
}  // namespace margay::scene
