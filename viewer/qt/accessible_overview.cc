#include "accessible_overview.h"

#include <QAccessible>
#include <QAccessibleWidget>
#include <algorithm>
#include <deque>
#include <limits>
#include <optional>
#include <unordered_map>

#include "overview.h"
#include "picture_table.h"

namespace margay::viewer {
namespace {

class OverviewTable : public QAccessibleWidget, public QAccessibleTableInterface {
 public:
  explicit OverviewTable(Overview* overview);
  ~OverviewTable() override;

  // Of what is shown now; the next change makes another one.
  const PictureTable& table() const;
  Overview& overview() const { return *static_cast<Overview*>(widget()); }
  // On the screen; empty for what is scrolled out of sight.
  QRect rect_of(const PictureTable::Cell& cell) const;
  // The cell that the keys have led to; its `last` is 0: none.
  PictureTable::Cell focus() const;
  bool is_selected(const PictureTable::Cell& cell) const;
  QAccessibleInterface* cell_interface(const PictureTable::Cell& cell) const;
  int index_of(const PictureTable::Cell& cell) const;

  void* interface_cast(QAccessible::InterfaceType type) override;
  QString text(QAccessible::Text what) const override;
  int childCount() const override;
  QAccessibleInterface* child(int index) const override;
  int indexOfChild(const QAccessibleInterface* child) const override;
  QAccessibleInterface* childAt(int x, int y) const override;
  QAccessibleInterface* focusChild() const override;

  QAccessibleInterface* caption() const override { return nullptr; }
  QAccessibleInterface* summary() const override { return nullptr; }
  QAccessibleInterface* cellAt(int row, int column) const override;
  int selectedCellCount() const override { return static_cast<int>(chosen_cells().size()); }
  QList<QAccessibleInterface*> selectedCells() const override;
  QString columnDescription(int column) const override;
  QString rowDescription(int row) const override;
  int selectedColumnCount() const override { return 0; }
  int selectedRowCount() const override;
  int columnCount() const override { return table().columns(); }
  int rowCount() const override { return table().rows(); }
  QList<int> selectedColumns() const override { return {}; }
  QList<int> selectedRows() const override;
  bool isColumnSelected(int) const override { return false; }
  bool isRowSelected(int row) const override;
  bool selectRow(int row) override;
  bool selectColumn(int) override { return false; }
  bool unselectRow(int row) override;
  bool unselectColumn(int) override { return false; }
  void modelChange(QAccessibleTableModelChangeEvent*) override {}

 private:
  Session& session() const { return overview().session(); }
  void changed() { table_.reset(); }
  void moved();
  void answered();
  std::vector<PictureTable::Cell> chosen_cells() const;

  mutable std::optional<PictureTable> table_;
  // By row and first column; the order in which they were made.
  mutable std::unordered_map<std::uint64_t, QAccessible::Id> cells_;
  mutable std::deque<std::uint64_t> made_;
  std::optional<Session::Selection> told_;  // was announced last
  QObject context_;                         // of the connections, which end with it
};

// A place in the table.
class OverviewCell : public QAccessibleInterface,
                     public QAccessibleTableCellInterface,
                     public QAccessibleActionInterface {
 public:
  OverviewCell(const OverviewTable* of, int row, int column) : of_(of), row_(row), column_(column) {}
  // What is there now. REQUIRES isValid().
  PictureTable::Cell cell() const { return of_->table().cell(row_, column_); }

  bool isValid() const override { return of_->table().has(row_, column_); }
  QObject* object() const override { return nullptr; }
  QAccessibleInterface* parent() const override { return const_cast<OverviewTable*>(of_); }
  QAccessibleInterface* child(int) const override { return nullptr; }
  QAccessibleInterface* childAt(int, int) const override { return nullptr; }
  int childCount() const override { return 0; }
  int indexOfChild(const QAccessibleInterface*) const override { return -1; }
  void setText(QAccessible::Text, const QString&) override {}
  QAccessible::Role role() const override { return QAccessible::Cell; }
  QRect rect() const override { return isValid() ? of_->rect_of(cell()) : QRect(); }
  QString text(QAccessible::Text what) const override {
    if (!isValid()) return {};
    if (what == QAccessible::Name) return of_->table().words(cell());
    return what == QAccessible::Description ? of_->table().more(cell()) : QString();
  }
  QAccessible::State state() const override {
    QAccessible::State s;
    s.invalid = !isValid();
    if (s.invalid) return s;
    s.readOnly = s.selectable = s.focusable = true;
    s.selected = isSelected();
    s.focused = of_->overview().hasFocus() && of_->focus() == cell();
    s.offscreen = rect().isEmpty();
    return s;
  }
  void* interface_cast(QAccessible::InterfaceType type) override {
    if (type == QAccessible::TableCellInterface) return static_cast<QAccessibleTableCellInterface*>(this);
    return type == QAccessible::ActionInterface ? static_cast<QAccessibleActionInterface*>(this) : nullptr;
  }

  bool isSelected() const override { return isValid() && of_->is_selected(cell()); }
  QList<QAccessibleInterface*> columnHeaderCells() const override { return {}; }
  QList<QAccessibleInterface*> rowHeaderCells() const override { return {}; }
  int columnIndex() const override { return isValid() ? cell().first : -1; }
  int rowIndex() const override { return isValid() ? row_ : -1; }
  int columnExtent() const override { return isValid() ? cell().last - cell().first : 0; }
  int rowExtent() const override { return isValid() ? 1 : 0; }
  QAccessibleInterface* table() const override { return parent(); }

  QStringList actionNames() const override { return {pressAction(), setFocusAction()}; }
  void doAction(const QString& action) override {
    if (!isValid()) return;
    const Session::Selection here = of_->table().selection(cell());
    Overview& overview = of_->overview();
    if (action == pressAction()) return overview.session().into(here);
    if (action != setFocusAction()) return;
    overview.setFocus();
    overview.session().select(here);
    overview.session().set_scroll(
        scene::showing(overview.session().rows(), overview.session().scroll(), here.node));
  }
  QStringList keyBindingsForAction(const QString&) const override { return {}; }

 private:
  const OverviewTable* of_;
  int row_, column_;
};

OverviewTable::OverviewTable(Overview* overview) : QAccessibleWidget(overview, QAccessible::Table) {
  const Session* s = &overview->session();
  told_ = s->selection();
  QObject::connect(s, &Session::data_changed, &context_, [this] { answered(); });
  QObject::connect(s, &Session::view_changed, &context_, [this] { moved(); });
  QObject::connect(s, &Session::report_changed, &context_, [this] { changed(); });
}

OverviewTable::~OverviewTable() {
  for (const auto& [key, id] : cells_) QAccessible::deleteAccessibleInterface(id);
}

const PictureTable& OverviewTable::table() const {
  if (!table_) table_.emplace(session());
  return *table_;
}

PictureTable::Cell OverviewTable::focus() const {
  const auto& s = session().selection();
  return s && table().columns() > 0 ? table().cell_of(*s) : PictureTable::Cell{};
}

// What was selected is said, once, to whoever is in the picture.
void OverviewTable::moved() {
  changed();
  const auto& now = session().selection();
  if (now == told_) return;
  told_ = now;
  if (!QAccessible::isActive()) return;
  const PictureTable::Cell at = focus();
  if (at.last == 0 || !overview().hasFocus()) return;
  QAccessibleEvent event(cell_interface(at), QAccessible::Focus);
  QAccessible::updateAccessibility(&event);
}

void OverviewTable::answered() {
  changed();
  if (!QAccessible::isActive() || session().follows() || !overview().hasFocus()) return;
  const PictureTable::Cell at = focus();
  if (at.last == 0) return;
  QAccessibleEvent event(cell_interface(at), QAccessible::NameChanged);
  QAccessible::updateAccessibility(&event);
}

void* OverviewTable::interface_cast(QAccessible::InterfaceType type) {
  if (type == QAccessible::TableInterface) return static_cast<QAccessibleTableInterface*>(this);
  return QAccessibleWidget::interface_cast(type);
}

QString OverviewTable::text(QAccessible::Text what) const {
  return what == QAccessible::Description ? table().summary() : QAccessibleWidget::text(what);
}

int OverviewTable::index_of(const PictureTable::Cell& cell) const {
  const std::int64_t at = std::int64_t{cell.row} * columnCount() + cell.first;
  return at <= std::numeric_limits<int>::max() ? static_cast<int>(at) : -1;
}

int OverviewTable::childCount() const {
  return static_cast<int>(std::min<std::int64_t>(std::int64_t{rowCount()} * columnCount(), kMostCells));
}

QAccessibleInterface* OverviewTable::child(int index) const {
  const int columns = columnCount();
  if (index < 0 || columns == 0 || index / columns >= rowCount()) return nullptr;
  return cellAt(index / columns, index % columns);
}

int OverviewTable::indexOfChild(const QAccessibleInterface* child) const {
  const auto* cell = dynamic_cast<const OverviewCell*>(child);
  return cell != nullptr && cell->isValid() && cell->parent() == this ? index_of(cell->cell()) : -1;
}

QAccessibleInterface* OverviewTable::cellAt(int row, int column) const {
  return cell_interface(table().has(row, column) ? table().cell(row, column)
                                                 : PictureTable::Cell{-1, -1, -1});
}

QAccessibleInterface* OverviewTable::cell_interface(const PictureTable::Cell& cell) const {
  const std::uint64_t key =
      std::uint64_t{static_cast<std::uint32_t>(cell.row)} << 32 | static_cast<std::uint32_t>(cell.first);
  if (const auto known = cells_.find(key); known != cells_.end())
    if (QAccessibleInterface* is = QAccessible::accessibleInterface(known->second)) return is;
  if (made_.size() >= kMostCells) {
    const auto oldest = cells_.find(made_.front());
    QAccessible::deleteAccessibleInterface(oldest->second);
    cells_.erase(oldest);
    made_.pop_front();
  }
  auto* made = new OverviewCell(this, cell.row, cell.first);
  if (cells_.insert_or_assign(key, QAccessible::registerAccessibleInterface(made)).second)
    made_.push_back(key);
  return made;
}

QRect OverviewTable::rect_of(const PictureTable::Cell& cell) const {
  const Sheet sheet = overview().sheet();
  const scene::Viewport view = sheet.viewport(session().time(), session().scroll());
  const scene::TimeRange time = table().time(cell);
  QRectF room = sheet.picture, box = room;
  if (cell.row < table().resources()) {
    const scene::Row& row = session().rows().rows[static_cast<std::size_t>(cell.row)];
    box.setTop(room.top() + scene::y_of(view, row.y));
    box.setBottom(room.top() + scene::y_of(view, row.y + row.height));
  } else {
    room = box = cell.row + 1 < rowCount() ? sheet.ribbon : sheet.bars;
  }
  box.setLeft(room.left() + scene::x_of(view, time.from));
  box.setRight(room.left() + scene::x_of(view, time.to));
  box &= room;
  if (box.isEmpty()) return {};
  const QRect aligned = box.toAlignedRect();
  return {overview().mapToGlobal(aligned.topLeft()), aligned.size()};
}

QAccessibleInterface* OverviewTable::childAt(int x, int y) const {
  const QPointF at = overview().mapFromGlobal(QPoint(x, y));
  const Sheet sheet = overview().sheet();
  const scene::Viewport view = sheet.viewport(session().time(), session().scroll());
  const TimeNs time = scene::time_at(view, at.x() - sheet.picture.left());
  const int column = table().column_at(time);
  std::int64_t row = -1;
  if (sheet.picture.contains(at))
    row = scene::row_at(session().rows(), scene::row_units_at(view, at.y() - sheet.picture.top()));
  else if (sheet.ribbon.contains(at) && rowCount() > table().resources() + 1)
    row = table().resources();
  else if (sheet.bars.contains(at))
    row = rowCount() - 1;
  return table().has(static_cast<int>(row), column) ? cellAt(static_cast<int>(row), column) : nullptr;
}

QAccessibleInterface* OverviewTable::focusChild() const {
  if (overview().hasFocus())
    if (const PictureTable::Cell at = focus(); at.last > 0) return cell_interface(at);
  return QAccessibleWidget::focusChild();
}

bool OverviewTable::is_selected(const PictureTable::Cell& cell) const {
  const auto& s = session().selection();
  if (!s || cell.row >= table().resources()) return false;
  const scene::Rows& rows = session().rows();
  const auto row = static_cast<std::uint32_t>(cell.row);
  const Session::Selection here = table().selection(cell);
  return rows.first_row[s->node] <= row && row < rows.last_row[s->node] && s->first <= here.first &&
         here.last <= s->last;
}

// The first of them: of a node there may be more than anybody can list.
std::vector<PictureTable::Cell> OverviewTable::chosen_cells() const {
  std::vector<PictureTable::Cell> out;
  const auto& s = session().selection();
  if (!s || columnCount() == 0) return out;
  const scene::Rows& rows = session().rows();
  const int from = table().column_at(session().data().boundaries[s->first]);
  for (auto row = static_cast<int>(rows.first_row[s->node]);
       row < static_cast<int>(rows.last_row[s->node]) && out.size() < kMostCellsChosen; ++row)
    for (int column = from; column < columnCount() && out.size() < kMostCellsChosen;) {
      const PictureTable::Cell cell = table().cell(row, column);
      if (table().selection(cell).first >= s->last) break;
      if (is_selected(cell)) out.push_back(cell);
      column = cell.last;
    }
  return out;
}

QList<QAccessibleInterface*> OverviewTable::selectedCells() const {
  QList<QAccessibleInterface*> out;
  for (const PictureTable::Cell& cell : chosen_cells()) out << cell_interface(cell);
  return out;
}

QString OverviewTable::columnDescription(int column) const {
  return column >= 0 && column < columnCount() ? table().column_words(column) : QString();
}
QString OverviewTable::rowDescription(int row) const {
  return row >= 0 && row < rowCount() ? table().row_words(row) : QString();
}

bool OverviewTable::isRowSelected(int row) const {
  const auto& s = session().selection();
  if (!s || row < 0 || row >= table().resources() || s->first > 0 || s->last < session().data().slices())
    return false;
  const auto r = static_cast<std::uint32_t>(row);
  return session().rows().first_row[s->node] <= r && r < session().rows().last_row[s->node];
}

int OverviewTable::selectedRowCount() const {
  const auto& s = session().selection();
  if (!s || table().resources() == 0) return 0;
  const auto first = session().rows().first_row[s->node];
  return isRowSelected(static_cast<int>(first)) ? static_cast<int>(session().rows().last_row[s->node] - first)
                                                : 0;
}

QList<int> OverviewTable::selectedRows() const {
  QList<int> out;
  const int count = std::min(selectedRowCount(), static_cast<int>(kMostCellsChosen));
  for (int i = 0; i < count; ++i)
    out << static_cast<int>(session().rows().first_row[session().selection()->node]) + i;
  return out;
}

bool OverviewTable::selectRow(int row) {
  if (row < 0 || row >= table().resources()) return false;
  session().select(Session::Selection{session().rows().rows[static_cast<std::size_t>(row)].node, 0,
                                      static_cast<std::uint32_t>(session().data().slices())});
  return true;
}

bool OverviewTable::unselectRow(int row) {
  if (!isRowSelected(row)) return false;
  session().select(std::nullopt);
  return true;
}

QAccessibleInterface* overview_table(const QString&, QObject* object) {
  auto* overview = qobject_cast<Overview*>(object);
  return overview != nullptr ? new OverviewTable(overview) : nullptr;
}

}  // namespace

void make_overviews_accessible() {
  static const bool once = [] {
    QAccessible::installFactory(overview_table);
    return true;
  }();
  static_cast<void>(once);
}

}  // namespace margay::viewer
