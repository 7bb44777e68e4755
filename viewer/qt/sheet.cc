#include "sheet.h"

#include <QObject>
#include <algorithm>

#include "margay/scene/time_axis.h"
#include "paint.h"
#include "patterns.h"

namespace margay::viewer {
namespace {

constexpr double kLabels = 150;  // the hierarchy's width
constexpr double kAxis = 24;     // height of the time axis
constexpr double kBars = 84;     // of the temporal overview
constexpr double kRibbon = 20;   // of the phases
constexpr double kLevelRibbon = 18;
constexpr double kSheetGap = 6;
constexpr double kLeastState = 3;  // smaller states of a bar are hatched together

}  // namespace

void hatch_beyond(QPainter& p, const QRectF& area, scene::TimeRange known, scene::TimeRange range,
                  const scene::Palette& palette) {
  const scene::Viewport view{area.width(), 1, range, {0, 1}};
  const double from = std::clamp(scene::x_of(view, known.from), 0.0, area.width());
  const double to = std::clamp(scene::x_of(view, known.to), from, area.width());
  if (from <= 0 && to >= area.width()) return;
  const QBrush hatch = for_large(p, QBrush(colour_of(palette.unknown().colour), Qt::BDiagPattern));
  if (from > 0) p.fillRect(QRectF(area.left(), area.top(), from, area.height()), hatch);
  if (to < area.width())
    p.fillRect(QRectF(area.left() + to, area.top(), area.width() - to, area.height()), hatch);
}

Sheet::Sheet(const QRectF& room, double least_height, std::size_t levels) {
  levels = std::min(levels, scene::kMostLevelRibbons);
  const double further = kLevelRibbon * static_cast<double>(levels);
  const double below = kAxis + kBars + kRibbon + further + 2 * kSheetGap;
  picture = {room.left() + kLabels, room.top(), std::max(1.0, room.width() - kLabels),
             std::max(least_height, room.height() - below)};
  labels = {room.left(), room.top(), kLabels, picture.height()};
  ribbon = {picture.left(), picture.bottom() + kSheetGap, picture.width(), kRibbon};
  for (std::size_t l = 0; l < levels; ++l)
    level_ribbons.emplace_back(picture.left(), ribbon.bottom() + kLevelRibbon * static_cast<double>(l),
                               picture.width(), kLevelRibbon);
  bars = {picture.left(), ribbon.bottom() + further + kSheetGap, picture.width(), kBars};
  axis = {picture.left(), bars.bottom(), picture.width(), kAxis};
}

const scene::ViewData& temporal_of(const Session& session) {
  const bool own = !session.temporal().empty() && session.temporal().range() == session.data().range();
  return own ? session.temporal() : session.data();
}

std::vector<scene::Bar> temporal_bars_of(const Session& session) {
  scene::BarOptions options;
  options.least_share = kLeastState / kBars;
  return scene::temporal_bars(temporal_of(session), options);
}

std::vector<scene::PhaseStretch> phases_of(const Session& session) {
  if (session.report() == nullptr) return {};
  const scene::ViewData& temporal = session.temporal();
  const std::string& policy = session.data().policy;
  const std::optional<double>& own = session.subject().time_p;
  const bool chosen = policy == "asked" || policy == "jump" || own;
  const bool there = chosen && !temporal.empty() && temporal.p == own.value_or(session.data().p);
  return scene::phase_stretches(*session.report(), there ? &temporal : nullptr);
}

std::size_t level_ribbons_of(const Session& session) {
  return session.report() == nullptr ? 0 : scene::level_ribbon_count(*session.report());
}

void paint_sheet(QPainter& p, const Sheet& sheet, const SheetContents& contents) {
  const Session& session = contents.session;
  const scene::Palette& palette = session.palette();
  const scene::ViewData& data = session.data();
  const scene::TimeRange time = contents.time;
  const Picture picture{data, session.rows(), palette, contents.names};
  paint_rects(p, sheet.picture, picture, session.scroll(), contents.layout,
              contents.calls.boxes.empty() ? RectRows::kAll : RectRows::kFolded);
  paint_calls(p, sheet.picture, picture, session.scroll(), contents.calls);
  if (session.shows_bands())
    paint_bands(p, sheet.picture, palette,
                scene::collective_bands(data, session.collectives(), session.rows(),
                                        sheet.viewport(time, session.scroll())));
  paint_annotations(p, sheet.picture, picture, contents.calls.annotations);
  if (session.shows_messages()) paint_messages(p, sheet.picture, picture, contents.calls);
  hatch_beyond(p, sheet.picture, data.range(), time, palette);
  paint_labels(p, sheet.labels, picture, session.scroll());
  if (session.report() != nullptr) paint_phases(p, sheet.ribbon, phases_of(session), time, palette);
  paint_alerts(p, sheet.picture, sheet.ribbon, picture, sheet.viewport(time, session.scroll()),
               session.alerts(), session.now());
  const scene::ViewData& temporal = temporal_of(session);
  paint_bars(p, sheet.bars, temporal, contents.bars, time, palette, BarNumbers::kShown, contents.names);
  hatch_beyond(p, sheet.bars, temporal.range(), time, palette);
  paint_axis(p, sheet.axis, time, session.times(), palette, contents.names);
  p.setPen(colour_of(palette.ink()));
  const auto name = [&](const QRectF& of, const QString& text) {
    p.drawText(QRectF(sheet.labels.left(), of.top(), sheet.labels.width() - 8, of.height()),
               Qt::AlignRight | Qt::AlignVCenter, text);
  };
  name(sheet.ribbon, QObject::tr("phases"));
  QString all = QObject::tr("all together");
  if (temporal.p != data.p) all += QObject::tr(", p %1").arg(text_of(scene::p_text(temporal.p)));
  name(sheet.bars, all);
  if (sheet.level_ribbons.empty() || session.report() == nullptr) return;
  const std::vector<scene::LevelRibbon> levels = scene::level_ribbons(*session.report());
  for (std::size_t l = 0; l < std::min(levels.size(), sheet.level_ribbons.size()); ++l) {
    paint_phases(p, sheet.level_ribbons[l], levels[l].phases, time, palette);
    name(sheet.level_ribbons[l],
         QObject::tr("of %1 slices").arg(text_of(scene::duration_text(levels[l].slice))));
  }
}

}  // namespace margay::viewer
