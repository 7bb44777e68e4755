#include <QPen>
#include <algorithm>
#include <vector>

#include "margay/scene/navigation.h"
#include "paint.h"

namespace margay::viewer {
namespace {

constexpr double kBar = 5;         // height of an alert below the phases
constexpr double kLeastFrame = 3;  // what is shorter is seen all the same
constexpr double kFrame = 2;
constexpr double kThin =
    8;  // a frame of less height hides what is in it, and one that is as near what is between
constexpr std::size_t kMostFrames = 256;

// One frame around thin ones that follow each other closely: each by itself they would hide all that is
// there.
std::vector<QRectF> joined(std::vector<QRectF> boxes) {
  std::sort(boxes.begin(), boxes.end(), [](const QRectF& a, const QRectF& b) { return a.top() < b.top(); });
  std::vector<QRectF> out;
  bool thin = false;  // the last of them, or all that were joined to it
  for (const QRectF& box : boxes) {
    const bool is_thin = box.height() < kThin;
    if (thin && is_thin && box.top() - out.back().bottom() < kThin) {
      out.back().setBottom(std::max(out.back().bottom(), box.bottom()));
      continue;
    }
    out.push_back(box);
    thin = is_thin;
  }
  return out;
}

}  // namespace

QColor alert_colour(const scene::Palette& palette) {
  return palette.theme() == scene::Theme::kDark ? QColor(255, 92, 92) : QColor(200, 16, 16);
}

void paint_alerts(QPainter& p, const QRectF& area, const QRectF& ribbon, const Picture& picture,
                  const scene::Viewport& view, const std::vector<terminal::AlertView>& alerts, TimeNs now) {
  p.save();
  p.setRenderHint(QPainter::Antialiasing, false);
  p.setBrush(Qt::NoBrush);
  const QColor colour = alert_colour(picture.palette);
  const QColor around = colour_of(picture.palette.background());
  std::size_t frames = 0;
  for (const terminal::AlertView& a : alerts) {
    const TimeNs end(a.end_ns && !a.firing ? *a.end_ns : std::max(a.onset_ns, now.value));
    const double from = scene::x_of(view, TimeNs(a.onset_ns));
    const double to = std::max(from + kLeastFrame, scene::x_of(view, end));
    if (to <= 0 || from >= area.width()) continue;
    p.setClipRect(ribbon);
    p.fillRect(QRectF(QPointF(ribbon.left() + from, ribbon.bottom() - kBar),
                      QPointF(ribbon.left() + to, ribbon.bottom())),
               colour);
    p.setClipRect(area);
    std::vector<QRectF> boxes;
    std::vector<std::uint32_t> blamed;
    for (const std::string& path : a.paths)
      for (const std::uint32_t n : scene::nodes_named(picture.data, path)) blamed.push_back(n);
    for (const std::uint32_t n : blamed) {
      if (!picture.rows.shows(n) || ++frames > kMostFrames) continue;
      const scene::Row& first = picture.rows.rows[picture.rows.first_row[n]];
      const scene::Row& last = picture.rows.rows[picture.rows.last_row[n] - 1];
      boxes.emplace_back(QPointF(area.left() + from, area.top() + scene::y_of(view, first.y)),
                         QPointF(area.left() + to, area.top() + scene::y_of(view, last.y + last.height)));
    }
    for (const QRectF& box : joined(std::move(boxes))) {
      p.setPen(QPen(around, kFrame + 2));
      p.drawRect(box);
      p.setPen(QPen(colour, kFrame));
      p.drawRect(box);
    }
  }
  p.restore();
}

}  // namespace margay::viewer
