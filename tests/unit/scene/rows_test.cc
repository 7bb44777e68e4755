#include "margay/scene/rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "small_view.h"

namespace margay::scene {
namespace rows_test {

using testing::ElementsAre;

std::vector<std::string> paths(const ViewData& d, const std::vector<Row>& rows) {
  std::vector<std::string> out;
  for (const Row& r : rows) out.push_back(d.nodes[r.node].path);
  return out;
}

Folding folded(std::set<std::string, std::less<>> paths, RowUnit unit = RowUnit::kRow) {
  Folding f;
  f.folded = std::move(paths);
  f.unit = unit;
  return f;
}

Folding searched(std::string text) {
  Folding f;
  f.search = std::move(text);
  return f;
}

TEST(Rows, LeavesAreRowsAndNodesAboveAreSpans) {
  const SmallView small;
  const ViewData d = small.data();
  const Rows r = rows_of(d, {});
  EXPECT_THAT(paths(d, r.rows), ElementsAre("/a/r0", "/a/r1", "/b/r2", "/b/r3"));
  EXPECT_THAT(paths(d, r.spans), ElementsAre("/", "/a", "/b"));
  EXPECT_EQ(r.height, 4);
  EXPECT_EQ(r.rows[2].y, 2);
  EXPECT_EQ(r.rows[2].depth, 2u);
  EXPECT_FALSE(r.rows[2].folded);
  EXPECT_FALSE(r.rows[2].match);
  EXPECT_EQ(r.spans[0].height, 4);
  EXPECT_EQ(r.spans[2].y, 2);
  EXPECT_EQ(r.spans[2].height, 2);
  EXPECT_THAT(r.first_row, ElementsAre(0, 0, 0, 1, 2, 2, 3));
  EXPECT_THAT(r.last_row, ElementsAre(4, 2, 1, 2, 4, 3, 4));
  EXPECT_THAT(r.is_row, ElementsAre(0, 0, 1, 1, 0, 1, 1));
}

TEST(Rows, FoldedNodeIsOneRow) {
  const SmallView small;
  const ViewData d = small.data();
  const Rows r = rows_of(d, folded({"/a", "/nowhere", "/b/r2"}));
  EXPECT_THAT(paths(d, r.rows), ElementsAre("/a", "/b/r2", "/b/r3"));
  EXPECT_TRUE(r.rows[0].folded);
  EXPECT_EQ(r.rows[0].height, 1);
  EXPECT_FALSE(r.rows[1].folded);  // leaves do not fold
  EXPECT_THAT(r.first_row, ElementsAre(0, 0, 0, 0, 1, 1, 2));
  EXPECT_THAT(r.last_row, ElementsAre(3, 1, 1, 1, 3, 2, 3));
  EXPECT_EQ(row_of(r, small.r1), 0);
  const Rows by_leaf = rows_of(d, folded({"/a"}, RowUnit::kLeaf));
  EXPECT_EQ(by_leaf.rows[0].height, 2);
  EXPECT_EQ(by_leaf.rows[1].y, 2);
  EXPECT_EQ(by_leaf.height, 4);
}

TEST(Rows, FoldsByDepth) {
  const ViewData d = SmallView().data();
  Folding f;
  f.most_depth = 1;
  EXPECT_THAT(paths(d, rows_of(d, f).rows), ElementsAre("/a", "/b"));
  f.most_depth = 0;
  EXPECT_THAT(paths(d, rows_of(d, f).rows), ElementsAre("/"));
}

TEST(Rows, SearchLeavesWhatMatchesAndWhatIsAboveAndBelow) {
  const SmallView small;
  const ViewData d = small.data();
  const Rows r2 = rows_of(d, searched("R2"));
  EXPECT_THAT(paths(d, r2.rows), ElementsAre("/b/r2"));
  EXPECT_THAT(paths(d, r2.spans), ElementsAre("/", "/b"));
  EXPECT_TRUE(r2.rows[0].match);
  EXPECT_TRUE(r2.spans[1].match);
  EXPECT_FALSE(r2.shows(small.r3));
  EXPECT_FALSE(r2.shows(small.a));
  EXPECT_EQ(row_of(r2, small.r3), -1);
  EXPECT_EQ(row_of(r2, 99), -1);
  const Rows b = rows_of(d, searched("b"));
  EXPECT_THAT(paths(d, b.rows), ElementsAre("/b/r2", "/b/r3"));
  EXPECT_FALSE(b.rows[0].match);  // shown only because it is below
  EXPECT_THAT(paths(d, rows_of(d, searched("a/r")).rows), ElementsAre("/a/r0", "/a/r1"));
  const Rows none = rows_of(d, searched("zzz"));
  EXPECT_TRUE(none.rows.empty());
  EXPECT_TRUE(none.spans.empty());
  EXPECT_EQ(none.height, 0);
}

TEST(Rows, SearchWithinAFold) {
  const ViewData d = SmallView().data();
  Folding f = folded({"/a"});
  f.search = "r1";
  const Rows r = rows_of(d, f);
  EXPECT_THAT(paths(d, r.rows), ElementsAre("/a"));
  EXPECT_TRUE(r.rows[0].match);
}

TEST(Rows, RowAt) {
  const ViewData d = SmallView().data();
  const Rows r = rows_of(d, {});
  EXPECT_EQ(row_at(r, -5), 0);
  EXPECT_EQ(row_at(r, 0), 0);
  EXPECT_EQ(row_at(r, 0.99), 0);
  EXPECT_EQ(row_at(r, 1), 1);
  EXPECT_EQ(row_at(r, 3.5), 3);
  EXPECT_EQ(row_at(r, 99), 3);
  EXPECT_EQ(row_at(Rows{}, 0), -1);
}

TEST(Rows, Stepping) {
  const ViewData d = SmallView().data();
  const Rows r = rows_of(d, {});
  EXPECT_EQ(next_row(r, 1, 1), 2);
  EXPECT_EQ(next_row(r, 1, -1), 0);
  EXPECT_EQ(next_row(r, 1, std::numeric_limits<std::int64_t>::max()), 3);
  EXPECT_EQ(next_row(r, 1, std::numeric_limits<std::int64_t>::min()), 0);
  EXPECT_EQ(next_row(r, -1, 1), 0);
  EXPECT_EQ(next_row(r, -1, -1), 3);
  EXPECT_EQ(next_row(r, 9, 1), 0);
  EXPECT_EQ(next_row(Rows{}, 0, 1), -1);
}

TEST(Rows, NextMatchGoesRoundTheEnd) {
  support::ViewBuilder build(1);
  const auto host = build.node("host", 0);
  for (const char* name : {"x", "y", "x", "y"}) build.node(name, host);
  build.part(0, 0, 1, {});
  const ViewData d = *view_data_untrusted(build.answer());
  Folding f = searched("host");  // all are shown, none of the leaves is meant
  EXPECT_EQ(next_match(rows_of(d, f), 0, true), -1);
  Rows r = rows_of(d, {});
  r.rows[1].match = r.rows[3].match = true;
  EXPECT_EQ(next_match(r, -1, true), 1);
  EXPECT_EQ(next_match(r, 1, true), 3);
  EXPECT_EQ(next_match(r, 3, true), 1);
  EXPECT_EQ(next_match(r, 1, false), 3);
  EXPECT_EQ(next_match(r, -1, false), 3);
  EXPECT_EQ(next_match(r, 2, false), 1);
  EXPECT_EQ(next_match(Rows{}, 0, true), -1);
}

TEST(Rows, Paths) {
  const SmallView small;
  const ViewData d = small.data();
  EXPECT_THAT(path_to(d, small.r3), ElementsAre(0, small.b, small.r3));
  EXPECT_THAT(path_to(d, 0), ElementsAre(0));
  EXPECT_TRUE(path_to(d, 99).empty());
  for (std::uint32_t n = 0; n < d.nodes.size(); ++n) EXPECT_EQ(node_at(d, d.nodes[n].path), n);
  EXPECT_EQ(node_at(d, ""), 0);
  EXPECT_EQ(node_at(d, "/b/"), small.b);
  EXPECT_EQ(node_at(d, "/bb"), -1);
  EXPECT_EQ(node_at(d, "/b/r2/x"), -1);
  EXPECT_EQ(node_at(d, "b"), -1);
  EXPECT_EQ(node_at(ViewData{}, "/"), -1);
}

TEST(Rows, PathsOfASubtreeAndOfNamesWithSlashes) {
  support::ViewBuilder build(1);
  build.node("x", 0);
  build.node("x/y", 0);
  build.raw().mutable_question()->set_node("node7");
  build.part(0, 0, 1, {});
  const ViewData d = *view_data_untrusted(build.answer());
  EXPECT_EQ(d.nodes[1].path, "/node7/x");
  EXPECT_EQ(node_at(d, "/node7"), 0);
  EXPECT_EQ(node_at(d, "/node7/x"), 1);
  EXPECT_EQ(node_at(d, "/"), -1);
}

TEST(Rows, ToggleFoldsAndUnfolds) {
  const SmallView small;
  const ViewData d = small.data();
  Folding f;
  toggle(f, d, small.a);
  EXPECT_THAT(f.folded, ElementsAre("/a"));
  toggle(f, d, small.r0);
  toggle(f, d, 99);
  EXPECT_THAT(f.folded, ElementsAre("/a"));
  toggle(f, d, small.a);
  EXPECT_TRUE(f.folded.empty());
}

TEST(Rows, ToggleUnfoldsOneOfAFoldedDepth) {
  support::ViewBuilder build(1);
  for (const char* rack : {"k0", "k1"}) {
    const auto k = build.node(rack, 0);
    for (const char* host : {"h0", "h1"}) {
      const auto h = build.node(host, k);
      build.node("r0", h);
      build.node("r1", h);
    }
  }
  build.part(0, 0, 1, {});
  const ViewData d = *view_data_untrusted(build.answer());
  Folding f;
  f.most_depth = 1;
  toggle(f, d, static_cast<std::uint32_t>(node_at(d, "/k0")));
  EXPECT_THAT(paths(d, rows_of(d, f).rows), ElementsAre("/k0/h0", "/k0/h1", "/k1"));
  toggle(f, d, static_cast<std::uint32_t>(node_at(d, "/k0/h1")));
  EXPECT_THAT(paths(d, rows_of(d, f).rows), ElementsAre("/k0/h0", "/k0/h1/r0", "/k0/h1/r1", "/k1"));
}

TEST(Scrolling, StaysWithinTheRows) {
  const ViewData d = SmallView().data();
  const Rows r = rows_of(d, {});
  const double nan = std::nan("");
  EXPECT_EQ(whole(r), (Scroll{0, 4}));
  EXPECT_EQ(within(r, {1, 2}), (Scroll{1, 2}));
  EXPECT_EQ(within(r, {-3, -1}), (Scroll{0, 2}));
  EXPECT_EQ(within(r, {3, 5}), (Scroll{2, 4}));
  EXPECT_EQ(within(r, {-9, 9}), (Scroll{0, 4}));
  EXPECT_EQ(within(r, {2, 2}), (Scroll{0, 4}));
  EXPECT_EQ(within(r, {nan, 2}), (Scroll{0, 4}));
  EXPECT_EQ(within(Rows{}, {1, 2}), (Scroll{0, 0}));
}

TEST(Scrolling, ShowsANodeWithTheLeastMovement) {
  const SmallView small;
  const ViewData d = small.data();
  const Rows r = rows_of(d, {});
  EXPECT_EQ(showing(r, {0, 2}, small.r1), (Scroll{0, 2}));
  EXPECT_EQ(showing(r, {0, 2}, small.r2), (Scroll{1, 3}));
  EXPECT_EQ(showing(r, {2, 4}, small.r0), (Scroll{0, 2}));
  EXPECT_EQ(showing(r, {0, 1}, small.b), (Scroll{2, 3}));  // its upper end
  EXPECT_EQ(showing(r, {0, 1}, 99), (Scroll{0, 1}));
}

TEST(Scrolling, ZoomsRoundAPoint) {
  const ViewData d = SmallView().data();
  const Rows r = rows_of(d, {});
  EXPECT_EQ(zoomed(r, {0, 4}, 0.5, 2), (Scroll{1, 3}));
  EXPECT_EQ(zoomed(r, {0, 4}, 0.5, 0), (Scroll{0, 2}));
  EXPECT_EQ(zoomed(r, {1, 3}, 4, 2), (Scroll{0, 4}));
  EXPECT_EQ(zoomed(r, {0, 4}, 0.01, 2), (Scroll{1.5, 2.5}));  // one unit at least
  EXPECT_EQ(zoomed(r, {1, 3}, 0, 2), (Scroll{1, 3}));
  EXPECT_EQ(zoomed(r, {1, 3}, std::nan(""), 2), (Scroll{1, 3}));
}

}  // namespace rows_test
}  // namespace margay::scene
