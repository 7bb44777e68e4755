#include "evidence.h"

#include <QApplication>
#include <QClipboard>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QKeyEvent>
#include <QSaveFile>
#include <QScrollBar>
#include <QSortFilterProxyModel>
#include <QSplitter>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>
#include <set>

#include "margay/base/text.h"
#include "margay/text/text.h"
#include "paint.h"

namespace margay::viewer {
namespace {

constexpr int kMostChanges = 64;  // states
constexpr int kCallsRest = 4000;  // ms between two lists of an alert that goes on

double share_of(double d) {
  return std::isfinite(d) ? std::clamp(d, 0.0, 1.0) : 0.0;
}

// All there is of the run.
scene::TimeRange known_of(const Session& session) {
  return session.bounds().value_or(scene::TimeRange{});
}

// To a millisecond since the begin.
TimeNs rounded(TimeNs t, TimeNs zero) {
  constexpr std::int64_t kMs = 1'000'000;
  const std::int64_t since = text::minus(t.value, zero.value);
  return TimeNs(text::minus(t.value, since % kMs));
}

}  // namespace

View* make_evidence(Session& session, QWidget* parent) {
  return new EvidenceView(session, parent);
}

EvidenceView::EvidenceView(Session& session, QWidget* parent) : View(session, parent), source_(session) {
  make_tables();
  make_layout();
  rest_.setSingleShot(true);
  rest_.setInterval(kCallsRest);
  connect(&session_, &Session::report_changed, this, [this] { refresh(); });
  connect(&session_, &Session::alert_chosen, this, [this] { refresh(); });
  connect(&session_, &Session::data_changed, this, [this] {
    if (isVisible()) refresh();
  });
  connect(&session_, &Session::view_changed, this, [this] {
    change_model_->recolour();
    if (isVisible()) refresh();
  });
  connect(call_model_, &EventModel::changed, this, &EvidenceView::go_on);
  connect(&source_, &EvidenceSource::changed, this, [this] {
    refresh();
    go_on();
  });
  connect(calls_, &EventTable::went, this, &EvidenceView::overview_wanted);
  connect(go_, &QPushButton::clicked, this, &EvidenceView::go_to_alert);
  refresh();
}

void EvidenceView::make_tables() {
  fact_model_ = new FactModel(session_, this);
  change_model_ = new ChangeModel(session_, this);
  slice_model_ = new SliceModel(session_, this);
  call_model_ = new EventModel(session_, this);
  calls_ = new EventTable(*call_model_, session_, tr("Longest calls"), this);
  facts_ = make_table(fact_model_, this, tr("What the alert says"));
  changes_ = make_table(change_model_, this, tr("States that rose and fell"));
  slices_ = make_table(slice_model_, this, tr("Slices around the onset"));
  // In the order in which they are read.
  facts_->setSortingEnabled(false);
  static_cast<QSortFilterProxyModel*>(facts_->model())->sort(-1);
  facts_->horizontalHeader()->hide();
  facts_->setWordWrap(true);
  facts_->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
  facts_->verticalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
  changes_->sortByColumn(ChangeModel::kDifference, Qt::DescendingOrder);
  slices_->sortByColumn(SliceModel::kFrom, Qt::AscendingOrder);
  const int letter = fontMetrics().averageCharWidth();
  facts_->setColumnWidth(FactModel::kName, 14 * letter);
  changes_->horizontalHeader()->setDefaultSectionSize(14 * letter);
  changes_->setColumnWidth(ChangeModel::kState, 20 * letter);
  slices_->setColumnWidth(SliceModel::kFrom, 15 * letter);
  slices_->setColumnWidth(SliceModel::kOnset, 8 * letter);
  for (QTableView* table : {facts_, changes_, slices_}) {
    table->horizontalHeader()->setStretchLastSection(true);
    table->setMinimumHeight(4 * fontMetrics().height());
  }
  for (const int column : {SliceModel::kCause, SliceModel::kAll})
    slices_->horizontalHeader()->setSectionResizeMode(column, QHeaderView::Stretch);
  for (QTableView* table : {facts_, changes_, slices_, static_cast<QTableView*>(calls_)})
    table->installEventFilter(this);
}

void EvidenceView::make_layout() {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  sentence_ = new QLabel(this);
  sentence_->setTextFormat(Qt::PlainText);
  sentence_->setWordWrap(true);
  sentence_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  QFont bold = sentence_->font();
  bold.setBold(true);
  sentence_->setFont(bold);
  go_ = new QPushButton(tr("Show in the overview"), this);
  go_->setToolTip(tr("the time and the node of this alert, as the key G does"));
  auto* line = new QHBoxLayout;
  line->setContentsMargins(6, 4, 4, 4);
  line->addWidget(sentence_, 1);
  line->addWidget(go_);
  column->addLayout(line);
  changes_line_ = line_of(this), calls_line_ = line_of(this), slices_line_ = line_of(this);
  auto* parts = new QSplitter(Qt::Vertical, this);
  body_ = parts;
  auto* above = new QSplitter(Qt::Horizontal, parts);
  above->addWidget(facts_);
  auto* side = new QSplitter(Qt::Vertical, above);
  side->addWidget(with_line(side, changes_line_, changes_));
  side->addWidget(with_line(side, slices_line_, slices_));
  above->addWidget(side);
  parts->addWidget(above);
  parts->addWidget(with_line(parts, calls_line_, calls_));
  for (QSplitter* s : {parts, above, side}) s->setChildrenCollapsible(false);
  parts->setStretchFactor(0, 3), parts->setStretchFactor(1, 2);
  above->setStretchFactor(0, 1), above->setStretchFactor(1, 1);
  side->setStretchFactor(0, 1), side->setStretchFactor(1, 2);
  column->addWidget(parts, 1);
  column->addStretch(0);
  setFocusProxy(calls_);
}

void EvidenceView::showEvent(QShowEvent* event) {
  View::showEvent(event);
  refresh(true);
}

void EvidenceView::hideEvent(QHideEvent* event) {
  View::hideEvent(event);
  source_.look_at(std::nullopt);
}

void EvidenceView::refresh(bool anew) {
  if (!isVisible()) return;
  if (session_.chosen_alert().empty() && !session_.alerts().empty())
    return session_.choose_alert(session_.alerts().front().id);  // and so here again
  const wire::Alert* alert = session_.alert();
  if (alert == nullptr) {
    subject_.reset();
    source_.look_at(std::nullopt);
    return show_nothing(session_.report() == nullptr      ? tr("nothing has been seen of this run yet")
                        : session_.chosen_alert().empty() ? tr("no alert has been raised in this run")
                                                          : tr("this alert is not reported any more: the "
                                                               "daemon reports the newest ones. margay "
                                                               "alerts show has it, from the archive"));
  }
  subject_ = scene::evidence_subject(*alert, known_of(session_));
  source_.look_at(subject_, anew);
  list_calls(anew);
  show_alert(*alert);
}

void EvidenceView::show_nothing(const QString& why) {
  sentence_->setText(why);
  body_->setVisible(false);
  go_->setVisible(false);
}

void EvidenceView::show_alert(const wire::Alert& alert) {
  const auto& all = session_.alerts();
  const auto at = std::find_if(all.begin(), all.end(),
                               [&](const terminal::AlertView& a) { return a.id == session_.chosen_alert(); });
  sentence_->setText(at == all.end() ? QString() : text_of(terminal::told_text(*at)));
  body_->setVisible(true);
  go_->setVisible(true);
  show_facts(alert);
  show_changes(alert);
  show_calls();
  show_slices();
}

void EvidenceView::show_facts(const wire::Alert& alert) {
  terminal::AlertContext context;
  context.moment = [times = session_.times()](TimeNs t) {
    return scene::time_text(rounded(t, times.zero), times);
  };
  if (session_.times().clock()) context.moment_of.clear();
  context.phase =
      terminal::phase_at(*session_.report(), TimeNs(alert.onset_ns()), DurationNs(alert.level_ns()));
  if (const EventWaitsPtr& waits = source_.waits(); waits != nullptr && subject_) {
    for (const auto& p : waits->partners) context.waited_for.emplace_back(p.resource, p.share);
    context.waited_for_unknown = waits->unknown;
  }
  std::vector<terminal::AlertFact> facts = terminal::alert_facts(alert, context);
  // These have a table.
  std::erase_if(facts, [](const terminal::AlertFact& f) { return f.name == "rose" || f.name == "fell"; });
  if (const QString why = source_.waits_trouble(); !why.isEmpty())
    facts.push_back({"waited for", why.toStdString()});
  fact_model_->set(facts);
}

scene::State EvidenceView::state_of(const std::string& name) const {
  const auto& all = session_.states();
  const auto at = std::find_if(all.begin(), all.end(), [&](const scene::State& s) { return s.name == name; });
  return at != all.end() ? *at : scene::State{name, wire::FAMILY_OTHER};
}

void EvidenceView::show_changes(const wire::Alert& alert) {
  std::vector<ChangeRow> rows;
  std::set<std::string> seen;
  for (const auto& change : alert.states()) {
    if (static_cast<int>(rows.size()) == kMostChanges) break;
    const std::string name = clean_utf8(change.state(), scene::kLongestName);
    if (!seen.insert(name).second) continue;
    rows.push_back({state_of(name), share_of(change.expected()), share_of(change.observed()),
                    subject_ ? subject_->stretch.to - subject_->stretch.from : DurationNs()});
  }
  changes_line_->setText(
      rows.empty() ? tr("no state's share is part of this alert")
                   : tr("states of those who are affected, as usual in this phase and as observed"));
  change_model_->set(std::move(rows));
}

QString EvidenceView::named() const {
  if (!subject_ || subject_->cause.empty() || subject_->cause == "/") return tr("all resources");
  return text_of(terminal::resource_text(subject_->cause));
}

void EvidenceView::show_calls() {
  if (!subject_)
    return calls_line_->setText(tr("the time of this alert is not part of the run that is known"));
  const scene::EventPages& pages = call_model_->pages();
  const auto calls = static_cast<std::size_t>(pages.rows());
  const bool whole = pages.complete() && pages.trouble().empty();
  QStringList words{tr("the longest calls of %1 while it lasted").arg(named()),
                    whole ? counted(calls, tr("call"), tr("calls")) : text_of(pages.status()),
                    text_of(scene::range_text(pages.subject().time, session_.times()))};
  calls_line_->setText(words.join("  |  "));
}

void EvidenceView::show_slices() {
  const ViewPtr& cause = source_.cause();
  const wire::Alert* alert = session_.alert();
  const auto rows = scene::evidence_slices(cause.get(), source_.all().get(),
                                           alert != nullptr ? TimeNs(alert->onset_ns()) : TimeNs());
  QStringList words{rows.empty()
                        ? tr("the slices around its onset")
                        : tr("%1 around its onset").arg(counted(rows.size(), tr("slice"), tr("slices")))};
  if (const QString why = source_.slices_trouble(); !why.isEmpty())
    words << why;
  else if (subject_ && subject_->slice_count == 0)
    words << tr("none of them is known yet");
  else if (source_.waits_for_slices())
    words << tr("reading...");
  slices_line_->setText(words.join("  |  "));
  slices_->setColumnHidden(SliceModel::kCause, cause == nullptr);
  slice_model_->set(rows, named(), session_.times());
}

// Of an alert that goes on the list is that of a moment, and read anew while no one is in it.
void EvidenceView::list_calls(bool anew) {
  scene::EventSubject wanted;
  if (subject_) {
    wanted.time = subject_->stretch;
    wanted.nodes = subject_->calls;
  }
  wanted.longest = true;
  const scene::EventPages& pages = call_model_->pages();
  const scene::EventSubject& was = pages.subject();
  // What was under way may have made way for another page's question.
  const bool lost = anew && (pages.reading() || !pages.trouble().empty());
  if (wanted == was && !lost) return;
  const bool same =
      wanted.nodes == was.nodes && wanted.time.from == was.time.from && was.time.to > was.time.from;
  const bool busy =
      pages.reading() || calls_->currentIndex().isValid() || calls_->verticalScrollBar()->value() > 0;
  if (same && !lost && (busy || rest_.isActive())) return;
  rest_.start();
  call_model_->set(std::move(wanted));  // and so go_on()
}

// Calls first: who waited is asked when they are there, for one question about events is under way.
void EvidenceView::go_on() {
  if (!isVisible()) return;
  const scene::EventPages& pages = call_model_->pages();
  const bool more = subject_ && !pages.complete() && !pages.stopped() && pages.trouble().empty();
  if (more)
    call_model_->ask();
  else if (!pages.reading())
    source_.ask_about_waits();
  if (session_.alert() != nullptr) show_calls();
}

void EvidenceView::go_to_alert() {
  const auto& all = session_.alerts();
  const auto at = std::find_if(all.begin(), all.end(),
                               [&](const terminal::AlertView& a) { return a.id == session_.chosen_alert(); });
  if (at == all.end()) return;
  session_.go_to(*at);
  emit overview_wanted();
}

// Arrows and Return are a list's own while it has the focus.
bool EvidenceView::eventFilter(QObject* object, QEvent* event) {
  if (event->type() != QEvent::ShortcutOverride && event->type() != QEvent::KeyPress)
    return View::eventFilter(object, event);
  const auto* key = static_cast<QKeyEvent*>(event);
  const bool copies = key->matches(QKeySequence::Copy);
  const bool chooses = key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter;
  const bool moves = !(key->modifiers() & Qt::ControlModifier) &&
                     (key->key() == Qt::Key_Up || key->key() == Qt::Key_Down ||
                      key->key() == Qt::Key_PageUp || key->key() == Qt::Key_PageDown);
  if (!copies && !chooses && !moves) return false;
  if (event->type() == QEvent::ShortcutOverride) return event->accept(), true;
  if (copies && object == calls_) calls_->copy();
  if (copies && object != calls_)
    QApplication::clipboard()->setText(
        QString::fromStdString(csv_of_model(*static_cast<const QTableView*>(object)->model())));
  if (chooses && object == calls_) calls_->choose();
  if (chooses && object != calls_) go_to_alert();
  return !moves;
}

QStringList EvidenceView::mouse() const {
  return {tr("click on an alert below|show what that one rests on"),
          tr("click on a call|select its resource and its time, in all views"),
          tr("double click on a call|go there in the overview"),
          tr("click on a heading of states and slices|sort by it")};
}

QStringList EvidenceView::keys() const {
  return {tr("Up, Down, PgUp, PgDown|another row"),
          tr("Return|of the calls: select it in all views, once more: go there; else show the alert in the "
             "overview"),
          tr("Ctrl+C|copy the chosen calls as text, the other tables as CSV")};
}

QString EvidenceView::save(const QString& path, const QString&) {
  const auto wrong = [&](const QString& why) { return tr("%1: not written: %2").arg(path, why); };
  const QString ending = path.section('.', -1).toLower();
  if (ending == "png") return grab().save(path, "PNG") ? QString() : wrong(tr("the image cannot be written"));
  if (ending != "csv")
    return tr("%1: the name of what an alert rests on has to end in .csv or .png").arg(path);
  if (session_.alert() == nullptr) return wrong(sentence());
  QSaveFile file(path);
  if (!file.open(QIODevice::WriteOnly)) return wrong(file.errorString());
  const std::string text = csv();
  if (file.write(text.data(), static_cast<qint64>(text.size())) < 0 || !file.commit())
    return wrong(file.errorString());
  return {};
}

}  // namespace margay::viewer
