// `--picture bars`: what all resources did between two cuts of the temporal partition, as stacked shares.
#include "margay/scene/phase_ribbon.h"
#include "margay/scene/statistics.h"
#include "margay/scene/temporal_bars.h"
#include "paint.h"
#include "picture_kind.h"
#include "picture_table.h"
#include "sheet.h"

namespace margay::viewer {
namespace {

constexpr double kShares = 56;  // the column of shares, at the left
constexpr double kRibbonHeight = 20, kTimeAxis = 24, kBarsLegend = 40, kBetween = 6;
constexpr double kLeastSegment = 3;  // pixels; what is lower is hatched together
constexpr int kQuarters = 4;

void draw_shares(QPainter& p, const QRectF& bars, const scene::Palette& palette) {
  const double line = QFontMetricsF(p.font()).height();
  for (int i = 0; i <= kQuarters; ++i) {
    const double y = bars.bottom() - bars.height() * i / kQuarters;
    p.setPen(QPen(colour_of(palette.faint()), 1));
    p.drawLine(QPointF(bars.left() - 5, y), QPointF(bars.left(), y));
    p.setPen(colour_of(palette.ink()));
    p.drawText(QRectF(bars.left() - kShares, std::clamp(y - line / 2, bars.top(), bars.bottom() - line),
                      kShares - 8, line),
               Qt::AlignRight, QString("%1 %").arg(100 * i / kQuarters));
  }
}

// What the height is a share of.
QString whole_of(const scene::ViewData& data) {
  if (data.unit.empty()) return QObject::tr("100 %: the time of all of them");
  const bool adds_up = scene::measure_kind(data.question.measure()).adds_up;
  return QObject::tr(adds_up ? "100 %: %1 of each, a second" : "100 %: %1 of each")
      .arg(text_of(scene::amount_text(data.unit, data.full)));
}

void paint_bars_picture(QPainter& p, const QSizeF& size, const Session& session, const QString& title) {
  const scene::Palette& palette = session.palette();
  const scene::ViewData& data = temporal_of(session);
  QStringList head{QString(), QString()};
  if (!data.empty())
    head = {head_of(title, session), QObject::tr("temporal partition (cut at the same times for all): %1; %2")
                                         .arg(measured_of(data), whole_of(data))};
  const QRectF page = paint_page(p, size, session, head);
  if (page.isEmpty()) return;
  const double line = QFontMetricsF(p.font()).height();
  const QRectF room = page.adjusted(kShares, 0, 0, -line - 2);
  const QRectF ribbon(room.left(), room.top(), room.width(), kRibbonHeight);
  const QRectF bars(room.left(), ribbon.bottom() + kBetween, room.width(),
                    std::max(1.0, room.height() - kRibbonHeight - kBetween - kTimeAxis - kBarsLegend));
  const QRectF axis(room.left(), bars.bottom(), room.width(), kTimeAxis);
  const scene::TimeRange time = data.range();
  scene::BarOptions options;
  options.least_share = kLeastSegment / bars.height();
  paint_bars(p, bars, data, scene::temporal_bars(data, options), time, palette, BarNumbers::kShown);
  draw_shares(p, bars, palette);
  if (session.report() != nullptr) paint_phases(p, ribbon, phases_of(session), time, palette);
  paint_axis(p, axis, time, session.times(), palette);
  p.setPen(colour_of(palette.ink()));
  p.drawText(QRectF(page.left(), ribbon.top(), kShares - 8, ribbon.height()),
             Qt::AlignRight | Qt::AlignVCenter, QObject::tr("phases"));
  paint_legend(p, {axis.left(), axis.bottom() + 2, axis.width(), kBarsLegend}, data, palette);
  p.setPen(colour_of(palette.ink()));
  const QString hatched = QObject::tr(
                              "hatched: at the top of a bar states below %1 each, together; else what is "
                              "not there, not known or not shown")
                              .arg(share_text(options.least_share));
  p.drawText(QRectF(room.left(), page.bottom() - line, room.width(), line), Qt::AlignLeft,
             QFontMetricsF(p.font()).elidedText(hatched, Qt::ElideRight, room.width()));
}

}  // namespace

PictureKind picture_bars() {
  PictureKind kind;
  kind.paint = paint_bars_picture;
  kind.csv = [](const Session& session) { return scene::bars_csv(temporal_of(session)); };
  return kind;
}

}  // namespace margay::viewer
