// `--picture topology`: who talks to whom, as a graph.
#include "margay/scene/event_sums.h"
#include "paint.h"
#include "paint_sums.h"
#include "paint_topology.h"
#include "picture_kind.h"
#include "sums_source.h"

namespace margay::viewer {
namespace {

constexpr std::size_t kMostSteps = 1000;
constexpr double kGraphLegend = 40, kGraphSpace = 6;

QString lacks_links(const Session& session) {
  const EventSumsPtr& sums = session.sums(SumsOf::kMessages);
  if (sums == nullptr) return QObject::tr("--picture topology: what messages sum to is not known");
  return sums->sums.empty() ? QObject::tr("--picture topology: no message was sent") : QString();
}

scene::Topology topology_in(const Session& session, scene::MessageMatrix& matrix) {
  matrix = scene::matrix_of(*session.sums(SumsOf::kMessages), session.data(), session.rows());
  return scene::topology_of(matrix, session.rows(), scene::LinkMeasure::kBytes);
}

void paint_topology_picture(QPainter& p, const QSizeF& size, const Session& session, const QString& title) {
  if (session.data().empty() || !lacks_links(session).isEmpty()) {
    paint_page(p, size, session, {title, lacks_links(session)});
    return;
  }
  scene::MessageMatrix matrix;
  const scene::Topology topology = topology_in(session, matrix);
  scene::GraphLayout layout;
  layout.set(scene::graph_nodes(topology, session.data()),
             scene::graph_edges(topology, scene::LinkMeasure::kBytes));
  layout.settle(kMostSteps);
  QStringList told{QObject::tr("bytes sent between them"), most_text(matrix, MatrixMeasure::kBytes),
                   unseen_text(matrix.unseen)};
  told.removeAll(QString());
  const QRectF page = paint_page(
      p, size, session, {title, told_of(*session.sums(SumsOf::kMessages), session), told.join("; ")});
  const QRectF room = page.adjusted(0, 0, 0, -kGraphLegend - kGraphSpace);
  TopologySheet(room, QFontMetricsF(p.font()), session, topology, layout, scene::LinkMeasure::kBytes,
                scene::TopologySize::kResources)
      .paint(p, node_shares(session, topology));
  paint_legend(p, {page.left(), room.bottom() + kGraphSpace, page.width(), kGraphLegend}, session.data(),
               session.palette());
}

}  // namespace

PictureKind picture_topology() {
  PictureKind kind;
  kind.sums = SumsOf::kMessages;
  kind.lacks = lacks_links;
  kind.paint = paint_topology_picture;
  kind.csv = [](const Session& session) {
    scene::MessageMatrix matrix;
    return scene::links_csv(topology_in(session, matrix), session.data());
  };
  return kind;
}

}  // namespace margay::viewer
