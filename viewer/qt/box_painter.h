// Many boxes of plain colours, patterns and hatching, and thin lines. Where the painter is of an image of 32
// bits a pixel, or of a widget in a window of such pixels of which one rectangle is to be painted, and is
// neither moved nor turned, their pixels are written straight, each once: QPainter goes over those of a
// pattern twice, in spans, and takes several times as long. On all else, a file of vectors among them, they
// are what the painter makes of them. Both give the same pixels; those of a slanting line may lie one beside
// the others.
//
// Thread safety: with a painter of its own each is. Cost: linear in what is drawn.
#pragma once

#include <QColor>
#include <QLineF>
#include <QList>
#include <QPainter>
#include <QRectF>
#include <array>
#include <map>

#include "margay/scene/palette.h"
#include "patterns.h"

namespace margay::viewer {

class BoxPainter {
 public:
  // Borrows the painter, which nothing else is to change before finish(). Nothing outside `area` is painted.
  // REQUIRES: the painter is opaque, smooths nothing, and has no clip but `area`.
  BoxPainter(QPainter& p, const QRectF& area);

  // Pixels are written straight.
  bool direct() const { return bits_ != nullptr; }
  // Device pixels of a box that are inside the area.
  QRect pixels_of(const QRectF& box) const;

  void fill(const QRectF& box, const QColor& colour);
  // Only where they are written straight: the first line and the first column of these pixels.
  void fill_edges(const QRect& pixels, const QColor& colour);
  // A pattern as PatternBoxes draws it.
  void fill(const QRectF& box, const QColor& colour, scene::Pattern pattern, const QColor& ink,
            double strength = 1);
  void hatch(const QRectF& box, const QColor& colour, const QColor& ink);
  // A pixel wide, both ends included.
  void line(const QLineF& line, const QColor& colour);
  // Slanting, a pixel wide, and smoothed; colours may let through what is below.
  void smooth_line(const QLineF& line, const QColor& colour);
  // Only where they are written straight: what was painted in the first lines of the box, a period() of them,
  // is painted once more in those below.
  void repeat(const QRectF& box);
  // Of patterns, which are not scaled.
  double period() const { return kPatternSide / scale_; }
  // Draws what was not written straight; the painter has no pen and no brush then.
  void finish();

 private:
  QRgb* pixels(int x, int y) const { return bits_ + y * stride_ + x; }
  void put(const QRect& box, QRgb plain, QRgb inked, const PatternBits& bits);
  void slanting(const QLineF& line, QRgb colour);
  void smooth(const QLineF& line, QRgb premultiplied);

  QPainter& p_;
  double scale_ = 1;               // device pixels a pixel
  QRect area_;                     // device pixels
  QRgb* bits_ = nullptr;           // where the painter's origin is; null: the painter draws
  qsizetype stride_ = 0;           // pixels from a line to the next
  QRgb smoothed_ = 0;              // what the parts are of
  std::array<QRgb, 257> parts_{};  // 0 to 256 of 256, premultiplied
  PatternBoxes patterns_;
  std::map<QRgb, QList<QRectF>> hatched_;               // by ink
  std::map<QRgb, QList<QLineF>> lines_, smooth_lines_;  // by colour
};

}  // namespace margay::viewer
