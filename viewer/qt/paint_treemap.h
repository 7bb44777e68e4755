// The hierarchy as a treemap: nested rectangles, each with the states of its resources in the time that is
// looked at.
//
// Lengths are logical pixels. Thread safety: what paints only reads. Cost: linear in the cells.
#pragma once

#include <QFontMetricsF>
#include <QPainter>
#include <QRectF>
#include <vector>

#include "margay/scene/treemap.h"
#include "session.h"

namespace margay::viewer {

// What of a session's picture a map shows: the slices that are selected, of the node that is, or all of them.
struct MapTime {
  std::size_t first = 0, last = 0;
  bool operator==(const MapTime&) const = default;
};
MapTime map_time(const Session& session);

// Laid out for a room. What it is of must outlive it.
class TreemapSheet {
 public:
  TreemapSheet(const QRectF& room, const QFontMetricsF& metrics, const Session& session, MapTime time,
               scene::TreemapSize by, std::uint32_t depth);
  const std::vector<scene::TreemapCell>& cells() const { return cells_; }
  const scene::TreemapContents& contents() const { return contents_; }
  const QRectF& room() const { return room_; }
  // The smallest cell there; null: none.
  const scene::TreemapCell* at(const QPointF& point) const;
  QRectF rect(const scene::TreemapCell& cell) const;
  // The cell of a node or, where that has none, of the lowest above it that has; null: there is none.
  const scene::TreemapCell* of(std::uint32_t node) const;

  // Cells, names where there is room, frames of what alerts blame in this time, the selected node.
  void paint(QPainter& p) const;

 private:
  void paint_cell(QPainter& p, const scene::TreemapCell& cell) const;
  void paint_name(QPainter& p, const scene::TreemapCell& cell) const;
  void paint_alerts(QPainter& p) const;

  QRectF room_;
  QFontMetricsF metrics_;
  const Session& session_;
  MapTime time_;
  scene::TreemapContents contents_;
  std::vector<scene::TreemapCell> cells_;
  std::vector<std::uint32_t> order_;   // of states in a cell
  std::vector<scene::Look> looks_;     // of states
  std::vector<std::int64_t> cell_of_;  // by node
};

// "/node3, 16 resources: Compute 61 %, MPI_Wait 30 %, ...".
QString cell_text(const TreemapSheet& sheet, const scene::TreemapCell& cell, const scene::ViewData& data);
// RFC 4180: a row a cell that stands for something, with its share of each state.
std::string treemap_csv(const Session& session, MapTime time, scene::TreemapSize by);

}  // namespace margay::viewer
