#include "patterns.h"

#include <QImage>
#include <QPaintEngine>
#include <algorithm>
#include <array>
#include <cmath>

#include "paint.h"

namespace margay::viewer {
namespace {

constexpr double kLeastBox = 3;  // pixels: in what is narrower or lower no pattern is seen

}  // namespace

Qt::BrushStyle style_of(scene::Pattern pattern) {
  constexpr std::array<Qt::BrushStyle, scene::kPatterns> kStyles = {
      Qt::NoBrush, Qt::HorPattern, Qt::Dense6Pattern, Qt::VerPattern, Qt::CrossPattern};
  return kStyles[static_cast<std::size_t>(pattern)];
}

QColor pattern_ink(QColor ink, double strength) {
  // Names are written over it.
  ink.setAlpha(static_cast<int>(std::lround(50 + 60 * std::clamp(strength, 0.0, 1.0))));
  return ink;
}

QBrush pattern_brush(scene::Pattern pattern, QColor ink, double strength) {
  return {pattern_ink(ink, strength), style_of(pattern)};
}

QBrush for_large(const QPainter& p, const QBrush& pattern) {
  if (p.paintEngine()->type() != QPaintEngine::Raster || !p.deviceTransform().isIdentity()) return pattern;
  QImage tile(64 * kPatternSide, kPatternSide, QImage::Format_ARGB32_Premultiplied);
  tile.fill(Qt::transparent);
  QPainter(&tile).fillRect(tile.rect(), pattern);
  return QBrush(tile);
}

const PatternBits& bits_of(Qt::BrushStyle style) {
  static const auto all = [] {
    std::array<PatternBits, Qt::DiagCrossPattern + 1> out{};
    for (std::size_t i = 0; i < out.size(); ++i) {
      QImage tile(kPatternSide, kPatternSide, QImage::Format_ARGB32_Premultiplied);
      tile.fill(Qt::transparent);
      QPainter(&tile).fillRect(tile.rect(), QBrush(Qt::black, static_cast<Qt::BrushStyle>(i)));
      for (int y = 0; y < kPatternSide; ++y)
        for (int x = 0; x < kPatternSide; ++x)
          if (qAlpha(tile.pixel(x, y)) != 0) out[i][static_cast<std::size_t>(y)] |= std::uint8_t{1} << x;
    }
    return out;
  }();
  return all.at(static_cast<std::size_t>(style));
}

void fill_box(QPainter& p, const QRectF& box, const scene::Look& look) {
  if (look.hatch) return p.fillRect(box, QBrush(colour_of(look.colour), Qt::BDiagPattern));
  p.fillRect(box, colour_of(look.colour));
  if (look.pattern == scene::Pattern::kNone) return;
  // Boxes of a pattern are the same wherever they stand.
  const QPointF origin = p.brushOrigin();
  p.setBrushOrigin(box.topLeft());
  p.fillRect(box, pattern_brush(look.pattern, colour_of(scene::text_on(look.colour))));
  p.setBrushOrigin(origin);
}

bool PatternBoxes::shows(const QRectF& box, scene::Pattern pattern) {
  return pattern != scene::Pattern::kNone && box.width() >= kLeastBox && box.height() >= kLeastBox;
}

int PatternBoxes::level_of(double strength) {
  return static_cast<int>(std::lround(std::clamp(strength, 0.0, 1.0) * kLevels));
}

QColor PatternBoxes::ink_of(const QColor& ink, double strength) {
  return pattern_ink(QColor::fromRgb(ink.rgb()), static_cast<double>(level_of(strength)) / kLevels);
}

void PatternBoxes::add(const QRectF& box, scene::Pattern pattern, const QColor& ink, double strength) {
  if (shows(box, pattern)) boxes_[{pattern, ink.rgb(), level_of(strength)}].append(box);
}

void PatternBoxes::draw(QPainter& p) {
  p.setPen(Qt::NoPen);
  for (const auto& [kind, boxes] : boxes_) {
    const auto& [pattern, ink, level] = kind;
    p.setBrush(
        for_large(p, pattern_brush(pattern, QColor::fromRgb(ink), static_cast<double>(level) / kLevels)));
    p.drawRects(boxes);
  }
  p.setBrush(Qt::NoBrush);
  boxes_.clear();
}

}  // namespace margay::viewer
