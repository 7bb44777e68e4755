#include "picture_file.h"

#include <QFile>
#include <QImage>
#include <QPainter>
#include <QSaveFile>
#include <QSvgGenerator>

namespace margay::viewer {
QString wrong_ending(const QString& path, const PictureKind& kind) {
  const QString ending = path.section('.', -1).toLower();
  if (ending == "csv" && kind.csv == nullptr) return QString("%1: %2").arg(path, QObject::tr(kind.no_csv));
  if (path.contains('.') && (ending == "png" || ending == "svg" || ending == "csv")) return {};
  return QObject::tr("%1: the name has to end in .png, .svg or .csv").arg(path);
}

QString save_picture(const QString& path, const Session& session, const QSize& size, const QString& title,
                     const PictureKind& kind) {
  const auto wrong = [&](const QString& why) { return QObject::tr("%1: not written: %2").arg(path, why); };
  if (const QString end = wrong_ending(path, kind); !end.isEmpty()) return end;
  if (session.data().empty()) return wrong(QObject::tr("there is no picture yet"));
  if (kind.lacks != nullptr)
    if (const QString why = kind.lacks(session); !why.isEmpty()) return why;
  const QString ending = path.section('.', -1).toLower();
  if (ending == "csv") {
    QSaveFile file(path);
    const std::string text = kind.csv(session);
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
    kind.paint(painter, size, session, title);
    painter.end();
    return file.commit() ? QString() : wrong(file.errorString());
  }
  // Twice as many pixels: to be printed.
  QImage image(size * 2, QImage::Format_RGB32);
  image.setDevicePixelRatio(2);
  QPainter painter(&image);
  kind.paint(painter, size, session, title);
  painter.end();
  QSaveFile file(path);
  if (!file.open(QIODevice::WriteOnly)) return wrong(file.errorString());
  if (!image.save(&file, "PNG")) return wrong(QObject::tr("the image cannot be encoded"));
  return file.commit() ? QString() : wrong(file.errorString());
}

}  // namespace margay::viewer
