// What events sum to, as pictures, on any QPainter: how long visits last, and who sends how much to whom.
//
// Lengths are logical pixels; `area` is where to paint, all of it. Thread safety: with a painter of its own
// each call is. Cost: linear in what is drawn.
#pragma once

#include <QFontMetricsF>
#include <QPainter>
#include <QString>
#include <optional>

#include "margay/scene/event_sums.h"
#include "paint.h"

namespace margay::viewer {

// Where the columns of a histogram are drawn: over an axis of lengths, right of one of counts.
struct HistogramSheet {
  HistogramSheet(const QRectF& area, const QFontMetricsF& metrics);
  QRectF plot;
  std::size_t columns = 1;  // that have room
  // The column at x; nothing: it is beside the plot.
  std::optional<std::size_t> column_at(double x, const scene::Histogram& histogram) const;
};
// Columns of visits by length, states one above the other in their colours; the smallest are pooled in the
// order of `sums`.
void paint_histogram(QPainter& p, const HistogramSheet& sheet, const scene::EventSums& sums,
                     const scene::Histogram& histogram, const scene::Palette& palette);
// The states of it, the most time first, as many as have room.
void paint_sums_legend(QPainter& p, const QRectF& area, const scene::EventSums& sums,
                       const scene::Palette& palette);

// What a cell of the matrix tells, by how strong its colour is.
enum class MatrixMeasure { kBytes, kMessages, kMeanTime };
QString name_of(MatrixMeasure measure);

// Where a matrix is drawn: a square right of the senders' names and below the receivers'.
struct MatrixSheet {
  MatrixSheet(const QRectF& area, const QFontMetricsF& metrics, const Picture& picture);
  QRectF plot;
  double cell = 0;    // of a row and of a column, maybe less than a pixel
  double labels = 0;  // how wide names may be
  std::size_t rows = 0;
  // The sender's row and the receiver's; nothing: no cell is there.
  std::optional<std::pair<std::uint32_t, std::uint32_t>> at(const QPointF& point) const;
};
// The frame, and the names of senders and receivers.
void paint_matrix_axes(QPainter& p, const MatrixSheet& sheet, const Picture& picture);
void paint_matrix(QPainter& p, const MatrixSheet& sheet, const Picture& picture,
                  const scene::MessageMatrix& matrix, MatrixMeasure measure);
// The strongest cell: the sender's row and the receiver's; nothing where all is 0.
std::optional<std::pair<std::uint32_t, std::uint32_t>> strongest(const scene::MessageMatrix& matrix,
                                                                 MatrixMeasure measure);
// "most: 96 KiB", of the strongest cell; "" where there is none.
QString most_text(const scene::MessageMatrix& matrix, MatrixMeasure measure);
// "12 messages are of resources that no row shows"; "" of none.
QString unseen_text(std::uint64_t messages);
// "rank3 to rank4: 12 messages of 96 KiB, 1.5 ms each".
QString cell_text(const Picture& picture, const scene::MessageMatrix& matrix, std::uint32_t from,
                  std::uint32_t to);

}  // namespace margay::viewer
