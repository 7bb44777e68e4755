#include "picture_file.h"

#include <QFile>
#include <QImage>
#include <QPainter>
#include <QSaveFile>
#include <QSvgGenerator>

#include "margay/scene/statistics.h"
#include "margay/scene/time_axis.h"
#include "paint.h"
#include "sheet.h"

namespace margay::viewer {
namespace {
constexpr double kMargin = 8, kGap = 6, kLegend = 58, kLeastPicture = 20;
}

void paint_all(QPainter& p, const QSizeF& size, const Session& session, const QString& title) {
  const scene::Palette& palette = session.palette();
  const scene::ViewData& data = session.data();
  p.fillRect(QRectF(QPointF(0, 0), size), colour_of(palette.background()));
  p.setPen(colour_of(palette.ink()));
  const QRectF page = QRectF(QPointF(0, 0), size).adjusted(kMargin, kMargin, -kMargin, -kMargin);
  const double line = QFontMetricsF(p.font()).height();
  if (data.empty()) return p.drawText(page, Qt::AlignCenter, QObject::tr("nothing to show"));
  const QString head =
      QString("%1   %2   p %3, %4 parts")
          .arg(title, text_of(scene::range_text(data.range(), data.zero)), text_of(scene::p_text(data.p)))
          .arg(data.parts.size());
  p.drawText(QRectF(page.left(), page.top(), page.width(), line), Qt::AlignLeft, head);
  const QRectF room = page.adjusted(0, line + kGap, 0, -kLegend);
  const Sheet sheet(room, kLeastPicture);
  const scene::TimeRange time = data.range();
  const scene::Viewport view = sheet.viewport(time, session.scroll());
  paint_sheet(p, sheet,
              {session, time, scene::layout(data, session.rows(), view), temporal_bars_of(session),
               scene::gantt(data, session.rows(), view)});
  paint_legend(p, {sheet.axis.left(), sheet.axis.bottom() + 2, sheet.axis.width(), kLegend}, data, palette);
}

QString wrong_ending(const QString& path) {
  const QString ending = path.section('.', -1).toLower();
  if (path.contains('.') && (ending == "png" || ending == "svg" || ending == "csv")) return {};
  return QObject::tr("%1: the name has to end in .png, .svg or .csv").arg(path);
}

QString save_picture(const QString& path, const Session& session, const QSize& size, const QString& title) {
  const auto wrong = [&](const QString& why) { return QObject::tr("%1: not written: %2").arg(path, why); };
  if (const QString end = wrong_ending(path); !end.isEmpty()) return end;
  if (session.data().empty()) return wrong(QObject::tr("there is no picture yet"));
  const QString ending = path.section('.', -1).toLower();
  if (ending == "csv") {
    QSaveFile file(path);
    const std::string text = scene::parts_csv(session.data());
    if (!file.open(QIODevice::WriteOnly) || file.write(text.data(), static_cast<qint64>(text.size())) < 0 ||
        !file.commit())
      return wrong(file.errorString());
    return {};
  }
  if (ending == "svg") {
    QSaveFile file(path);
    if (!file.open(QIODevice::WriteOnly)) return wrong(file.errorString());
    QSvgGenerator svg;
    svg.setOutputDevice(&file);
    svg.setSize(size);
    svg.setViewBox(QRect(QPoint(0, 0), size));
    svg.setTitle(title);
    QPainter painter(&svg);
    paint_all(painter, size, session, title);
    painter.end();
    return file.commit() ? QString() : wrong(file.errorString());
  }
  // Twice as many pixels: to be printed.
  QImage image(size * 2, QImage::Format_RGB32);
  image.setDevicePixelRatio(2);
  QPainter painter(&image);
  paint_all(painter, size, session, title);
  painter.end();
  QSaveFile file(path);
  if (!file.open(QIODevice::WriteOnly)) return wrong(file.errorString());
  if (!image.save(&file, "PNG")) return wrong(QObject::tr("the image cannot be encoded"));
  return file.commit() ? QString() : wrong(file.errorString());
}

}  // namespace margay::viewer
