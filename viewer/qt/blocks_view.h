// Who sends how much to whom, summed up where it is alike: the blocks of the newest answer, at one of its p.
// Rows and columns are all resources, whatever is folded in the overview.
//
// Which p: the one that was chosen here; or that which was asked for the picture; or the one before quality
// falls most. Thread safety: none; belongs to the thread of the window. Cost of painting: linear in the
// blocks.
#pragma once

#include <QWidget>
#include <optional>

#include "paint_blocks.h"
#include "sums_source.h"

namespace margay::viewer {

class BlocksView : public QWidget {
  Q_OBJECT

 public:
  BlocksView(const SumsSource& source, Session& session, QWidget* parent = nullptr);
  void set_measure(MatrixMeasure measure);
  // Chooses the p of that partition of the newest answer.
  void set_partition(std::size_t index);
  // How many there are to choose from, and which is shown.
  std::size_t partitions() const;
  std::size_t partition() const { return index_; }
  const scene::BlockMatrix& matrix() const { return matrix_; }
  MatrixSheet sheet() const;
  // For people: p, how many blocks, what they lose; the strongest. "": nothing is known.
  QString told() const;
  // Of the picture's resources and the newest sums.
  void refresh();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  bool event(QEvent* event) override;

 private:
  Picture picture() const { return {session_.data(), rows_, session_.palette()}; }
  const scene::BlockMatrix::Block* at(const QPointF& point) const;

  const SumsSource& source_;
  Session& session_;
  MatrixMeasure measure_ = MatrixMeasure::kBytes;
  std::optional<double> p_;
  std::size_t index_ = 0;
  scene::Rows rows_;
  scene::BlockMatrix matrix_;
};

}  // namespace margay::viewer
