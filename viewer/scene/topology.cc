#include "margay/scene/topology.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace margay::scene {
namespace {

constexpr double kLeastWeight = 0.05;
constexpr double kLeastRadius = 0.15;

void add(MessageMatrix::Cell& to, const MessageMatrix::Cell& c) {
  to.count += c.count, to.bytes += c.bytes, to.total += c.total, to.timed += c.timed;
}

}  // namespace

Topology topology_of(const MessageMatrix& matrix, const Rows& rows, LinkMeasure measure) {
  Topology out;
  if (matrix.size != rows.rows.size()) return out;
  for (const Row& r : rows.rows) out.nodes.push_back(r.node);
  out.traffic.resize(matrix.size);
  out.own.resize(matrix.size);
  std::map<std::pair<std::uint32_t, std::uint32_t>, Link> links;
  for (const auto& [at, cell] : matrix.cells) {
    const std::uint64_t amount = measure == LinkMeasure::kBytes ? cell.bytes : cell.count;
    if (at.first == at.second) {
      out.own[at.first] += amount;
      continue;
    }
    out.traffic[at.first] += amount, out.traffic[at.second] += amount;
    const auto ends = std::minmax(at.first, at.second);
    Link& link = links[{ends.first, ends.second}];
    link.a = ends.first, link.b = ends.second;
    add(at.first == link.a ? link.there : link.back, cell);
  }
  out.links.reserve(links.size());
  for (const auto& [at, link] : links) out.links.push_back(link);
  std::stable_sort(out.links.begin(), out.links.end(),
                   [&](const Link& x, const Link& y) { return strength(x, measure) > strength(y, measure); });
  if (out.links.size() > Topology::kMostLinks) {
    out.weaker = out.links.size() - Topology::kMostLinks;
    out.links.resize(Topology::kMostLinks);
  }
  if (!out.links.empty()) out.most = strength(out.links.front(), measure);
  return out;
}

double weight_of(const Link& link, const Topology& topology, LinkMeasure measure) {
  const double most = std::log1p(static_cast<double>(topology.most));
  if (!(most > 0)) return 1;
  return std::max(kLeastWeight, std::log1p(static_cast<double>(strength(link, measure))) / most);
}

std::vector<double> radii_of(const Topology& topology, const ViewData& data, TopologySize size) {
  std::vector<double> out;
  double most = 0;
  for (std::size_t i = 0; i < topology.nodes.size(); ++i) {
    out.push_back(size == TopologySize::kResources ? data.nodes[topology.nodes[i]].leaf_count
                                                   : static_cast<double>(topology.traffic[i]));
    most = std::max(most, out.back());
  }
  for (double& r : out) r = std::max(kLeastRadius, most > 0 ? std::sqrt(r / most) : 1);
  return out;
}

std::vector<GraphNode> graph_nodes(const Topology& topology, const ViewData& data) {
  std::vector<GraphNode> out;
  out.reserve(topology.nodes.size());
  for (const std::uint32_t n : topology.nodes) {
    const Node& node = data.nodes[n];
    out.push_back({node.path, n == 0 ? "" : data.nodes[node.parent].path,
                   std::max(1.0, std::sqrt(static_cast<double>(node.leaf_count)))});
  }
  return out;
}

std::vector<GraphEdge> graph_edges(const Topology& topology, LinkMeasure measure) {
  std::vector<GraphEdge> out;
  out.reserve(topology.links.size());
  for (const Link& l : topology.links) out.push_back({l.a, l.b, weight_of(l, topology, measure)});
  return out;
}

}  // namespace margay::scene
