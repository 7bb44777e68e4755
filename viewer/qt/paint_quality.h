// The curve of gain and loss over p, on any painter: in the window and in files. Where a step is drawn is
// where it is hit: both come from one QualityPlot.
//
// Lengths are logical pixels. Thread safety: values; with a painter of its own each call is. Cost: linear in
// the steps.
#pragma once

#include <QFontMetricsF>
#include <QPainter>
#include <QRectF>
#include <QString>
#include <cstdint>

#include "margay/scene/p_scale.h"
#include "margay/scene/palette.h"
#include "margay/scene/quality.h"

namespace margay::viewer {

// Where everything of the curve is.
class QualityPlot {
 public:
  // `box`: of the curves alone; the axis of p is below it.
  QualityPlot(const QRectF& box, const scene::Steps& steps);
  // Within `area`, with room for the axis and for a line of words above and below.
  static QualityPlot among_words(const QRectF& area, const QFontMetricsF& metrics, const scene::Steps& steps);
  static double axis_height(const QFontMetricsF& metrics);

  const QRectF& box() const { return box_; }
  const scene::PScale& scale() const { return scale_; }
  // What is shaded for a step, as high as the box. REQUIRES: there is such a step.
  QRectF room(std::size_t step) const;
  // Whose room this is; beside the box the first or the last one. -1 without steps.
  std::int64_t step_at(double x) const;

 private:
  QRectF box_;
  scene::PScale scale_;
};

// "p 0.1 to 0.2: 40 parts".
QString step_text(const scene::Step& step);

QColor gain_colour(const scene::Palette& palette);
QColor loss_colour(const scene::Palette& palette);
// The pens of the curves, and of the line before the largest fall of quality: a legend draws with them, too.
QPen gain_pen(const scene::Palette& palette);
QPen loss_pen(const scene::Palette& palette);
QPen jump_pen(const scene::Palette& palette);
QColor current_shade(const scene::Palette& palette);

// Gain and loss as shares of the whole's, and the axis of p; the current step is shaded, the one under the
// mouse framed (-1: none).
void paint_quality(QPainter& p, const QualityPlot& plot, const scene::Steps& steps,
                   const scene::Palette& palette, std::int64_t under_mouse = -1);
// The lines above and below in the window: what the curves are, and p and parts of the step under the mouse,
// else of the current one.
void paint_quality_words(QPainter& p, const QRectF& area, const QualityPlot& plot, const scene::Steps& steps,
                         const scene::Palette& palette, std::int64_t under_mouse = -1);

}  // namespace margay::viewer
