#include "marked.h"

#include <algorithm>

#include "margay/scene/layout.h"
#include "paint.h"

namespace margay::viewer {

Result<scene::MarkedArea> marked_between(const Session& session, const Sheet& sheet, QPointF a, QPointF b) {
  const scene::ViewData& d = session.data();
  const QRectF area = sheet.picture;
  const scene::Viewport view = sheet.viewport(session.time(), session.scroll());
  const auto row = [&](double y) {
    return scene::row_at(session.rows(),
                         scene::row_units_at(view, std::clamp(y - area.top(), 0.0, area.height())));
  };
  const auto slice = [&](double x) {
    return d.slice_at(scene::time_at(view, std::clamp(x - area.left(), 0.0, area.width())));
  };
  const std::int64_t above = row(std::min(a.y(), b.y())), below = row(std::max(a.y(), b.y()));
  if (d.empty() || above < 0) return scene::marked_area(d, session.rows(), 0, 0, 0, 0);
  return scene::marked_area(d, session.rows(), static_cast<std::size_t>(above),
                            static_cast<std::size_t>(below) + 1, slice(std::min(a.x(), b.x())),
                            slice(std::max(a.x(), b.x())) + 1);
}

void paint_marked(QPainter& p, const Session& session, const Sheet& sheet) {
  const scene::ViewData& d = session.data();
  const scene::Rows& rows = session.rows();
  const scene::Region& place = session.marked_place();
  if (place.nodes.empty()) return;
  const QRectF area = sheet.picture;
  const scene::Viewport view = sheet.viewport(session.time(), session.scroll());
  const double left = area.left() + scene::x_of(view, d.boundaries[place.first]),
               right = area.left() + scene::x_of(view, d.boundaries[place.last]);
  QPen ground(colour_of(session.palette().background()), 4), line(colour_of(session.palette().ink()), 2);
  line.setDashPattern({4, 3});
  p.setClipRect(area.adjusted(-2, 0, 2, 0));
  p.setBrush(Qt::NoBrush);
  for (std::size_t i = 0; i < place.nodes.size();) {
    if (!rows.shows(place.nodes[i])) {
      ++i;
      continue;
    }
    const std::uint32_t first = rows.first_row[place.nodes[i]];
    std::uint32_t last = rows.last_row[place.nodes[i]];
    for (++i; i < place.nodes.size() && rows.shows(place.nodes[i]) && rows.first_row[place.nodes[i]] <= last;
         ++i)
      last = std::max(last, rows.last_row[place.nodes[i]]);
    const scene::Row& end = rows.rows[last - 1];
    const QRectF box(QPointF(left, area.top() + scene::y_of(view, rows.rows[first].y)),
                     QPointF(right, area.top() + scene::y_of(view, end.y + end.height)));
    for (const QPen& pen : {ground, line}) {
      p.setPen(pen);
      p.drawRect(box.adjusted(1, 1, -1, -1));
    }
  }
  p.setClipping(false);
}

QString marked_text(const scene::MarkedArea& area) {
  return QObject::tr("in the marked rectangle: %1").arg(text_of(scene::who_text(area)));
}

}  // namespace margay::viewer
