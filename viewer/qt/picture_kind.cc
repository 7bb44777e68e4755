#include "picture_kind.h"

#include <QFontMetricsF>
#include <string_view>

#include "margay/scene/statistics.h"
#include "margay/scene/time_axis.h"
#include "paint.h"

namespace margay::viewer {

#define MARGAY_PICTURE(name, help) PictureKind picture_##name();
#include "margay/command/pictures.def"
#undef MARGAY_PICTURE

namespace {

constexpr double kPageMargin = 8, kPageGap = 6;

struct KindRow {
  std::string_view name;
  PictureKind kind;
};
const std::vector<KindRow>& kind_rows() {
  static const std::vector<KindRow> kRows = {
#define MARGAY_PICTURE(name, help) {#name, picture_##name()},
#include "margay/command/pictures.def"
#undef MARGAY_PICTURE
  };
  return kRows;
}

}  // namespace

const PictureKind& picture_kind(const std::string& name) {
  const std::string_view wanted = name.empty() ? "overview" : std::string_view(name);
  for (const KindRow& row : kind_rows())
    if (row.name == wanted) return row.kind;
  return kind_rows().front().kind;
}

QRectF paint_page(QPainter& p, const QSizeF& size, const Session& session, const QStringList& head) {
  const scene::Palette& palette = session.palette();
  p.fillRect(QRectF(QPointF(0, 0), size), colour_of(palette.background()));
  p.setPen(colour_of(palette.ink()));
  QRectF room = QRectF(QPointF(0, 0), size).adjusted(kPageMargin, kPageMargin, -kPageMargin, -kPageMargin);
  if (session.data().empty()) {
    p.drawText(room, Qt::AlignCenter, QObject::tr("nothing to show"));
    return {};
  }
  const QFontMetricsF metrics(p.font());
  for (const QString& line : head) {
    p.drawText(QRectF(room.left(), room.top(), room.width(), metrics.height()), Qt::AlignLeft,
               metrics.elidedText(line, Qt::ElideRight, room.width()));
    room.setTop(room.top() + metrics.height());
  }
  room.setTop(room.top() + kPageGap);
  return room;
}

QString head_of(const QString& title, const Session& session) {
  const scene::ViewData& data = session.data();
  const QString left_out = text_of(scene::left_out_text(data.question));
  return QString("%1   %2   p %3, %4 parts%5")
             .arg(title, text_of(scene::range_text(data.range(), session.times())),
                  text_of(scene::p_text(data.p)))
             .arg(data.parts.size())
             .arg(cut_of(data)) +
         (left_out.isEmpty() ? QString() : "   (" + left_out + ")");
}

QString cut_of(const scene::ViewData& data) {
  const scene::Cuts cuts = data.question.partition();
  const bool usual = cuts == wire::ViewQuestion::SPATIOTEMPORAL || cuts == wire::ViewQuestion::TEMPORAL;
  return usual ? QString() : QObject::tr(", cut %1").arg(text_of(scene::cuts_text(cuts)));
}

QString measured_of(const scene::ViewData& data) {
  return QObject::tr("%1 of %2 in %3")
      .arg(text_of(scene::measure_text(data)),
           data.leaves() == 1 ? QObject::tr("1 resource") : QObject::tr("%1 resources").arg(data.leaves()),
           data.slices() == 1 ? QObject::tr("1 slice") : QObject::tr("%1 slices").arg(data.slices()));
}

}  // namespace margay::viewer
