#include "paint_sums.h"

#include <QObject>
#include <algorithm>
#include <cmath>

#include "box_painter.h"
#include "margay/base/text.h"
#include "margay/scene/time_axis.h"
#include "margay/text/text.h"

namespace margay::viewer {
namespace {

constexpr double kColumnWidth = 7;      // pixels, at least
constexpr double kLongestLabel = 0.22;  // of the width: names beside a matrix

scene::Look look_of_sum(const scene::EventSums& sums, const scene::EventSum& sum,
                        const scene::Palette& palette) {
  const scene::State& state = sums.names[sum.name];
  return palette.look(state.name, state.family);
}

double value_of(const scene::MessageMatrix::Cell& cell, MatrixMeasure measure) {
  switch (measure) {
    case MatrixMeasure::kBytes:
      return static_cast<double>(cell.bytes);
    case MatrixMeasure::kMessages:
      return static_cast<double>(cell.count);
    case MatrixMeasure::kMeanTime:
      return cell.timed == 0 ? 0 : cell.total / static_cast<double>(cell.timed);
  }
  return 0;
}

double most_of(const scene::MessageMatrix& matrix, MatrixMeasure measure) {
  const auto at = strongest(matrix, measure);
  return at ? value_of(matrix.cells.at(*at), measure) : 0;
}

QString row_name(const Picture& picture, std::uint32_t row) {
  const scene::Node& node = picture.data.nodes[picture.rows.rows[row].node];
  return text_of(node.name.empty() ? std::string("all") : node.name);
}

}  // namespace

HistogramSheet::HistogramSheet(const QRectF& area, const QFontMetricsF& metrics)
    : plot(area.adjusted(metrics.horizontalAdvance("1,000,000") + 2 * kPad, metrics.height() + kPad, -kPad,
                         -metrics.height() - 8)),
      columns(static_cast<std::size_t>(std::clamp(plot.width() / kColumnWidth, 1.0, 400.0))) {}

std::optional<std::size_t> HistogramSheet::column_at(double x, const scene::Histogram& histogram) const {
  if (histogram.columns.empty() || x < plot.left() || x >= plot.right()) return {};
  return static_cast<std::size_t>((x - plot.left()) / plot.width() *
                                  static_cast<double>(histogram.columns.size()));
}

void paint_histogram(QPainter& p, const HistogramSheet& sheet, const scene::EventSums& sums,
                     const scene::Histogram& histogram, const scene::Palette& palette) {
  const QRectF& plot = sheet.plot;
  const QFontMetricsF metrics(p.font());
  if (histogram.columns.empty()) {
    p.setPen(colour_of(palette.ink()));
    return p.drawText(plot, Qt::AlignCenter, QObject::tr("no visit of this stretch is known by itself"));
  }
  p.save();
  // Powers of ten.
  const auto x_of = [&](double at) {
    return plot.left() + (at - histogram.from) / (histogram.until - histogram.from) * plot.width();
  };
  double free_from = plot.left() - 100;
  for (int power = static_cast<int>(std::ceil(histogram.from)); power <= histogram.until; ++power) {
    const double x = x_of(power);
    p.setPen(QPen(colour_of(palette.faint()), 1));
    p.drawLine(QPointF(x, plot.top()), QPointF(x, plot.bottom() + 5));
    const QString least = text_of(scene::duration_text(
        DurationNs(static_cast<std::int64_t>(std::llround(std::pow(10.0, std::min(power, 18)))))));
    // No time at all is there as well.
    const QString label = power == 0 ? "\u2264 " + least : least;
    const double width = metrics.horizontalAdvance(label);
    const double left = std::min(x - width / 2, plot.right() - width);
    if (left < free_from) continue;
    free_from = left + width + 8;
    p.setPen(colour_of(palette.ink()));
    p.drawText(QPointF(left, plot.bottom() + 6 + metrics.ascent()), label);
  }
  const double width = plot.width() / static_cast<double>(histogram.columns.size());
  BoxPainter boxes(p, plot.adjusted(-1, -1, 1, 1));
  for (std::size_t i = 0; i < histogram.columns.size(); ++i) {
    double bottom = plot.bottom();
    for (const auto& [sum, count] : histogram.columns[i].counts) {
      // What is there is seen, however little it is.
      const double height = plot.height() * static_cast<double>(count) / static_cast<double>(histogram.most);
      const double shown = bottom == plot.bottom() ? std::max(height, 1.0) : height;
      const QRectF box(plot.left() + static_cast<double>(i) * width, bottom - shown,
                       std::max(1.0, width - 0.5), shown);
      const scene::Look look = look_of_sum(sums, sums.sums[sum], palette);
      boxes.fill(box, colour_of(look.colour), look.pattern, colour_of(scene::text_on(look.colour)));
      bottom -= shown;
    }
  }
  boxes.finish();
  p.setPen(colour_of(palette.ink()));
  p.drawLine(plot.bottomLeft(), plot.bottomRight());
  const QRectF counts(plot.left() - 200 - kPad, plot.top(), 200, plot.height());
  p.drawText(counts, Qt::AlignRight | Qt::AlignTop, text_of(grouped(histogram.most)));
  p.drawText(counts, Qt::AlignRight | Qt::AlignBottom, "0");
  p.drawText(QPointF(plot.left(), plot.top() - kPad), QObject::tr("visits by how long they last"));
  p.restore();
}

void paint_sums_legend(QPainter& p, const QRectF& area, const scene::EventSums& sums,
                       const scene::Palette& palette) {
  std::vector<LegendEntry> entries;
  for (const scene::EventSum& sum : sums.sums)
    if (sum.single > 0)
      entries.emplace_back(look_of_sum(sums, sum, palette), text_of(sums.names[sum.name].name));
  paint_legend(p, area, entries, palette);
}

QString name_of(MatrixMeasure measure) {
  switch (measure) {
    case MatrixMeasure::kBytes:
      return QObject::tr("bytes");
    case MatrixMeasure::kMessages:
      return QObject::tr("messages");
    case MatrixMeasure::kMeanTime:
      return QObject::tr("mean time");
  }
  return {};
}

MatrixSheet::MatrixSheet(const QRectF& area, const QFontMetricsF& metrics, const Picture& picture)
    : rows(picture.rows.rows.size()) {
  double longest = 0;
  for (std::uint32_t row = 0; row < std::min<std::size_t>(rows, 500); ++row)
    longest = std::max(longest, metrics.horizontalAdvance(row_name(picture, row)));
  labels = std::min(longest, kLongestLabel * std::min(area.width(), area.height())) + 2 * kPad;
  const double line = metrics.height() + kPad;
  const double side = std::max(1.0, std::min(area.width() - labels - line, area.height() - labels - line));
  plot = QRectF(area.left() + labels + line, area.top() + labels + line, side, side);
  cell = rows == 0 ? 0 : side / static_cast<double>(rows);
}

std::optional<std::pair<std::uint32_t, std::uint32_t>> MatrixSheet::at(const QPointF& point) const {
  if (rows == 0 || !plot.contains(point)) return {};
  const auto index = [&](double at) {
    return static_cast<std::uint32_t>(std::clamp(at / cell, 0.0, static_cast<double>(rows - 1)));
  };
  return std::pair(index(point.y() - plot.top()), index(point.x() - plot.left()));
}

void paint_matrix(QPainter& p, const MatrixSheet& sheet, const Picture& picture,
                  const scene::MessageMatrix& matrix, MatrixMeasure measure) {
  const scene::Palette& palette = picture.palette;
  // The square root: what is a hundredth of the most is seen still.
  const double most = most_of(matrix, measure);
  const scene::Rgb ink = palette.family(wire::FAMILY_POINT_TO_POINT);
  for (const auto& [at, cell] : matrix.cells) {
    const double value = value_of(cell, measure);
    if (!(value > 0)) continue;
    p.fillRect(QRectF(sheet.plot.left() + at.second * sheet.cell, sheet.plot.top() + at.first * sheet.cell,
                      std::max(1.0, sheet.cell - (sheet.cell > 6 ? 1 : 0)),
                      std::max(1.0, sheet.cell - (sheet.cell > 6 ? 1 : 0))),
               colour_of(palette.at(ink, std::sqrt(value / most))));
  }
  paint_matrix_axes(p, sheet, picture);
}

void paint_matrix_axes(QPainter& p, const MatrixSheet& sheet, const Picture& picture) {
  const scene::Palette& palette = picture.palette;
  const QFontMetricsF metrics(p.font());
  p.save();
  p.setPen(QPen(colour_of(palette.faint()), 1));
  p.drawRect(sheet.plot.adjusted(-0.5, -0.5, 0.5, 0.5));
  // As many names as have room, from the first on.
  const auto step =
      static_cast<std::uint32_t>(std::max(1.0, std::ceil(metrics.height() / std::max(sheet.cell, 1e-9))));
  p.setPen(colour_of(palette.ink()));
  for (std::uint32_t row = 0; row < sheet.rows; row += step) {
    const QString name = metrics.elidedText(row_name(picture, row), Qt::ElideMiddle, sheet.labels - 2 * kPad);
    const double middle = (row + 0.5) * sheet.cell;
    p.drawText(QRectF(sheet.plot.left() - sheet.labels, sheet.plot.top() + middle - metrics.height() / 2,
                      sheet.labels - kPad, metrics.height()),
               Qt::AlignRight | Qt::AlignVCenter, name);
    p.save();
    p.translate(sheet.plot.left() + middle, sheet.plot.top() - kPad);
    p.rotate(-90);
    p.drawText(QRectF(0, -metrics.height() / 2, sheet.labels - kPad, metrics.height()),
               Qt::AlignLeft | Qt::AlignVCenter, name);
    p.restore();
  }
  const double line = metrics.height() + kPad;
  p.drawText(QRectF(sheet.plot.left(), sheet.plot.top() - sheet.labels - line, sheet.plot.width(), line),
             Qt::AlignCenter, QObject::tr("received by"));
  p.translate(sheet.plot.left() - sheet.labels - line, sheet.plot.bottom());
  p.rotate(-90);
  p.drawText(QRectF(0, 0, sheet.plot.height(), line), Qt::AlignCenter, QObject::tr("sent by"));
  p.restore();
}

std::optional<std::pair<std::uint32_t, std::uint32_t>> strongest(const scene::MessageMatrix& matrix,
                                                                 MatrixMeasure measure) {
  std::optional<std::pair<std::uint32_t, std::uint32_t>> out;
  double most = 0;
  for (const auto& [at, cell] : matrix.cells)
    if (value_of(cell, measure) > most) out = at, most = value_of(cell, measure);
  return out;
}

QString most_text(const scene::MessageMatrix& matrix, MatrixMeasure measure) {
  const double most = most_of(matrix, measure);
  if (!(most > 0)) return {};
  const QString value =
      measure == MatrixMeasure::kBytes      ? text_of(text::size_text(static_cast<std::uint64_t>(most)))
      : measure == MatrixMeasure::kMessages ? text_of(grouped(static_cast<std::uint64_t>(most)))
                                            : text_of(scene::duration_text(DurationNs(std::llround(most))));
  return QObject::tr("most: %1").arg(value);
}

QString unseen_text(std::uint64_t messages) {
  return messages == 0
             ? QString()
             : QObject::tr("%1 messages are of resources that no row shows").arg(text_of(grouped(messages)));
}

QString cell_text(const Picture& picture, const scene::MessageMatrix& matrix, std::uint32_t from,
                  std::uint32_t to) {
  const QString who = QObject::tr("%1 to %2").arg(row_name(picture, from), row_name(picture, to));
  const auto found = matrix.cells.find({from, to});
  if (found == matrix.cells.end()) return QObject::tr("%1: no message").arg(who);
  const scene::MessageMatrix::Cell& cell = found->second;
  QString out = QObject::tr("%1: %2 messages of %3 in all")
                    .arg(who, text_of(grouped(cell.count)), text_of(text::size_text(cell.bytes)));
  if (cell.timed > 0)
    out += QObject::tr(", on their way for %1 in the mean")
               .arg(text_of(scene::duration_text(
                   DurationNs(std::llround(cell.total / static_cast<double>(cell.timed))))));
  if (cell.timed < cell.count)
    out += QObject::tr(" (of %1 no call says when they were there)")
               .arg(text_of(grouped(cell.count - cell.timed)));
  return out;
}

}  // namespace margay::viewer
