#include "pins.h"

#include <QApplication>
#include <QClipboard>
#include <QHeaderView>
#include <QShortcut>
#include <QVBoxLayout>
#include <algorithm>

#include "bookmark_menu.h"
#include "margay/text/csv.h"
#include "paint.h"
#include "widgets.h"

namespace margay::viewer {
namespace {

constexpr int kAskAgain = 4000;  // ms

ContentsSource::Stretch stretch_of(const command::RunNotes::Bookmark& b, const scene::MarkedArea& area) {
  return {area.time, false, b.of.node, b.of.resources};
}

}  // namespace

std::optional<scene::MarkedArea> area_of(const command::RunNotes::Bookmark& b, const Session& session) {
  const auto at = shown_bookmark(b, session);
  if (!at || at->time.from == at->time.to) return std::nullopt;
  if (!b.of.resources.empty()) return scene::MarkedArea{at->time, b.of.resources};
  return scene::MarkedArea{at->time, {b.of.node.empty() ? "/" : b.of.node}};
}

bool PinRow::operator==(const PinRow& o) const {
  return of == o.of && who == o.who && when == o.when && trouble == o.trouble &&
         std::equal(largest.begin(), largest.end(), o.largest.begin(), o.largest.end(),
                    [](const auto& a, const auto& b) {
                      return a.first.name == b.first.name && a.second == b.second;
                    });
}

void PinModel::recolour() {
  if (rowCount() > 0)
    emit dataChanged(index(0, 0), index(rowCount() - 1, kColumns - 1), {Qt::DecorationRole});
}

QVariant PinModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  const PinRow& row = at(index.row());
  const int column = index.column();
  const auto nth = static_cast<std::size_t>(column - kFirst);
  const bool is_state = column >= kFirst && column <= kThird, known = is_state && nth < row.largest.size();
  if (role == Qt::DecorationRole && known) return state_box(row.largest[nth].first, session_.palette());
  if (role == Qt::ToolTipRole)
    return column == kRemove ? tr("remove this pin") : is_state ? row.trouble : text_of(row.of.note);
  if (role == Qt::TextAlignmentRole && column == kRemove) return QVariant(static_cast<int>(Qt::AlignCenter));
  if (role == Qt::EditRole && column == kWhen) return static_cast<qlonglong>(row.begin.value);
  if (role == Qt::EditRole && is_state) return known ? row.largest[nth].second : -1;
  if (role != Qt::DisplayRole && role != Qt::EditRole) return {};
  if (column == kWho) return row.who;
  if (column == kWhen) return row.when;
  if (column == kRemove) return QString(QChar(0x2715));
  if (known) return text_of(row.largest[nth].first.name) + " " + percent_text(row.largest[nth].second);
  if (column != kFirst) return {};
  return row.trouble.isEmpty() ? tr("reading...") : row.trouble;
}

QVariant PinModel::headerData(int section, Qt::Orientation orientation, int role) const {
  static constexpr const char* kTexts[kColumns] = {QT_TR_NOOP("pin"),        QT_TR_NOOP("time"),
                                                   QT_TR_NOOP("most of it"), QT_TR_NOOP("second"),
                                                   QT_TR_NOOP("third"),      ""};
  if (orientation != Qt::Horizontal || section < 0 || section >= kColumns) return {};
  if (role == Qt::ToolTipRole && section >= kFirst && section <= kThird)
    return tr("the states that have most of the time of its resources");
  return role == Qt::DisplayRole ? QVariant(tr(kTexts[section])) : QVariant();
}

PinsPanel::PinsPanel(Session& session, KeptNotes& notes, QWidget* parent)
    : QWidget(parent), session_(session), notes_(notes), contents_(session) {
  model_ = new PinModel(session, this);
  table_ = make_table(model_, this, tr("Pins, and what most of each is"));
  table_->sortByColumn(PinModel::kWhen, Qt::AscendingOrder);
  QHeaderView* heads = table_->horizontalHeader();
  heads->setStretchLastSection(false);
  heads->setMinimumSectionSize(20);
  heads->setSectionResizeMode(QHeaderView::Stretch);
  heads->setSectionResizeMode(PinModel::kRemove, QHeaderView::ResizeToContents);
  heads->setSectionResizeMode(PinModel::kWhen, QHeaderView::ResizeToContents);
  table_->setMinimumHeight(3 * fontMetrics().height());
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->addWidget(table_);
  again_.setSingleShot(true);
  again_.setInterval(kAskAgain);
  connect(&again_, &QTimer::timeout, this, [this] {
    std::vector<ContentsSource::Stretch> wanted;
    for (int i = 0; i < model_->rowCount(); ++i)
      if (const auto area = area_of(model_->at(i).of, session_))
        wanted.push_back(stretch_of(model_->at(i).of, *area));
    contents_.want(std::move(wanted), true);
    refresh();
  });
  make_keys();
  connect(&notes_, &KeptNotes::changed, this, &PinsPanel::refresh);
  connect(&contents_, &ContentsSource::changed, this, &PinsPanel::refresh);
  const auto if_other = [this] {
    if (times_ != session_.times()) refresh();
    if (palette_ != session_.palette()) palette_ = session_.palette(), model_->recolour();
  };
  connect(&session_, &Session::data_changed, this, if_other);
  connect(&session_, &Session::view_changed, this, if_other);
  refresh();
}

void PinsPanel::make_keys() {
  const auto key = [this](const QKeySequence& keys, auto what) {
    auto* shortcut = new QShortcut(keys, table_);
    shortcut->setContext(Qt::WidgetShortcut);
    connect(shortcut, &QShortcut::activated, this, what);
  };
  const auto chosen = [this] { return row_of(*table_, table_->currentIndex()); };
  key(QKeySequence::Copy, [this] { QApplication::clipboard()->setText(QString::fromStdString(csv())); });
  key(QKeySequence::Delete, [this, chosen] { remove(chosen()); });
  connect(table_, &QTableView::activated, this,
          [this](const QModelIndex& at) { go_to(row_of(*table_, at)); });
  connect(table_, &QTableView::doubleClicked, this,
          [this](const QModelIndex& at) { go_to(row_of(*table_, at)); });
  connect(table_, &QTableView::clicked, this, [this](const QModelIndex& at) {
    const int row = row_of(*table_, at);
    at.column() == PinModel::kRemove ? remove(row) : mark(row);
  });
}

// Room for its rows, few or many.
QSize PinsPanel::sizeHint() const {
  const int row = table_->verticalHeader()->defaultSectionSize();
  return {400, table_->horizontalHeader()->sizeHint().height() + row * std::max(1, model_->rowCount()) + 4};
}

void PinsPanel::refresh() {
  times_ = session_.times();
  std::vector<PinRow> rows;
  std::vector<ContentsSource::Stretch> wanted;
  bool troubled = false;
  for (const command::RunNotes::Bookmark& b : notes_.notes().bookmarks) {
    const auto area = b.pinned ? area_of(b, session_) : std::nullopt;
    if (!area) continue;
    PinRow row{b,
               text_of(scene::who_text(*area)),
               text_of(scene::range_text(area->time, times_)),
               area->time.from,
               {},
               {}};
    wanted.push_back(stretch_of(b, *area));
    if (const scene::StretchContents* known = contents_.of(wanted.back()))
      for (const auto& [state, share] : known->shares)
        if (state.known() && row.largest.size() < 3) row.largest.emplace_back(state, share);
    row.trouble = contents_.trouble(wanted.back());
    troubled = troubled || !row.trouble.isEmpty();
    rows.push_back(std::move(row));
  }
  const int before = model_->rowCount();
  model_->set(std::move(rows));
  if (before != model_->rowCount()) updateGeometry();
  contents_.want(std::move(wanted));
  if (troubled && !again_.isActive()) again_.start();
}

void PinsPanel::mark(int row) {
  if (row < 0) return;
  if (auto area = area_of(model_->at(row).of, session_)) session_.mark(std::move(*area));
}

void PinsPanel::go_to(int row) {
  if (row < 0) return;
  const auto area = area_of(model_->at(row).of, session_);
  if (!area) return;
  session_.go_to(area->time.from, area->time.to, scene::above_all(area->nodes));
  session_.mark(*area);
}

void PinsPanel::remove(int row) {
  if (row >= 0) notes_.remove(command::RunNotes::Bookmark(model_->at(row).of));
}

std::string PinsPanel::csv() const {
  std::string out = "resource,begin (s),end (s),state,share,state,share,state,share\r\n";
  for (int i = 0; i < table_->model()->rowCount(); ++i) {
    const PinRow& row = model_->at(row_of(*table_, table_->model()->index(i, 0)));
    out += text::csv_field(row.who.toStdString()) + "," + text::csv_field(row.of.of.from) + "," +
           text::csv_field(row.of.of.to);
    for (std::size_t k = 0; k < 3; ++k)
      out += k < row.largest.size() ? "," + text::csv_field(row.largest[k].first.name) + "," +
                                          QString::number(row.largest[k].second).toStdString()
                                    : ",,";
    out += "\r\n";
  }
  return out;
}

}  // namespace margay::viewer
