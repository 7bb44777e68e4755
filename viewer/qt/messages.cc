#include "messages.h"

#include <QHBoxLayout>
#include <QHelpEvent>
#include <QMouseEvent>
#include <QSignalBlocker>
#include <QToolTip>
#include <QVBoxLayout>

#include "picture_file.h"
#include "picture_kind.h"

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
  shown_ = new QStackedWidget(this);
  matrix_ = new MatrixView(source_, session, shown_);
  blocks_ = new BlocksView(source_, session, shown_);
  shown_->addWidget(matrix_);
  shown_->addWidget(blocks_);
  measure_ = new QComboBox(this);
  for (const MatrixMeasure m : {MatrixMeasure::kBytes, MatrixMeasure::kMessages, MatrixMeasure::kMeanTime})
    measure_->addItem(name_of(m), static_cast<int>(m));
  measure_->setAccessibleName(tr("what a cell shows"));
  measure_->setToolTip(
      tr("what a cell shows by how strong its colour is; mean time: from the begin of the sending call until "
         "the message was there"));
  grouping_ = new QComboBox(this);
  grouping_->addItems({tr("each pair"), tr("alike together")});
  grouping_->setAccessibleName(tr("each pair by itself, or what is alike together"));
  grouping_->setToolTip(
      tr("alike together: the optimal blocks of all pairs of two nodes; the slider chooses how much may be "
         "lost"));
  steps_ = new QSlider(Qt::Horizontal, this);
  steps_->setAccessibleName(tr("p of the blocks"));
  steps_->setToolTip(tr("p of the blocks, from all details to all as one"));
  steps_->setMaximumWidth(180);
  steps_->setPageStep(1);
  steps_->hide();
  status_ = new ElidedLabel(this);
  auto* line = new QHBoxLayout;
  line->setContentsMargins(4, 2, 4, 2);
  line->addWidget(measure_);
  line->addWidget(grouping_);
  line->addWidget(steps_);
  line->addWidget(status_, 1);
  column->addLayout(line);
  column->addWidget(shown_, 1);
  setFocusProxy(measure_);
  connect(measure_, &QComboBox::currentIndexChanged, this, [this](int index) {
    matrix_->set_measure(static_cast<MatrixMeasure>(measure_->itemData(index).toInt()));
    blocks_->set_measure(matrix_->measure());
    choose();
  });
  connect(grouping_, &QComboBox::currentIndexChanged, this, [this](int index) {
    shown_->setCurrentIndex(index);
    steps_->setVisible(in_blocks());
    choose();
  });
  connect(steps_, &QSlider::valueChanged, this, [this](int step) {
    blocks_->set_partition(static_cast<std::size_t>(step));
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

void MessagesView::choose() {
  wire::EventsQuestion::Alike alike = wire::EventsQuestion::NOT;
  if (in_blocks())
    alike = matrix_->measure() == MatrixMeasure::kBytes      ? wire::EventsQuestion::BYTES
            : matrix_->measure() == MatrixMeasure::kMessages ? wire::EventsQuestion::MESSAGES
                                                             : wire::EventsQuestion::MEAN_TIME;
  source_.set_alike(alike);
  refresh();
}

void MessagesView::refresh() {
  if (isVisible()) in_blocks() ? blocks_->refresh() : matrix_->refresh();
  QStringList words{source_.told()};
  const QString most = in_blocks() ? blocks_->told() : most_text(matrix_->matrix(), matrix_->measure());
  if (!most.isEmpty()) words.prepend(most);
  const QString unseen = unseen_text(in_blocks() ? blocks_->matrix().unseen : matrix_->matrix().unseen);
  if (!unseen.isEmpty()) words << unseen;
  if (in_blocks() && blocks_->partitions() == 0 && !source_.waits() && source_.sums() != nullptr &&
      !source_.sums()->sums.empty())
    words << tr("the daemon, an older one, does not sum up what is alike");
  const QSignalBlocker quiet(steps_);
  steps_->setRange(0, std::max(0, static_cast<int>(blocks_->partitions()) - 1));
  steps_->setValue(static_cast<int>(blocks_->partition()));
  status_->setText(words.join("  |  "));
  status_->setToolTip(status_->text());
}

QStringList MessagesView::mouse() const {
  return {tr("over a cell|how many messages went from whom to whom, and how large"),
          tr("click on a cell or block|select who sent them, in all views"),
          tr("double click on a cell|unfold what is folded")};
}

QString MessagesView::save(const QString& path, const QString& title) {
  if (source_.sums() == nullptr) return tr("%1: not written: %2").arg(path, source_.told());
  // As it is seen.
  if (path.endsWith(".png", Qt::CaseInsensitive))
    return grab().save(path, "PNG") ? QString()
                                    : tr("%1: not written: the image cannot be written").arg(path);
  if (!in_blocks() || blocks_->partitions() == 0)
    return save_picture(path, session_, size(), title, picture_kind("matrix"));
  const double p = source_.sums()->blocks[blocks_->partition()].p;
  return save_picture(path, session_, size(), title, picture_of_blocks(p, matrix_->measure()));
}

}  // namespace margay::viewer
