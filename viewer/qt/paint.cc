#include "paint.h"

#include <QFontMetricsF>
#include <QImage>
#include <QPainterPath>
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "box_painter.h"
#include "margay/scene/time_axis.h"
#include "patterns.h"

namespace margay::viewer {
namespace {

constexpr double kIndent = 12;     // pixels a level
constexpr double kLeastText = 10;  // height of a row that is named
constexpr double kGridWidth = 40;  // a rectangle narrower than this has no outline to be told by

scene::Look look_of(const scene::ViewData& data, std::int32_t state, const scene::Palette& palette) {
  if (state == scene::kOthers) return palette.others();
  if (state < 0 || static_cast<std::size_t>(state) >= data.states.size()) return palette.unknown();
  const scene::State& s = data.states[static_cast<std::size_t>(state)];
  return palette.look(s.name, s.family);
}

constexpr int kSteps = 200;  // of strength, that no screen shows
constexpr std::size_t kMostColours = 128;

// A colour at a strength, and what is read on it.
struct Shade {
  QColor fill, text;
};
// Those of a colour, made when they are first asked for.
class Shades {
 public:
  Shades(scene::Rgb full, scene::Rgb background) : full_(full), background_(background) {}
  const Shade& at(int step) {
    std::optional<Shade>& shade = steps_[static_cast<std::size_t>(step)];
    if (!shade) {
      const scene::Rgb fill = scene::with_strength(full_, static_cast<double>(step) / kSteps, background_);
      shade = {colour_of(fill), colour_of(scene::text_on(fill))};
    }
    return *shade;
  }

 private:
  const scene::Rgb full_, background_;
  std::array<std::optional<Shade>, kSteps + 1> steps_;
};
// Kept from picture to picture: making a shade takes longer than filling a small rectangle with it.
std::shared_ptr<Shades> shades_of(scene::Rgb full, scene::Rgb background) {
  static thread_local std::map<std::pair<QRgb, QRgb>, std::shared_ptr<Shades>> kept;
  if (kept.size() >= kMostColours) kept.clear();
  std::shared_ptr<Shades>& of = kept[{colour_of(full).rgb(), colour_of(background).rgb()}];
  if (!of) of = std::make_shared<Shades>(full, background);
  return of;
}

// Looks of the states of a picture.
class Inks {
 public:
  Inks(const scene::ViewData& data, const scene::Palette& palette)
      : data_(data), palette_(palette), of_(data.states.size() + 2) {}

  const scene::Look& look(std::int32_t state) { return of(state).look; }
  QColor ink() const { return colour_of(palette_.ink()); }
  // Of what is not hatched, at full strength.
  const Shade& full(std::int32_t state) { return of(state).shades->at(kSteps); }
  // At any.
  const Shade& shade(std::int32_t state, double strength) {
    return of(state).shades->at(static_cast<int>(std::lround(std::clamp(strength, 0.0, 1.0) * kSteps)));
  }

 private:
  struct Ink {
    scene::Look look;
    std::shared_ptr<Shades> shades;  // null: not yet asked for
  };
  Ink& of(std::int32_t state) {
    Ink& ink = of_[index_of(state)];
    if (!ink.shades) {
      ink.look = look_of(data_, state, palette_);
      ink.shades = shades_of(ink.look.colour, palette_.background());
    }
    return ink;
  }
  std::size_t index_of(std::int32_t state) const {
    if (state == scene::kOthers) return of_.size() - 1;
    const auto s = static_cast<std::size_t>(state);
    return state < 0 || s >= data_.states.size() ? of_.size() - 2 : s;
  }

  const scene::ViewData& data_;
  const scene::Palette& palette_;
  std::vector<Ink> of_;  // none and others last
};

// The rectangles that a folded row has a part of.
std::vector<scene::Rect> of_folded(const scene::Rows& rows, const std::vector<scene::Rect>& rects) {
  std::vector<std::uint32_t> before{0};  // folded rows above each
  before.reserve(rows.rows.size() + 1);
  for (const scene::Row& r : rows.rows) before.push_back(before.back() + (r.folded ? 1 : 0));
  std::vector<scene::Rect> out;
  if (before.back() == 0) return out;
  std::copy_if(rects.begin(), rects.end(), std::back_inserter(out),
               [&](const scene::Rect& r) { return before[r.last_row] > before[r.first_row]; });
  return out;
}

std::int64_t pixels_in(const QRect& box) {
  return std::int64_t{box.width()} * box.height();
}

// Those that are kept from picture to picture, or of this one alone.
class Names {
 public:
  explicit Names(NameCache* kept) : names_(kept != nullptr ? *kept : own_) {}
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

QRectF row_box(const QRectF& area, const scene::Scroll& scroll, const scene::Row& r) {
  const double top = y_in(area, scroll, r.y);
  return {area.left(), top, area.width(), y_in(area, scroll, r.y + r.height) - top};
}

// Single calls, over the rectangles of the rows that show them.
class CallPainter {
 public:
  CallPainter(QPainter& p, const QRectF& area, const Picture& picture)
      : p_(p),
        area_(area),
        picture_(picture),
        inks_(picture.data, picture.palette),
        names_(picture.names),
        metrics_(p.font()),
        background_(colour_of(picture.palette.background())),
        scale_(p.device()->devicePixelRatioF()),
        line_(1 / scale_),
        width_(std::max(1, static_cast<int>(std::ceil(area.width())))),
        boxes_(p, area) {}

  void clear(const scene::Scroll& scroll) {
    for (const scene::Row& r : picture_.rows.rows)
      if (!r.folded) boxes_.fill(row_box(area_, scroll, r), background_);
  }

  void hatch(const scene::Gantt& calls) {
    const QColor ink = colour_of(inks_.look(scene::kNoState).colour);
    for (const scene::Gap& g : calls.gaps) boxes_.hatch(box_of(g.x0, g.x1, g.y0, g.y1), background_, ink);
    for (const scene::VisitBox& b : calls.boxes)
      if (is_hatched(b)) boxes_.hatch(box_of(b.x0, b.x1, b.y0, b.y1), background_, ink);
    boxes_.finish();
  }

  // Those of a row and depth, which follow each other. Their first lines of pixels are painted, and copied as
  // often as the row is high: each box touches as many lines of memory as it is high, and there are
  // thousands. A file of vectors has boxes, but for what stands for several calls.
  void row(std::span<const scene::VisitBox> boxes) {
    const double y1 = boxes.front().y1, y0 = boxes.front().y0 + (y1 - boxes.front().y0 > 3 ? line_ : 0);
    const double top = whole(y0), bottom = std::max(top + line_, whole(y1));
    const double low = boxes_.direct() ? std::min(bottom, top + boxes_.period()) : bottom;
    if (!boxes_.direct()) crowds(boxes, top, bottom);
    for (const scene::VisitBox& b : boxes) {
      if (is_hatched(b) || (b.visit == scene::kNoPart && !boxes_.direct())) continue;
      QRectF box = box_of(b.x0, b.x1, top, low);
      // What is left of the background tells boxes from their neighbours.
      if (box.width() > 3) {
        boxes_.fill(QRectF(box.left(), box.top(), line_, box.height()), background_);
        box.setLeft(box.left() + line_);
      }
      const auto state = static_cast<std::int32_t>(b.state);
      const Shade& shade = inks_.full(state);
      boxes_.fill(box, shade.fill, inks_.look(state).pattern, shade.text);
    }
    if (boxes_.direct()) repeat(boxes, top, bottom);
    boxes_.finish();
    for (const scene::VisitBox& b : boxes) mark(b, box_of(b.x0, b.x1, y0, y1));
  }

  // As aggregates of several parts are.
  void mark_several() {
    QColor faint = colour_of(picture_.palette.ink());
    faint.setAlpha(110);
    for (const QLineF& mark : several_) boxes_.smooth_line(mark, faint);
    boxes_.finish();
  }

 private:
  QRectF box_of(double x0, double x1, double y0, double y1) const {
    return {QPointF(area_.left() + x0, area_.top() + y0), QPointF(area_.left() + x1, area_.top() + y1)};
  }
  bool is_hatched(const scene::VisitBox& b) { return inks_.look(static_cast<std::int32_t>(b.state)).hatch; }
  // To a device pixel, which a row has at least.
  double whole(double y) const { return std::round(y * scale_) / scale_; }
  // Not what stands between them, such as names of those around.
  void repeat(std::span<const scene::VisitBox> boxes, double top, double bottom) {
    for (auto first = boxes.begin(), next = first; first != boxes.end(); first = next) {
      double from = first->x0, to = first->x1;
      // What stands for several calls comes behind the call that ends it.
      while (++next != boxes.end() && next->x0 <= to && next->x1 >= from)
        from = std::min(from, next->x0), to = std::max(to, next->x1);
      boxes_.repeat(box_of(from, to, top, bottom));
    }
  }
  void crowds(std::span<const scene::VisitBox> boxes, double top, double bottom) {
    QImage line(width_, 1, QImage::Format_ARGB32_Premultiplied);
    line.fill(Qt::transparent);
    for (const scene::VisitBox& b : boxes)
      if (b.visit == scene::kNoPart && !is_hatched(b))
        line.setPixel(std::min(static_cast<int>(std::lround(b.x0)), width_ - 1), 0,
                      inks_.full(static_cast<std::int32_t>(b.state)).fill.rgb());
    p_.drawImage(box_of(0, width_, top, bottom), line);
  }
  void mark(const scene::VisitBox& b, const QRectF& box) {
    if (b.visit == scene::kNoPart || box.width() < 4 || box.height() < 4) return;
    if (picture_.data.visits[static_cast<std::size_t>(b.visit)].several_calls)
      several_.append({box.bottomLeft(), box.topRight()});
    if (box.width() <= kGridWidth || box.height() < metrics_.height()) return;
    const QStaticText& name = names_->name(p_.font(), picture_.data.states[b.state].name,
                                           std::floor(box.width()) - 2 * kPad, 4, Qt::ElideRight);
    p_.setPen(inks_.full(static_cast<std::int32_t>(b.state)).text);
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
  const int width_;            // pixels
  std::vector<QRgb> pixels_;   // of a line of a row
  BoxPainter boxes_;
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

void paint_rects(QPainter& p, const QRectF& area, const Picture& picture, const scene::Scroll& scroll,
                 const scene::Layout& layout, RectRows which) {
  p.save();
  p.setClipRect(area);
  p.setRenderHint(QPainter::Antialiasing, false);
  const QColor background = colour_of(picture.palette.background()), ink = colour_of(picture.palette.ink());
  const std::vector<scene::Rect>& all = layout.rects;
  const std::vector<scene::Rect> folded =
      which == RectRows::kFolded ? of_folded(picture.rows, all) : std::vector<scene::Rect>();
  const std::vector<scene::Rect>& rects = which == RectRows::kFolded ? folded : all;
  const auto outer_box = [&](const scene::Rect& r) {
    return QRectF(QPointF(area.left() + r.x0, area.top() + r.y0),
                  QPointF(area.left() + r.x1, area.top() + r.y1));
  };
  BoxPainter boxes(p, area);
  // Filled first, unless they leave nothing of it but the lines between them.
  std::int64_t left = pixels_in(boxes.pixels_of(area));
  std::vector<QRect> pixels;  // of each
  pixels.reserve(rects.size());
  for (const scene::Rect& r : rects) left -= pixels_in(pixels.emplace_back(boxes.pixels_of(outer_box(r))));
  if (which == RectRows::kFolded)
    for (const scene::Row& r : picture.rows.rows)
      if (!r.folded) left -= pixels_in(boxes.pixels_of(row_box(area, scroll, r)));
  const bool lines_only = boxes.direct() && left == 0;
  if (!lines_only) boxes.fill(area, background);
  QColor faint = ink;
  faint.setAlpha(110);
  const QFontMetricsF metrics(p.font());
  const double line = 1 / p.device()->devicePixelRatioF();
  QList<QLineF> marks;
  Names names(picture.names);
  Inks inks(picture.data, picture.palette);
  // What is left of the background tells it from its neighbours.
  const auto lined = [](const QRectF& box) { return box.width() > 3 && box.height() > 3; };
  const auto box_of = [&](const scene::Rect& r) {
    const QRectF box = outer_box(r);
    return lined(box) ? box.adjusted(line, line, 0, 0) : box;
  };
  const QColor nothing = colour_of(inks.look(scene::kNoState).colour);
  for (std::size_t i = 0; i < rects.size(); ++i) {
    const scene::Rect& r = rects[i];
    const QRectF box = box_of(r);
    if (lines_only && lined(outer_box(r))) boxes.fill_edges(pixels[i], background);
    if (r.absent_or_unknown()) {
      boxes.hatch(box, background, nothing);
    } else {
      const Shade& shade = inks.shade(r.state, r.strength);
      // A part whose time is known in part only is hatched as far as that goes.
      QRectF known = box;
      if (r.known < 0.995F) {
        known.setBottom(box.bottom() - box.height() * (1 - static_cast<double>(r.known)));
        boxes.hatch(QRectF(known.bottomLeft(), box.bottomRight()), background, nothing);
      }
      boxes.fill(known, shade.fill, inks.look(r.state).pattern, shade.text, r.strength);
    }
    if (r.mark != scene::Mark::kNone && r.x1 - r.x0 >= 4 && r.y1 - r.y0 >= 4) {
      marks.append({box.bottomLeft(), box.topRight()});
      if (r.mark == scene::Mark::kCross) marks.append({box.topLeft(), box.bottomRight()});
    }
  }
  boxes.finish();
  for (const scene::Rect& r : rects) {
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
  for (const QLineF& mark : marks) boxes.smooth_line(mark, faint);
  boxes.finish();
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
  BoxPainter(p, area).fill(area, colour_of(picture.palette.background()));
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
  Names names(picture.names);
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
    const QStaticText& name = names->name(p.font(), n.name, room, 1);
    const double top_of = -line / 2 + 1, width = name.size().width();
    p.fillRect(QRectF(-width / 2 - 2, top_of, width + 4, line), colour_of(picture.palette.background()));
    p.setPen(ink);
    p.drawStaticText(QPointF(-width / 2, top_of), name);
    p.restore();
  }
  p.restore();
}

void paint_axis(QPainter& p, const QRectF& area, scene::TimeRange range, const scene::Times& times,
                const scene::Palette& palette, NameCache* kept) {
  p.save();
  Names names(kept);
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
    const QStaticText& label = names->name(p.font(), t.label, area.width());
    const double width = label.size().width() + 2;
    const double left = std::clamp(x - width / 2, area.left(), std::max(area.left(), area.right() - width));
    p.setPen(colour_of(palette.ink()));
    p.drawStaticText(QPointF(left + 1, area.top() + 6), label);
  }
  p.restore();
}

namespace {

// Which part of how many it is: in the upper left corner, where there is room.
void paint_bar_numbers(QPainter& p, const QRectF& area, const scene::ViewData& data,
                       const std::vector<scene::Bar>& bars, scene::TimeRange range, Inks& inks,
                       NameCache* kept) {
  const QFontMetricsF metrics(p.font());
  Names names(kept);
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const double x0 = std::max(x_in(area, range, data.boundaries[bars[i].first]), area.left()),
                 x1 = std::min(x_in(area, range, data.boundaries[bars[i].last]), area.right());
    if (x1 - x0 < 3 * kPad) continue;  // measuring a thousand takes longer than drawing the bars
    const QStaticText& number = names->name(p.font(), std::to_string(i + 1), area.width());
    if (number.size().width() + 3 * kPad > x1 - x0) continue;
    // What lies below it.
    const double low = 1 - metrics.height() / area.height();
    const auto under = std::find_if(bars[i].segments.begin(), bars[i].segments.end(),
                                    [&](const scene::Segment& s) { return s.from <= low && s.to >= 1; });
    const bool plain = under == bars[i].segments.end() || inks.look(under->state).hatch;
    p.setPen(plain ? inks.ink() : inks.full(under->state).text);
    p.drawStaticText(QPointF(x0 + kPad, area.top()), number);
  }
}

}  // namespace

void paint_bars(QPainter& p, const QRectF& area, const scene::ViewData& data,
                const std::vector<scene::Bar>& bars, scene::TimeRange range, const scene::Palette& palette,
                BarNumbers numbers, NameCache* kept) {
  p.save();
  p.setClipRect(area);
  Inks inks(data, palette);
  BoxPainter boxes(p, area);
  const QColor background = colour_of(palette.background()),
               nothing = colour_of(inks.look(scene::kNoState).colour);
  boxes.fill(area, background);
  for (const scene::Bar& b : bars) {
    const double x0 = x_in(area, range, data.boundaries[b.first]),
                 x1 = x_in(area, range, data.boundaries[b.last]);
    if (x1 < area.left() || x0 > area.right()) continue;
    // Where something is measured, a bar that is not full is of those who had less of it.
    const double unknown = data.unit.empty() ? 1 : 1 - b.known,
                 told = b.segments.empty() ? 0 : b.segments.back().to;
    if (const double free = std::min(unknown, 1 - told); free > 0)
      boxes.hatch(QRectF(x0, area.top(), x1 - x0, area.height() * free), background, nothing);
    for (const scene::Segment& s : b.segments) {
      const QRectF box(QPointF(x0, area.bottom() - s.to * area.height()),
                       QPointF(x1, area.bottom() - s.from * area.height()));
      const scene::Look& look = inks.look(s.state);
      if (look.hatch)
        boxes.hatch(box, background, colour_of(look.colour));
      else
        boxes.fill(box, inks.full(s.state).fill, look.pattern, inks.full(s.state).text);
    }
    if (x1 - x0 > 3) boxes.fill(QRectF(x1 - 0.5, area.top(), 1, area.height()), background);
  }
  boxes.finish();
  if (numbers == BarNumbers::kShown) paint_bar_numbers(p, area, data, bars, range, inks, kept);
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
