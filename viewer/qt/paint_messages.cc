#include <QFontMetricsF>
#include <QObject>
#include <QPainterPath>

#include "paint.h"

namespace margay::viewer {
namespace {

constexpr double kPad = 4;
constexpr double kHead = 7, kHeadAngle = 20;  // of arrows: pixels, degrees to either side

}  // namespace

void paint_messages(QPainter& p, const QRectF& area, const Picture& picture, const scene::Gantt& calls) {
  if (calls.arrows.empty()) return;
  p.save();
  p.setClipRect(area);
  p.setRenderHint(QPainter::Antialiasing, true);
  // Together: changing pens takes longer than a line.
  QList<QLineF> known, unknown;
  QPainterPath heads;
  for (const scene::Arrow& a : calls.arrows) {
    const QLineF line(area.left() + a.x0, area.top() + a.y0, area.left() + a.x1, area.top() + a.y1);
    const bool there = picture.data.messages[a.message].arrival_known;
    (there ? known : unknown).append(line);
    if (!there || !area.contains(line.p2())) continue;
    QLineF side = QLineF::fromPolar(kHead, line.angle() + 180 - kHeadAngle).translated(line.p2());
    heads.moveTo(side.p2());
    heads.lineTo(line.p2());
    side.setAngle(line.angle() + 180 + kHeadAngle);
    heads.lineTo(side.p2());
    heads.closeSubpath();
  }
  // The ink on a shadow of the background: it is seen on light and on dark states.
  const QColor ink = colour_of(picture.palette.ink());
  QColor shadow = colour_of(picture.palette.background());
  shadow.setAlpha(150);
  p.setPen(QPen(shadow, 2.6));
  p.drawLines(known);
  p.setPen(QPen(ink, 1));
  p.drawLines(known);
  p.fillPath(heads, ink);
  p.setPen(QPen(ink, 1, Qt::DotLine));
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

}  // namespace margay::viewer
