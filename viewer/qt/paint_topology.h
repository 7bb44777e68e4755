// Who talks to whom, as a graph: nodes with the states of their resources, joined by what they sent each
// other.
//
// Lengths are logical pixels. Thread safety: what paints only reads. Cost: linear in nodes and links.
#pragma once

#include <QFontMetricsF>
#include <QPainter>
#include <QRectF>
#include <cstdint>
#include <optional>
#include <vector>

#include "margay/scene/topology.h"
#include "paint_treemap.h"
#include "session.h"

namespace margay::viewer {

// What part of a layout is seen: its middle, and pixels a unit of length.
struct Lens {
  scene::Place middle;
  double scale = 1;
};

// A graph of a session's picture, as a layout has it, in a room. Session, topology and layout must outlive
// it.
class TopologySheet {
 public:
  TopologySheet(const QRectF& room, const QFontMetricsF& metrics, const Session& session,
                const scene::Topology& topology, const scene::GraphLayout& layout, scene::LinkMeasure measure,
                scene::TopologySize size);
  // That which shows all of it.
  static Lens whole(const QRectF& room, const scene::GraphLayout& layout);
  void set_lens(const Lens& lens) { lens_ = lens; }
  QPointF point(const scene::Place& place) const;
  scene::Place place(const QPointF& point) const;
  double radius(std::size_t node) const;
  // The row whose node is there; nothing: none is.
  std::optional<std::uint32_t> at(const QPointF& point) const;

  // Links as wide and dark as they are strong; nodes, round ones of a resource and square ones of several,
  // with their states in the session's map_time(); names where they have room; frames of what alerts blame in
  // that time, and of the selected node. `shares`: of each row its states', as node_shares() has them.
  void paint(QPainter& p, const std::vector<float>& shares, NameCache* kept = nullptr) const;
  // "/node3, 16 resources: sent and got 12 MiB, most with /node4".
  QString text(std::uint32_t row) const;

 private:
  void paint_links(QPainter& p) const;
  void paint_nodes(QPainter& p, const std::vector<float>& shares) const;
  void paint_names(QPainter& p, NameCache& kept) const;
  void paint_frames(QPainter& p) const;
  QRectF box(std::size_t node) const;
  QPointF middle() const;

  QRectF room_;
  QFontMetricsF metrics_;
  const Session& session_;
  const scene::Topology& topology_;
  const scene::GraphLayout& layout_;
  scene::LinkMeasure measure_;
  Lens lens_;
  std::vector<double> radii_;
  std::vector<std::uint32_t> order_;  // of states
};

// [row][state]: shares of the time of the session's map_time(). Empty where there are too many resources and
// states. Cost: that of scene::contents_of().
std::vector<float> node_shares(const Session& session, const scene::Topology& topology);

}  // namespace margay::viewer
