// Which colour is which state's, below a picture.
#include <QFontMetricsF>
#include <QObject>
#include <algorithm>
#include <functional>

#include "margay/scene/statistics.h"
#include "paint.h"
#include "patterns.h"

namespace margay::viewer {
namespace {

// Where the entries of a legend are: one behind the other, in lines.
class LegendLines {
 public:
  LegendLines(const QRectF& area, const QFontMetricsF& metrics)
      : area_(area), metrics_(metrics), line_(metrics.height() + 4), box_(metrics.height() * 0.7) {
    begin();
  }
  void begin() { at_ = area_.topLeft(); }
  // The place of the next one, with a box before its name or without; empty: there is no room.
  QRectF next(const QString& name, bool box) {
    const double width = (box ? box_ + 4 : 0) + metrics_.horizontalAdvance(name) + 14;
    if (at_.x() + width > area_.right() && at_.x() > area_.left()) at_ = {area_.left(), at_.y() + line_};
    if (at_.y() + line_ > area_.bottom()) return {};
    const QRectF out(at_, QSizeF(width, line_));
    at_.rx() += width;
    return out;
  }
  bool have_room(const std::vector<LegendEntry>& entries, const QString& more) {
    begin();
    for (const LegendEntry& entry : entries)
      if (next(entry.second, true).isEmpty()) return false;
    return more.isEmpty() || !next(more, false).isEmpty();
  }
  double box() const { return box_; }
  double height() const { return at_.y() + line_ - area_.top(); }

 private:
  const QRectF area_;
  const QFontMetricsF metrics_;
  const double line_, box_;
  QPointF at_;
};

}  // namespace

double paint_legend(QPainter& p, const QRectF& area, const std::vector<LegendEntry>& entries,
                    const scene::Palette& palette, const QString& more) {
  p.save();
  LegendLines lines(area, QFontMetricsF(p.font()));
  p.setPen(colour_of(palette.ink()));
  for (const auto& [look, name] : entries) {
    const QRectF place = lines.next(name, true);
    if (place.isEmpty()) break;
    fill_box(p,
             QRectF(place.left(), place.top() + (place.height() - lines.box()) / 2, lines.box(), lines.box()),
             look);
    p.setPen(colour_of(palette.ink()));
    p.drawText(place.adjusted(lines.box() + 4, 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter, name);
  }
  if (!more.isEmpty())
    if (const QRectF place = lines.next(more, false); !place.isEmpty())
      p.drawText(place, Qt::AlignLeft | Qt::AlignVCenter, more);
  p.restore();
  return lines.height();
}

double paint_legend(QPainter& p, const QRectF& area, const scene::ViewData& data,
                    const scene::Palette& palette) {
  std::vector<double> total(data.states.size());
  for (const scene::StateRow& row : scene::statistics(data, {0, 0, data.slices()}).rows)
    total[row.state] = row.share;
  std::vector<std::uint32_t> states;
  for (const std::uint32_t s : scene::states_in_order(data))
    if (total[s] > 0) states.push_back(s);
  // Where there is no room for all, those of the least time are left out.
  std::vector<double> most;
  for (const std::uint32_t s : states) most.push_back(total[s]);
  std::sort(most.begin(), most.end(), std::greater<>());
  LegendLines lines(area, QFontMetricsF(p.font()));
  std::vector<LegendEntry> entries;
  QString more;
  for (std::size_t kept = states.size(); kept > 0; --kept) {
    entries.clear();
    for (const std::uint32_t s : states)
      if (entries.size() < kept && total[s] >= most[kept - 1])
        entries.emplace_back(palette.look(data.states[s].name, data.states[s].family),
                             text_of(data.states[s].name));
    const std::size_t others = states.size() - entries.size();
    more = others == 0 ? QString() : QObject::tr(others == 1 ? "and %1 other" : "and %1 others").arg(others);
    if (lines.have_room(entries, more)) break;
  }
  return paint_legend(p, area, entries, palette, more);
}

}  // namespace margay::viewer
