// Who talks to whom, worked out by hand.
#include "margay/scene/topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "small_view.h"

namespace margay::scene {
namespace topology_test {

using testing::ElementsAre;

// /a/r0, /a/r1, /b/r2, /b/r3.
struct Small {
  ViewData data = SmallView().data();
  Rows rows = rows_of(data, {});
  MessageMatrix matrix;
  Small() {
    matrix.size = rows.rows.size();
    const auto add = [&](std::uint32_t from, std::uint32_t to, std::uint64_t count, std::uint64_t bytes) {
      matrix.cells[{from, to}] = {count, bytes, 0, 0};
    };
    add(0, 1, 10, 4000), add(1, 0, 5, 100), add(1, 2, 1000, 64), add(3, 3, 7, 7);
  }
};

TEST(Topology, LinksAreInBothDirectionsTheStrongestFirst) {
  Small s;
  const Topology by_bytes = topology_of(s.matrix, s.rows, LinkMeasure::kBytes);
  ASSERT_EQ(by_bytes.links.size(), 2u);
  EXPECT_EQ(by_bytes.links[0].bytes(), 4100u);
  EXPECT_EQ(by_bytes.links[0].there.count, 10u);
  EXPECT_EQ(by_bytes.links[0].back.count, 5u);
  EXPECT_EQ(by_bytes.most, 4100u);
  EXPECT_THAT(by_bytes.traffic, ElementsAre(4100, 4164, 64, 0));
  EXPECT_THAT(by_bytes.own, ElementsAre(0, 0, 0, 7));
  const Topology by_messages = topology_of(s.matrix, s.rows, LinkMeasure::kMessages);
  EXPECT_EQ(by_messages.links[0].a, 1u);
  EXPECT_EQ(by_messages.links[0].count(), 1000u);
  EXPECT_DOUBLE_EQ(weight_of(by_messages.links[0], by_messages, LinkMeasure::kMessages), 1);
  EXPECT_NEAR(weight_of(by_messages.links[1], by_messages, LinkMeasure::kMessages),
              std::log(16) / std::log(1001), 1e-9);
}

TEST(Topology, AreasAreResourcesOrTraffic) {
  Small s;
  const Topology t = topology_of(s.matrix, s.rows, LinkMeasure::kBytes);
  EXPECT_THAT(radii_of(t, s.data, TopologySize::kResources), ElementsAre(1, 1, 1, 1));
  const auto traffic = radii_of(t, s.data, TopologySize::kTraffic);
  EXPECT_DOUBLE_EQ(traffic[1], 1);
  EXPECT_NEAR(traffic[0], std::sqrt(4100.0 / 4164), 1e-9);
  EXPECT_GT(traffic[3], 0) << "it is seen though it says nothing";
}

TEST(Topology, NodesAreKnownByTheirPathsAndBeginNearTheOneAbove) {
  Small s;
  const Topology t = topology_of(s.matrix, s.rows, LinkMeasure::kBytes);
  const auto nodes = graph_nodes(t, s.data);
  ASSERT_EQ(nodes.size(), 4u);
  EXPECT_EQ(nodes[2].name, "/b/r2");
  EXPECT_EQ(nodes[2].under, "/b");
  const auto edges = graph_edges(t, LinkMeasure::kBytes);
  ASSERT_EQ(edges.size(), 2u);
  EXPECT_EQ(edges[0], (GraphEdge{0, 1, 1}));
}

TEST(Topology, OfAnotherPicturesMatrixThereIsNone) {
  Small s;
  s.matrix.size = 3;
  EXPECT_TRUE(topology_of(s.matrix, s.rows, LinkMeasure::kBytes).nodes.empty());
}

TEST(Topology, OfVeryManyLinksTheStrongestAreDrawn) {
  Small s;
  MessageMatrix many;
  Rows rows;
  rows.rows.resize(300);
  many.size = 300;
  for (std::uint32_t i = 0; i < 300; ++i)
    for (std::uint32_t j = i + 1; j < 300; ++j) many.cells[{i, j}] = {1, i + j, 0, 0};
  const Topology t = topology_of(many, rows, LinkMeasure::kBytes);
  EXPECT_EQ(t.links.size(), Topology::kMostLinks);
  EXPECT_EQ(t.weaker, 300u * 299 / 2 - Topology::kMostLinks);
  EXPECT_EQ(t.links.front().bytes(), 298u + 299u);
}

TEST(Topology, IsATable) {
  Small s;
  EXPECT_EQ(links_csv(topology_of(s.matrix, s.rows, LinkMeasure::kBytes), s.data),
            "a,b,messages a to b,bytes a to b,messages b to a,bytes b to a\r\n"
            "/a/r0,/a/r1,10,4000,5,100\r\n/a/r1,/b/r2,1000,64,0,0\r\n");
}

}  // namespace topology_test
}  // namespace margay::scene
