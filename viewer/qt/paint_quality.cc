#include "paint_quality.h"

#include <QObject>
#include <QPainterPath>
#include <algorithm>

#include "paint.h"

namespace margay::viewer {
namespace {

constexpr double kLeastRoom = 4;  // pixels a step has on the axis, where there is room for all
constexpr double kTickLength = 4;

void draw_p_axis(QPainter& p, const QualityPlot& plot, const scene::Steps& steps,
                 const scene::Palette& palette) {
  const QFontMetricsF metrics(p.font());
  const QRectF& box = plot.box();
  scene::PTickOptions options;
  options.width = box.width();
  options.character_px = metrics.averageCharWidth() * 1.15;
  for (const scene::PTick& tick : scene::p_ticks(plot.scale(), steps, options)) {
    const double x = box.left() + tick.x;
    p.setPen(QPen(colour_of(palette.faint()), 1));
    p.drawLine(QPointF(x, box.bottom()), QPointF(x, box.bottom() + kTickLength));
    const QString label = text_of(tick.label);
    const double width = metrics.horizontalAdvance(label) + 1;
    const double left = std::clamp(x - width / 2, box.left(), std::max(box.left(), box.right() - width));
    p.setPen(colour_of(palette.ink()));
    p.drawText(QRectF(left, box.bottom() + kTickLength, width, metrics.height()), Qt::AlignCenter, label);
  }
}

QPainterPath stairs(const QualityPlot& plot, const scene::Steps& steps, double scene::Step::*share) {
  const QRectF& box = plot.box();
  QPainterPath path;
  for (std::size_t k = 0; k < steps.steps.size(); ++k) {
    const double y = box.bottom() - box.height() * steps.steps[k].*share;
    const double x = box.left() + box.width() * plot.scale().begin_of(k);
    k == 0 ? path.moveTo(x, y) : path.lineTo(x, y);
    path.lineTo(box.left() + box.width() * plot.scale().begin_of(k + 1), y);
  }
  return path;
}

QString words_of(const scene::Steps& steps, std::int64_t step) {
  if (steps.steps.empty()) return QObject::tr("no curve yet");
  if (step < 0 || step >= static_cast<std::int64_t>(steps.steps.size()))
    return QObject::tr("%1 significant p%2")
        .arg(steps.steps.size())
        .arg(steps.complete ? "" : QObject::tr(", not all"));
  return step_text(steps.steps[static_cast<std::size_t>(step)]);
}

}  // namespace

QString step_text(const scene::Step& s) {
  return QObject::tr("p %1 to %2: %3")
      .arg(text_of(scene::p_text(s.p)), text_of(scene::p_text(s.until)),
           s.parts == 1 ? QObject::tr("1 part") : QObject::tr("%1 parts").arg(s.parts));
}

QualityPlot::QualityPlot(const QRectF& box, const scene::Steps& steps)
    : box_(box), scale_(steps, box.width() > 0 ? kLeastRoom / box.width() : 1) {}

QualityPlot QualityPlot::among_words(const QRectF& area, const QFontMetricsF& metrics,
                                     const scene::Steps& steps) {
  return {area.adjusted(kPad, metrics.height() + kPad, -kPad,
                        -axis_height(metrics) - metrics.height() - kPad / 2),
          steps};
}

double QualityPlot::axis_height(const QFontMetricsF& metrics) {
  return kTickLength + metrics.height();
}

QRectF QualityPlot::room(std::size_t step) const {
  const double from = box_.left() + box_.width() * scale_.begin_of(step);
  return {from, box_.top(), box_.left() + box_.width() * scale_.begin_of(step + 1) - from, box_.height()};
}

std::int64_t QualityPlot::step_at(double x) const {
  return scale_.step_at(box_.width() > 0 ? (x - box_.left()) / box_.width() : 0);
}

QColor gain_colour(const scene::Palette& palette) {
  return colour_of(palette.family(wire::FAMILY_COMPUTE));
}
QColor loss_colour(const scene::Palette& palette) {
  return colour_of(palette.family(wire::FAMILY_COLLECTIVE));
}
QPen gain_pen(const scene::Palette& palette) {
  return {gain_colour(palette), 1.6};
}
QPen loss_pen(const scene::Palette& palette) {
  return {loss_colour(palette), 1.6, Qt::DashLine};
}
QPen jump_pen(const scene::Palette& palette) {
  return {colour_of(palette.ink()), 1, Qt::DotLine};
}
QColor current_shade(const scene::Palette& palette) {
  QColor here = colour_of(palette.ink());
  here.setAlpha(40);
  return here;
}

void paint_quality(QPainter& p, const QualityPlot& plot, const scene::Steps& steps,
                   const scene::Palette& palette, std::int64_t under_mouse) {
  p.save();
  const QRectF& box = plot.box();
  p.setPen(QPen(colour_of(palette.faint()), 1));
  p.setBrush(Qt::NoBrush);
  p.drawRect(box);
  const auto n = static_cast<std::int64_t>(steps.steps.size());
  // Never nothing, however many steps share a pixel.
  const auto seen_room = [&](std::int64_t step) {
    QRectF room = plot.room(static_cast<std::size_t>(step));
    if (room.width() < 1) room.setWidth(1);
    return room;
  };
  if (steps.current >= 0 && steps.current < n) p.fillRect(seen_room(steps.current), current_shade(palette));
  if (n > 0) {
    p.setRenderHint(QPainter::Antialiasing, true);
    p.setPen(gain_pen(palette));
    p.drawPath(stairs(plot, steps, &scene::Step::gain_share));
    p.setPen(loss_pen(palette));
    p.drawPath(stairs(plot, steps, &scene::Step::loss_share));
    if (steps.jump >= 0) {
      const double x = plot.room(static_cast<std::size_t>(steps.jump)).center().x();
      p.setPen(jump_pen(palette));
      p.drawLine(QPointF(x, box.top()), QPointF(x, box.bottom()));
    }
    if (under_mouse >= 0 && under_mouse < n) {
      p.setRenderHint(QPainter::Antialiasing, false);
      p.setPen(QPen(colour_of(palette.ink()), 1));
      p.drawRect(seen_room(under_mouse));
    }
  }
  draw_p_axis(p, plot, steps, palette);
  p.restore();
}

void paint_quality_words(QPainter& p, const QRectF& area, const QualityPlot& plot, const scene::Steps& steps,
                         const scene::Palette& palette, std::int64_t under_mouse) {
  p.save();
  const QFontMetricsF metrics(p.font());
  const double width = area.width() - 2 * kPad;
  if (!steps.steps.empty()) {
    const QRectF above(area.left() + kPad, area.top(), width, metrics.height());
    p.setPen(gain_colour(palette));
    p.drawText(above, Qt::AlignLeft, "gain");
    p.setPen(loss_colour(palette));
    p.drawText(above.adjusted(metrics.horizontalAdvance("gain  "), 0, 0, 0), Qt::AlignLeft, "loss");
    p.setPen(colour_of(palette.ink()));
    p.drawText(above.adjusted(metrics.horizontalAdvance("gain  loss  "), 0, 0, 0), Qt::AlignRight, "over p");
  }
  p.setPen(colour_of(palette.ink()));
  const QString below = words_of(steps, under_mouse >= 0 ? under_mouse : steps.current);
  p.drawText(QRectF(area.left() + kPad, plot.box().bottom() + QualityPlot::axis_height(metrics), width,
                    metrics.height()),
             Qt::AlignLeft, metrics.elidedText(below, Qt::ElideMiddle, std::max(0.0, width)));
  p.restore();
}

}  // namespace margay::viewer
