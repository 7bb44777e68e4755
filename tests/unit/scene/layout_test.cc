#include "margay/scene/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "small_view.h"

namespace margay::scene {
namespace layout_test {

using support::ViewBuilder;
using testing::ElementsAre;

// 10 px a slice, `row` px a row; all rows, all time.
Viewport view_of(const ViewData& d, const Rows& r, double row, double slice = 10) {
  return {slice * static_cast<double>(d.slices()), row * static_cast<double>(r.rows.size()), d.range(),
          whole(r)};
}

// "path [first,last) mark", from top to bottom and left to right.
std::vector<std::string> told(const ViewData& d, Layout l) {
  std::sort(l.rects.begin(), l.rects.end(),
            [](const Rect& a, const Rect& b) { return std::tie(a.y0, a.x0) < std::tie(b.y0, b.x0); });
  std::vector<std::string> out;
  for (const Rect& r : l.rects)
    out.push_back(d.nodes[r.node].path + " [" + std::to_string(r.first) + "," + std::to_string(r.last) + ")" +
                  (r.mark == Mark::kNone       ? ""
                   : r.mark == Mark::kDiagonal ? " /"
                                               : " X"));
  return out;
}

TEST(Layout, PartsAreRectangles) {
  const SmallView small;
  const ViewData d = small.data();
  const Rows r = rows_of(d, {});
  const Layout l = layout(d, r, view_of(d, r, 10));
  EXPECT_THAT(told(d, l), ElementsAre("/a/r0 [0,2)", "/a [2,4)", "/a/r1 [0,2)", "/b [0,4)"));
  EXPECT_EQ(l.aggregates, 4u);
  EXPECT_EQ(l.visual, 0u);
  const Rect& a = l.rects[static_cast<std::size_t>(rect_at(l, 35, 15))];
  EXPECT_EQ(a.node, small.a);
  EXPECT_DOUBLE_EQ(a.x0, 20);
  EXPECT_DOUBLE_EQ(a.x1, 40);
  EXPECT_DOUBLE_EQ(a.y0, 0);
  EXPECT_DOUBLE_EQ(a.y1, 20);
  EXPECT_EQ(a.state, static_cast<std::int32_t>(small.wait));
  EXPECT_FLOAT_EQ(a.strength, 0.5F);
  EXPECT_FLOAT_EQ(a.known, 1);
  EXPECT_EQ(a.parts, 1u);
  EXPECT_EQ(a.part, 0);
  EXPECT_EQ(a.first_row, 0u);
  EXPECT_EQ(a.last_row, 2u);
  EXPECT_EQ(rect_at(l, 40, 15), -1);  // beyond the edge
  EXPECT_EQ(rect_at(l, -1, 15), -1);
}

TEST(Layout, LowChildrenWithTheSameCutsAreTheirParentWithADiagonal) {
  const SmallView small;
  const ViewData d = small.data();
  const Rows r = rows_of(d, {});
  const Layout l = layout(d, r, view_of(d, r, 2));  // a is 4 px high, r0 2 px
  EXPECT_THAT(told(d, l), ElementsAre("/a [0,2) /", "/a [2,4)", "/b [0,4)"));
  EXPECT_EQ(l.aggregates, 2u);
  EXPECT_EQ(l.visual, 1u);
  const Rect& a = l.rects[static_cast<std::size_t>(rect_at(l, 1, 1))];
  EXPECT_EQ(a.parts, 2u);
  EXPECT_EQ(a.part, kNoPart);
  EXPECT_EQ(a.state, static_cast<std::int32_t>(small.wait));  // 1.0 of one, 0.8 Send of the other
  EXPECT_FLOAT_EQ(a.strength, 0.5F);
  EXPECT_DOUBLE_EQ(a.y1, 4);
}

TEST(Layout, WholeMachineBelowTheThresholdIsTheRoot) {
  const SmallView small;
  const ViewData d = small.data();
  const Rows r = rows_of(d, {});
  EXPECT_THAT(told(d, layout(d, r, view_of(d, r, 1))), ElementsAre("/ [0,4) X"));
  EXPECT_THAT(told(d, layout(d, r, view_of(d, r, 0.1))), ElementsAre("/ [0,4) X"));
}

TEST(Layout, WithoutAThresholdEveryPartIsDrawn) {
  const ViewData d = SmallView().data();
  const Rows r = rows_of(d, {});
  LayoutOptions all;
  all.threshold = 0;
  EXPECT_EQ(layout(d, r, view_of(d, r, 0.01, 0.01), all).rects.size(), 4u);
  all.threshold = std::nan("");
  EXPECT_EQ(layout(d, r, view_of(d, r, 0.01, 0.01), all).rects.size(), 4u);
}

TEST(Layout, ThresholdItselfIsHighEnough) {
  const ViewData d = SmallView().data();
  const Rows r = rows_of(d, {});
  EXPECT_EQ(layout(d, r, view_of(d, r, 3)).visual, 0u);
  EXPECT_EQ(layout(d, r, view_of(d, r, 2.99)).visual, 1u);
}

// Two leaves whose cuts agree at 4 only.
//   x  [0,2)[2,4) [4,6)[6,8)
//   y  [0,3)[3,4) [4,8     )
ViewData uneven() {
  ViewBuilder build(8);
  const auto s = build.state("MPI_Send");
  const auto w = build.state("MPI_Wait", wire::FAMILY_WAIT);
  const auto x = build.node("x", 0), y = build.node("y", 0);
  build.part(x, 0, 2, {{s, 1}}).part(x, 2, 4, {{w, 1}}).part(x, 4, 6, {{s, 1}}).part(x, 6, 8, {{s, 1}});
  build.part(y, 0, 3, {{s, 1}}).part(y, 3, 4, {{w, 1}}).part(y, 4, 8, {{w, 1}});
  return *view_data_untrusted(build.answer());
}

TEST(Layout, CrossWhereThePartsBelowAreCutOtherwise) {
  const ViewData d = uneven();
  const Rows r = rows_of(d, {});
  const Layout l = layout(d, r, view_of(d, r, 2));
  EXPECT_THAT(told(d, l), ElementsAre("/ [0,4) X", "/ [4,8) X"));
  const Rect& first = l.rects[static_cast<std::size_t>(rect_at(l, 1, 1))];
  EXPECT_EQ(first.parts, 4u);
  EXPECT_EQ(first.state, 0);
  EXPECT_FLOAT_EQ(first.strength, 5.0F / 8);
}

TEST(Layout, OneLowChildBesideAHighOneHidesNothing) {
  ViewBuilder build(4);
  const auto s = build.state("MPI_Send");
  const auto io = build.node("io", 0);
  const auto big = build.node("big", 0);
  std::vector<std::uint32_t> ranks;
  for (int i = 0; i < 8; ++i) ranks.push_back(build.node("r" + std::to_string(i), big));
  const auto tail = build.node("tail", 0);
  const auto tail2 = build.node("tail2", 0);
  build.part(io, 0, 1, {{s, 1}}).part(io, 1, 4, {{s, 0.5F}});
  build.part(big, 0, 2, {{s, 1}}).part(big, 2, 4, {{s, 0.5F}});
  build.part(tail, 0, 4, {{s, 1}}).part(tail2, 0, 3, {{s, 1}}).part(tail2, 3, 4, {{s, 1}});
  const ViewData d = *view_data_untrusted(build.answer());
  const Rows r = rows_of(d, {});
  const Layout l = layout(d, r, view_of(d, r, 1));
  // Each low one, or those that follow each other, in rows of its own; of a single part it is that part.
  EXPECT_THAT(told(d, l), ElementsAre("/io [0,1)", "/io [1,4)", "/big [0,2)", "/big [2,4)", "/ [0,4) X"));
  const Rect& low = l.rects[static_cast<std::size_t>(rect_at(l, 1, 10))];
  EXPECT_EQ(low.first_row, 9u);
  EXPECT_EQ(low.last_row, 11u);
  EXPECT_DOUBLE_EQ(low.y0, 9);
  EXPECT_DOUBLE_EQ(low.y1, 11);
  const LeafRange leaves = leaves_of(d, r, low);
  EXPECT_EQ(leaves.first, 9u);
  EXPECT_EQ(leaves.count, 2u);
}

// 30 leaves of one node; of some the part is cut in two.
ViewData flat(std::initializer_list<int> cut) {
  ViewBuilder build(4);
  const auto s = build.state("MPI_Send");
  for (int i = 0; i < 30; ++i) {
    const auto leaf = build.node("r" + std::to_string(i), 0);
    if (std::find(cut.begin(), cut.end(), i) == cut.end())
      build.part(leaf, 0, 4, {{s, 1}});
    else
      build.part(leaf, 0, 2, {{s, 1}}).part(leaf, 2, 4, {{s, 0.5F}});
  }
  return *view_data_untrusted(build.answer());
}

TEST(Layout, ManyLowChildrenAreGroupsThatAreJustHighEnough) {
  const ViewData d = flat({7});
  const Rows r = rows_of(d, {});
  Layout l = layout(d, r, view_of(d, r, 1));  // 30 px, which is more than 8 * 3
  ASSERT_EQ(l.rects.size(), 10u);
  for (const Rect& rect : l.rects) {
    EXPECT_DOUBLE_EQ(rect.y1 - rect.y0, 3);
    EXPECT_EQ(rect.node, 0u);
    EXPECT_EQ(rect.mark, rect.first_row == 6 ? Mark::kCross : Mark::kDiagonal);
    EXPECT_EQ(rect.parts, rect.first_row == 6 ? 4u : 3u);
  }
  // 24 px: as one. And groups of four where three are too low; what is left over joins the last.
  EXPECT_THAT(told(d, layout(d, r, view_of(d, r, 0.8))), ElementsAre("/ [0,4) X"));
  l = layout(d, r, view_of(d, r, 0.9));
  ASSERT_EQ(l.rects.size(), 7u);
  EXPECT_EQ(l.rects[6].first_row, 24u);
  EXPECT_EQ(l.rects[6].last_row, 30u);
}

TEST(Layout, AsInTheArticleTheNodeIsDrawnHoweverHigh) {
  const ViewData d = flat({});
  const Rows r = rows_of(d, {});
  LayoutOptions o;
  o.most_whole = std::numeric_limits<double>::infinity();
  EXPECT_THAT(told(d, layout(d, r, view_of(d, r, 2), o)), ElementsAre("/ [0,4) /"));
  o.most_whole = 0;
  EXPECT_EQ(layout(d, r, view_of(d, r, 0.5), o).rects.size(), 5u);
  o.most_whole = std::nan("");
  EXPECT_EQ(layout(d, r, view_of(d, r, 0.5), o).rects.size(), 5u);
}

TEST(Layout, FoldedRowIsDrawnAsOneHoweverHigh) {
  const SmallView small;
  const ViewData d = small.data();
  Folding f;
  f.folded = {"/a"};
  Rows r = rows_of(d, f);
  EXPECT_THAT(told(d, layout(d, r, view_of(d, r, 50))), ElementsAre("/a [0,2) /", "/a [2,4)", "/b [0,4)"));
  f.folded = {"/"};
  r = rows_of(d, f);
  const Layout l = layout(d, r, view_of(d, r, 50));
  EXPECT_THAT(told(d, l), ElementsAre("/ [0,4) X"));
  EXPECT_EQ(l.rects[0].parts, 4u);
  EXPECT_EQ(l.rects[0].state, static_cast<std::int32_t>(small.compute));
  EXPECT_NEAR(l.rects[0].strength, 0.3 / 0.9, 1e-6);  // as proportions() has it
  EXPECT_NEAR(l.rects[0].known, 0.9, 1e-6);
}

// 12 slices of one leaf: wide, then narrow ones, wide at the end.
ViewData narrow_ones(std::vector<std::uint32_t> cuts) {
  ViewBuilder build(cuts.back());
  const auto s = build.state("MPI_Send");
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) build.part(0, cuts[i], cuts[i + 1], {{s, 1}});
  return *view_data_untrusted(build.answer());
}

TEST(Layout, NarrowPartsMergeUntilTheyAreWideEnough) {
  const auto at_one_px = [](std::vector<std::uint32_t> cuts) {
    const ViewData d = narrow_ones(std::move(cuts));
    const Rows r = rows_of(d, {});
    return told(d, layout(d, r, view_of(d, r, 10, 1)));
  };
  EXPECT_THAT(at_one_px({0, 4, 5, 6, 7, 8, 9, 10, 16}),
              ElementsAre("/ [0,4)", "/ [4,7) /", "/ [7,10) /", "/ [10,16)"));
  // What is left over joins the last.
  EXPECT_THAT(at_one_px({0, 4, 5, 6, 7, 8, 14}), ElementsAre("/ [0,4)", "/ [4,8) /", "/ [8,14)"));
  // Too few to be wide enough are one all the same; one alone is itself.
  EXPECT_THAT(at_one_px({0, 4, 5, 6, 12}), ElementsAre("/ [0,4)", "/ [4,6) /", "/ [6,12)"));
  EXPECT_THAT(at_one_px({0, 4, 5, 12}), ElementsAre("/ [0,4)", "/ [4,5)", "/ [5,12)"));
}

TEST(Layout, NarrowStretchBetweenPartsOfANodeIsTheNode) {
  ViewBuilder build(12);
  const auto s = build.state("MPI_Send");
  const auto x = build.node("x", 0), y = build.node("y", 0);
  build.part(0, 0, 5, {{s, 1}}).part(x, 5, 7, {{s, 1}}).part(y, 5, 6, {{s, 1}}).part(y, 6, 7, {{s, 1}});
  build.part(0, 7, 12, {{s, 1}});
  const ViewData d = *view_data_untrusted(build.answer());
  const Rows r = rows_of(d, {});
  EXPECT_THAT(told(d, layout(d, r, view_of(d, r, 10, 1))), ElementsAre("/ [0,5)", "/ [5,7) X", "/ [7,12)"));
  EXPECT_THAT(told(d, layout(d, r, view_of(d, r, 10, 2))),
              ElementsAre("/ [0,5)", "/x [5,7)", "/ [7,12)", "/y [5,7) /"));
}

TEST(Layout, SearchedPictureLeavesOutTheRest) {
  const SmallView small;
  const ViewData d = small.data();
  Folding f;
  f.search = "r1";
  const Rows r = rows_of(d, f);
  EXPECT_THAT(told(d, layout(d, r, view_of(d, r, 10))), ElementsAre("/a/r1 [0,2)", "/a [2,4)"));
  // Low: the visual aggregate is of what is shown, which is one part.
  EXPECT_THAT(told(d, layout(d, r, view_of(d, r, 2))), ElementsAre("/a/r1 [0,2)", "/a [2,4)"));
  f.search = "zzz";
  EXPECT_TRUE(layout(d, rows_of(d, f), {100, 100, d.range(), {0, 1}}).rects.empty());
}

TEST(Layout, ClipsToTheViewport) {
  const SmallView small;
  const ViewData d = small.data();
  const Rows r = rows_of(d, {});
  const Viewport v{100, 100, {TimeNs(500'000'000), TimeNs(1'500'000'000)}, {0.5, 1.5}};
  const Layout l = layout(d, r, v);
  EXPECT_THAT(told(d, l), ElementsAre("/a/r0 [0,2)", "/a/r1 [0,2)"));
  for (const Rect& rect : l.rects) {
    EXPECT_EQ(rect.x0, 0);
    EXPECT_EQ(rect.x1, 100);
  }
  EXPECT_DOUBLE_EQ(l.rects[0].y1, 50);
  // Beyond the data nothing is drawn.
  const Viewport wide{100, 100, {TimeNs(-4'000'000'000), TimeNs(6'000'000'000)}, {0, 4}};
  for (const Rect& rect : layout(d, r, wide).rects) {
    EXPECT_GE(rect.x0, 40);
    EXPECT_LE(rect.x1, 80.0001);
  }
  EXPECT_TRUE(
      layout(d, r, {100, 100, {TimeNs(10'000'000'000), TimeNs(20'000'000'000)}, {0, 4}}).rects.empty());
}

TEST(Layout, NothingToSee) {
  const ViewData d = SmallView().data();
  const Rows r = rows_of(d, {});
  const double nan = std::nan("");
  const double inf = std::numeric_limits<double>::infinity();
  for (const Viewport& v :
       {Viewport{0, 100, d.range(), whole(r)}, Viewport{100, -1, d.range(), whole(r)},
        Viewport{nan, 100, d.range(), whole(r)}, Viewport{inf, 100, d.range(), whole(r)},
        Viewport{100, 100, {TimeNs(5), TimeNs(5)}, whole(r)}, Viewport{100, 100, d.range(), {2, 2}},
        Viewport{100, 100, d.range(), {nan, 2}}, Viewport{}}) {
    EXPECT_TRUE(layout(d, r, v).rects.empty());
    EXPECT_EQ(x_of(v, TimeNs(77)), 0);
    EXPECT_EQ(y_of(v, 1), 0);
  }
  EXPECT_TRUE(layout(ViewData{}, Rows{}, view_of(d, r, 10)).rects.empty());
}

TEST(Layout, PixelsAndBack) {
  const Viewport v{200, 50, {TimeNs(1000), TimeNs(3000)}, {2, 12}};
  EXPECT_DOUBLE_EQ(x_of(v, TimeNs(2000)), 100);
  EXPECT_EQ(time_at(v, 100), TimeNs(2000));
  EXPECT_EQ(time_at(v, -100), TimeNs(0));
  EXPECT_DOUBLE_EQ(y_of(v, 7), 25);
  EXPECT_DOUBLE_EQ(row_units_at(v, 25), 7);
  using Limits = std::numeric_limits<std::int64_t>;
  const Viewport all{100, 100, {TimeNs(Limits::min()), TimeNs(Limits::max())}, {0, 1}};
  EXPECT_NEAR(x_of(all, TimeNs(0)), 50, 1e-9);
  EXPECT_EQ(time_at(all, 1e300), TimeNs(Limits::max()));
  EXPECT_EQ(time_at(all, -1e300), TimeNs(Limits::min()));
}

TEST(Layout, TemporalPartitionIsBarsOfTheRoot) {
  ViewBuilder build(6);
  const auto s = build.state("MPI_Send");
  build.node("x", 0);
  build.node("y", 0);
  build.raw().mutable_question()->set_partition(wire::ViewQuestion::TEMPORAL);
  build.part(0, 0, 2, {{s, 1}}).part(0, 2, 6, {{s, 0.5F}});
  const ViewData d = *view_data_untrusted(build.answer());
  EXPECT_TRUE(d.temporal);
  const Rows r = rows_of(d, {});
  EXPECT_THAT(told(d, layout(d, r, view_of(d, r, 1))), ElementsAre("/ [0,2)", "/ [2,6)"));
}

TEST(Threshold, StepsFromOneThatLooksDifferentToTheNext) {
  EXPECT_EQ(next_threshold(kUsualThreshold, 1), 4);
  EXPECT_EQ(next_threshold(kUsualThreshold, -1), 2);
  EXPECT_EQ(next_threshold(5, 1), 6);
  EXPECT_EQ(next_threshold(5, -1), 4);
  EXPECT_EQ(next_threshold(0, -1), kLeastThreshold);
  EXPECT_EQ(next_threshold(1e9, 1), kMostThreshold);
  EXPECT_EQ(next_threshold(std::nan(""), 1), kUsualThreshold);
  double at = kLeastThreshold;
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(next_threshold(at, 1) > at || at == kMostThreshold);
    at = next_threshold(at, 1);
  }
  for (int i = 0; i < 20; ++i) at = next_threshold(at, -1);
  EXPECT_EQ(at, kLeastThreshold);
}

}  // namespace layout_test
}  // namespace margay::scene
