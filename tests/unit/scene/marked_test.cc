#include "margay/scene/marked.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "small_view.h"

namespace margay::scene {
namespace marked_test {

using testing::ElementsAre;
using testing::HasSubstr;

struct Small {
  SmallView small;
  ViewData d = small.data();
  Rows rows = rows_of(d, {});
  MarkedArea marked(std::size_t first_row, std::size_t last_row, std::size_t first = 1,
                    std::size_t last = 3) {
    const auto area = marked_area(d, rows, first_row, last_row, first, last);
    EXPECT_TRUE(area) << area.error().message;
    return area.value_or(MarkedArea{});
  }
};

TEST(MarkedArea, RowsOfANodeWithoutOthersAreThatNode) {
  Small s;
  EXPECT_THAT(s.marked(0, 1).nodes, ElementsAre("/a/r0"));
  EXPECT_THAT(s.marked(0, 2).nodes, ElementsAre("/a"));
  EXPECT_THAT(s.marked(1, 3).nodes, ElementsAre("/a/r1", "/b/r2"));
  EXPECT_THAT(s.marked(1, 4).nodes, ElementsAre("/a/r1", "/b"));
  EXPECT_THAT(s.marked(0, 99).nodes, ElementsAre("/"));
  EXPECT_EQ(s.marked(0, 1).time, (TimeRange{TimeNs(1'000'000'000), TimeNs(3'000'000'000)}));
}

// Then the node has resources that nobody marked.
TEST(MarkedArea, WhatASearchLeavesOutIsNoPartOfIt) {
  Small s;
  Folding folding;
  folding.search = "r1";
  s.rows = rows_of(s.d, folding);
  ASSERT_EQ(s.rows.rows.size(), 1u);
  EXPECT_THAT(s.marked(0, 1).nodes, ElementsAre("/a/r1"));
  folding = {};
  folding.folded = {"/a"};
  s.rows = rows_of(s.d, folding);
  EXPECT_THAT(s.marked(0, 1).nodes, ElementsAre("/a")) << "a folded row is all of it";
}

TEST(MarkedArea, OfNothingOrTooMuchIsASentence) {
  Small s;
  for (const auto& [row, last, first, end] :
       {std::tuple(1, 1, 0, 4), std::tuple(4, 9, 0, 4), std::tuple(0, 4, 2, 2)})
    EXPECT_FALSE(marked_area(s.d, s.rows, static_cast<std::size_t>(row), static_cast<std::size_t>(last),
                             static_cast<std::size_t>(first), static_cast<std::size_t>(end)));
  EXPECT_FALSE(marked_area(ViewData{}, Rows{}, 0, 1, 0, 1));
  support::ViewBuilder build(2);
  const auto state = build.state("Compute", wire::FAMILY_COMPUTE);
  for (int r = 0; r < 200; ++r) build.part(build.node("r" + std::to_string(r), 0), 0, 2, {{state, 1}});
  const ViewData wide = *view_data_untrusted(build.answer());
  const auto many = marked_area(wide, rows_of(wide, {}), 1, 200, 0, 2);
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().code, ErrorCode::kLimit);
  EXPECT_THAT(many.error().message, HasSubstr("199 resources are too many"));
  EXPECT_TRUE(marked_area(wide, rows_of(wide, {}), 0, 200, 0, 2)) << "all of them are one node";
}

TEST(MarkedArea, IsFoundAgainInAnotherPicture) {
  Small s;
  const MarkedArea area = s.marked(1, 4);
  const Region here = place_of(s.d, area);
  EXPECT_THAT(here.nodes, ElementsAre(s.small.r1, s.small.b));
  EXPECT_EQ(std::pair(here.first, here.last), std::pair(std::size_t{1}, std::size_t{3}));
  // Of longer slices those that overlap, and of what is below it all there is.
  support::ViewBuilder build(2, 2'000'000'000);
  build.raw().mutable_question()->set_node("/b");
  const auto state = build.state("Compute", wire::FAMILY_COMPUTE);
  build.part(build.node("r2", 0), 0, 2, {{state, 1}});
  ViewData below = *view_data_untrusted(build.answer());
  below.nodes[0].path = "/b", below.nodes[1].path = "/b/r2";
  const Region there = place_of(below, area);
  EXPECT_THAT(there.nodes, ElementsAre(0u));
  EXPECT_EQ(std::pair(there.first, there.last), std::pair(std::size_t{0}, std::size_t{2}));
  below.nodes[0].path = "/c", below.nodes[1].path = "/c/r2";
  EXPECT_TRUE(place_of(below, area).nodes.empty());
  MarkedArea later = area;
  later.time = {TimeNs(4'000'000'000), TimeNs(5'000'000'000)};
  EXPECT_TRUE(place_of(s.d, later).nodes.empty());
  EXPECT_TRUE(place_of(ViewData{}, area).nodes.empty());
}

TEST(MarkedArea, GrowsToWhatIsBetween) {
  Small s;
  RowsAndSlices of = rows_of(s.d, s.rows, s.marked(0, 1, 0, 1));
  of.add({3, 4, 2, 3});
  EXPECT_EQ(std::tuple(of.first_row, of.last_row, of.first, of.last),
            std::tuple(std::size_t{0}, std::size_t{4}, std::size_t{0}, std::size_t{3}));
}

TEST(MarkedArea, IsToldInAFewWords) {
  EXPECT_EQ(who_text({{}, {"/"}}), "everything");
  EXPECT_EQ(who_text({{}, {"/a/r1"}}), "/a/r1");
  EXPECT_EQ(who_text({{}, {"/a/r1", "/b"}}), "/a/r1 and 1 other");
  EXPECT_EQ(who_text({{}, {"/a/r1", "/b", "/c"}}), "/a/r1 and 2 others");
  EXPECT_EQ(above_all({"/a/b/r1", "/a/b/r2"}), "/a/b");
  EXPECT_EQ(above_all({"/a/b", "/a/bc"}), "/a");
  EXPECT_EQ(above_all({"/a", "/b"}), "/");
}

// Whatever is marked: the sum over its leaves, one by one.
TEST(MarkedArea, ItsStatisticsAreThoseOfEachOfItsLeaves) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 rng(seed);
    const ViewData d =
        *view_data_untrusted(support::random_view(rng, {1 + rng() % 25, 1 + rng() % 15, 6, 4, 0.8}));
    const Rows rows = rows_of(d, {});
    const std::size_t row = rng() % rows.rows.size(), slice = rng() % d.slices();
    const std::size_t last_row = row + 1 + rng() % (rows.rows.size() - row),
                      last = slice + 1 + rng() % (d.slices() - slice);
    const auto area = marked_area(d, rows, row, last_row, slice, last);
    ASSERT_TRUE(area);
    const Region place = place_of(d, *area);
    EXPECT_EQ(std::pair(place.first, place.last), std::pair(slice, last));
    const Statistics s = statistics(d, place);
    std::vector<double> shares(d.states.size());
    double gain = 0, loss = 0, leaves = 0;
    for (std::size_t r = row; r < last_row; ++r) {
      const Node& n = d.nodes[rows.rows[r].node];
      const Proportions one = proportions(d, rows.rows[r].node, slice, last);
      for (std::size_t state = 0; state < shares.size(); ++state)
        shares[state] += one.shares[state] * n.leaf_count;
      gain += one.gain, loss += one.loss, leaves += n.leaf_count;
    }
    EXPECT_EQ(s.leaves, leaves);
    EXPECT_NEAR(s.gain, gain, 1e-6 * (1 + std::abs(gain)));
    EXPECT_NEAR(s.loss, loss, 1e-6 * (1 + std::abs(loss)));
    for (const StateRow& of : s.rows) {
      EXPECT_NEAR(of.share, shares[of.state] / leaves, 1e-6);
      EXPECT_LE(of.least, of.share + 1e-9);
      EXPECT_GE(of.most, of.share - 1e-9);
      EXPECT_LE(of.mode_leaves, s.leaves);
    }
  }
}

}  // namespace marked_test
}  // namespace margay::scene
