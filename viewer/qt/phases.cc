#include "phases.h"

#include <QApplication>
#include <QClipboard>
#include <QHeaderView>
#include <QKeyEvent>
#include <QRegularExpression>
#include <QSaveFile>
#include <QSortFilterProxyModel>
#include <QSplitter>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>
#include <set>

#include "margay/text/text.h"
#include "paint.h"
#include "picture.h"

namespace margay::viewer {
namespace {

constexpr int kMostNamed = 3;  // phases that a long one is made of

ContentsSource::Stretch wanted_of(const scene::ListedStretch& s) {
  return {s.time, s.goes_on};
}

QString share_words(const std::string& name, double share, bool exact = true) {
  return (exact ? QString("%1 %2 %") : QObject::tr("%1, about %2 %"))
      .arg(text_of(name))
      .arg(100 * share, 0, 'f', 0);
}

// "the second lasted 19 % longer".
QString length_words(DurationNs first, DurationNs second) {
  if (first <= DurationNs(0)) return {};
  const double by = static_cast<double>(second.value) / static_cast<double>(first.value) - 1;
  const QString percent = QString::number(std::abs(100 * by), 'f', 0);
  if (percent == "0") return QObject::tr("both lasted as long");
  return (by > 0 ? QObject::tr("the second lasted %1 % longer")
                 : QObject::tr("the second lasted %1 % shorter"))
      .arg(percent);
}

// Whole tables, of all resources: not of what somebody has chosen to see.
bool is_of_all(const scene::ViewData& data) {
  return !data.empty() && data.temporal && data.unit.empty() && data.question.states().empty() &&
         !data.question.has_filter() && (data.nodes[0].path.empty() || data.nodes[0].path == "/");
}

QSortFilterProxyModel& sorted_model(const QTableView& view) {
  return *static_cast<QSortFilterProxyModel*>(view.model());
}

}  // namespace

View* make_phases(Session& session, QWidget* parent) {
  return new PhasesView(session, parent);
}

PhasesView::PhasesView(Session& session, QWidget* parent) : View(session, parent), contents_(session) {
  make_tables();
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  auto* parts = new QSplitter(Qt::Vertical, this);
  parts->setChildrenCollapsible(false);
  parts->addWidget(with_line(parts, now_, phases_));
  parts->addWidget(with_line(parts, listed_, stretches_));
  parts->addWidget(with_line(parts, chosen_, differences_));
  for (int i = 0; i < 3; ++i) parts->setStretchFactor(i, i == 1 ? 3 : 2);
  column->addWidget(parts);
  setFocusProxy(stretches_);
  connect(&session_, &Session::report_changed, this, &PhasesView::refresh);
  connect(&session_, &Session::data_changed, this, &PhasesView::refresh);
  connect(&session_, &Session::view_changed, this, [this] {
    phase_model_->recolour();
    stretch_model_->recolour();
    difference_model_->recolour();
    if (isVisible() && stretch_model_->times() != session_.times()) show_stretches();
  });
  connect(&contents_, &ContentsSource::changed, this, [this] {
    show_stretches();
    show_chosen();
  });
  connect(stretches_, &QTableView::clicked, this,
          [this](const QModelIndex& at) { select(row_of(*stretches_, at)); });
  connect(stretches_, &QTableView::doubleClicked, this,
          [this](const QModelIndex& at) { go_to(row_of(*stretches_, at)); });
  connect(stretches_->selectionModel(), &QItemSelectionModel::selectionChanged, this,
          [this] { look_at_chosen(); });
  connect(phases_->selectionModel(), &QItemSelectionModel::selectionChanged, this, [this] {
    const QModelIndexList rows = phases_->selectionModel()->selectedRows();
    list_only(rows.isEmpty() ? QString() : text_of(phase_model_->at(row_of(*phases_, rows[0])).name));
  });
  show_chosen();
}

void PhasesView::make_tables() {
  phase_model_ = new PhaseModel(session_, this);
  stretch_model_ = new StretchModel(session_, this);
  difference_model_ = new DifferenceModel(session_, this);
  // The first of them has the focus of who comes here by the tab.
  stretches_ = make_table(stretch_model_, this, tr("Stretches of phases"));
  phases_ = make_table(phase_model_, this, tr("Phases"));
  differences_ = make_table(difference_model_, this, tr("What the chosen stretches consist of"));
  now_ = line_of(this), listed_ = line_of(this), chosen_ = line_of(this);
  stretches_->setSelectionMode(QAbstractItemView::ExtendedSelection);
  sorted_model(*stretches_).setFilterRole(StretchModel::kNameRole);
  phases_->sortByColumn(PhaseModel::kTotal, Qt::DescendingOrder);
  stretches_->sortByColumn(StretchModel::kBegin, Qt::AscendingOrder);
  differences_->sortByColumn(DifferenceModel::kDifference, Qt::DescendingOrder);
  const int letter = fontMetrics().averageCharWidth();
  for (QTableView* table : {phases_, stretches_, differences_}) {
    table->horizontalHeader()->setDefaultSectionSize(14 * letter);
    table->setColumnWidth(0, 24 * letter);
    table->setMinimumHeight(4 * fontMetrics().height());
    table->installEventFilter(this);
  }
  stretches_->horizontalHeader()->setStretchLastSection(true);
}

void PhasesView::showEvent(QShowEvent* event) {
  View::showEvent(event);
  refresh();
  look_at_chosen(true);
}

void PhasesView::hideEvent(QHideEvent* event) {
  View::hideEvent(event);
  contents_.want({});
}

void PhasesView::refresh() {
  if (!isVisible() || session_.report() == nullptr) return;
  const wire::Report& report = *session_.report();
  list_ = scene::phase_list(
      report, [&](const std::string& name) { return terminal::usual_duration_ns(report, name); });
  phase_model_->set(list_.phases);
  show_stretches();
  show_now();
  look_at_chosen();
}

void PhasesView::show_stretches() {
  if (session_.report() == nullptr) return;
  std::vector<StretchRow> rows;
  rows.reserve(list_.stretches.size());
  for (const scene::ListedStretch& s : list_.stretches) rows.push_back({s, mostly(s)});
  stretch_model_->set(std::move(rows), session_.times());
  const auto listed = static_cast<std::size_t>(stretches_->model()->rowCount());
  QStringList words{counted(listed, tr("stretch"), tr("stretches")) +
                    (only_.isEmpty() ? QString() : tr(" of phase %1 (Escape: of all)").arg(only_))};
  if (list_.older > 0)
    words << tr("%1 older ones are not reported any more").arg(static_cast<qulonglong>(list_.older));
  listed_->setText(words.join("  |  "));
}

// The sentence of `margay status` and `margay watch`.
void PhasesView::show_now() {
  const wire::Report& report = *session_.report();
  const wire::PhaseSpan* now = terminal::current_phase(report);
  if (now == nullptr || report.final()) {
    const bool over = report.final() || (report.has_replay() && report.replay().at_end());
    return now_->setText(list_.stretches.empty() ? tr("no phase has been recognised yet")
                         : over                  ? tr("no phase goes on any more")
                                                 : tr("the phase that goes on has not been recognised yet"));
  }
  QStringList words{tr("now phase %1, %2 time, %3 so far")
                        .arg(phase_name_of(terminal::phase_name(*now), now->label()),
                             text_of(text::ordinal(now->occurrence())),
                             text_of(text::duration_text(text::minus(now->end_ns(), now->begin_ns()))))};
  for (const std::string& told :
       {terminal::forecast_text(report), terminal::usual_range(report, now->name())})
    if (!told.empty()) words << text_of(told);
  now_->setText(words.join("  |  "));
}

QString PhasesView::mostly(const scene::ListedStretch& s) const {
  QStringList words;
  for (const auto& [name, share] : s.made_of)
    if (words.size() < kMostNamed) words << share_words(name, share);
  if (!words.isEmpty()) return words.join(", ");
  if (const scene::StretchContents* known = contents_.of(wanted_of(s))) {
    for (const auto& [state, share] : known->shares)
      if (state.known()) return share_words(state.name, share);
    return {};
  }
  const scene::ViewData& seen = session_.temporal();
  if (!is_of_all(seen) || s.time.from < seen.range().from || s.time.to > seen.range().to ||
      s.length() <= DurationNs(0))
    return {};
  const std::size_t first = seen.slice_at(s.time.from), last = seen.slice_at(s.time.to - DurationNs(1)) + 1;
  const scene::Proportions of = scene::proportions(seen, std::uint32_t{0}, first, last);
  if (of.mode == scene::kNoState) return {};
  const auto mode = static_cast<std::size_t>(of.mode);
  const bool exact =
      !of.pro_rata && seen.boundaries[first] == s.time.from && seen.boundaries[last] == s.time.to;
  return share_words(seen.states[mode].name, of.shares[mode], exact);
}

std::vector<scene::ListedStretch> PhasesView::chosen() const {
  std::set<int> rows;
  for (const QModelIndex& at : stretches_->selectionModel()->selectedRows())
    rows.insert(row_of(*stretches_, at));
  std::vector<scene::ListedStretch> out;
  for (const int row : rows)
    if (out.size() < 2) out.push_back(stretch_model_->at(row).stretch);
  return out;
}

void PhasesView::look_at_chosen(bool anew) {
  std::vector<ContentsSource::Stretch> wanted;
  if (isVisible())
    for (const scene::ListedStretch& s : chosen()) wanted.push_back(wanted_of(s));
  contents_.want(std::move(wanted), anew);
  show_chosen();
}

// Of two the second is told against the first.
void PhasesView::show_chosen() {
  const std::vector<scene::ListedStretch> two = chosen();
  QStringList words, names;
  std::vector<const scene::StretchContents*> known;
  for (const scene::ListedStretch& s : two) {
    names << stretch_name_of(s);
    words << names.back() + ": " + text_of(text::duration_text(s.length().value)) + (s.goes_on ? "+" : "");
    if (const scene::StretchContents* of = contents_.of(wanted_of(s))) known.push_back(of);
  }
  if (two.empty())
    words << tr("choose a stretch to see what it consists of, two (Ctrl and click) to compare them");
  if (two.size() == 2) words << length_words(two[0].length(), two[1].length());
  const bool all = known.size() == two.size();
  for (const scene::ListedStretch& s : two)
    if (const QString why = contents_.trouble(wanted_of(s)); !why.isEmpty()) words << why;
  if (!all && contents_.waits()) words << tr("reading...");
  for (const scene::StretchContents* of : known)
    for (const std::string& note : of->notes) words << text_of(note);
  words.removeDuplicates();
  words.removeAll(QString());
  chosen_->setText(words.join("  |  "));
  const bool compared = two.size() == 2 && all;
  differ_.clear();
  if (!known.empty()) differ_ = scene::difference_of(*known[0], compared ? known[1] : nullptr);
  // While the second is not known the first alone would look like a comparison.
  if (!all) differ_.clear();
  difference_model_->set(differ_, names.value(0), compared ? names.value(1) : QString());
  differences_->setColumnHidden(DifferenceModel::kSecond, !compared);
  differences_->setColumnHidden(DifferenceModel::kDifference, !compared);
  const int by = compared ? DifferenceModel::kDifference : DifferenceModel::kFirst;
  const int now = differences_->horizontalHeader()->sortIndicatorSection();
  if (now == DifferenceModel::kDifference || now == DifferenceModel::kFirst)
    if (now != by) differences_->sortByColumn(by, Qt::DescendingOrder);
}

void PhasesView::list_only(const QString& phase) {
  only_ = phase;
  sorted_model(*stretches_)
      .setFilterRegularExpression(
          phase.isEmpty() ? QString()
                          : QRegularExpression::anchoredPattern(QRegularExpression::escape(phase)));
  show_stretches();
}

// As far as it is in the picture.
void PhasesView::select(int row) {
  const scene::ViewData& picture = session_.data();
  if (row < 0 || picture.empty()) return;
  const scene::TimeRange time = stretch_model_->at(row).stretch.time, seen = picture.range();
  if (time.to <= seen.from || time.from >= seen.to) {
    session_.select(std::nullopt);
    emit session_.said(tr("the picture does not show this time; Return goes there"));
    return;
  }
  const TimeNs from = std::max(time.from, seen.from),
               last = std::max(from, std::min(time.to, seen.to) - DurationNs(1));
  session_.select(Session::Selection{0, static_cast<std::uint32_t>(picture.slice_at(from)),
                                     static_cast<std::uint32_t>(picture.slice_at(last) + 1)});
}

// Selected there, with as much before and after it as a quarter of it.
void PhasesView::go_to(int row) {
  if (row < 0) return;
  const scene::TimeRange time = stretch_model_->at(row).stretch.time;
  const DurationNs around(std::max<std::int64_t>((time.to - time.from).value / 4, 1));
  session_.go_to(time.from, time.to, "/");
  session_.zoom_to({time.from - around, time.to + around});
  emit overview_wanted();
}

std::string PhasesView::csv_of(const QTableView& table) const {
  if (&table == phases_) return scene::phases_csv(list_);
  if (&table == differences_) {
    const auto name = [&](int column) {
      return difference_model_->headerData(column, Qt::Horizontal).toString().toStdString();
    };
    return scene::difference_csv(differ_, name(DifferenceModel::kFirst), name(DifferenceModel::kSecond));
  }
  return scene::stretches_csv(list_, session_.times().zero, only_.toStdString());
}

// Arrows and Return are a list's own while it has the focus; Escape lists all stretches again before it does
// anything else.
bool PhasesView::eventFilter(QObject* object, QEvent* event) {
  if (event->type() != QEvent::ShortcutOverride && event->type() != QEvent::KeyPress)
    return View::eventFilter(object, event);
  const auto* key = static_cast<QKeyEvent*>(event);
  const bool copies = key->matches(QKeySequence::Copy);
  const bool goes = object == stretches_ && (key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter);
  const bool lists_all = key->key() == Qt::Key_Escape && !only_.isEmpty();
  const bool moves = !(key->modifiers() & Qt::ControlModifier) &&
                     (key->key() == Qt::Key_Up || key->key() == Qt::Key_Down ||
                      key->key() == Qt::Key_PageUp || key->key() == Qt::Key_PageDown);
  if (!copies && !goes && !lists_all && !moves) return false;
  if (event->type() == QEvent::ShortcutOverride) return event->accept(), true;
  if (copies)
    QApplication::clipboard()->setText(
        QString::fromStdString(csv_of(*static_cast<const QTableView*>(object))));
  if (goes) go_to(row_of(*stretches_, stretches_->currentIndex()));
  if (lists_all) phases_->clearSelection();
  return !moves;
}

QStringList PhasesView::mouse() const {
  return {tr("click on a phase|list only its stretches"),
          tr("click on a stretch|select its time, in all views, and see what it consists of"),
          tr("Ctrl and click on a stretch|compare it with the one that is chosen"),
          tr("double click on a stretch|go there in the overview"), tr("click on a heading|sort by it")};
}

QStringList PhasesView::keys() const {
  return {tr("Up, Down, PgUp, PgDown|another row"),
          tr("Shift+Up, Shift+Down|choose one more, to compare them"),
          tr("Return|go to the stretch in the overview"), tr("Escape|list the stretches of all phases again"),
          tr("Ctrl+C|copy the table as CSV")};
}

QString PhasesView::save(const QString& path, const QString&) {
  const auto wrong = [&](const QString& why) { return tr("%1: not written: %2").arg(path, why); };
  const QString ending = path.section('.', -1).toLower();
  if (ending == "png") return grab().save(path, "PNG") ? QString() : wrong(tr("the image cannot be written"));
  if (ending != "csv") return tr("%1: the name of a list of phases has to end in .csv or .png").arg(path);
  if (list_.stretches.empty()) return wrong(tr("no phase has been recognised yet"));
  QSaveFile file(path);
  if (!file.open(QIODevice::WriteOnly)) return wrong(file.errorString());
  const std::string text = csv_of(*stretches_);
  if (file.write(text.data(), static_cast<qint64>(text.size())) < 0 || !file.commit())
    return wrong(file.errorString());
  return {};
}

}  // namespace margay::viewer
