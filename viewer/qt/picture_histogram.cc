// `--picture histogram`: visits by how long they last.
#include "margay/scene/event_sums.h"
#include "paint_sums.h"
#include "picture_kind.h"
#include "sums_source.h"

namespace margay::viewer {
namespace {

QString lacks_visits(const Session& session) {
  return session.sums(SumsOf::kVisits) != nullptr
             ? QString()
             : QObject::tr("--picture histogram: what visits sum to is not known");
}

void paint_histogram_picture(QPainter& p, const QSizeF& size, const Session& session, const QString& title) {
  const EventSumsPtr& sums = session.sums(SumsOf::kVisits);
  const QRectF page = paint_page(p, size, session,
                                 {title, sums == nullptr ? lacks_visits(session) : told_of(*sums, session)});
  if (page.isEmpty() || sums == nullptr) return;
  const QFontMetricsF metrics(p.font());
  const double legend = 3 * (metrics.height() + 4);
  const HistogramSheet sheet(page.adjusted(0, 0, 0, -legend), metrics);
  paint_histogram(p, sheet, *sums, scene::histogram_of(*sums, sheet.columns), session.palette());
  paint_sums_legend(p, {sheet.plot.left(), page.bottom() - legend + 4, sheet.plot.width(), legend}, *sums,
                    session.palette());
}

}  // namespace

PictureKind picture_histogram() {
  PictureKind kind;
  kind.sums = SumsOf::kVisits;
  kind.lacks = lacks_visits;
  kind.paint = paint_histogram_picture;
  kind.csv = [](const Session& session) { return scene::event_sums_csv(*session.sums(SumsOf::kVisits)); };
  return kind;
}

}  // namespace margay::viewer
