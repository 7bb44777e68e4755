#include "durations.h"

#include <QApplication>
#include <QClipboard>
#include <QHeaderView>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QToolTip>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

#include "margay/base/text.h"
#include "margay/scene/time_axis.h"
#include "patterns.h"
#include "picture_file.h"

namespace margay::viewer {
namespace {

// Sorted by the number, and shown as the text.
class NumberItem : public QTableWidgetItem {
 public:
  NumberItem(double number, const QString& text) : QTableWidgetItem(text), number_(number) {
    setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
  }
  bool operator<(const QTableWidgetItem& other) const override {
    const auto* o = dynamic_cast<const NumberItem*>(&other);
    return o != nullptr ? number_ < o->number_ : QTableWidgetItem::operator<(other);
  }

 private:
  double number_;
};

NumberItem* length_item(double ns, bool known) {
  return new NumberItem(known ? ns : -1,
                        known ? text_of(scene::duration_text(DurationNs(std::llround(ns)))) : QString("?"));
}

}  // namespace

View* make_durations(Session& session, QWidget* parent) {
  return new DurationsView(session, parent);
}

HistogramView::HistogramView(const SumsSource& source, Session& session, QWidget* parent)
    : QWidget(parent), source_(source), session_(session) {
  setMinimumHeight(140);
  setAccessibleName(tr("Visits by how long they last"));
  connect(&source_, &SumsSource::changed, this, [this] { update(); });
  connect(&session_, &Session::view_changed, this, [this] { update(); });
}

void HistogramView::paintEvent(QPaintEvent*) {
  QPainter p(this);
  const scene::Palette& palette = session_.palette();
  p.fillRect(rect(), colour_of(palette.background()));
  if (source_.sums() == nullptr) return;
  const HistogramSheet s = sheet();
  paint_histogram(p, s, *source_.sums(), scene::histogram_of(*source_.sums(), s.columns), palette);
}

QString HistogramView::words_at(double x) const {
  if (source_.sums() == nullptr) return {};
  const HistogramSheet s = sheet();
  const scene::Histogram h = scene::histogram_of(*source_.sums(), s.columns);
  const auto at = s.column_at(x, h);
  if (!at) return {};
  const auto length = [](std::int64_t ns) { return text_of(scene::duration_text(DurationNs(ns))); };
  QString out =
      tr("%1 visits last %2 to %3")
          .arg(text_of(grouped(h.columns[*at].total)), length(h.edge(*at)), length(h.edge(*at + 1)));
  for (const auto& [sum, count] : h.columns[*at].counts)
    out += "\n" + text_of(source_.sums()->names[source_.sums()->sums[sum].name].name) + ": " +
           text_of(grouped(count));
  return out;
}

bool HistogramView::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  QToolTip::showText(help->globalPos(), words_at(help->pos().x()), this);
  return true;
}

DurationsView::DurationsView(Session& session, QWidget* parent)
    : View(session, parent), source_(session, SumsOf::kVisits) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  histogram_ = new HistogramView(source_, session, this);
  status_ = new ElidedLabel(this);
  status_->setContentsMargins(4, 2, 4, 2);
  table_ = new QTableWidget(0, kColumns, this);
  table_->setHorizontalHeaderLabels({tr("state"), tr("visits"), tr("time of all"), tr("mean"),
                                     tr("deviation"), tr("median"), tr("99 %"), tr("longest"), tr("begins"),
                                     tr("of")});
  table_->setSelectionBehavior(QAbstractItemView::SelectRows);
  table_->setEditTriggers(QAbstractItemView::NoEditTriggers);
  table_->setTabKeyNavigation(false);
  table_->setShowGrid(false);
  table_->setWordWrap(false);
  table_->verticalHeader()->hide();
  table_->verticalHeader()->setDefaultSectionSize(table_->fontMetrics().height() + 6);
  table_->horizontalHeader()->setStretchLastSection(true);
  table_->horizontalHeader()->setHighlightSections(false);
  table_->horizontalHeader()->setSortIndicator(kTotal, Qt::DescendingOrder);
  table_->setColumnWidth(kState, 22 * table_->fontMetrics().averageCharWidth());
  table_->setAccessibleName(tr("What visits sum to, by state"));
  table_->installEventFilter(this);
  column->addWidget(histogram_, 1);
  column->addWidget(status_);
  column->addWidget(table_, 1);
  setFocusProxy(table_);
  connect(&source_, &SumsSource::changed, this, &DurationsView::refresh);
  connect(&session_, &Session::view_changed, this, &DurationsView::colour);
  connect(&session_, &Session::status_changed, this, &DurationsView::refresh);
  connect(table_, &QTableWidget::cellDoubleClicked, this, &DurationsView::go_to_longest);
  refresh();
}

void DurationsView::showEvent(QShowEvent* event) {
  View::showEvent(event);
  source_.set_seen(true);
}

void DurationsView::hideEvent(QHideEvent* event) {
  View::hideEvent(event);
  source_.set_seen(false);
}

void DurationsView::refresh() {
  status_->setText(source_.told());
  status_->setToolTip(status_->text());
  if (shown_ == source_.sums()) return;
  shown_ = source_.sums();
  fill();
}

// The boxes of the states, in the colours that they have now.
void DurationsView::colour() {
  for (int row = 0; row < table_->rowCount() && shown_ != nullptr; ++row) {
    QTableWidgetItem& name = *table_->item(row, kState);
    const scene::State& state = shown_->names[shown_->sums[index_of(row)].name];
    QPixmap box(10, 10);
    box.fill(Qt::transparent);
    QPainter p(&box);
    fill_box(p, box.rect(), session_.palette().look(state.name, state.family));
    p.end();
    name.setIcon(box);
  }
}

std::size_t DurationsView::index_of(int row) const {
  return static_cast<std::size_t>(table_->item(row, kState)->data(Qt::UserRole).toInt());
}

// Whoever has chosen a state keeps it.
void DurationsView::fill() {
  const QTableWidgetItem* at = table_->item(table_->currentRow(), kState);
  const QString chosen = at == nullptr ? QString() : at->text();
  table_->setSortingEnabled(false);
  table_->clearContents();
  table_->setRowCount(shown_ == nullptr ? 0 : static_cast<int>(shown_->sums.size()));
  for (int row = 0; row < table_->rowCount(); ++row) {
    const scene::EventSum& s = shown_->sums[static_cast<std::size_t>(row)];
    const scene::State& state = shown_->names[s.name];
    auto* name = new QTableWidgetItem(text_of(state.name));
    name->setData(Qt::UserRole, row);
    const bool single = s.single > 0;
    table_->setItem(row, kState, name);
    table_->setItem(row, kCount, new NumberItem(static_cast<double>(s.count), text_of(grouped(s.count))));
    table_->setItem(row, kTotal, length_item(static_cast<double>(s.total.value), true));
    table_->setItem(row, kMean, length_item(s.mean, true));
    table_->setItem(row, kDeviation, length_item(s.deviation, s.single > 1));
    table_->setItem(row, kMedian, length_item(static_cast<double>(s.median.value), single));
    table_->setItem(row, k99, length_item(static_cast<double>(s.q99.value), single));
    table_->setItem(row, kLongest, length_item(static_cast<double>(s.longest.value), true));
    const double begin = static_cast<double>((s.longest_begin - shown_->zero).value) * 1e-9;
    table_->setItem(row, kWhen, new NumberItem(begin, QString::number(begin, 'f', 6) + " s"));
    table_->setItem(row, kWho, new QTableWidgetItem(text_of(shown_->resources[s.longest_resource])));
  }
  colour();
  table_->setSortingEnabled(true);
  for (int row = 0; row < table_->rowCount() && !chosen.isEmpty(); ++row)
    if (table_->item(row, kState)->text() == chosen) return table_->setCurrentCell(row, kState);
}

// A third of the picture is its own, and it is selected.
void DurationsView::go_to_longest(int row) {
  if (shown_ == nullptr || table_->item(row, kState) == nullptr) return;
  const auto& s = shown_->sums[index_of(row)];
  const TimeNs end = s.longest_begin + s.longest;
  session_.go_to(s.longest_begin, end, shown_->resources[s.longest_resource]);
  session_.zoom_to({s.longest_begin - s.longest, end + s.longest});
}

bool DurationsView::eventFilter(QObject* object, QEvent* event) {
  if (event->type() != QEvent::ShortcutOverride && event->type() != QEvent::KeyPress)
    return View::eventFilter(object, event);
  const auto* key = static_cast<QKeyEvent*>(event);
  const bool copies = key->matches(QKeySequence::Copy);
  const bool goes = key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter;
  const bool moves = key->key() == Qt::Key_Up || key->key() == Qt::Key_Down;
  if (!copies && !goes && !(moves && key->modifiers() == Qt::NoModifier)) return false;
  if (event->type() == QEvent::ShortcutOverride) return event->accept(), true;
  if (copies && shown_ != nullptr)
    QApplication::clipboard()->setText(QString::fromStdString(scene::event_sums_csv(*shown_)));
  if (goes) go_to_longest(table_->currentRow());
  return copies || goes;
}

QStringList DurationsView::mouse() const {
  return {tr("over a column|how many visits of which state last so long"),
          tr("click on a heading|sort by it"),
          tr("double click on a row|go to the longest visit of the state")};
}

QStringList DurationsView::keys() const {
  return {tr("Up, Down|another state"), tr("Return|go to the longest visit of the state"),
          tr("Ctrl+C|copy the table as CSV")};
}

QString DurationsView::save(const QString& path, const QString& title) {
  if (shown_ == nullptr) return tr("%1: not written: %2").arg(path, source_.told());
  // As it is seen.
  if (path.endsWith(".png", Qt::CaseInsensitive))
    return grab().save(path, "PNG") ? QString()
                                    : tr("%1: not written: the image cannot be written").arg(path);
  return save_picture(path, session_, size(), title, picture_kind("histogram"));
}

}  // namespace margay::viewer
