#include "messages.h"

#include <QHBoxLayout>
#include <QHelpEvent>
#include <QMouseEvent>
#include <QToolTip>
#include <QVBoxLayout>

#include "margay/base/text.h"
#include "picture_file.h"

namespace margay::viewer {

View* make_messages(Session& session, QWidget* parent) {
  return new MessagesView(session, parent);
}

MatrixView::MatrixView(const SumsSource& source, Session& session, QWidget* parent)
    : QWidget(parent), source_(source), session_(session) {
  setMinimumSize(200, 200);
  setAccessibleName(tr("Messages by who sent them to whom"));
}

void MatrixView::set_measure(MatrixMeasure measure) {
  measure_ = measure;
  describe();
  update();
}

// To somebody who does not see which cell is the strongest.
void MatrixView::describe() {
  const bool same = matrix_.size == session_.rows().rows.size();
  const auto most = same ? strongest(matrix_, measure_) : std::nullopt;
  setAccessibleDescription(most ? tr("most: %1").arg(cell_text(picture(), matrix_, most->first, most->second))
                                : tr("no messages"));
}

void MatrixView::refresh() {
  matrix_ = source_.sums() == nullptr || session_.data().empty()
                ? scene::MessageMatrix()
                : scene::matrix_of(*source_.sums(), session_.data(), session_.rows());
  describe();
  update();
}

MatrixSheet MatrixView::sheet() const {
  return {QRectF(rect()).adjusted(kPad, kPad, -kPad, -kPad), QFontMetricsF(font()), picture()};
}

void MatrixView::paintEvent(QPaintEvent*) {
  QPainter p(this);
  p.fillRect(rect(), colour_of(session_.palette().background()));
  if (matrix_.size > 0) paint_matrix(p, sheet(), picture(), matrix_, measure_);
}

// The sender's row is selected, of all the time that is seen.
void MatrixView::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton || matrix_.size != session_.rows().rows.size()) return;
  if (const auto at = sheet().at(event->position()))
    session_.select(Session::Selection{session_.rows().rows[at->first].node, 0,
                                       static_cast<std::uint32_t>(session_.data().slices())});
}

// What is folded unfolds.
void MatrixView::mouseDoubleClickEvent(QMouseEvent* event) {
  if (matrix_.size != session_.rows().rows.size()) return;
  const auto at = sheet().at(event->position());
  if (!at) return;
  const scene::Row from = session_.rows().rows[at->first], to = session_.rows().rows[at->second];
  if (from.folded) session_.toggle_fold(from.node);
  if (to.folded && to.node != from.node) session_.toggle_fold(to.node);
}

bool MatrixView::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const auto at = matrix_.size == session_.rows().rows.size() ? sheet().at(help->pos()) : std::nullopt;
  QToolTip::showText(help->globalPos(), at ? cell_text(picture(), matrix_, at->first, at->second) : QString(),
                     this);
  return true;
}

MessagesView::MessagesView(Session& session, QWidget* parent)
    : View(session, parent), source_(session, SumsOf::kMessages) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  matrix_ = new MatrixView(source_, session, this);
  measure_ = new QComboBox(this);
  for (const MatrixMeasure m : {MatrixMeasure::kBytes, MatrixMeasure::kMessages, MatrixMeasure::kMeanTime})
    measure_->addItem(name_of(m), static_cast<int>(m));
  measure_->setAccessibleName(tr("what a cell shows"));
  measure_->setToolTip(
      tr("what a cell shows by how strong its colour is; mean time: from the begin of the sending call until "
         "the "
         "message was there"));
  status_ = new ElidedLabel(this);
  auto* line = new QHBoxLayout;
  line->setContentsMargins(4, 2, 4, 2);
  line->addWidget(measure_);
  line->addWidget(status_, 1);
  column->addLayout(line);
  column->addWidget(matrix_, 1);
  setFocusProxy(measure_);
  connect(measure_, &QComboBox::currentIndexChanged, this, [this](int index) {
    matrix_->set_measure(static_cast<MatrixMeasure>(measure_->itemData(index).toInt()));
    refresh();
  });
  connect(&source_, &SumsSource::changed, this, &MessagesView::refresh);
  connect(&session_, &Session::view_changed, this, &MessagesView::refresh);
  connect(&session_, &Session::data_changed, this, &MessagesView::refresh);
  refresh();
}

void MessagesView::showEvent(QShowEvent* event) {
  View::showEvent(event);
  source_.set_seen(true);
  refresh();  // rows may have been folded meanwhile
}

void MessagesView::hideEvent(QHideEvent* event) {
  View::hideEvent(event);
  source_.set_seen(false);
}

void MessagesView::refresh() {
  if (isVisible()) matrix_->refresh();
  QStringList words{source_.told()};
  if (const QString most = most_text(matrix_->matrix(), matrix_->measure()); !most.isEmpty())
    words.prepend(most);
  if (matrix_->matrix().unseen > 0)
    words << tr("%1 messages are of resources that no row shows")
                 .arg(text_of(grouped(matrix_->matrix().unseen)));
  status_->setText(words.join("  |  "));
  status_->setToolTip(status_->text());
}

QStringList MessagesView::mouse() const {
  return {tr("over a cell|how many messages went from whom to whom, and how large"),
          tr("click on a cell|select who sent them, in all views"),
          tr("double click on a cell|unfold what is folded")};
}

QString MessagesView::save(const QString& path, const QString& title) {
  if (source_.sums() == nullptr) return tr("%1: not written: %2").arg(path, source_.told());
  // As it is seen.
  if (path.endsWith(".png", Qt::CaseInsensitive))
    return grab().save(path, "PNG") ? QString()
                                    : tr("%1: not written: the image cannot be written").arg(path);
  return save_picture(path, session_, size(), title, picture_kind("matrix"));
}

}  // namespace margay::viewer
