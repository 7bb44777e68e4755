#include "paint.h"

#include <QFontMetricsF>
#include <QImage>
#include <QPaintEngine>
#include <QPainterPath>
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>

#include "margay/scene/time_axis.h"
#include "patterns.h"

namespace margay::viewer {
namespace {

constexpr double kIndent = 12;     // pixels a level
constexpr double kLeastText = 10;  // height of a row that is named
constexpr double kGridWidth = 40;  // a rectangle narrower than this has no outline to be told by

QString elided(const QString& text, const QFontMetricsF& metrics, double width) {
  return metrics.elidedText(text, Qt::ElideMiddle, std::max(0.0, width));
}

scene::Look look_of(const scene::ViewData& data, std::int32_t state, const scene::Palette& palette) {
  if (state == scene::kOthers) return palette.others();
  if (state < 0 || static_cast<std::size_t>(state) >= data.states.size()) return palette.unknown();
  const scene::State& s = data.states[static_cast<std::size_t>(state)];
  return palette.look(s.name, s.family);
}

constexpr int kSteps = 200;  // of strength, that no screen shows
constexpr std::size_t kMostShades = 16'384;

// A colour at a strength, and what is read on it.
struct Shade {
  QColor fill, text;
};
// Kept from picture to picture: making a shade takes longer than filling a small rectangle with it.
const Shade& shade_of(const scene::Palette& palette, scene::Rgb full, int step) {
  static thread_local std::unordered_map<std::uint64_t, Shade> shades;
  const std::uint64_t key = static_cast<std::uint64_t>(palette.theme() == scene::Theme::kDark) << 40 |
                            static_cast<std::uint64_t>(step) << 24 |
                            static_cast<std::uint64_t>(full.r) << 16 |
                            static_cast<std::uint64_t>(full.g) << 8 | full.b;
  if (shades.size() >= kMostShades) shades.clear();
  const auto [at, is_new] = shades.try_emplace(key);
  if (is_new) {
    const scene::Rgb fill = palette.at(full, static_cast<double>(step) / kSteps);
    at->second = {colour_of(fill), colour_of(scene::text_on(fill))};
  }
  return at->second;
}

// Looks of the states of a picture.
class Inks {
 public:
  Inks(const scene::ViewData& data, const scene::Palette& palette)
      : data_(data), palette_(palette), looks_(data.states.size() + 2) {}

  const scene::Look& look(std::int32_t state) {
    std::optional<scene::Look>& look = looks_[index_of(state)];
    if (!look) look = look_of(data_, state, palette_);
    return *look;
  }
  QColor ink() const { return colour_of(palette_.ink()); }
  QBrush hatch(std::int32_t state) { return {colour_of(look(state).colour), Qt::BDiagPattern}; }
  // Of what is not hatched.
  const Shade& shade(std::int32_t state, double strength) {
    return shade_of(palette_, look(state).colour,
                    static_cast<int>(std::lround(std::clamp(strength, 0.0, 1.0) * kSteps)));
  }

 private:
  std::size_t index_of(std::int32_t state) const {
    if (state == scene::kOthers) return looks_.size() - 1;
    const auto s = static_cast<std::size_t>(state);
    return state < 0 || s >= data_.states.size() ? looks_.size() - 2 : s;
  }

  const scene::ViewData& data_;
  const scene::Palette& palette_;
  std::vector<std::optional<scene::Look>> looks_;  // none and others last
};

// Those that are kept from picture to picture, or of this one alone.
class Names {
 public:
  explicit Names(const Picture& picture) : names_(picture.names != nullptr ? *picture.names : own_) {}
  NameCache* operator->() { return &names_; }

 private:
  NameCache own_;
  NameCache& names_;
};

double x_in(const QRectF& area, scene::TimeRange range, TimeNs t) {
  const double length = static_cast<double>((range.to - range.from).value);
  if (length <= 0) return area.left();
  return area.left() + area.width() * static_cast<double>((t - range.from).value) / length;
}

double y_in(const QRectF& area, const scene::Scroll& scroll, double y) {
  const double height = scroll.bottom - scroll.top;
  return height <= 0 ? area.top() : area.top() + area.height() * (y - scroll.top) / height;
}

// Single calls, over the rectangles of the rows that show them.
class CallPainter {
 public:
  CallPainter(QPainter& p, const QRectF& area, const Picture& picture)
      : p_(p),
        area_(area),
        picture_(picture),
        inks_(picture.data, picture.palette),
        names_(picture),
        metrics_(p.font()),
        background_(colour_of(picture.palette.background())),
        scale_(p.device()->devicePixelRatioF()),
        line_(1 / scale_),
        raster_(p.paintEngine()->type() != QPaintEngine::SVG),
        width_(std::max(1, static_cast<int>(std::ceil(area.width() * scale_)))),
        piece_(width_, std::clamp(kMostPixels / width_, 1, 64), QImage::Format_ARGB32_Premultiplied) {
    piece_.setDevicePixelRatio(scale_);
  }

  void clear(const scene::Scroll& scroll) {
    for (const scene::Row& r : picture_.rows.rows) {
      const double top = y_in(area_, scroll, r.y), bottom = y_in(area_, scroll, r.y + r.height);
      if (!r.folded && bottom >= area_.top() && top <= area_.bottom())
        p_.fillRect(QRectF(area_.left(), top, area_.width(), bottom - top), background_);
    }
  }

  // Together: a pattern is made anew whenever it is changed to.
  void hatch(const scene::Gantt& calls) {
    QList<QRectF> boxes;
    for (const scene::Gap& g : calls.gaps) boxes.append(box_of(g.x0, g.x1, g.y0, g.y1));
    for (const scene::VisitBox& b : calls.boxes)
      if (is_hatched(b)) boxes.append(box_of(b.x0, b.x1, b.y0, b.y1));
    p_.setPen(Qt::NoPen);
    p_.setBrush(for_large(p_, inks_.hatch(scene::kNoState)));
    p_.drawRects(boxes);
    p_.setBrush(Qt::NoBrush);
  }

  // Those of a row and depth, which follow each other.
  void row(std::span<const scene::VisitBox> boxes) {
    const double y0 = boxes.front().y0, y1 = boxes.front().y1, inset = y1 - y0 > 3 ? line_ : 0;
    pixels_.assign(static_cast<std::size_t>(width_), 0);
    for (const scene::VisitBox& b : boxes)
      if (in_line(b)) put(b);
    draw_line(y0 + inset, y1);
    PatternBoxes patterns;
    QList<QRectF> places;
    for (const scene::VisitBox& b : boxes) {
      QRectF& box = places.emplaceBack(box_of(b.x0, b.x1, y0 + inset, y1));
      const auto state = static_cast<std::int32_t>(b.state);
      if (!in_line(b) && !is_hatched(b)) {
        if (box.width() > 3) p_.fillRect(box, background_), box.setLeft(box.left() + line_);
        p_.fillRect(box, inks_.shade(state, 1).fill);
      }
      patterns.add(box, inks_.look(state).pattern, inks_.shade(state, 1).text);
    }
    patterns.draw(p_);
    for (std::size_t i = 0; i < boxes.size(); ++i) mark(boxes[i], places[static_cast<qsizetype>(i)]);
  }

  // As aggregates of several parts are.
  void mark_several() {
    QColor faint = colour_of(picture_.palette.ink());
    faint.setAlpha(110);
    p_.setPen(QPen(faint, 1));
    p_.setRenderHint(QPainter::Antialiasing, true);
    p_.drawLines(several_);
  }

 private:
  // Fewer than Qt divides among threads, for which it waits.
  static constexpr int kMostPixels = 60'000;

  QRectF box_of(double x0, double x1, double y0, double y1) const {
    return {QPointF(area_.left() + x0, area_.top() + y0), QPointF(area_.left() + x1, area_.top() + y1)};
  }
  bool is_hatched(const scene::VisitBox& b) { return inks_.look(static_cast<std::int32_t>(b.state)).hatch; }
  // A line of pixels is painted, and copied as often as the row is high: filling a box touches as many lines
  // of memory as it is high, and there are thousands. A file of vectors has boxes, but for what stands for
  // several calls.
  bool in_line(const scene::VisitBox& b) { return !is_hatched(b) && (raster_ || b.visit == scene::kNoPart); }
  // What is left of the background tells boxes from their neighbours.
  void put(const scene::VisitBox& b) {
    const int from = std::min(static_cast<int>(std::lround(b.x0 * scale_)), width_ - 1);
    const int to = std::clamp(static_cast<int>(std::lround(b.x1 * scale_)), from + 1, width_);
    std::fill(pixels_.begin() + from, pixels_.begin() + to,
              inks_.shade(static_cast<std::int32_t>(b.state), 1).fill.rgb());
    if (b.x1 - b.x0 > 3) pixels_[static_cast<std::size_t>(from)] = background_.rgb();
  }
  void draw_line(double y0, double y1) {
    const auto top = static_cast<int>(std::lround(y0 * scale_));
    const int bottom = std::max(top + 1, static_cast<int>(std::lround(y1 * scale_)));
    for (int y = 0; y < std::min(piece_.height(), bottom - top); ++y)
      std::copy_n(reinterpret_cast<const uchar*>(pixels_.data()), pixels_.size() * sizeof(QRgb),
                  piece_.scanLine(y));
    for (int y = top; y < bottom; y += piece_.height())
      p_.drawImage(QPointF(area_.left(), area_.top() + y / scale_), piece_,
                   QRectF(0, 0, width_, std::min(piece_.height(), bottom - y)));
  }
  void mark(const scene::VisitBox& b, const QRectF& box) {
    if (b.visit == scene::kNoPart || box.width() < 4 || box.height() < 4) return;
    if (picture_.data.visits[static_cast<std::size_t>(b.visit)].several_calls)
      several_.append({box.bottomLeft(), box.topRight()});
    if (box.width() <= kGridWidth || box.height() < metrics_.height()) return;
    const QStaticText& name = names_->name(p_.font(), picture_.data.states[b.state].name,
                                           std::floor(box.width()) - 2 * kPad, 4, Qt::ElideRight);
    p_.setPen(inks_.shade(static_cast<std::int32_t>(b.state), 1).text);
    p_.drawStaticText(QPointF(box.left() + kPad, box.center().y() - metrics_.height() / 2), name);
  }

  QPainter& p_;
  const QRectF area_;
  const Picture& picture_;
  Inks inks_;
  Names names_;
  const QFontMetricsF metrics_;
  const QColor background_;
  const double scale_, line_;  // device pixels a pixel; a device pixel
  const bool raster_;
  const int width_;  // device pixels
  QImage piece_;     // some lines of a row, alike
  std::vector<QRgb> pixels_;
  QList<QLineF> several_;
};

}  // namespace

QColor colour_of(scene::Rgb c) {
  return {c.r, c.g, c.b};
}
QString text_of(const std::string& utf8) {
  return QString::fromStdString(utf8);
}

QColor phase_colour(const std::string& name, const scene::Palette& palette) {
  // Phases are told apart by lightness and a hue that no family has for itself: names are written on them.
  std::uint32_t hash = 2166136261u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  const bool dark = palette.theme() == scene::Theme::kDark;
  const double l = (dark ? 0.36 : 0.80) + 0.08 * static_cast<double>(hash % 3) / 2 * (dark ? 1 : 1);
  return colour_of(scene::rgb_of(scene::Oklch{l, 0.05, static_cast<double>(hash / 3 % 12) * 30}));
}

void paint_rects(QPainter& p, const QRectF& area, const Picture& picture, const scene::Layout& layout) {
  p.save();
  p.setClipRect(area);
  p.setRenderHint(QPainter::Antialiasing, false);
  const QColor background = colour_of(picture.palette.background()), ink = colour_of(picture.palette.ink());
  p.fillRect(area, background);
  QColor faint = ink;
  faint.setAlpha(110);
  const QFontMetricsF metrics(p.font());
  const double line = 1 / p.device()->devicePixelRatioF();
  QList<QLineF> marks;
  Names names(picture);
  Inks inks(picture.data, picture.palette);
  const auto box_of = [&](const scene::Rect& r) {
    QRectF box(QPointF(area.left() + r.x0, area.top() + r.y0),
               QPointF(area.left() + r.x1, area.top() + r.y1));
    // What is left of the background tells it from its neighbours.
    if (box.width() > 3 && box.height() > 3) box.adjust(line, line, 0, 0);
    return box;
  };
  QList<QRectF> hatched;
  PatternBoxes patterns;
  for (const scene::Rect& r : layout.rects) {
    const QRectF box = box_of(r);
    if (r.absent_or_unknown()) {
      hatched.append(box);
    } else {
      const Shade& shade = inks.shade(r.state, r.strength);
      p.fillRect(box, shade.fill);
      // A part whose time is known in part only is hatched as far as that goes.
      QRectF known = box;
      if (r.known < 0.995F) {
        known.setBottom(box.bottom() - box.height() * (1 - static_cast<double>(r.known)));
        hatched.append(QRectF(known.bottomLeft(), box.bottomRight()));
        p.fillRect(hatched.back(), background);
      }
      patterns.add(known, inks.look(r.state).pattern, shade.text, r.strength);
    }
    if (r.mark != scene::Mark::kNone && r.x1 - r.x0 >= 4 && r.y1 - r.y0 >= 4) {
      marks.append({box.bottomLeft(), box.topRight()});
      if (r.mark == scene::Mark::kCross) marks.append({box.topLeft(), box.bottomRight()});
    }
  }
  patterns.draw(p);
  // Together: a pattern is made anew whenever it is changed to.
  p.setPen(Qt::NoPen);
  p.setBrush(for_large(p, inks.hatch(scene::kNoState)));
  p.drawRects(hatched);
  p.setBrush(Qt::NoBrush);
  for (const scene::Rect& r : layout.rects) {
    if (r.mark != scene::Mark::kNone || r.x1 - r.x0 <= kGridWidth || r.y1 - r.y0 <= 16 || r.state < 0)
      continue;
    const QRectF box = box_of(r);
    const std::int32_t state = r.absent_or_unknown() ? scene::kNoState : r.state;
    const QStaticText& name =
        names->name(p.font(), picture.data.states[static_cast<std::size_t>(r.state)].name,
                    std::floor(box.width()) - 2 * kPad, 3);
    p.setPen(inks.shade(state, r.strength).text);
    p.drawStaticText(QPointF(box.left() + kPad, box.center().y() - metrics.height() / 2), name);
  }
  // Together: changing pens and hints takes longer than a line.
  p.setPen(QPen(faint, 1));
  p.setRenderHint(QPainter::Antialiasing, true);
  p.drawLines(marks);
  p.restore();
}

void paint_calls(QPainter& p, const QRectF& area, const Picture& picture, const scene::Scroll& scroll,
                 const scene::Gantt& calls) {
  if (calls.boxes.empty()) return;
  p.save();
  p.setClipRect(area);
  p.setRenderHint(QPainter::Antialiasing, false);
  CallPainter painter(p, area, picture);
  painter.clear(scroll);
  painter.hatch(calls);
  for (auto first = calls.boxes.begin(), end = first; first != calls.boxes.end(); first = end) {
    end = std::find_if(first, calls.boxes.end(),
                       [&](const scene::VisitBox& b) { return b.y0 != first->y0 || b.y1 != first->y1; });
    painter.row({first, end});
  }
  painter.mark_several();
  p.restore();
}

QRectF fold_mark(const QRectF& area, const scene::Row& row, const scene::Scroll& scroll) {
  const double y = y_in(area, scroll, row.y);
  return {area.left() + kIndent * row.depth, std::max(y, area.top()), kIndent, kIndent};
}

void paint_labels(QPainter& p, const QRectF& area, const Picture& picture, const scene::Scroll& scroll) {
  p.save();
  p.setClipRect(area);
  const QFontMetricsF metrics(p.font());
  const QColor ink = colour_of(picture.palette.ink()), faint = colour_of(picture.palette.faint());
  p.fillRect(area, colour_of(picture.palette.background()));
  p.setRenderHint(QPainter::Antialiasing, true);
  const auto triangle = [&](double x, double y, bool folded) {
    QPainterPath path;
    const double s = 3.5;
    if (folded) {
      path.moveTo(x - s / 2, y - s);
      path.lineTo(x + s, y);
      path.lineTo(x - s / 2, y + s);
    } else {
      path.moveTo(x - s, y - s / 2);
      path.lineTo(x, y + s);
      path.lineTo(x + s, y - s / 2);
    }
    path.closeSubpath();
    p.fillPath(path, ink);
  };
  const double line = metrics.height();
  Names names(picture);
  // The nodes above: a bracket as high as what is below, its name where that has room.
  for (const scene::Row& r : picture.rows.spans) {
    const double top = std::max(area.top(), y_in(area, scroll, r.y));
    const double bottom = std::min(area.bottom(), y_in(area, scroll, r.y + r.height));
    if (bottom - top < kLeastText) continue;
    const double x = area.left() + kIndent * r.depth;
    p.setPen(QPen(faint, 1));
    p.drawLine(QPointF(x + kIndent / 2, top + kIndent), QPointF(x + kIndent / 2, bottom - 1));
    triangle(x + kIndent / 2, top + kIndent / 2, false);
  }
  double free_from = area.top() - 1;
  for (const scene::Row& r : picture.rows.rows) {
    const double top = y_in(area, scroll, r.y), bottom = y_in(area, scroll, r.y + r.height);
    if (bottom < area.top()) continue;
    if (top > area.bottom()) break;
    const double middle = (std::max(top, area.top()) + std::min(bottom, area.bottom())) / 2;
    // Where rows are lower than a line, as many are named as have room.
    if (middle - line / 2 < free_from) continue;
    free_from = middle + line / 2;
    const double x = area.left() + kIndent * r.depth;
    if (r.folded) triangle(x + kIndent / 2, middle, true);
    p.setPen(ink);
    const scene::Node& n = picture.data.nodes[r.node];
    std::string name = n.name.empty() ? "all" : n.name;
    if (r.folded) name += " (" + std::to_string(n.leaf_count) + ")";
    p.drawStaticText(QPointF(x + kIndent + 2, middle - line / 2),
                     names->name(p.font(), name, area.right() - x - kIndent - 2 * kPad));
  }
  // Names of the nodes above, over their brackets, where the first row below leaves room.
  for (const scene::Row& r : picture.rows.spans) {
    const double top = std::max(area.top(), y_in(area, scroll, r.y));
    const double bottom = std::min(area.bottom(), y_in(area, scroll, r.y + r.height));
    const scene::Node& n = picture.data.nodes[r.node];
    if (n.name.empty() || bottom - top < 3 * line) continue;
    const double x = area.left() + kIndent * r.depth + kIndent / 2;
    p.save();
    p.translate(x - 1, (top + kIndent + bottom) / 2);
    p.rotate(-90);
    const double room = bottom - top - 2 * kIndent;
    const QString name = elided(text_of(n.name), metrics, room);
    const QRectF box(-room / 2, -line / 2 + 1, room, line);
    const double width = metrics.horizontalAdvance(name) + 4;
    p.fillRect(QRectF(-width / 2, box.top(), width, box.height()), colour_of(picture.palette.background()));
    p.setPen(ink);
    if (name.size() > 1) p.drawText(box, Qt::AlignCenter, name);
    p.restore();
  }
  p.restore();
}

void paint_axis(QPainter& p, const QRectF& area, scene::TimeRange range, const scene::Times& times,
                const scene::Palette& palette) {
  p.save();
  const QFontMetricsF metrics(p.font());
  scene::AxisOptions options;
  options.width = area.width();
  options.character_px = metrics.averageCharWidth() * 1.15;
  const scene::Axis axis = scene::time_axis(range, times, options);
  p.setPen(QPen(colour_of(palette.faint()), 1));
  p.drawLine(area.topLeft(), area.topRight());
  for (const scene::Tick& t : axis.ticks) {
    const double x = area.left() + t.x;
    p.setPen(QPen(colour_of(palette.faint()), 1));
    p.drawLine(QPointF(x, area.top()), QPointF(x, area.top() + (t.label.empty() ? 3 : 6)));
    if (t.label.empty()) continue;
    const QString label = text_of(t.label);
    const double width = metrics.horizontalAdvance(label) + 2;
    const double left = std::clamp(x - width / 2, area.left(), std::max(area.left(), area.right() - width));
    p.setPen(colour_of(palette.ink()));
    p.drawText(QRectF(left, area.top() + 6, width, metrics.height()), Qt::AlignCenter, label);
  }
  p.restore();
}

namespace {

// Which part of how many it is: in the upper left corner, where there is room.
void paint_bar_numbers(QPainter& p, const QRectF& area, const scene::ViewData& data,
                       const std::vector<scene::Bar>& bars, scene::TimeRange range, Inks& inks) {
  const QFontMetricsF metrics(p.font());
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const double x0 = std::max(x_in(area, range, data.boundaries[bars[i].first]), area.left()),
                 x1 = std::min(x_in(area, range, data.boundaries[bars[i].last]), area.right());
    const QString number = QString::number(i + 1);
    if (metrics.horizontalAdvance(number) + 3 * kPad > x1 - x0) continue;
    // What lies below it.
    const double low = 1 - metrics.height() / area.height();
    const auto under = std::find_if(bars[i].segments.begin(), bars[i].segments.end(),
                                    [&](const scene::Segment& s) { return s.from <= low && s.to >= 1; });
    const bool plain = under == bars[i].segments.end() || inks.look(under->state).hatch;
    p.setPen(plain ? inks.ink() : inks.shade(under->state, 1).text);
    p.drawText(QPointF(x0 + kPad, area.top() + metrics.ascent()), number);
  }
}

}  // namespace

void paint_bars(QPainter& p, const QRectF& area, const scene::ViewData& data,
                const std::vector<scene::Bar>& bars, scene::TimeRange range, const scene::Palette& palette,
                BarNumbers numbers) {
  p.save();
  p.setClipRect(area);
  p.fillRect(area, colour_of(palette.background()));
  QPen line(colour_of(palette.background()));
  line.setWidthF(1);
  Inks inks(data, palette);
  PatternBoxes patterns;
  const QBrush nothing = for_large(p, inks.hatch(scene::kNoState));
  for (const scene::Bar& b : bars) {
    const double x0 = x_in(area, range, data.boundaries[b.first]),
                 x1 = x_in(area, range, data.boundaries[b.last]);
    if (x1 < area.left() || x0 > area.right()) continue;
    // Where something is measured, a bar that is not full is of those who had less of it.
    const double unknown = data.unit.empty() ? 1 : 1 - b.known;
    p.fillRect(QRectF(x0, area.top(), x1 - x0, area.height() * unknown), nothing);
    for (const scene::Segment& s : b.segments) {
      const QRectF box(QPointF(x0, area.bottom() - s.to * area.height()),
                       QPointF(x1, area.bottom() - s.from * area.height()));
      if (!inks.look(s.state).hatch) {
        p.fillRect(box, inks.shade(s.state, 1).fill);
        patterns.add(box, inks.look(s.state).pattern, inks.shade(s.state, 1).text);
        continue;
      }
      p.fillRect(box, colour_of(palette.background()));
      p.fillRect(box, inks.hatch(s.state));
    }
    if (x1 - x0 > 3) {
      p.setPen(line);
      p.drawLine(QPointF(x1, area.top()), QPointF(x1, area.bottom()));
    }
  }
  patterns.draw(p);
  if (numbers == BarNumbers::kShown) paint_bar_numbers(p, area, data, bars, range, inks);
  p.restore();
}

void paint_phases(QPainter& p, const QRectF& area, const std::vector<scene::PhaseStretch>& phases,
                  scene::TimeRange range, const scene::Palette& palette) {
  p.save();
  p.setClipRect(area);
  p.fillRect(area, colour_of(palette.background()));
  const QFontMetricsF metrics(p.font());
  for (const scene::PhaseStretch& s : phases) {
    const double x0 = std::max(area.left(), x_in(area, range, s.from)),
                 x1 = std::min(area.right(), x_in(area, range, s.to));
    if (x1 <= x0) continue;
    const QRectF box(QPointF(x0, area.top() + 1), QPointF(x1, area.bottom() - 1));
    p.fillRect(box, phase_colour(s.longest, palette));
    p.setPen(QPen(colour_of(palette.ink()), 1));
    p.drawLine(box.topLeft(), box.bottomLeft());
    QString name = text_of(scene::phase_text(s));
    if (metrics.horizontalAdvance(name) > box.width() - 2 * kPad) name = text_of(scene::phase_names(s));
    if (metrics.horizontalAdvance(name) <= box.width() - kPad)
      p.drawText(box.adjusted(kPad, 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter, name);
  }
  p.restore();
}

}  // namespace margay::viewer
