// `--picture overview`, and with single calls in it `--picture gantt`'s painting.
#include "margay/scene/statistics.h"
#include "paint.h"
#include "picture_file.h"
#include "picture_kind.h"
#include "sheet.h"

namespace margay::viewer {
namespace {
constexpr double kSheetLegend = 58, kLeastPicture = 20;
}

void paint_all(QPainter& p, const QSizeF& size, const Session& session, const QString& title) {
  const scene::ViewData& data = session.data();
  const QRectF page = paint_page(
      p, size, session,
      {data.empty() ? QString() : head_of(title, session) + "   " + text_of(scene::measure_text(data))});
  if (page.isEmpty()) return;
  const Sheet sheet(page.adjusted(0, 0, 0, -kSheetLegend), kLeastPicture, level_ribbons_of(session));
  const scene::TimeRange time = data.range();
  const scene::Viewport view = sheet.viewport(time, session.scroll());
  paint_sheet(p, sheet,
              {session, time, scene::layout(data, session.rows(), view, {session.threshold()}),
               temporal_bars_of(session), scene::gantt(data, session.rows(), view)});
  paint_legend(p, {sheet.axis.left(), sheet.axis.bottom() + 2, sheet.axis.width(), kSheetLegend}, data,
               session.palette());
}

PictureKind picture_overview() {
  PictureKind kind;
  kind.of_window = kind.parts = true;
  kind.paint = paint_all;
  kind.csv = [](const Session& session) { return scene::parts_csv(session.data()); };
  return kind;
}

}  // namespace margay::viewer
