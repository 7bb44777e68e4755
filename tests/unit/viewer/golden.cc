#include "golden.h"

#include <QFileInfo>
#include <algorithm>
#include <array>
#include <cstdlib>

namespace margay::viewer {

std::string difference(const QImage& a, const QImage& b) {
  if (a.isNull() || b.isNull()) return "there is no picture";
  if (a.size() != b.size())
    return QString("%1x%2 pixels, not %3x%4")
        .arg(a.width())
        .arg(a.height())
        .arg(b.width())
        .arg(b.height())
        .toStdString();
  const QImage one = a.convertToFormat(QImage::Format_RGB32), other = b.convertToFormat(QImage::Format_RGB32);
  double most = 0;
  int wrong = 0, x_of = 0, y_of = 0;
  for (int y = 0; y < one.height(); y += kBlock)
    for (int x = 0; x < one.width(); x += kBlock) {
      std::array<int, 3> sum{};
      int pixels = 0;
      for (int v = y; v < std::min(y + kBlock, one.height()); ++v)
        for (int u = x; u < std::min(x + kBlock, one.width()); ++u, ++pixels) {
          const QRgb p = one.pixel(u, v), q = other.pixel(u, v);
          sum[0] += qRed(p) - qRed(q);
          sum[1] += qGreen(p) - qGreen(q);
          sum[2] += qBlue(p) - qBlue(q);
        }
      double worst = 0;
      for (const int s : sum) worst = std::max(worst, std::abs(static_cast<double>(s)) / pixels);
      wrong += worst > kTolerance ? 1 : 0;
      if (worst > most) most = worst, x_of = x, y_of = y;
    }
  if (wrong == 0) return {};
  return QString("%1 blocks differ, most of all that at %2,%3: by %4 of 255")
      .arg(wrong)
      .arg(x_of)
      .arg(y_of)
      .arg(most, 0, 'f', 1)
      .toStdString();
}

std::string against_golden(const QImage& picture, const QString& path) {
  if (const QString folder = qEnvironmentVariable("MARGAY_PICTURES"); !folder.isEmpty())
    if (!picture.save(folder + "/" + QFileInfo(path).fileName()))
      return folder.toStdString() + ": cannot be written";
  const QImage golden(path);
  if (golden.isNull()) return path.toStdString() + ": is not there, or no picture";
  const std::string how = difference(picture, golden);
  return how.empty() ? "" : path.toStdString() + ": " + how + " (MARGAY_PICTURES=DIR keeps the new one)";
}

}  // namespace margay::viewer
