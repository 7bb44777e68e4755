// The hierarchy as a treemap: nested rectangles, each with the states of its resources in the time that is
// looked at.
//
// Lengths are logical pixels. Thread safety: what paints only reads. Cost: a layout is linear in the nodes,
// another time of it in the parts and the cells, painting in the cells.
#pragma once

#include <QFontMetricsF>
#include <QPainter>
#include <QRectF>
#include <string>
#include <vector>

#include "margay/scene/treemap.h"
#include "session.h"

namespace margay::viewer {

class NameCache;

// What of a session's picture a map shows: the slices that are selected, of the node that is, or all of them.
struct MapTime {
  std::size_t first = 0, last = 0;
  bool operator==(const MapTime&) const = default;
};
MapTime map_time(const Session& session);

// Laid out for a room. The session must outlive it, and show the same picture.
class TreemapSheet {
 public:
  TreemapSheet(const QRectF& room, const QFontMetricsF& metrics, const Session& session,
               scene::TreemapSize by, std::uint32_t depth);
  // Of the session's map_time(): areas stay, unless they are what is measured.
  void look_at_time();
  MapTime time() const { return time_; }
  const std::vector<scene::TreemapCell>& cells() const { return cells_; }
  // The smallest cell there; null: none.
  const scene::TreemapCell* at(const QPointF& point) const;
  QRectF rect(const scene::TreemapCell& cell) const;
  // The cell of a node or, where that has none, of the lowest above it that has; null: there is none.
  const scene::TreemapCell* of(std::uint32_t node) const;

  // Cells, names where there is room for all of one, frames of what alerts blame in this time, the selected
  // node.
  void paint(QPainter& p, NameCache* kept = nullptr) const;
  // "/node3, 16 resources: Compute 61 %, MPI_Wait 30 %, ...".
  QString text(const scene::TreemapCell& cell) const;

 private:
  void lay_out();
  void paint_cells(QPainter& p) const;
  void paint_names(QPainter& p, NameCache& names) const;
  void paint_alerts(QPainter& p) const;

  QRectF room_;
  QFontMetricsF metrics_;
  const Session& session_;
  scene::TreemapSize by_;
  std::uint32_t depth_;
  MapTime time_;
  std::vector<scene::TreemapCell> cells_;
  std::vector<std::int32_t> filled_;   // by node: the cell that stands for it
  std::vector<std::int32_t> cell_of_;  // by node: its own
  std::vector<float> shares_;          // by cell and state
  std::vector<std::uint32_t> order_;   // of states in a cell
  std::vector<scene::Look> looks_;     // of states
};

// RFC 4180: a row a node, with its share of each state.
std::string treemap_csv(const Session& session);

}  // namespace margay::viewer
