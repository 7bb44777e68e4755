// Who sends how much to whom, summed up where it is alike, on any QPainter: a block is as strong as a pair of
// it is in the mean.
//
// Lengths are logical pixels. Thread safety: with a painter of its own each call is. Cost: linear in the
// blocks.
#pragma once

#include <QPainter>
#include <QString>
#include <optional>

#include "paint_sums.h"

namespace margay::viewer {

struct PictureKind;

// `picture` has all resources as rows, and `matrix` is of these.
void paint_blocks(QPainter& p, const MatrixSheet& sheet, const Picture& picture,
                  const scene::BlockMatrix& matrix, MatrixMeasure measure);
// The block at a row and a column; nothing: none is there.
std::optional<std::size_t> block_at(const scene::BlockMatrix& matrix, std::uint32_t from, std::uint32_t to);
// The block of the strongest pairs; nothing where all is 0.
std::optional<std::size_t> strongest(const scene::BlockMatrix& matrix, MatrixMeasure measure);
// "node0 to node1: 12 pairs, 300 messages of 96 KiB in all, 8 KiB a pair".
QString block_text(const Picture& picture, const scene::BlockMatrix::Block& block);
// "most: 8 KiB a pair, node0 to node1"; "" where there is none.
QString most_text(const Picture& picture, const scene::BlockMatrix& matrix, MatrixMeasure measure);
// "p 0.25: 12 blocks of 240 pairs, complexity reduced 83 %, information lost 4 %". REQUIRES an index of one.
QString partition_text(const scene::EventSums& sums, std::size_t index);

// `--picture blocks` of a measure, at a p; without one at that which was asked for the picture, or before
// quality falls most.
PictureKind picture_of_blocks(std::optional<double> p, MatrixMeasure measure);

}  // namespace margay::viewer
