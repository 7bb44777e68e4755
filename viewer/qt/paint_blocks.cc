#include "paint_blocks.h"

#include <QObject>
#include <algorithm>
#include <cmath>

#include "margay/base/text.h"
#include "margay/scene/time_axis.h"
#include "margay/text/text.h"
#include "phase_models.h"
#include "widgets.h"

namespace margay::viewer {
namespace {

// Of a pair, in the mean.
double value_of(const scene::BlockMatrix::Block& block, MatrixMeasure measure) {
  const auto pairs = static_cast<double>(std::max<std::uint64_t>(block.pairs, 1));
  switch (measure) {
    case MatrixMeasure::kBytes:
      return static_cast<double>(block.sum.bytes) / pairs;
    case MatrixMeasure::kMessages:
      return static_cast<double>(block.sum.count) / pairs;
    case MatrixMeasure::kMeanTime:
      return block.sum.timed == 0 ? 0 : block.sum.total / static_cast<double>(block.sum.timed);
  }
  return 0;
}

QString value_text(double value, MatrixMeasure measure) {
  switch (measure) {
    case MatrixMeasure::kBytes:
      return QObject::tr("%1 a pair")
          .arg(text_of(text::size_text(static_cast<std::uint64_t>(std::llround(value)))));
    case MatrixMeasure::kMessages:
      return QObject::tr("%1 messages a pair").arg(value, 0, 'g', 3);
    case MatrixMeasure::kMeanTime:
      return QObject::tr("%1 on their way")
          .arg(text_of(scene::duration_text(DurationNs(std::llround(value)))));
  }
  return {};
}

QString node_name(const Picture& picture, std::uint32_t node) {
  const std::string& name = picture.data.nodes[node].name;
  return text_of(name.empty() ? std::string("all") : name);
}

QString names_of(const Picture& picture, const scene::BlockMatrix::Block& block) {
  return QObject::tr("%1 to %2").arg(node_name(picture, block.sender), node_name(picture, block.receiver));
}

}  // namespace

void paint_blocks(QPainter& p, const MatrixSheet& sheet, const Picture& picture,
                  const scene::BlockMatrix& matrix, MatrixMeasure measure) {
  const scene::Palette& palette = picture.palette;
  const auto strong = strongest(matrix, measure);
  const double most = strong ? value_of(matrix.blocks[*strong], measure) : 0;
  const scene::Rgb ink = palette.family(wire::FAMILY_POINT_TO_POINT);
  p.save();
  p.setPen(QPen(colour_of(palette.faint()), 1));
  for (const scene::BlockMatrix::Block& block : matrix.blocks) {
    const QRectF box(sheet.plot.left() + block.to * sheet.cell, sheet.plot.top() + block.from * sheet.cell,
                     (block.to_until - block.to) * sheet.cell, (block.from_until - block.from) * sheet.cell);
    const double value = value_of(block, measure);
    // As in a matrix of pairs.
    if (value > 0) p.fillRect(box, colour_of(palette.at(ink, std::sqrt(value / most))));
    if (std::min(box.width(), box.height()) >= 3) p.drawRect(box.adjusted(0, 0, -1, -1));
  }
  p.restore();
  paint_matrix_axes(p, sheet, picture);
}

std::optional<std::size_t> block_at(const scene::BlockMatrix& matrix, std::uint32_t from, std::uint32_t to) {
  for (std::size_t i = 0; i < matrix.blocks.size(); ++i) {
    const scene::BlockMatrix::Block& b = matrix.blocks[i];
    if (from >= b.from && from < b.from_until && to >= b.to && to < b.to_until) return i;
  }
  return {};
}

std::optional<std::size_t> strongest(const scene::BlockMatrix& matrix, MatrixMeasure measure) {
  std::optional<std::size_t> out;
  double most = 0;
  for (std::size_t i = 0; i < matrix.blocks.size(); ++i)
    if (const double value = value_of(matrix.blocks[i], measure); value > most) out = i, most = value;
  return out;
}

QString block_text(const Picture& picture, const scene::BlockMatrix::Block& block) {
  const QString who = names_of(picture, block);
  if (block.sum.count == 0) return QObject::tr("%1: no message").arg(who);
  QString out = QObject::tr("%1: %2, %3 messages of %4 in all, %5")
                    .arg(who, counted(block.pairs, QObject::tr("pair"), QObject::tr("pairs")),
                         text_of(grouped(block.sum.count)), text_of(text::size_text(block.sum.bytes)),
                         value_text(value_of(block, MatrixMeasure::kBytes), MatrixMeasure::kBytes));
  if (block.sum.timed > 0)
    out += ", " + value_text(value_of(block, MatrixMeasure::kMeanTime), MatrixMeasure::kMeanTime);
  return out;
}

QString most_text(const Picture& picture, const scene::BlockMatrix& matrix, MatrixMeasure measure) {
  const auto at = strongest(matrix, measure);
  if (!at) return {};
  const scene::BlockMatrix::Block& block = matrix.blocks[*at];
  return QObject::tr("most: %1, %2")
      .arg(value_text(value_of(block, measure), measure), names_of(picture, block));
}

QString partition_text(const scene::EventSums& sums, std::size_t index) {
  const scene::SumBlocks& one = sums.blocks[index];
  const scene::SumBlocks& whole = sums.blocks.back();
  std::uint64_t pairs = 0;
  for (const scene::SumBlock& block : one.blocks) pairs += block.pairs;
  return QObject::tr("p %1: %2 of %3, complexity reduced %4, information lost %5")
      .arg(QString::number(one.p, 'g', 3),
           counted(one.blocks.size(), QObject::tr("block"), QObject::tr("blocks")),
           counted(pairs, QObject::tr("pair"), QObject::tr("pairs")),
           percent_text(whole.gain > 0 ? one.gain / whole.gain : 0),
           percent_text(whole.loss > 0 ? one.loss / whole.loss : 0));
}

}  // namespace margay::viewer
