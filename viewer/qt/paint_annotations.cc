#include <QFontMetricsF>
#include <QPainterPath>
#include <map>

#include "paint.h"

namespace margay::viewer {
namespace {

constexpr double kEnd = 4;            // of brackets: how far their ends reach down
constexpr double kFlag = 4;           // of marks: half the width of their head
constexpr double kRoomForName = 2.2;  // heights of a line of text: a row so high has room for another name

// Variables are told apart by how they are drawn.
Qt::PenStyle style_of(std::size_t variable) {
  constexpr Qt::PenStyle kStyles[] = {Qt::SolidLine, Qt::DashLine, Qt::DotLine, Qt::DashDotLine};
  return kStyles[variable % std::size(kStyles)];
}

}  // namespace

void paint_annotations(QPainter& p, const QRectF& area, const Picture& picture,
                       const scene::AnnotationLayout& layout) {
  if (layout.empty()) return;
  p.save();
  p.setClipRect(area);
  p.setRenderHint(QPainter::Antialiasing, true);
  const scene::ViewData& data = picture.data;
  const QColor ink = colour_of(picture.palette.ink()), background = colour_of(picture.palette.background());
  QColor shadow = background;
  shadow.setAlpha(170);
  const QFontMetricsF metrics(p.font());
  const auto at = [&](double x, double y) { return QPointF(area.left() + x, area.top() + y); };

  // The ink on a shadow: it is seen on light and on dark states.
  std::map<std::uint32_t, std::size_t> variables;  // by name
  for (const scene::VariableCurve& c : layout.curves) {
    const std::size_t variable = variables.emplace(c.name, variables.size()).first->second;
    QPolygonF line;
    for (const auto& [x, y] : c.points) line.append(at(x, y));
    p.setPen(QPen(shadow, 3));
    p.drawPolyline(line);
    p.setPen(QPen(ink, 1.2, style_of(variable)));
    p.drawPolyline(line);
  }
  const double row = picture.rows.rows.empty() ? 0 : area.height() / std::max(1.0, picture.rows.height);
  QList<QLineF> brackets;
  for (const scene::RegionBracket& b : layout.brackets) {
    const QPointF from = at(b.x0, b.y), to = at(b.x1, b.y);
    brackets.append({from, to});
    if (b.begins) brackets.append({from, from + QPointF(0, kEnd)});
    if (b.ends) brackets.append({to, to + QPointF(0, kEnd)});
    const QString name = text_of(data.annotation_names[data.annotations[b.annotation].name]);
    const double width = metrics.horizontalAdvance(name);
    if (row < kRoomForName * metrics.height() || width + 2 * kPad > b.x1 - b.x0) continue;
    const QRectF box(from + QPointF(kPad, 1), QSizeF(width, metrics.height()));
    p.fillRect(box, shadow);
    p.setPen(ink);
    p.drawText(box, Qt::AlignCenter, name);
  }
  p.setPen(QPen(shadow, 3.5));
  p.drawLines(brackets);
  p.setPen(QPen(ink, 1.5));
  p.drawLines(brackets);
  QPainterPath heads;
  QList<QLineF> ticks;
  for (const scene::MarkTick& t : layout.ticks) {
    const QPointF top = at(t.x, t.y0), foot = at(t.x, t.y1);
    ticks.append({top, foot});
    heads.addPolygon(QPolygonF({top + QPointF(-kFlag, 0), top + QPointF(kFlag, 0),
                                top + QPointF(0, 1.5 * kFlag), top + QPointF(-kFlag, 0)}));
  }
  p.setPen(QPen(shadow, 3));
  p.drawLines(ticks);
  p.setPen(QPen(ink, 1));
  p.drawLines(ticks);
  p.fillPath(heads, ink);
  p.restore();
}

}  // namespace margay::viewer
