// `--picture treemap`: the hierarchy as nested rectangles, each with its states in the time of the picture.
#include <limits>

#include "paint.h"
#include "paint_treemap.h"
#include "picture_kind.h"

namespace margay::viewer {
namespace {

constexpr double kMapLegend = 40, kMapSpace = 6;

void paint_treemap_picture(QPainter& p, const QSizeF& size, const Session& session, const QString& title) {
  const scene::ViewData& data = session.data();
  QStringList head{QString(), QString()};
  if (!data.empty())
    head = {head_of(title, session),
            QObject::tr("treemap: areas are resources, colours their states: %1").arg(measured_of(data))};
  const QRectF page = paint_page(p, size, session, head);
  if (page.isEmpty()) return;
  const QRectF room = page.adjusted(0, 0, 0, -kMapLegend - kMapSpace);
  TreemapSheet(room, QFontMetricsF(p.font()), session, scene::TreemapSize::kResources,
               std::numeric_limits<std::uint32_t>::max())
      .paint(p);
  paint_legend(p, {page.left(), room.bottom() + kMapSpace, page.width(), kMapLegend}, data,
               session.palette());
}

}  // namespace

PictureKind picture_treemap() {
  PictureKind kind;
  kind.parts = true;
  kind.paint = paint_treemap_picture;
  kind.csv = treemap_csv;
  kind.lacks = [](const Session& session) {
    return scene::has_room_for_contents(session.data())
               ? QString()
               : QObject::tr(
                     "--picture treemap: there are too many resources and states: choose a node or fewer "
                     "states (--node, --state)");
  };
  return kind;
}

}  // namespace margay::viewer
