// Forces against the exact sum, and what a layout promises.
#include "margay/scene/graph_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace margay::scene {
namespace graph_layout_test {

double error_of(const std::vector<Place>& exact, const std::vector<Place>& found) {
  double apart = 0, all = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    apart += std::pow(exact[i].x - found[i].x, 2) + std::pow(exact[i].y - found[i].y, 2);
    all += std::pow(exact[i].x, 2) + std::pow(exact[i].y, 2);
  }
  return std::sqrt(apart / all);
}
double distance(const Place& a, const Place& b) {
  return std::hypot(a.x - b.x, a.y - b.y);
}

TEST(Push, BySquaresIsNearTheExactSum) {
  const std::uint64_t seed = 3;
  std::mt19937_64 rng(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::uniform_real_distribution<double> even(-50, 50);
  std::normal_distribution<double> cluster(20, 0.5);
  for (int kind = 0; kind < 3; ++kind) {
    std::vector<Place> places;
    std::vector<double> masses;
    for (int i = 0; i < 2000; ++i) {
      // Evenly; in two clusters; on a line.
      places.push_back(kind == 0   ? Place{even(rng), even(rng)}
                       : kind == 1 ? Place{(i % 2 == 0 ? 1 : -1) * cluster(rng), cluster(rng)}
                                   : Place{even(rng), 0});
      masses.push_back(1 + static_cast<double>(rng() % 5));
    }
    const auto exact = push_exactly(places, masses);
    EXPECT_LT(error_of(exact, push_by_squares(places, masses, 0.5)), 0.01) << kind;
    EXPECT_LT(error_of(exact, push_by_squares(places, masses, 0.9)), 0.04) << kind;
    EXPECT_LT(error_of(exact, push_by_squares(places, masses, 0)), 1e-9) << kind;
  }
}

TEST(Push, NodesAtTheSamePlaceDoNoHarm) {
  const std::vector<Place> places(50, Place{1, 2});
  const std::vector<double> masses(50, 1);
  for (const Place& f : push_by_squares(places, masses, 0.7)) EXPECT_EQ(f, Place());
  EXPECT_TRUE(push_by_squares({}, {}, 0.7).empty());
}

std::vector<GraphNode> ranks(std::size_t n) {
  std::vector<GraphNode> out;
  for (std::size_t i = 0; i < n; ++i) out.push_back({"/rank" + std::to_string(i), "/", 1});
  return out;
}
std::vector<GraphEdge> ring(std::uint32_t n) {
  std::vector<GraphEdge> out;
  for (std::uint32_t i = 0; i < n; ++i) out.push_back({i, (i + 1) % n, 1});
  return out;
}

TEST(Graph, ARingIsDrawnRound) {
  GraphLayout layout;
  layout.set(ranks(12), ring(12));
  layout.settle(2000);
  EXPECT_TRUE(layout.at_rest());
  Place middle;
  for (const Place& p : layout.places()) middle.x += p.x / 12, middle.y += p.y / 12;
  double nearest = 1e9, furthest = 0;
  for (const Place& p : layout.places()) {
    nearest = std::min(nearest, distance(p, middle));
    furthest = std::max(furthest, distance(p, middle));
  }
  EXPECT_LT(furthest / nearest, 1.3);
  // Neighbours are nearer than those across.
  EXPECT_LT(distance(layout.places()[0], layout.places()[1]),
            distance(layout.places()[0], layout.places()[6]));
}

TEST(Graph, WhoTalksMuchIsNear) {
  GraphLayout layout;
  std::vector<GraphEdge> edges;
  for (std::uint32_t i = 0; i < 10; ++i)
    for (std::uint32_t j = i + 1; j < 10; ++j) edges.push_back({i, j, (i < 5) == (j < 5) ? 1.0 : 0.02});
  layout.set(ranks(10), edges);
  layout.settle(2000);
  double within = 0, between = 0;
  for (const GraphEdge& e : edges)
    ((e.a < 5) == (e.b < 5) ? within : between) +=
        distance(layout.places()[e.a], layout.places()[e.b]) / ((e.a < 5) == (e.b < 5) ? 20 : 25);
  EXPECT_LT(2 * within, between);
}

TEST(Graph, IsTheSameEachTime) {
  GraphLayout a, b;
  for (GraphLayout* l : {&a, &b}) {
    l->set(ranks(30), ring(30));
    l->settle(100);
  }
  EXPECT_EQ(a.places(), b.places());
}

TEST(Graph, StaysWhenOnlyTheWeightsChange) {
  GraphLayout layout;
  layout.set(ranks(20), ring(20));
  for (int i = 0; i < 20; ++i) layout.warm_up(), layout.settle(3000);
  const auto before = layout.places();
  layout.set(ranks(20), ring(20));
  EXPECT_TRUE(layout.at_rest()) << "nothing is new";
  auto edges = ring(20);
  for (GraphEdge& e : edges) e.weight = 0.9;
  layout.set(ranks(20), edges);
  EXPECT_FALSE(layout.at_rest());
  layout.settle(3000);
  for (std::size_t i = 0; i < before.size(); ++i)
    EXPECT_LT(distance(before[i], layout.places()[i]), 0.3) << i;
}

TEST(Graph, WhatUnfoldsBeginsWhereItWasAndFoldsIntoItsMiddle) {
  GraphLayout layout;
  layout.set({{"/a", "/", 1}, {"/b", "/", 1}}, {{0, 1, 1}});
  layout.settle(500);
  const Place a = layout.places()[0];
  layout.set({{"/a/r0", "/a", 1}, {"/a/r1", "/a", 1}, {"/b", "/", 1}}, {{0, 2, 1}});
  EXPECT_LT(distance(layout.places()[0], a), 1);
  EXPECT_LT(distance(layout.places()[1], a), 1);
  EXPECT_NE(layout.places()[0], layout.places()[1]);
  layout.settle(500);
  const Place r0 = layout.places()[0], r1 = layout.places()[1];
  layout.set({{"/a", "/", 1}, {"/b", "/", 1}}, {{0, 1, 1}});
  EXPECT_LT(distance(layout.places()[0], {(r0.x + r1.x) / 2, (r0.y + r1.y) / 2}), 1e-9);
}

TEST(Graph, WhatIsPinnedStaysAlsoWhenItWasAway) {
  GraphLayout layout;
  layout.set(ranks(5), ring(5));
  layout.pin(2, {7, -3});
  layout.settle(500);
  EXPECT_EQ(layout.places()[2], (Place{7, -3}));
  layout.set(ranks(2), {});
  layout.set(ranks(5), ring(5));
  EXPECT_TRUE(layout.is_pinned(2));
  EXPECT_EQ(layout.places()[2], (Place{7, -3}));
  layout.let_go(2);
  layout.warm_up();
  layout.settle(500);
  EXPECT_NE(layout.places()[2], (Place{7, -3}));
}

TEST(Graph, OfManyNodesItComesToRest) {
  GraphLayout layout;
  layout.set(ranks(1000), ring(1000));
  layout.settle(1000);
  EXPECT_TRUE(layout.at_rest());
  for (const Place& p : layout.places()) ASSERT_TRUE(std::isfinite(p.x) && std::isfinite(p.y));
  layout.set({}, {});
  EXPECT_FALSE(layout.step());
}

}  // namespace graph_layout_test
}  // namespace margay::scene
