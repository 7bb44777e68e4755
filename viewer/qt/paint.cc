#include "paint.h"

#include <QFontMetricsF>
#include <QImage>
#include <QPaintEngine>
#include <QPainterPath>
#include <QStaticText>
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <unordered_map>

#include "margay/scene/time_axis.h"

namespace margay::viewer {
namespace {

constexpr double kIndent = 12;     // pixels a level
constexpr double kLeastText = 10;  // height of a row that is named
constexpr double kPad = 4;
constexpr int kMostPixels = 60'000;
constexpr double kGridWidth = 40;  // a rectangle narrower than this has no outline to be told by

QString elided(const QString& text, const QFontMetricsF& metrics, double width) {
  return metrics.elidedText(text, Qt::ElideMiddle, std::max(0.0, width));
}

QBrush brush_of(const scene::Look& look, double strength, const scene::Palette& palette) {
  if (!look.hatch) return {colour_of(palette.at(look.colour, strength))};
  return {colour_of(look.colour), Qt::BDiagPattern};
}

std::string ordinal(std::uint32_t n) {
  const bool teen = n % 100 / 10 == 1;
  return std::to_string(n) + (teen || n % 10 > 3 || n % 10 == 0 ? "th"
                              : n % 10 == 1                     ? "st"
                              : n % 10 == 2                     ? "nd"
                                                                : "rd");
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
  QBrush brush(std::int32_t state) { return brush_of(look(state), 1, palette_); }
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

double x_in(const QRectF& area, scene::TimeRange range, TimeNs t) {
  const double length = static_cast<double>((range.to - range.from).value);
  if (length <= 0) return area.left();
  return area.left() + area.width() * static_cast<double>((t - range.from).value) / length;
}

double y_in(const QRectF& area, const scene::Scroll& scroll, double y) {
  const double height = scroll.bottom - scroll.top;
  return height <= 0 ? area.top() : area.top() + area.height() * (y - scroll.top) / height;
}

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
  std::map<std::pair<std::int32_t, int>, QStaticText> names;
  Inks inks(picture.data, picture.palette);
  const auto box_of = [&](const scene::Rect& r) {
    QRectF box(QPointF(area.left() + r.x0, area.top() + r.y0),
               QPointF(area.left() + r.x1, area.top() + r.y1));
    // What is left of the background tells it from its neighbours.
    if (box.width() > 3 && box.height() > 3) box.adjust(line, line, 0, 0);
    return box;
  };
  QList<QRectF> hatched;
  for (const scene::Rect& r : layout.rects) {
    const QRectF box = box_of(r);
    if (r.absent_or_unknown()) {
      hatched.append(box);
    } else {
      p.fillRect(box, inks.shade(r.state, r.strength).fill);
      // A part whose time is known in part only is hatched as far as that goes.
      if (r.known < 0.995F) {
        QRectF rest = box;
        rest.setTop(box.bottom() - box.height() * (1 - static_cast<double>(r.known)));
        p.fillRect(rest, background);
        hatched.append(rest);
      }
    }
    if (r.mark != scene::Mark::kNone && r.x1 - r.x0 >= 4 && r.y1 - r.y0 >= 4) {
      marks.append({box.bottomLeft(), box.topRight()});
      if (r.mark == scene::Mark::kCross) marks.append({box.topLeft(), box.bottomRight()});
    }
  }
  // Together: a pattern is made anew whenever it is changed to.
  p.setPen(Qt::NoPen);
  p.setBrush(inks.brush(scene::kNoState));
  p.drawRects(hatched);
  p.setBrush(Qt::NoBrush);
  for (const scene::Rect& r : layout.rects) {
    if (r.mark != scene::Mark::kNone || r.x1 - r.x0 <= kGridWidth || r.y1 - r.y0 <= 16 || r.state < 0)
      continue;
    const QRectF box = box_of(r);
    const std::int32_t state = r.absent_or_unknown() ? scene::kNoState : r.state;
    // Many rectangles have one name and one width.
    QStaticText& name = names[{r.state, static_cast<int>(box.width())}];
    if (name.text().isEmpty()) {
      const QString text = elided(text_of(picture.data.states[static_cast<std::size_t>(r.state)].name),
                                  metrics, std::floor(box.width()) - 2 * kPad);
      name.setTextFormat(Qt::PlainText);
      name.setText(text.size() > 3 ? text : QString(" "));
    }
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
  const QFontMetricsF metrics(p.font());
  const QColor background = colour_of(picture.palette.background());
  const double line = 1 / p.device()->devicePixelRatioF();
  Inks inks(picture.data, picture.palette);
  for (const scene::Row& r : picture.rows.rows) {
    const double top = y_in(area, scroll, r.y), bottom = y_in(area, scroll, r.y + r.height);
    if (!r.folded && bottom >= area.top() && top <= area.bottom())
      p.fillRect(QRectF(area.left(), top, area.width(), bottom - top), background);
  }
  const auto box_of = [&](double x0, double x1, double y0, double y1) {
    return QRectF(QPointF(area.left() + x0, area.top() + y0), QPointF(area.left() + x1, area.top() + y1));
  };
  QList<QRectF> gaps;
  for (const scene::Gap& g : calls.gaps) gaps.append(box_of(g.x0, g.x1, g.y0, g.y1));
  const auto hatched = [&](const scene::VisitBox& b) {
    return inks.look(static_cast<std::int32_t>(b.state)).hatch;
  };
  for (const scene::VisitBox& b : calls.boxes)
    if (hatched(b)) gaps.append(box_of(b.x0, b.x1, b.y0, b.y1));
  // Together: a pattern is made anew whenever it is changed to.
  p.setPen(Qt::NoPen);
  p.setBrush(inks.brush(scene::kNoState));
  p.drawRects(gaps);
  p.setBrush(Qt::NoBrush);
  QList<QLineF> several;
  std::map<std::pair<std::uint32_t, int>, QStaticText> names;
  const auto marked = [&](const scene::VisitBox& b, const QRectF& box) {
    if (b.visit == scene::kNoPart || box.width() < 4 || box.height() < 4) return;
    if (picture.data.visits[static_cast<std::size_t>(b.visit)].several_calls)
      several.append({box.bottomLeft(), box.topRight()});
    if (box.width() <= kGridWidth || box.height() < metrics.height()) return;
    const auto state = static_cast<std::int32_t>(b.state);
    QStaticText& name = names[{b.state, static_cast<int>(box.width())}];
    if (name.text().isEmpty()) {
      const QString text = metrics.elidedText(text_of(picture.data.states[b.state].name), Qt::ElideRight,
                                              std::floor(box.width()) - 2 * kPad);
      name.setTextFormat(Qt::PlainText);
      name.setText(text.size() > 4 ? text : QString(" "));
    }
    p.setPen(inks.shade(state, 1).text);
    p.drawStaticText(QPointF(box.left() + kPad, box.center().y() - metrics.height() / 2), name);
  };
  // Of a row and depth, which follow each other, one line of pixels is painted and copied as often as they
  // are high: filling a box touches as many lines of memory as it is high, and there are thousands. A file of
  // vectors has boxes, but for what stands for several calls.
  const bool raster = p.paintEngine()->type() != QPaintEngine::SVG;
  const double scale = p.device()->devicePixelRatioF();
  // A piece of so many lines is drawn over and over: one of more pixels Qt divides among threads, and waits.
  const int width = std::max(1, static_cast<int>(std::ceil(area.width() * scale)));
  QImage piece(width, std::clamp(kMostPixels / width, 1, 64), QImage::Format_ARGB32_Premultiplied);
  piece.setDevicePixelRatio(scale);
  std::vector<QRgb> pixels;
  const auto in_line = [&](const scene::VisitBox& b) {
    return !hatched(b) && (raster || b.visit == scene::kNoPart);
  };
  // What is left of the background tells boxes from their neighbours.
  const auto put = [&](const scene::VisitBox& b) {
    const int from = std::min(static_cast<int>(std::lround(b.x0 * scale)), width - 1);
    const int to = std::clamp(static_cast<int>(std::lround(b.x1 * scale)), from + 1, width);
    std::fill(pixels.begin() + from, pixels.begin() + to,
              inks.shade(static_cast<std::int32_t>(b.state), 1).fill.rgb());
    if (b.x1 - b.x0 > 3) pixels[static_cast<std::size_t>(from)] = background.rgb();
  };
  for (std::size_t i = 0; i < calls.boxes.size();) {
    const double y0 = calls.boxes[i].y0, y1 = calls.boxes[i].y1, inset = y1 - y0 > 3 ? line : 0;
    std::size_t end = i;
    pixels.assign(static_cast<std::size_t>(width), 0);
    for (; end < calls.boxes.size() && calls.boxes[end].y0 == y0 && calls.boxes[end].y1 == y1; ++end)
      if (in_line(calls.boxes[end])) put(calls.boxes[end]);
    const auto top = static_cast<int>(std::lround((y0 + inset) * scale));
    const int bottom = std::max(top + 1, static_cast<int>(std::lround(y1 * scale)));
    for (int y = 0; y < std::min(piece.height(), bottom - top); ++y)
      std::copy_n(reinterpret_cast<const uchar*>(pixels.data()), pixels.size() * sizeof(QRgb),
                  piece.scanLine(y));
    for (int y = top; y < bottom; y += piece.height()) {
      const int lines = std::min(piece.height(), bottom - y);
      p.drawImage(QPointF(area.left(), area.top() + y / scale), piece, QRectF(0, 0, width, lines));
    }
    for (; i < end; ++i) {
      const scene::VisitBox& b = calls.boxes[i];
      QRectF box = box_of(b.x0, b.x1, y0 + inset, y1);
      if (!in_line(b) && !hatched(b)) {
        if (box.width() > 3) p.fillRect(box, background), box.setLeft(box.left() + line);
        p.fillRect(box, inks.shade(static_cast<std::int32_t>(b.state), 1).fill);
      }
      marked(b, box);
    }
  }
  // As aggregates of several parts are.
  QColor faint = colour_of(picture.palette.ink());
  faint.setAlpha(110);
  p.setPen(QPen(faint, 1));
  p.setRenderHint(QPainter::Antialiasing, true);
  p.drawLines(several);
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
    QString name = text_of(n.name.empty() ? "all" : n.name);
    if (r.folded) name += QString(" (%1)").arg(n.leaf_count);
    p.drawText(QRectF(x + kIndent + 2, middle - line / 2, area.right() - x - kIndent - kPad, line),
               Qt::AlignLeft | Qt::AlignVCenter,
               elided(name, metrics, area.right() - x - kIndent - 2 * kPad));
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

void paint_axis(QPainter& p, const QRectF& area, scene::TimeRange range, TimeNs zero,
                const scene::Palette& palette) {
  p.save();
  const QFontMetricsF metrics(p.font());
  scene::AxisOptions options;
  options.width = area.width();
  options.character_px = metrics.averageCharWidth() * 1.15;
  const scene::Axis axis = scene::time_axis(range, zero, options);
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

void paint_bars(QPainter& p, const QRectF& area, const scene::ViewData& data,
                const std::vector<scene::Bar>& bars, scene::TimeRange range, const scene::Palette& palette) {
  p.save();
  p.setClipRect(area);
  p.fillRect(area, colour_of(palette.background()));
  QPen line(colour_of(palette.background()));
  line.setWidthF(1);
  Inks inks(data, palette);
  const QBrush nothing = inks.brush(scene::kNoState);
  for (const scene::Bar& b : bars) {
    const double x0 = x_in(area, range, data.boundaries[b.first]),
                 x1 = x_in(area, range, data.boundaries[b.last]);
    if (x1 < area.left() || x0 > area.right()) continue;
    p.fillRect(QRectF(QPointF(x0, area.top()), QPointF(x1, area.bottom())), nothing);
    for (const scene::Segment& s : b.segments) {
      const QRectF box(QPointF(x0, area.bottom() - s.to * area.height()),
                       QPointF(x1, area.bottom() - s.from * area.height()));
      if (!inks.look(s.state).hatch) {
        p.fillRect(box, inks.shade(s.state, 1).fill);
        continue;
      }
      p.fillRect(box, colour_of(palette.background()));
      p.fillRect(box, inks.brush(s.state));
    }
    if (x1 - x0 > 3) {
      p.setPen(line);
      p.drawLine(QPointF(x1, area.top()), QPointF(x1, area.bottom()));
    }
  }
  p.restore();
}

void paint_quality(QPainter& p, const QRectF& area, const scene::Steps& steps,
                   const scene::Palette& palette) {
  p.save();
  p.fillRect(area, colour_of(palette.background()));
  const QFontMetricsF metrics(p.font());
  const QRectF plot = area.adjusted(kPad, metrics.height() + kPad, -kPad, -metrics.height() - kPad);
  p.setPen(QPen(colour_of(palette.faint()), 1));
  p.drawRect(plot);
  const auto n = static_cast<double>(steps.steps.size());
  if (n > 0) {
    const double w = plot.width() / n;
    if (steps.current >= 0) {
      QColor here = colour_of(palette.ink());
      here.setAlpha(40);
      p.fillRect(QRectF(plot.left() + w * static_cast<double>(steps.current), plot.top(), w, plot.height()),
                 here);
    }
    const auto curve = [&](bool gain, QColor colour, Qt::PenStyle style) {
      QPainterPath path;
      for (std::size_t k = 0; k < steps.steps.size(); ++k) {
        const double share = gain ? steps.steps[k].gain_share : steps.steps[k].loss_share;
        const double y = plot.bottom() - plot.height() * share, x = plot.left() + w * static_cast<double>(k);
        k == 0 ? path.moveTo(x, y) : path.lineTo(x, y);
        path.lineTo(x + w, y);
      }
      QPen pen(colour, 1.6);
      pen.setStyle(style);
      p.setPen(pen);
      p.drawPath(path);
    };
    p.setRenderHint(QPainter::Antialiasing, true);
    const QColor gain = colour_of(scene::Palette::family(palette.theme(), wire::FAMILY_COMPUTE));
    const QColor loss = colour_of(scene::Palette::family(palette.theme(), wire::FAMILY_COLLECTIVE));
    curve(true, gain, Qt::SolidLine);
    curve(false, loss, Qt::DashLine);
    if (steps.jump >= 0) {
      const double x = plot.left() + w * (static_cast<double>(steps.jump) + 0.5);
      p.setPen(QPen(colour_of(palette.ink()), 1, Qt::DotLine));
      p.drawLine(QPointF(x, plot.top()), QPointF(x, plot.bottom()));
    }
    p.setPen(gain);
    p.drawText(QRectF(area.left() + kPad, area.top(), area.width(), metrics.height()), Qt::AlignLeft, "gain");
    p.setPen(loss);
    p.drawText(QRectF(area.left() + kPad + metrics.horizontalAdvance("gain  "), area.top(), area.width(),
                      metrics.height()),
               Qt::AlignLeft, "loss");
  }
  p.setPen(colour_of(palette.ink()));
  QString below =
      n > 0 ? QString("%1 significant p%2").arg(steps.steps.size()).arg(steps.complete ? "" : ", not all")
            : QString("no curve yet");
  if (steps.current >= 0) {
    const scene::Step& s = steps.steps[static_cast<std::size_t>(steps.current)];
    below = QString("p %1 to %2: %3 parts")
                .arg(text_of(scene::p_text(s.p)), text_of(scene::p_text(s.until)))
                .arg(s.parts);
  }
  p.drawText(QRectF(area.left() + kPad, plot.bottom() + 2, area.width() - 2 * kPad, metrics.height()),
             Qt::AlignLeft, elided(below, metrics, area.width() - 2 * kPad));
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
    QStringList names;
    for (const std::string& n : s.names) names << text_of(n);
    if (s.more) names << "...";
    const QString plain = names.join("+");
    QString name = plain;
    if (!s.label.empty()) name += " (" + text_of(s.label) + ")";
    if (s.occurrence > 1) name += QString(", %1").arg(text_of(ordinal(s.occurrence)));
    if (metrics.horizontalAdvance(name) > box.width() - 2 * kPad) name = plain;
    if (metrics.horizontalAdvance(name) <= box.width() - kPad)
      p.drawText(box.adjusted(kPad, 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter, name);
  }
  p.restore();
}

double paint_legend(QPainter& p, const QRectF& area, const scene::ViewData& data,
                    const scene::Palette& palette) {
  p.save();
  const QFontMetricsF metrics(p.font());
  const double line = metrics.height() + 4, box = metrics.height() * 0.7;
  double x = area.left(), y = area.top();
  std::vector<bool> occurs(data.states.size());
  for (const scene::StateShare& s : data.shares)
    if (s.state < occurs.size() && s.share > 0) occurs[s.state] = true;
  for (const std::uint32_t s : scene::states_in_order(data)) {
    if (!occurs[s]) continue;
    const QString name = text_of(data.states[s].name);
    const double width = box + 4 + metrics.horizontalAdvance(name) + 14;
    if (x + width > area.right() && x > area.left()) x = area.left(), y += line;
    if (y + line > area.bottom()) break;
    p.fillRect(QRectF(x, y + (line - box) / 2, box, box),
               brush_of(look_of(data, static_cast<std::int32_t>(s), palette), 1, palette));
    p.setPen(colour_of(palette.ink()));
    p.drawText(QRectF(x + box + 4, y, width, line), Qt::AlignLeft | Qt::AlignVCenter, name);
    x += width;
  }
  p.restore();
  return y + line - area.top();
}

}  // namespace margay::viewer
