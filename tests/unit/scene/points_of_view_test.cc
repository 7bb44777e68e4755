// A picture from another point of view, and one that was zoomed into a node.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "margay/scene/event_sums.h"
#include "margay/scene/marked.h"
#include "margay/scene/navigation.h"
#include "margay/scene/rows.h"
#include "small_view.h"

namespace margay::scene {
namespace points_of_view_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Of /h/r0, /h/r1, /g/r2, /g/r3 the even and the odd ones, a part each.
struct Turned {
  support::ViewBuilder build{4};
  std::uint32_t even, r0, r2, odd, r1, r3;

  Turned() {
    const std::uint32_t state = build.state("Compute", wire::FAMILY_COMPUTE);
    even = build.node("even", 0), r0 = build.node("r0", even), r2 = build.node("r2", even);
    odd = build.node("odd", 0), r1 = build.node("r1", odd), r3 = build.node("r3", odd);
    build.part(even, 0, 4, {{state, 1}}).part(odd, 0, 4, {{state, 0.5F}});
    for (const auto& [node, resource] : {std::pair(r0, "/h/r0"), {r1, "/h/r1"}, {r2, "/g/r2"}, {r3, "/g/r3"}})
      build.raw().mutable_nodes(static_cast<int>(node))->set_resource(resource);
    build.raw().mutable_question()->mutable_view()->set_levels("rank mod 2");
  }
  ViewData data() const { return *view_data_untrusted(build.answer()); }
};

ViewData usual() {
  support::ViewBuilder build(4);
  const std::uint32_t state = build.state("Compute", wire::FAMILY_COMPUTE);
  const std::uint32_t g = build.node("g", 0);
  build.node("r2", g), build.node("r3", g);
  const std::uint32_t h = build.node("h", 0);
  build.node("r0", h), build.node("r1", h);
  build.part(0, 0, 4, {{state, 1}});
  return *view_data_untrusted(build.answer());
}

TEST(PointOfView, IsPartOfAQuestionAndOfWhatIsSaid) {
  Subject s;
  EXPECT_FALSE(question_of(s, 1, false).has_view());
  s.view = {"group/host", "io: x\n"};
  const wire::ViewQuestion q = question_of(s, 1, false);
  EXPECT_EQ(q.view().levels(), "group/host");
  EXPECT_EQ(q.view().groups(), "io: x\n");
  EXPECT_EQ(subject_of(q).view, s.view);
  EXPECT_THAT(text_of(s, TimeNs()), HasSubstr("by group/host"));
}

TEST(PointOfView, WhatIsNamedAsUsualIsFoundInAnother) {
  const Turned turned;
  const ViewData d = turned.data();
  EXPECT_THAT(nodes_named(d, "/odd"), ElementsAre(turned.odd));
  EXPECT_THAT(nodes_named(d, "/odd/r3"), ElementsAre(turned.r3));
  EXPECT_THAT(nodes_named(d, "/g/r3"), ElementsAre(turned.r3));
  EXPECT_THAT(nodes_named(d, "/g/"), ElementsAre(turned.r2, turned.r3));
  EXPECT_THAT(nodes_named(d, "/"), ElementsAre(0u));
  EXPECT_THAT(nodes_named(d, "/g/r"), IsEmpty());
  EXPECT_THAT(nodes_named(d, "/f"), IsEmpty());
  EXPECT_EQ(node_over(d, nodes_named(d, "/g")), 0);
  EXPECT_EQ(node_over(d, std::vector{turned.r1, turned.r3}), turned.odd);
  EXPECT_EQ(node_over(d, {}), -1);
  EXPECT_EQ(d.name_of(turned.r3), "/g/r3");
  EXPECT_EQ(d.name_of(turned.odd), "/odd");
}

TEST(PointOfView, AResourceIsALeafAlone) {
  Turned turned;
  turned.build.raw().mutable_nodes(static_cast<int>(turned.even))->set_resource("/h");
  turned.build.raw().mutable_nodes(0)->set_resource("/");
  const ViewData d = turned.data();
  EXPECT_EQ(d.nodes[turned.even].resource, "");
  EXPECT_EQ(d.by_resource.size(), 4u);
  EXPECT_THAT(nodes_named(d, "/h"), ElementsAre(turned.r0, turned.r1));
}

TEST(PointOfView, ResourcesOfOneNodeAreThatNode) {
  Turned turned;
  for (const auto& [node, resource] :
       {std::pair(turned.r0, "/x/r0"), {turned.r2, "/x/r2"}, {turned.r1, "/x2/r1"}, {turned.r3, "/x2/r3"}})
    turned.build.raw().mutable_nodes(static_cast<int>(node))->set_resource(resource);
  const ViewData d = turned.data();
  EXPECT_THAT(nodes_named(d, "/x"), ElementsAre(turned.even));
  EXPECT_THAT(nodes_named(d, "/x2"), ElementsAre(turned.odd));
}

TEST(PointOfView, ANodeIsTheSameWhereItHasTheSameResources) {
  const ViewData before = usual(), after = Turned().data();
  const Turned turned;
  const auto at = [&](const char* path) { return static_cast<std::uint32_t>(node_at(before, path)); };
  EXPECT_EQ(same_node(before, at("/g/r3"), after), turned.r3);
  EXPECT_EQ(same_node(before, at("/"), after), 0);
  EXPECT_EQ(same_node(before, at("/g"), after), -1);
  EXPECT_EQ(same_node(after, turned.r1, before), at("/h/r1"));
  EXPECT_EQ(same_node(after, turned.odd, before), -1);
  EXPECT_EQ(same_node(after, turned.odd, after), turned.odd);
  EXPECT_EQ(same_node(before, at("/g"), before), at("/g"));
}

// Pairs have their usual paths, blocks those of the view.
TEST(PointOfView, MessagesLieOnTheRowsOfTheirResources) {
  const Turned turned;
  const ViewData d = turned.data();
  const Rows rows = rows_of(d, {});
  wire::EventsAnswer a;
  a.mutable_question()->set_kind(wire::EventsQuestion::PAIRS);
  a.mutable_question()->set_to_ns(1);
  for (const char* path : {"/h/r0", "/g/r3", "/odd", "/even/r2"}) a.add_resources(path);
  wire::EventsSum& pair = *a.add_sums();
  pair.set_from(0), pair.set_to(1), pair.set_count(3), pair.set_bytes(30);
  wire::EventsBlocks& blocks = *a.add_blocks();
  blocks.add_from(2), blocks.add_to(3), blocks.add_pairs(2), blocks.add_count(3), blocks.add_bytes(30);
  blocks.add_timed(0), blocks.add_total_ns(0);
  const auto sums = event_sums_untrusted(a);
  ASSERT_TRUE(sums) << sums.error().message;
  const MessageMatrix matrix = matrix_of(*sums, d, rows);
  EXPECT_EQ(matrix.unseen, 0u);
  const auto row = [&](std::uint32_t node) { return static_cast<std::uint32_t>(row_of(rows, node)); };
  ASSERT_EQ(matrix.cells.size(), 1u);
  EXPECT_EQ(matrix.cells.begin()->first, std::pair(row(turned.r0), row(turned.r3)));
  const BlockMatrix of_blocks = block_matrix_of(*sums, sums->blocks[0], d, rows);
  ASSERT_EQ(of_blocks.blocks.size(), 1u);
  EXPECT_EQ(of_blocks.blocks[0].sender, turned.odd);
  EXPECT_EQ(of_blocks.blocks[0].receiver, turned.r2);
}

TEST(PointOfView, AMarkedResourceStaysMarked) {
  const ViewData before = usual();
  const MarkedArea area{before.range(), {"/g/r2", "/h"}};
  const Turned turned;
  EXPECT_THAT(place_of(turned.data(), area).nodes, ElementsAre(turned.r0, turned.r2, turned.r1));
}

// Of the usual view, in a picture of another: what it has is all over the tree.
TEST(ZoomedIntoANode, OfAnotherViewTheRootIsEverything) {
  Turned turned;
  turned.build.raw().mutable_question()->set_node("/g");
  EXPECT_EQ(turned.data().nodes[0].path, "/");
  EXPECT_EQ(turned.data().nodes[turned.r3].path, "/odd/r3");
}

}  // namespace points_of_view_test
}  // namespace margay::scene
