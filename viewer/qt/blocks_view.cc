#include "blocks_view.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QToolTip>

namespace margay::viewer {

BlocksView::BlocksView(const SumsSource& source, Session& session, QWidget* parent)
    : QWidget(parent), source_(source), session_(session) {
  setMinimumSize(200, 200);
  setAccessibleName(tr("Messages by who sent them to whom, summed up where they are alike"));
}

void BlocksView::set_measure(MatrixMeasure measure) {
  measure_ = measure;
  refresh();
}

void BlocksView::set_partition(std::size_t index) {
  if (index >= partitions()) return;
  p_ = source_.sums()->blocks[index].p;
  refresh();
}

std::size_t BlocksView::partitions() const {
  return source_.sums() == nullptr ? 0 : source_.sums()->blocks.size();
}

void BlocksView::refresh() {
  matrix_ = {};
  if (partitions() > 0 && !session_.data().empty()) {
    const scene::EventSums& sums = *source_.sums();
    index_ = scene::partition_at(sums, p_ ? p_ : session_.subject().p);
    rows_ = scene::rows_of(session_.data(), {});
    matrix_ = scene::block_matrix_of(sums, sums.blocks[index_], session_.data(), rows_);
  }
  const auto most = strongest(matrix_, measure_);
  setAccessibleDescription(most ? tr("most: %1").arg(block_text(picture(), matrix_.blocks[*most]))
                                : tr("no messages"));
  update();
}

QString BlocksView::told() const {
  if (partitions() == 0) return {};
  const QString most = most_text(picture(), matrix_, measure_);
  const QString shown = partition_text(*source_.sums(), index_);
  return most.isEmpty() ? shown : shown + "  |  " + most;
}

MatrixSheet BlocksView::sheet() const {
  return {QRectF(rect()).adjusted(kPad, kPad, -kPad, -kPad), QFontMetricsF(font()), picture()};
}

void BlocksView::paintEvent(QPaintEvent*) {
  QPainter p(this);
  p.fillRect(rect(), colour_of(session_.palette().background()));
  if (matrix_.size > 0) paint_blocks(p, sheet(), picture(), matrix_, measure_);
}

const scene::BlockMatrix::Block* BlocksView::at(const QPointF& point) const {
  const auto cell = matrix_.size > 0 ? sheet().at(point) : std::nullopt;
  const auto index = cell ? block_at(matrix_, cell->first, cell->second) : std::nullopt;
  return index ? &matrix_.blocks[*index] : nullptr;
}

// The senders are selected, of all the time that is seen.
void BlocksView::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) return;
  if (const auto* block = at(event->position()))
    session_.select(
        Session::Selection{block->sender, 0, static_cast<std::uint32_t>(session_.data().slices())});
}

bool BlocksView::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const auto* block = at(help->pos());
  QToolTip::showText(help->globalPos(), block != nullptr ? block_text(picture(), *block) : QString(), this);
  return true;
}

}  // namespace margay::viewer
