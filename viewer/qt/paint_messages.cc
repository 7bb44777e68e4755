#include <QFontMetricsF>
#include <QObject>
#include <utility>

#include "box_painter.h"
#include "paint.h"

namespace margay::viewer {
namespace {

constexpr std::size_t kFew = 100;             // arrows
constexpr double kHead = 7, kHeadAngle = 20;  // of arrows: pixels, degrees to either side

}  // namespace

void paint_messages(QPainter& p, const QRectF& area, const Picture& picture, const scene::Gantt& calls) {
  if (calls.arrows.empty()) return;
  p.save();
  p.setClipRect(area);
  // Smooth lines with a shadow take some fifty times as long as plain ones.
  const bool few = calls.arrows.size() <= kFew;
  p.setRenderHint(QPainter::Antialiasing, few);
  // Together: changing pens takes longer than a line.
  QList<QLineF> known, unknown;
  for (const scene::Arrow& a : calls.arrows) {
    const QLineF line(area.left() + a.x0, area.top() + a.y0, area.left() + a.x1, area.top() + a.y1);
    const bool there = picture.data.messages[a.message].arrival_known;
    (there ? known : unknown).append(line);
    if (!there || !area.contains(line.p2())) continue;
    for (const double side : {180 - kHeadAngle, 180 + kHeadAngle})
      known.append(QLineF::fromPolar(kHead, line.angle() + side).translated(line.p2()));
  }
  // The ink on a shadow of the background: it is seen on light and on dark states.
  const QColor ink = colour_of(picture.palette.ink());
  if (few) {
    QColor shadow = colour_of(picture.palette.background());
    shadow.setAlpha(150);
    p.setPen(QPen(shadow, 2.6));
    p.drawLines(known);
  }
  if (few) {
    p.setPen(QPen(ink, 1));
    p.drawLines(known);
  } else {
    BoxPainter lines(p, area);
    for (const QLineF& line : known) lines.line(line, ink);
    lines.finish();
  }
  p.setPen(QPen(ink, few ? 1 : 0, Qt::DotLine));
  p.drawLines(unknown);
  if (calls.arrows.size() < calls.messages_in_sight) {
    const QString text = QObject::tr("%L1 of %L2 messages: those that took longest")
                             .arg(calls.arrows.size())
                             .arg(calls.messages_in_sight);
    const QFontMetricsF metrics(p.font());
    const QRectF box(area.right() - metrics.horizontalAdvance(text) - 3 * kPad,
                     area.bottom() - metrics.height() - kPad, metrics.horizontalAdvance(text) + 2 * kPad,
                     metrics.height());
    p.fillRect(box, colour_of(picture.palette.background()));
    p.drawText(box, Qt::AlignCenter, text);
  }
  p.restore();
}

void paint_bands(QPainter& p, const QRectF& area, const scene::Palette& palette,
                 const std::vector<scene::Band>& bands) {
  if (bands.empty()) return;
  p.save();
  p.setClipRect(area);
  // Without smoothing: there may be some hundreds, over many rows each.
  p.setRenderHint(QPainter::Antialiasing, false);
  BoxPainter lines(p, area);
  const QColor ink = colour_of(palette.ink());
  const auto side = [&](const scene::Band& band, double scene::Band::Edge::*x) {
    const scene::Band::Edge* last = nullptr;
    for (const scene::Band::Edge& e : band.edges) {
      const double at = area.left() + e.*x;
      // From where the one before ends: rows between them are not part of it.
      const double from = last == nullptr ? e.y0 : last->y1;
      if (last != nullptr)
        lines.line(QLineF(area.left() + last->*x, area.top() + from, at, area.top() + e.y0), ink);
      lines.line(QLineF(at, area.top() + e.y0, at, area.top() + e.y1), ink);
      last = &e;
    }
  };
  for (const scene::Band& band : bands) {
    side(band, &scene::Band::Edge::x0);
    side(band, &scene::Band::Edge::x1);
    for (const auto& [e, y] : {std::pair(&band.edges.front(), band.edges.front().y0),
                               std::pair(&band.edges.back(), band.edges.back().y1)})
      lines.line(QLineF(area.left() + e->x0, area.top() + y, area.left() + e->x1, area.top() + y), ink);
  }
  lines.finish();
  p.restore();
}

}  // namespace margay::viewer
