#include "event_table.h"

#include <QApplication>
#include <QClipboard>
#include <QHeaderView>
#include <algorithm>
#include <set>

#include "margay/scene/rows.h"

namespace margay::viewer {
namespace {

constexpr DurationNs kAroundMoment(50'000);  // shown round a moment

}  // namespace

EventTable::EventTable(EventModel& model, Session& session, const QString& name, QWidget* parent)
    : QTableView(parent), model_(model), session_(session) {
  setModel(&model);
  setSelectionBehavior(QAbstractItemView::SelectRows);
  setSelectionMode(QAbstractItemView::ExtendedSelection);
  setTabKeyNavigation(false);
  setShowGrid(false);
  setWordWrap(false);
  setVerticalScrollMode(QAbstractItemView::ScrollPerItem);
  verticalHeader()->hide();
  verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
  verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 6);
  setAccessibleName(name);
  const int digit = fontMetrics().averageCharWidth();
  const int widths[scene::kEventColumns] = {16, 11, 20, 24, 9, 10, 8, 20};
  for (int c = 0; c < scene::kEventColumns; ++c) setColumnWidth(c, widths[c] * digit + 12);
  horizontalHeader()->setStretchLastSection(true);
  horizontalHeader()->setHighlightSections(false);
  connect(this, &QTableView::clicked, this, [this](const QModelIndex& i) { select(i.row()); });
  connect(this, &QTableView::doubleClicked, this, [this](const QModelIndex& i) { go_into(i.row()); });
}

void EventTable::choose() {
  const int row = currentIndex().row();
  if (is_selection(row) || is_beyond(row))
    go_into(row);
  else
    select(row);
}

void EventTable::copy() const {
  QApplication::clipboard()->setText(copied());
}

bool EventTable::is_beyond(int row) const {
  const auto listed = model_.at(row);
  const scene::ViewData& d = session_.data();
  return listed.row != nullptr && !d.empty() &&
         (listed.row->begin >= d.range().to || listed.row->end < d.range().from);
}

void EventTable::select(int row) {
  const auto listed = model_.at(row);
  const scene::ViewData& d = session_.data();
  if (listed.row == nullptr || d.empty()) return;
  const std::int64_t node =
      scene::node_over(d, scene::nodes_named(d, listed.page->resources[listed.row->resource]));
  if (node < 0) {
    emit session_.said(tr("the picture has no row of its own for this resource"));
    return;
  }
  const scene::TimeRange range = d.range();
  if (is_beyond(row)) {
    session_.select(std::nullopt);
    emit session_.said(tr("the picture does not show this time; Return goes there"));
    return;
  }
  const TimeNs from = std::clamp(listed.row->begin, range.from, range.to - DurationNs(1));
  const TimeNs last = std::clamp(listed.row->end - DurationNs(1), from, range.to - DurationNs(1));
  session_.select(Session::Selection{static_cast<std::uint32_t>(node),
                                     static_cast<std::uint32_t>(d.slice_at(from)),
                                     static_cast<std::uint32_t>(d.slice_at(last) + 1)});
}

// A third of the picture is its own.
void EventTable::go_into(int row) {
  const auto listed = model_.at(row);
  if (listed.row == nullptr) return;
  const DurationNs around = std::max(listed.row->end - listed.row->begin, kAroundMoment);
  session_.zoom_to({listed.row->begin - around, listed.row->end + around});
  emit went();
}

bool EventTable::is_selection(int row) const {
  const auto listed = model_.at(row);
  const auto& s = session_.selection();
  return s && listed.row != nullptr && model_.is_selected(listed) &&
         session_.data().name_of(s->node) == listed.page->resources[listed.row->resource];
}

QString EventTable::copied() const {
  std::set<int> rows;
  for (const QModelIndex& index : selectionModel()->selectedRows()) {
    if (rows.size() == kMostCopied) {
      emit session_.said(tr("only the first %L1 of the chosen rows are copied").arg(kMostCopied));
      break;
    }
    rows.insert(index.row());
  }
  QStringList lines;
  for (const int row : rows) lines << model_.line(row);
  return lines.join('\n') + (lines.isEmpty() ? "" : "\n");
}

}  // namespace margay::viewer
