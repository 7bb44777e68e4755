#include "states_panel.h"

#include <QApplication>
#include <QClipboard>
#include <QColorDialog>
#include <QHeaderView>
#include <QShortcut>
#include <QSortFilterProxyModel>
#include <QVBoxLayout>

#include "margay/scene/time_axis.h"
#include "marked.h"
#include "paint.h"

namespace margay::viewer {

StatesPanel::StatesPanel(Session& session, QWidget* parent) : QWidget(parent), session_(session) {
  model_ = new StatisticsModel(this);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(4, 4, 4, 4);
  auto* head = new QHBoxLayout;
  pie_ = new PieView(session, this);
  heading_ = new QLabel(this);
  heading_->setTextFormat(Qt::PlainText);
  heading_->setMinimumWidth(60);
  head->addWidget(pie_);
  head->addWidget(heading_, 1);
  column->addLayout(head);
  table_ = make_table(model_, this, tr("States, and their share of the selection"));
  table_->sortByColumn(StatisticsModel::kShare, Qt::DescendingOrder);
  QHeaderView* columns = table_->horizontalHeader();
  columns->setMinimumSectionSize(24);
  columns->setStretchLastSection(false);
  columns->setSectionResizeMode(QHeaderView::ResizeToContents);
  columns->setSectionResizeMode(StatisticsModel::kName, QHeaderView::Stretch);
  table_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  table_->setTextElideMode(Qt::ElideMiddle);
  table_->setMinimumHeight(80);
  column->addWidget(table_, 1);
  column->addWidget(new MarkLegend(session, this));

  auto* copy_key = new QShortcut(QKeySequence::Copy, table_);
  copy_key->setContext(Qt::WidgetShortcut);
  connect(copy_key, &QShortcut::activated, this, &StatesPanel::copy);
  connect(&session_, &Session::data_changed, this, &StatesPanel::refresh);
  connect(&session_, &Session::view_changed, this, &StatesPanel::refresh_if_other);
  connect(&session_, &Session::status_changed, this, &StatesPanel::refresh_if_other);
  connect(model_, &StatisticsModel::wished, this, [this](int row, bool shown) { show(row, shown); });
  connect(table_, &QTableView::clicked, this, [this](const QModelIndex& index) {
    if (index.column() == StatisticsModel::kColour) choose_colour(row_of(*table_, index));
  });
  connect(table_, &QTableView::doubleClicked, this, [this](const QModelIndex& index) {
    if (index.column() != StatisticsModel::kColour) only(row_of(*table_, index));
  });
  refresh();
}

void StatesPanel::choose(const std::string& state) {
  for (int row = 0; row < model_->rowCount(); ++row) {
    if (model_->state(row).name != state) continue;
    choose_row(*table_, row);
    return table_->setFocus();
  }
}

int StatesPanel::chosen() {
  const int row = row_of(*table_, table_->currentIndex());
  if (row < 0) emit said(tr("choose a state in the list first"));
  return row;
}

void StatesPanel::toggle() {
  if (const int row = chosen(); row >= 0) show(row, !model_->shown(row));
}
void StatesPanel::only() {
  if (const int row = chosen(); row >= 0) only(row);
}
void StatesPanel::choose_colour() {
  if (const int row = chosen(); row >= 0) choose_colour(row);
}
void StatesPanel::usual_colour() {
  if (const int row = chosen(); row >= 0) session_.set_colour(model_->state(row).name, std::nullopt);
}

void StatesPanel::copy() const {
  QApplication::clipboard()->setText(
      QString::fromStdString(scene::csv_of(model_->statistics(), session_.data())));
}

void StatesPanel::show(int row, bool shown) {
  if (!model_->state(row).known()) return;
  if (model_->left_out_by_term(row)) {
    emit said(tr("%1 is left out by the filter above the picture: a click there takes it back")
                  .arg(text_of(model_->state(row).name)));
    return refresh();
  }
  if (auto states = model_->with(row, shown))
    session_.set_states(std::move(*states));
  else
    emit said(tr("one state at least has to be shown"));
  refresh();
}

void StatesPanel::only(int row) {
  const scene::State& state = model_->state(row);
  if (!state.known()) return;
  const std::vector<std::string> alone{state.name};
  session_.set_states(session_.subject().states == alone ? std::vector<std::string>() : alone);
}

void StatesPanel::choose_colour(int row) {
  const scene::State state = model_->state(row);
  auto* dialog =
      new QColorDialog(colour_of(session_.palette().look(state.name, state.family).colour), window());
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setWindowTitle(tr("Colour of %1").arg(text_of(state.name)));
  connect(dialog, &QColorDialog::colorSelected, this, [this, name = state.name](const QColor& c) {
    session_.set_colour(name,
                        scene::Rgb{static_cast<std::uint8_t>(c.red()), static_cast<std::uint8_t>(c.green()),
                                   static_cast<std::uint8_t>(c.blue())});
  });
  dialog->open();
}

void StatesPanel::refresh_if_other() {
  if (of_ != session_.selection() || marked_ != session_.marked() || states_ != session_.subject().states ||
      filter_ != session_.subject().filter || palette_ != session_.palette())
    refresh();
  else if (times_ != session_.times())
    show_heading();
}

void StatesPanel::refresh() {
  of_ = session_.selection();
  marked_ = session_.marked();
  states_ = session_.subject().states;
  filter_ = session_.subject().filter;
  palette_ = session_.palette();
  const scene::ViewData& d = session_.data();
  scene::Region s{{0}, 0, d.slices()};
  if (const auto& chosen = session_.selection()) s = {{chosen->node}, chosen->first, chosen->last};
  if (marked_) s = session_.marked_place();
  model_->set(d.empty() ? scene::Statistics() : scene::statistics(d, s), d, session_.palette(),
              session_.states(), states_,
              wire::StateTerms::parse(filter_.states).value_or(wire::StateTerms()));
  pie_->set(pie_of(model_->statistics(), d, session_.palette()));
  show_heading();
}

// Whose statistics they are, of when, and how much they are worth.
QStringList StatesPanel::heading() const {
  const scene::ViewData& d = session_.data();
  const scene::Statistics& of = model_->statistics();
  if (marked_ && !d.empty() && of.leaves == 0)
    return {marked_text(*marked_), tr("the picture does not show it; Escape takes it back")};
  if (d.empty() || of.leaves == 0) return {tr("nothing to see yet")};
  const scene::Node& n = d.nodes[std::min<std::size_t>(of.selection.node, d.nodes.size() - 1)];
  const QString path = n.path.empty() || n.path == "/" ? tr("everything") : text_of(n.path);
  const QString what = marked_                ? marked_text(*marked_)
                       : session_.selection() ? path
                                              : path + tr(" (nothing is selected)");
  const QString when =
      text_of(scene::range_text({d.boundaries[of.selection.first], d.boundaries[of.selection.last]}, times_));
  QStringList lines = {
      what, when,
      counted(of.leaves, tr("resource"), tr("resources")) + ", " + counted(of.parts, tr("part"), tr("parts")),
      tr("gain %1, loss %2 bits").arg(of.gain, 0, 'g', 4).arg(of.loss, 0, 'g', 4)};
  if (const std::string left_out = scene::left_out_text(d.question); !left_out.empty())
    lines << text_of(scene::proportions_text(d.question.filter().of_the_rest()));
  if (marked_ && of.pro_rata) lines << tr("estimates: parts reach beyond it");
  if (!d.unit.empty()) lines.prepend(text_of(scene::measure_text(d)));
  return lines;
}

void StatesPanel::show_heading() {
  times_ = session_.times();
  const QStringList lines = heading();
  const int room = std::max(60, width() - pie_->width() - 24);
  QStringList fit;
  for (const QString& line : lines) fit << fontMetrics().elidedText(line, Qt::ElideMiddle, room);
  heading_->setText(fit.join("\n"));
  heading_->setToolTip(lines.join("\n"));
}

void StatesPanel::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  show_heading();
}

}  // namespace margay::viewer
