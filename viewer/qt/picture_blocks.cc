// `--picture blocks`: messages by who sent them to whom, bytes that are alike together.
#include "paint_blocks.h"
#include "picture_kind.h"
#include "sums_source.h"

namespace margay::viewer {
namespace {

QString lacks_blocks(const Session& session) {
  const EventSumsPtr& sums = session.sums(SumsOf::kMessages);
  if (sums == nullptr) return QObject::tr("--picture blocks: what messages sum to is not known");
  return sums->blocks.empty() ? QObject::tr("--picture blocks: no message was sent") : QString();
}

void paint_page_of_blocks(QPainter& p, const QSizeF& size, const Session& session, const QString& title,
                          std::optional<double> at, MatrixMeasure measure) {
  if (const QString why = lacks_blocks(session); !why.isEmpty() || session.data().empty()) {
    paint_page(p, size, session, {title, why});
    return;
  }
  const scene::EventSums& sums = *session.sums(SumsOf::kMessages);
  const scene::Rows rows = scene::rows_of(session.data(), {});
  const Picture picture{session.data(), rows, session.palette()};
  const std::size_t index = scene::partition_at(sums, at);
  const scene::BlockMatrix matrix = scene::block_matrix_of(sums, sums.blocks[index], picture.data, rows);
  QStringList told{partition_text(sums, index), most_text(picture, matrix, measure),
                   unseen_text(matrix.unseen)};
  told.removeAll(QString());
  const QRectF page = paint_page(p, size, session, {title, told_of(sums, session), told.join("; ")});
  paint_blocks(p, {page, QFontMetricsF(p.font()), picture}, picture, matrix, measure);
}

}  // namespace

PictureKind picture_of_blocks(std::optional<double> at, MatrixMeasure measure) {
  PictureKind kind;
  kind.sums = SumsOf::kMessages;
  kind.alike = wire::EventsQuestion::BYTES;
  kind.lacks = lacks_blocks;
  const auto p_of = [at](const Session& session) { return at ? at : session.subject().p; };
  kind.paint = [p_of, measure](QPainter& p, const QSizeF& size, const Session& session,
                               const QString& title) {
    paint_page_of_blocks(p, size, session, title, p_of(session), measure);
  };
  kind.csv = [p_of](const Session& session) {
    const scene::EventSums& sums = *session.sums(SumsOf::kMessages);
    return scene::blocks_csv(sums, sums.blocks[scene::partition_at(sums, p_of(session))]);
  };
  return kind;
}

PictureKind picture_blocks() {
  return picture_of_blocks({}, MatrixMeasure::kBytes);
}

}  // namespace margay::viewer
