// `--picture matrix`: messages by who sent them to whom.
#include "margay/scene/event_sums.h"
#include "paint_sums.h"
#include "picture_kind.h"
#include "sums_source.h"

namespace margay::viewer {
namespace {

QString lacks_messages(const Session& session) {
  return session.sums(SumsOf::kMessages) != nullptr
             ? QString()
             : QObject::tr("--picture matrix: what messages sum to is not known");
}

void paint_matrix_picture(QPainter& p, const QSizeF& size, const Session& session, const QString& title) {
  const EventSumsPtr& sums = session.sums(SumsOf::kMessages);
  if (sums == nullptr || session.data().empty()) {
    paint_page(p, size, session, {title, lacks_messages(session)});
    return;
  }
  const Picture picture{session.data(), session.rows(), session.palette()};
  const scene::MessageMatrix matrix = scene::matrix_of(*sums, picture.data, picture.rows);
  const MatrixMeasure measure = MatrixMeasure::kBytes;
  const QString most = most_text(matrix, measure);
  QStringList told{QObject::tr("%1 sent, from row to column").arg(name_of(measure)), most,
                   unseen_text(matrix.unseen)};
  told.removeAll(QString());
  const QRectF page = paint_page(p, size, session, {title, told_of(*sums, session), told.join("; ")});
  paint_matrix(p, {page, QFontMetricsF(p.font()), picture}, picture, matrix, measure);
}

}  // namespace

PictureKind picture_matrix() {
  PictureKind kind;
  kind.sums = SumsOf::kMessages;
  kind.lacks = lacks_messages;
  kind.paint = paint_matrix_picture;
  kind.csv = [](const Session& session) { return scene::event_sums_csv(*session.sums(SumsOf::kMessages)); };
  return kind;
}

}  // namespace margay::viewer
