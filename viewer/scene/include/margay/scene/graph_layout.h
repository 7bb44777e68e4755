// Where the nodes of a graph are drawn: a force-directed layout. Pure and deterministic.
//
// All nodes push each other away with m_i m_j / d, edges pull their ends together with w d^2, and all are
// drawn to the middle (Fruchterman and Reingold: Graph Drawing by Force-directed Placement, 1991). What is
// far away pushes as one, from its middle: a square of nodes whose side is less than `theta` times its
// distance (Barnes and Hut: A hierarchical O(N log N) force-calculation algorithm, 1986).
//
// The layout is kept: nodes that stay, stay where they are when the graph changes (their weights, other
// edges), and move from there; a node that is new begins near those it belongs to. One that is pinned does
// not move.
//
// UNITS. Lengths of the layout: two nodes of weight 1 that an edge of weight 1 joins rest about 1 apart.
// Thread safety: none; a value. Cost: of a step O((n + edges) log n); memory O(n + edges).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace margay::scene {

struct Place {
  double x = 0, y = 0;
  bool operator==(const Place&) const = default;
};

// What pushes each node away from all others, to be exact and by squares; mass of each > 0. Of nodes at the
// same place the pair is left out. Errors of push_by_squares(), as the root of the mean square over that of
// the forces: below 1 % for theta 0.5, 4 % for 0.9 (graph_layout_test).
std::vector<Place> push_exactly(std::span<const Place> places, std::span<const double> masses);
std::vector<Place> push_by_squares(std::span<const Place> places, std::span<const double> masses,
                                   double theta);

struct GraphEdge {
  std::uint32_t a = 0, b = 0;  // nodes, not the same
  double weight = 1;           // (0, 1]
  bool operator==(const GraphEdge&) const = default;
};
struct GraphNode {
  std::string name;   // by which it is known again
  std::string under;  // a name it belongs to, near which it begins; "": none
  double mass = 1;    // >= 1
};

class GraphLayout {
 public:
  struct Options {
    double theta = 0.9;
    double middle = 0.02;     // how much the middle pulls, of a distance of 1
    double first_step = 0.5;  // the longest a node moves in a step, at first, of the layout's width
    double cooling = 0.97;    // of it, what is left a step later
    double rest = 0.002;      // when a step moves nodes by less than so much of the width, they are at rest
  };
  explicit GraphLayout(Options options) : options_(options) {}
  GraphLayout() : GraphLayout(Options()) {}

  // The graph is another. Positions of nodes that were there stay; they move again, the more the more of the
  // nodes are new.
  void set(std::vector<GraphNode> nodes, std::vector<GraphEdge> edges);
  // False: they are at rest, and nothing was moved.
  bool step();
  // Until they are at rest, or so many steps.
  void settle(std::size_t most);
  bool at_rest() const { return heat_ <= options_.rest; }
  void warm_up();  // they move again, a little

  const std::vector<GraphNode>& nodes() const { return nodes_; }
  const std::vector<GraphEdge>& edges() const { return edges_; }
  const std::vector<Place>& places() const { return places_; }
  // Put there, and not moved until it is let go; also when it comes again after it was not in the graph.
  void pin(std::uint32_t node, Place place);
  void let_go(std::uint32_t node);
  bool is_pinned(std::uint32_t node) const { return pinned_[node] != 0; }
  // At most so many pins are kept.
  static constexpr std::size_t kMostPins = 4096;

 private:
  double width() const;

  Options options_;
  std::vector<GraphNode> nodes_;
  std::vector<GraphEdge> edges_;
  std::vector<Place> places_;
  std::vector<double> masses_;
  std::vector<std::uint8_t> pinned_;
  std::map<std::string, Place> pins_;
  double heat_ = 0;  // how far a node may move, of the width
};

}  // namespace margay::scene
