#include "box_painter.h"

#include <QImage>
#include <QPaintEngine>
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <tuple>

namespace margay::viewer {
namespace {

constexpr std::size_t kWorthCopying = 8;  // pixels

// Pixels that may be written straight: of an image, or of the window that a widget is painted in.
struct Canvas {
  QImage* image = nullptr;  // null: none
  QPoint origin;            // of what is painted, device pixels
  QRect free;               // of the image, that others have not covered
};
Canvas canvas_of(QPainter& p) {
  const QPaintEngine* engine = p.paintEngine();
  const QTransform &turned = p.combinedTransform(), &to_device = p.deviceTransform();
  const QPointF moved(to_device.dx(), to_device.dy());  // by where the widget is
  const bool only_scaled = turned.type() <= QTransform::TxScale && to_device.m11() == to_device.m22() &&
                           turned.dx() == 0 && turned.dy() == 0 && moved == moved.toPoint();
  if (engine->type() != QPaintEngine::Raster || !only_scaled || !p.brushOrigin().isNull()) return {};
  QPaintDevice* const device = engine->paintDevice();
  if (device->devType() != QInternal::Image) return {};
  auto* image = static_cast<QImage*>(device);
  const QImage::Format format = image->format();
  const bool known = format == QImage::Format_RGB32 || format == QImage::Format_ARGB32_Premultiplied;
  const QRegion clip = engine->systemClip();
  if (!known || clip.rectCount() > 1 || !image->rect().contains(moved.toPoint())) return {};
  return {image, moved.toPoint(), clip.isNull() ? image->rect() : image->rect() & clip.boundingRect()};
}

// Farther than any picture, and what can be counted with.
double near(double at) {
  return std::clamp(at, -1e9, 1e9);
}

// As QPainter rounds the edges of what it fills.
QRect rounded(const QRectF& box) {
  const QPoint from(qRound(near(box.left())), qRound(near(box.top()))),
      to(qRound(near(box.right())), qRound(near(box.bottom())));
  return {from, QSize(to.x() - from.x(), to.y() - from.y())};
}

// The one that a point is in.
int pixel(double at) {
  return static_cast<int>(std::floor(near(at)));
}

// Whole pixels above the point, 32 bits below it.
std::int64_t fixed(double pixels) {
  return static_cast<std::int64_t>(near(pixels) * 4294967296.0);
}

// Four channels at once, each with room for its product.
constexpr std::uint64_t kFour = 0x00ff00ff00ff00ff;
std::uint64_t spread(QRgb of) {
  return (of | std::uint64_t{of} << 24) & kFour;
}
QRgb gathered(std::uint64_t of) {
  return static_cast<QRgb>(of | of >> 24);
}
// As QPainter blends it; `above` is premultiplied.
QRgb over(QRgb below, QRgb above) {
  const std::uint64_t product = spread(below) * (255 - static_cast<std::uint64_t>(qAlpha(above)));
  return above + gathered(((product + (product >> 8 & kFour) + 0x0080008000800080) >> 8) & kFour);
}

// So many 256ths of it.
QRgb scaled(QRgb premultiplied, unsigned by) {
  return gathered(spread(premultiplied) * by >> 8 & kFour);
}

// Of a line that neither stands nor lies: columns of pixels that it crosses, or lines of them where it is
// steep, as far as it may be inside, and where it crosses them.
struct Course {
  Course(const QLineF& line, const QRect& area, double margin)
      : steep(std::abs(line.dy()) > std::abs(line.dx())) {
    const auto along = [&](QPointF at) { return steep ? at.y() : at.x(); };
    const auto aside = [&](QPointF at) { return steep ? at.x() : at.y(); };
    const bool turned = along(line.p1()) > along(line.p2());
    const QPointF from = turned ? line.p2() : line.p1(), to = turned ? line.p1() : line.p2();
    begin = along(from), at_begin = aside(from);
    slope = (aside(to) - at_begin) / (along(to) - begin);
    first = std::max(pixel(begin), steep ? area.top() : area.left());
    last = std::min(pixel(along(to)), steep ? area.bottom() : area.right());
    least = steep ? area.left() : area.top(), most = steep ? area.right() : area.bottom();
    const auto reaches = [&](double edge) { return begin + (edge - at_begin) / slope - 0.5; };
    const auto [enters, leaves] = std::minmax({reaches(least - margin), reaches(most + 1 + margin)});
    first = std::max(first, pixel(enters)), last = std::min(last, pixel(leaves) + 1);
  }
  double across(double at) const { return at_begin + (at - begin) * slope; }

  bool steep;
  double begin = 0, at_begin = 0, slope = 0;
  int first = 0, last = 0;  // both are crossed
  int least = 0, most = 0;  // of the area, the other way
};

}  // namespace

BoxPainter::BoxPainter(QPainter& p, const QRectF& area) : p_(p), area_(rounded(area)) {
  const Canvas canvas = canvas_of(p);
  if (canvas.image == nullptr) return;
  QImage& image = *canvas.image;
  scale_ = p.deviceTransform().m11();
  area_ = rounded({area.topLeft() * scale_, area.size() * scale_}) & canvas.free.translated(-canvas.origin);
  stride_ = image.bytesPerLine() / static_cast<qsizetype>(sizeof(QRgb));
  bits_ = reinterpret_cast<QRgb*>(image.bits()) + canvas.origin.y() * stride_ + canvas.origin.x();
}

QRect BoxPainter::pixels_of(const QRectF& box) const {
  const double left = std::min(box.left(), box.right()) * scale_, width = std::abs(box.width()) * scale_,
               top = std::min(box.top(), box.bottom()) * scale_, height = std::abs(box.height()) * scale_;
  const QRect all = rounded({left, top, width, height});
  return {QPoint(std::max(all.left(), area_.left()), std::max(all.top(), area_.top())),
          QPoint(std::min(all.right(), area_.right()), std::min(all.bottom(), area_.bottom()))};
}

void BoxPainter::fill(const QRectF& box, const QColor& colour) {
  if (!direct()) return p_.fillRect(box, colour);
  put(pixels_of(box), colour.rgb(), 0, {});
}

void BoxPainter::fill_edges(const QRect& pixels, const QColor& colour) {
  put(QRect(pixels.left(), pixels.top(), pixels.width(), 1), colour.rgb(), 0, {});
  put(QRect(pixels.left(), pixels.top(), 1, pixels.height()), colour.rgb(), 0, {});
}

void BoxPainter::fill(const QRectF& box, const QColor& colour, scene::Pattern pattern, const QColor& ink,
                      double strength) {
  if (!direct()) {
    p_.fillRect(box, colour);
    return patterns_.add(box, pattern, ink, strength);
  }
  if (!PatternBoxes::shows(box, pattern)) return put(pixels_of(box), colour.rgb(), 0, {});
  // Not a brush, of which there would be one for each box.
  const QRgb above = qPremultiply(PatternBoxes::ink_of(ink, strength).rgba());
  put(pixels_of(box), colour.rgb(), over(colour.rgb(), above), bits_of(style_of(pattern)));
}

void BoxPainter::hatch(const QRectF& box, const QColor& colour, const QColor& ink) {
  if (direct()) return put(pixels_of(box), colour.rgb(), ink.rgb(), bits_of(Qt::BDiagPattern));
  p_.fillRect(box, colour);
  hatched_[ink.rgb()].append(box);
}

void BoxPainter::line(const QLineF& of, const QColor& colour) {
  const QLineF line(of.p1() * scale_, of.p2() * scale_);
  if (!direct()) {
    lines_[colour.rgb()].append(line);
  } else if (line.x1() == line.x2() || line.y1() == line.y2()) {
    const auto [left, right] = std::minmax({line.x1(), line.x2()});
    const auto [top, bottom] = std::minmax({line.y1(), line.y2()});
    const QPoint from(pixel(left), pixel(top)), to(pixel(right), pixel(bottom));
    put(QRect(from, to).intersected(area_), colour.rgb(), 0, {});
  } else {
    slanting(line, colour.rgb());
  }
}

void BoxPainter::smooth_line(const QLineF& of, const QColor& colour) {
  if (!direct()) return smooth_lines_[colour.rgba()].append(of);
  const QLineF line(of.p1() * scale_, of.p2() * scale_);
  if (line.dx() == 0 || line.dy() == 0) return;
  // Several beside each other, where a pixel is of several of the device's.
  const int wide = std::max(1, qRound(scale_));
  const bool steep = std::abs(line.dy()) > std::abs(line.dx());
  for (int i = 0; i < wide; ++i) {
    const double aside = i - (wide - 1) / 2.0;
    smooth(line.translated(steep ? aside : 0, steep ? 0 : aside), qPremultiply(colour.rgba()));
  }
}

void BoxPainter::finish() {
  if (direct()) return;
  patterns_.draw(p_);
  // Together: a pattern is made anew whenever it is changed to.
  for (const auto& [ink, boxes] : hatched_) {
    p_.setBrush(for_large(p_, QBrush(QColor::fromRgb(ink), Qt::BDiagPattern)));
    p_.drawRects(boxes);
  }
  hatched_.clear();
  for (const auto& [colour, lines] : lines_) {
    p_.setPen(QPen(QColor::fromRgb(colour), 0));
    p_.drawLines(lines);
  }
  lines_.clear();
  p_.setRenderHint(QPainter::Antialiasing, true);
  for (const auto& [colour, lines] : smooth_lines_) {
    p_.setPen(QPen(QColor::fromRgba(colour), 1));
    p_.drawLines(lines);
  }
  smooth_lines_.clear();
  p_.setRenderHint(QPainter::Antialiasing, false);
  p_.setPen(Qt::NoPen);
  p_.setBrush(Qt::NoBrush);
}

void BoxPainter::repeat(const QRectF& box) {
  const QRect all = pixels_of(box);
  if (all.isEmpty()) return;
  for (int y = all.top() + kPatternSide; y <= all.bottom(); ++y)
    std::memcpy(pixels(all.left(), y), pixels(all.left(), y - kPatternSide),
                static_cast<std::size_t>(all.width()) * sizeof(QRgb));
}

// A line of pixels is written one by one where nothing like it stands above; else it is copied.
void BoxPainter::put(const QRect& box, QRgb plain, QRgb inked, const PatternBits& bits) {
  if (box.isEmpty()) return;
  const auto width = static_cast<std::size_t>(box.width());
  const int period = std::bit_cast<std::uint64_t>(bits) == 0 ? 1 : kPatternSide;
  for (int y = box.top(); y <= box.bottom(); ++y) {
    QRgb* const to = pixels(box.left(), y);
    const unsigned of = bits[static_cast<std::size_t>(y % kPatternSide)];
    if (width >= kWorthCopying && y - period >= box.top()) {
      std::memcpy(to, pixels(box.left(), y - period), width * sizeof(QRgb));
    } else if (of == 0 || of == 0xff) {
      std::fill_n(to, width, of == 0 ? plain : inked);
    } else {
      for (int x = box.left(); x <= box.right(); ++x)
        to[x - box.left()] = of >> (x % kPatternSide) & 1 ? inked : plain;
    }
  }
}

// One pixel of each column, or of each line where it is steep: where it crosses their middle.
void BoxPainter::slanting(const QLineF& line, QRgb colour) {
  const Course course(line, area_, 0);
  if (course.first > course.last) return;
  int first = course.first, last = course.last;
  std::int64_t at = fixed(course.across(first + 0.5));
  const std::int64_t step = fixed(course.slope);
  const auto beside = [&](int i) {
    const std::int64_t there = (at + step * (i - first)) >> 32;
    return there < course.least || there > course.most;
  };
  while (first <= last && beside(last)) --last;
  for (; first <= last && beside(first); ++first) at += step;
  const qsizetype next = course.steep ? stride_ : 1, aside = course.steep ? 1 : stride_;
  QRgb* to = pixels(0, 0) + first * next;
  for (int i = first; i <= last; ++i, at += step, to += next) to[(at >> 32) * aside] = colour;
}

// Two pixels of each column: the nearer their middles are to the line, the more of its colour they have.
void BoxPainter::smooth(const QLineF& line, QRgb premultiplied) {
  if (premultiplied != smoothed_) {
    smoothed_ = premultiplied;
    for (unsigned part = 0; part < parts_.size(); ++part) parts_[part] = scaled(premultiplied, part);
  }
  const Course course(line, area_, 1);
  const qsizetype next = course.steep ? stride_ : 1, aside = course.steep ? 1 : stride_;
  std::int64_t at = fixed(course.across(course.first + 0.5) - 0.5);
  const std::int64_t step = fixed(course.slope);
  QRgb* to = pixels(0, 0) + course.first * next;
  // Most lines are wholly inside.
  const std::int64_t end = at + step * (course.last - course.first);
  const auto inside = [&](std::int64_t there) {
    return there >> 32 >= course.least && there >> 32 < course.most;
  };
  const bool all = inside(at) && inside(end);
  for (int i = course.first; i <= course.last; ++i, at += step, to += next) {
    const std::int64_t upper = at >> 32;
    const auto part = static_cast<unsigned>(at >> 24) & 0xff;
    if (all || (upper >= course.least && upper <= course.most))
      to[upper * aside] = over(to[upper * aside], parts_[256 - part]);
    if (all || (upper + 1 >= course.least && upper + 1 <= course.most))
      to[(upper + 1) * aside] = over(to[(upper + 1) * aside], parts_[part]);
  }
}

}  // namespace margay::viewer
