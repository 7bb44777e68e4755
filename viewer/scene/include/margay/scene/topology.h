// Who talks to whom, as a graph: the rows of the picture (what is folded is one) and between them what they
// sent each other in the stretch that is looked at.
//
// Thread safety: values and pure functions. Cost: linear in rows and pairs, and a sort of the pairs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "margay/scene/event_sums.h"
#include "margay/scene/graph_layout.h"
#include "margay/scene/rows.h"
#include "margay/scene/view_data.h"

namespace margay::scene {

// What two have with each other: in both directions.
struct Link {
  std::uint32_t a = 0, b = 0;  // rows, a < b
  MessageMatrix::Cell there, back;
  std::uint64_t bytes() const { return there.bytes + back.bytes; }
  std::uint64_t count() const { return there.count + back.count; }
};

enum class LinkMeasure { kBytes, kMessages };
// What a node's area stands for: its resources; or what it sent and got, itself left out.
enum class TopologySize { kResources, kTraffic };

struct Topology {
  static constexpr std::size_t kMostLinks = 20'000;

  std::vector<std::uint32_t> nodes;    // of the data, one a row
  std::vector<Link> links;             // the strongest first
  std::uint64_t weaker = 0;            // links that are left out
  std::uint64_t most = 0;              // of the strongest: bytes or messages
  std::vector<std::uint64_t> traffic;  // of each row, bytes or messages with others
  std::vector<std::uint64_t> own;      // with itself
};
Topology topology_of(const MessageMatrix& matrix, const Rows& rows, LinkMeasure measure);

inline std::uint64_t strength(const Link& link, LinkMeasure measure) {
  return measure == LinkMeasure::kBytes ? link.bytes() : link.count();
}
// (0, 1]: how strong it is beside the strongest, by its logarithm, for what differs by powers of ten.
double weight_of(const Link& link, const Topology& topology, LinkMeasure measure);
// Of each row (0, 1]: the radius that makes its area what it stands for, beside the largest.
std::vector<double> radii_of(const Topology& topology, const ViewData& data, TopologySize size);

// For a layout: nodes by their paths, near the node above.
std::vector<GraphNode> graph_nodes(const Topology& topology, const ViewData& data);
std::vector<GraphEdge> graph_edges(const Topology& topology, LinkMeasure measure);

// RFC 4180, a row a link: a, b (paths), messages and bytes of each direction.
std::string links_csv(const Topology& topology, const ViewData& data);

}  // namespace margay::scene
