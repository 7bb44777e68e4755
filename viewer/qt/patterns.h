// Patterns over the colours of states that look alike (scene::Palette::tell_apart()), in ink.
//
// Thread safety: with a painter of its own each call is. Cost: linear in what is drawn.
#pragma once

#include <QBrush>
#include <QColor>
#include <QList>
#include <QPainter>
#include <QRectF>
#include <array>
#include <cstdint>
#include <map>
#include <tuple>

#include "margay/scene/palette.h"

namespace margay::viewer {

Qt::BrushStyle style_of(scene::Pattern pattern);
// Of an ink: what text on the colour has (scene::text_on()). The paler the less `strength`, [0, 1], the state
// has.
QColor pattern_ink(QColor ink, double strength = 1);
QBrush pattern_brush(scene::Pattern pattern, QColor ink, double strength = 1);

// The same pattern, pixel for pixel, for large areas of this painter's picture: Qt draws its own in pieces of
// 8 pixels, which takes up to ten times as long. For a file of vectors, or a painter that is scaled, the
// brush itself.
QBrush for_large(const QPainter& p, const QBrush& pattern);

// Which pixels of a pattern are ink: line by line from a painter's origin on, the first of a line in the
// lowest bit. It comes again after as many pixels, both ways.
inline constexpr int kPatternSide = 8;
using PatternBits = std::array<std::uint8_t, kPatternSide>;
const PatternBits& bits_of(Qt::BrushStyle style);

// A box of a legend, at full strength: colour and pattern, or hatched and what is below.
void fill_box(QPainter& p, const QRectF& box, const scene::Look& look);

// Boxes that were filled and are to get a pattern, drawn together: a pattern is made anew whenever it is
// changed to.
class PatternBoxes {
 public:
  // Nothing of no pattern, nor where the box is too small for one.
  void add(const QRectF& box, scene::Pattern pattern, const QColor& ink, double strength = 1);
  // The box has room for one.
  static bool shows(const QRectF& box, scene::Pattern pattern);
  // What one is drawn with.
  static QColor ink_of(const QColor& ink, double strength);
  // And forgets them. The painter has no pen and no brush then.
  void draw(QPainter& p);

 private:
  static constexpr int kLevels = 4;  // of strength: so many times a pattern is made anew at most
  static int level_of(double strength);
  std::map<std::tuple<scene::Pattern, QRgb, int>, QList<QRectF>> boxes_;  // by ink, and level
};

}  // namespace margay::viewer
