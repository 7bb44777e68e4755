#include "window.h"

#include <QApplication>
#include <QDockWidget>
#include <QFileDialog>
#include <QHeaderView>
#include <QInputDialog>
#include <QLocale>
#include <QMenuBar>
#include <QPushButton>
#include <QRegularExpression>
#include <QStatusBar>
#include <QStyle>
#include <QToolTip>
#include <QVBoxLayout>

#include "evidence.h"
#include "keys_dialog.h"
#include "margay/command/link.h"
#include "margay/scene/statistics.h"
#include "margay/scene/time_axis.h"
#include "margay/text/text.h"
#include "paint.h"
#include "picture_kind.h"

namespace margay::viewer {
namespace {

constexpr int kSide = 416;          // pixels, of what is beside the views: no column of the states is cut
constexpr int kAlerts = 118;        // of the alerts below them
constexpr int kQuality = 300;       // at most: more room tells no more
constexpr int kNotice = 8000;       // ms, of a sentence
constexpr int kLongestInFile = 60;  // characters of what is measured
constexpr int kOnset = 76, kDatedOnset = 150;

}  // namespace

Window::Window(Session& session, const QString& attached_to, QWidget* parent)
    : QMainWindow(parent), session_(session), looks_(session), attached_to_(attached_to) {
  setWindowTitle("Margay: " + attached_to);
  make_middle();
  auto* quality = new QDockWidget(tr("Gain and loss"), this);
  quality->setObjectName("quality");
  quality->setWidget(make_quality());
  addDockWidget(Qt::RightDockWidgetArea, quality);
  auto* states = new QDockWidget(tr("States, of what is selected"), this);
  states->setObjectName("states");
  states_ = new StatesPanel(session, states);
  states->setWidget(states_);
  addDockWidget(Qt::RightDockWidgetArea, states);
  make_alerts();
  status_ = new ElidedLabel(this);
  notes_ = new ElidedLabel(this);
  notes_->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
  statusBar()->addWidget(status_, 3);
  statusBar()->addWidget(notes_, 2);
  make_actions();
  look_->addSeparator();
  for (QDockWidget* dock : findChildren<QDockWidget*>()) look_->addAction(dock->toggleViewAction());
  keep_own_keys(*this);

  const auto say = [this](const QString& s) { statusBar()->showMessage(s, 10'000); };
  connect(&session_, &Session::said, this, say);
  connect(states_, &StatesPanel::said, this, say);
  const auto heard = [this] {
    kept_.set_run(session_.report()->run(), session_.report()->run_begin_ns());
    show_alerts();
    notifier_.take(*session_.report(), session_.alerts());
    show_levels();
    show_status();
  };
  connect(&session_, &Session::report_changed, this, heard);
  connect(&notifier_, &Notifier::tell, this, &Window::tell);
  connect(&session_, &Session::status_changed, this, &Window::show_status);
  connect(&session_, &Session::view_changed, this, [this] {
    show_theme();
    clock_->setChecked(session_.times().clock());
    if (alerts_->times() != session_.times()) show_alerts();
  });
  connect(&session_, &Session::data_changed, this, [this] {
    if (!p_->hasFocus()) p_->setText(text_of(scene::p_text(session_.data().p)));
    p_->setToolTip(text_of(session_.data().why));
    if (alerts_->times() != session_.times()) show_alerts();
    show_status();
  });
  session_.set_by_clock(kept_switch(kClockSwitch, false));
  session_.set_unit(scene::unit_of_word(kept_word(kUnitWord).toStdString()).value_or(scene::TimeUnit::kAuto));
  notifier_.set_on(kept_switch("notify", false));
  session_.set_threshold(
      kept_number("threshold", scene::kUsualThreshold, scene::kLeastThreshold, scene::kMostThreshold));
  notify_->setChecked(notifier_.on());
  resizeDocks({quality}, {kSide}, Qt::Horizontal);
  resizeDocks({quality, states}, {1, 2}, Qt::Vertical);
  resizeDocks({findChild<QDockWidget*>("alerts")}, {kAlerts}, Qt::Vertical);
  make_order();
  looks_.begin();
  show_theme();
  show_levels();
  show_status();
  // There may be no other: a replay that is at its end says nothing more.
  if (session_.report() != nullptr) heard();
  if (!session_.colours_trouble().isEmpty()) say(session_.colours_trouble());
}

void Window::make_middle() {
  auto* middle = new QWidget(this);
  auto* column = new QVBoxLayout(middle);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  banner_ = new Banner(middle);
  filters_ = new FilterBar(session_, middle);
  views_ = new ViewStack(session_, middle);
  overview_ = views_->findChild<Overview*>();
  column->addWidget(banner_);
  column->addWidget(filters_);
  column->addWidget(views_, 1);
  strip_ = new RunStrip(session_, middle);
  column->addWidget(strip_);
  setCentralWidget(middle);
  connect(banner_, &Banner::asked, this, [this] { go_to_alert(alerting_.told); });
}

QWidget* Window::make_quality() {
  auto* box = new QWidget(this);
  box->setMaximumHeight(kQuality);
  auto* column = new QVBoxLayout(box);
  column->setContentsMargins(4, 4, 4, 4);
  quality_ = new QualityView(session_, box);
  column->addWidget(quality_, 1);
  auto* line = new QHBoxLayout;
  auto* label = new QLabel("&p", box);
  line->addWidget(label);
  p_ = new QLineEdit(box);
  label->setBuddy(p_);
  p_->setPlaceholderText(tr("0 to 1"));
  p_->setAccessibleName(tr("p: 0 is all detail, 1 is one part"));
  line->addWidget(p_);
  for (const auto& [name, policy, tip] :
       {std::tuple(tr("noise"), "noise", tr("just above the noise: no cut that chance alone makes")),
        std::tuple(tr("jump"), "jump", tr("before the largest fall of quality"))}) {
    auto* button = new QPushButton(name, box);
    button->setToolTip(tip);
    connect(button, &QPushButton::clicked, this, [this, p = std::string(policy)] { session_.set_policy(p); });
    line->addWidget(button);
    policies_.push_back(button);
  }
  column->addLayout(line);
  connect(p_, &QLineEdit::returnPressed, this, [this] {
    const auto p = scene::parse_p(p_->text().toStdString());
    if (!p) return statusBar()->showMessage(text_of(p.error().message), kNotice);
    session_.set_p(*p);
    overview_->setFocus();
  });
  return box;
}

void Window::make_alerts() {
  auto* below = new QDockWidget(tr("Alerts"), this);
  below->setObjectName("alerts");
  alerts_ = new AlertModel(this);
  alert_list_ = make_table(alerts_, below, tr("Alerts"));
  alert_list_->sortByColumn(AlertModel::kOnset, Qt::DescendingOrder);
  alert_list_->horizontalHeader()->setStretchLastSection(true);
  alert_list_->setColumnWidth(AlertModel::kState, 110);
  alert_list_->setColumnWidth(AlertModel::kOnset, kOnset);
  alert_list_->setColumnWidth(AlertModel::kNode, 170);
  alert_list_->setColumnWidth(AlertModel::kScore, 56);
  alert_list_->setMinimumHeight(76);
  below->setWidget(alert_list_);
  // The states keep the whole height: they need it more.
  setCorner(Qt::BottomRightCorner, Qt::RightDockWidgetArea);
  addDockWidget(Qt::BottomDockWidgetArea, below);
  connect(alert_list_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          [this](const QModelIndex& now) { alert_row_chosen(row_of(*alert_list_, now)); });
  connect(&session_, &Session::alert_chosen, this, &Window::show_chosen_alert);
  connect(alert_list_, &QTableView::activated, this, qOverload<const QModelIndex&>(&Window::go_to_alert));
  connect(alert_list_, &QTableView::clicked, this, qOverload<const QModelIndex&>(&Window::go_to_alert));
}

// With the tabulator: what is looked at, how much of it, what it is made of, what is wrong.
void Window::make_order() {
  std::vector<QWidget*> order = {time_, search_, overview_, quality_, p_};
  order.insert(order.end(), policies_.begin(), policies_.end());
  order.insert(order.end(), {&states_->table(), alert_list_});
  for (std::size_t i = 1; i < order.size(); ++i) setTabOrder(order[i - 1], order[i]);
  overview_->setFocus();
}

// Their times are told as those of the picture.
void Window::show_alerts() {
  if (session_.report() == nullptr) return;
  const scene::Times times = session_.times();
  alert_list_->setColumnWidth(AlertModel::kOnset, times.clock() && times.dated ? kDatedOnset : kOnset);
  alerting_.taking = true;
  alerts_->set(session_.alerts(), times);
  alerting_.taking = false;
  show_chosen_alert();
}

// What goes from the list leaves the choice as it was.
void Window::alert_row_chosen(int row) {
  if (!alerting_.taking && row >= 0) session_.choose_alert(alerts_->at(row).id);
}

void Window::show_chosen_alert() {
  const int now = alert_row();
  if (now >= 0 && alerts_->at(now).id == session_.chosen_alert()) return;
  for (int row = 0; row < alerts_->rowCount(); ++row)
    if (alerts_->at(row).id == session_.chosen_alert()) return choose_row(*alert_list_, row);
}

// Of the uppermost, while no one has chosen one.
void Window::show_evidence() {
  if (const QModelIndex first = alert_list_->model()->index(0, 0); alert_row() < 0 && first.isValid())
    alert_list_->setCurrentIndex(first);
  for (int page = 0; page < views_->count(); ++page)
    if (qobject_cast<EvidenceView*>(views_->widget(page)) != nullptr) views_->setCurrentIndex(page);
  to_the_page();
}

QString Window::live_text() const {
  const wire::Report* r = session_.report();
  if (r != nullptr && (r->final() || (r->has_replay() && r->replay().at_end()))) return tr("Ended");
  if (session_.follows()) return tr("Live");
  const scene::ViewData& d = session_.data();
  if (d.empty()) return tr("Held");
  return tr("Held at %1").arg(text_of(scene::short_time_text(d.range().to, session_.times())));
}

void Window::show_live() {
  const QString text = live_text();
  live_->setText(text);
  live_->setChecked(session_.follows());
  const bool ended = text == tr("Ended");
  live_->setEnabled(!ended);
  const QString key = " (" + live_->shortcut().toString(QKeySequence::NativeText) + ")";
  live_->setToolTip((ended                ? tr("the run has ended: the picture does not change any more")
                     : session_.follows() ? tr("the picture goes on with the run; hold it")
                                          : tr("the picture is held; go on with the run")) +
                    key);
}

void Window::show_levels() {
  std::vector<std::int64_t> levels;
  if (const wire::Report* r = session_.report()) {
    levels.push_back(0);
    for (const wire::LevelPhases& l : r->levels())
      if (levels.size() < 16) levels.push_back(l.slice_ns());
  }
  bool same = static_cast<std::size_t>(level_->count()) == levels.size();
  for (int i = 0; same && i < level_->count(); ++i)
    same = level_->itemData(i).toLongLong() == levels[static_cast<std::size_t>(i)];
  const QSignalBlocker quiet(level_);
  if (!same) {
    level_->clear();
    for (const std::int64_t ns : levels)
      level_->addItem(text_of(scene::duration_text(DurationNs(ns != 0 ? ns : session_.report()->slice_ns()))),
                      static_cast<qlonglong>(ns));
  }
  level_->setCurrentIndex(level_->findData(static_cast<qlonglong>(session_.subject().level.value)));
  // Nothing to choose from is nothing to show.
  level_shown_->setVisible(level_->count() > 1);
  level_->setEnabled(!session_.subject().time);
  level_->setToolTip(session_.subject().time
                         ? tr("for a chosen time range set the number of slices; the key End follows the run")
                         : tr("duration of a slice while the picture follows the run"));
}

void Window::show_theme() {
  const bool dark = session_.palette().theme() == scene::Theme::kDark;
  dark_->setChecked(dark);
  hues_->setChecked(session_.palette().hues() == scene::Hues::kTol);
  if (theme_ != session_.palette().theme()) {
    theme_ = session_.palette().theme();
    const QPalette wanted = widget_palette(session_.palette());
    QApplication::setPalette(wanted);
    QToolTip::setPalette(wanted);
  }
  const QString searched = text_of(session_.folding().search);
  if (search_->text() != searched) search_->setText(searched);
}

void Window::show_status() {
  back_->setEnabled(session_.history().can_back());
  forward_->setEnabled(session_.history().can_forward());
  {
    const QSignalBlocker quiet(slices_);
    slices_->setValue(static_cast<int>(session_.subject().slices));
  }
  show_levels();
  show_live();
  QStringList words{attached_to_};
  if (const wire::Report* r = session_.report()) {
    const wire::Health& h = r->health();
    if (!session_.there())
      words << (session_.trouble().isEmpty() ? tr("not connected") : session_.trouble());
    else if (r->final())
      words << tr("ended");
    else if (r->has_replay())
      words << (r->replay().has_what_if() ? tr("a replay with other settings") : tr("a replay"));
    else
      words << tr("live, %1 behind").arg(text_of(scene::duration_text(DurationNs(h.lag_ns()))));
    words << tr("lost %1").arg(h.lost_events());
    if (h.processes_unwatched() > 0) words << tr("%1 processes not watched").arg(h.processes_unwatched());
    if (h.state() == wire::Health::DEGRADED) words << text_of(h.verdict());
    if (const int n = alerts_->firing(); n > 0)
      words << counted(static_cast<std::size_t>(n), tr("alert firing"), tr("alerts firing"));
  } else if (!session_.trouble().isEmpty()) {
    words << session_.trouble();
  }
  status_->setText(words.join("  |  "));
  const scene::ViewData& d = session_.data();
  QStringList notes;
  if (!d.empty())
    notes << text_of(scene::measure_name(d.question.measure())) + ", " +
                 text_of(scene::range_text(d.range(), session_.times())) + ", p " +
                 text_of(scene::p_text(d.p)) + ", " + counted(d.parts.size(), tr("part"), tr("parts")) +
                 cut_of(d);
  if (!d.empty() && !scene::left_out_text(d.question).empty())
    notes << text_of(scene::proportions_text(d.question.filter().of_the_rest()));
  for (const std::string& n : d.notes) notes << text_of(n);
  notes_->setText(notes.join("  |  "));
}

int Window::alert_row() const {
  return row_of(*alert_list_, alert_list_->currentIndex());
}

void Window::go_to_alert(const QModelIndex& index) {
  const int row = row_of(*alert_list_, index);
  if (row >= 0) return go_to_alert(row);
  // The uppermost, while nobody has chosen one.
  const QModelIndex first = alert_list_->model()->index(0, 0);
  if (!first.isValid()) return statusBar()->showMessage(tr("there is no alert"), kNotice);
  alert_list_->setCurrentIndex(first);
  go_to_alert(row_of(*alert_list_, first));
}

void Window::go_to_alert(int row) {
  session_.go_to(alerts_->at(row));
}

void Window::go_to_alert(const QString& id) {
  for (int row = 0; row < alerts_->rowCount(); ++row) {
    if (text_of(alerts_->at(row).id) != id) continue;
    choose_row(*alert_list_, row);
    return go_to_alert(row);
  }
}

void Window::jump() {
  bool ok = false;
  const QString to = QInputDialog::getText(this, tr("Jump"), tr("Take the replay to this time:"),
                                           QLineEdit::Normal, replay_->here(), &ok);
  if (!ok) return;
  if (const QString wrong = replay_->jump(to); !wrong.isEmpty()) statusBar()->showMessage(wrong, kNotice);
}

void Window::acknowledge() {
  const int row = alert_row();
  if (row < 0) return statusBar()->showMessage(tr("choose an alert first"), kNotice);
  // The list may change while somebody types.
  const std::string id = alerts_->at(row).id;
  bool ok = false;
  const QString comment = QInputDialog::getText(this, tr("Acknowledge"), tr("Reason (others can read it):"),
                                                QLineEdit::Normal, "", &ok);
  if (ok) session_.acknowledge(id, comment.toStdString());
}

void Window::unacknowledge() {
  const int row = alert_row();
  if (row < 0) return statusBar()->showMessage(tr("choose an alert first"), kNotice);
  const terminal::AlertView& a = alerts_->at(row);
  if (!a.acknowledged) return statusBar()->showMessage(tr("this alert is not acknowledged"), kNotice);
  session_.unacknowledge(a.id);
}

void Window::silence() {
  const int row = alert_row();
  if (row < 0) return statusBar()->showMessage(tr("choose an alert first"), kNotice);
  bool ok = false;
  const std::string node = alerts_->node_of(row);
  const QString how_long =
      QInputDialog::getText(this, tr("Silence"), tr("Send no alerts about %1 for:").arg(text_of(node)),
                            QLineEdit::Normal, "2h", &ok);
  if (!ok) return;
  const auto d = scene::parse_duration(how_long.toStdString());
  if (!d || d->value <= 0)
    return statusBar()->showMessage(tr("\"%1\" is not a duration; examples: 30 min, 2h").arg(how_long),
                                    kNotice);
  session_.silence(node, *d);
}

// On the desktop where that shows such things, else here.
void Window::tell(const QString& sentence, const QString& id) {
  alerting_.told = id;
  QApplication::alert(this);
  if (!QSystemTrayIcon::isSystemTrayAvailable() || !QSystemTrayIcon::supportsMessages())
    return banner_->say(tr("Alert: %1").arg(sentence));
  if (tray_ == nullptr) {
    tray_ = new QSystemTrayIcon(style()->standardIcon(QStyle::SP_MessageBoxWarning), this);
    tray_->setToolTip(windowTitle());
    connect(tray_, &QSystemTrayIcon::messageClicked, this, [this] {
      raise();
      activateWindow();
      go_to_alert(alerting_.told);
    });
  }
  tray_->show();
  tray_->showMessage(windowTitle(), sentence, QSystemTrayIcon::Warning, 10'000);
}

QString Window::save(const QString& path) {
  View* view = views_->current();
  return view == nullptr ? tr("%1: not written: there is nothing to see").arg(path)
                         : view->save(path, attached_to_);
}

void Window::set_place(const std::string& what, const std::string& connect) {
  place_.what = what;
  place_.connect = connect;
  link_->setEnabled(!what.empty() || !connect.empty());
  for (BookmarkMenu* m : findChildren<BookmarkMenu*>()) m->set_place(place_);
}

std::string Window::link() const {
  if (place_.what.empty() && place_.connect.empty()) return {};
  const scene::Subject& s = session_.subject();
  command::PictureOptions to = place_;
  if (s.time) {
    const std::int64_t zero = session_.times().zero.value;
    to.from = command::seconds_text(DurationNs(text::minus(s.time->from.value, zero)));
    to.to = command::seconds_text(DurationNs(text::minus(s.time->to.value, zero)));
  }
  // A link has no file of groups, and so none of their nodes.
  if (s.view.groups.empty()) to.node = s.node, to.view = s.view.levels;
  to.p = s.p ? QString::number(*s.p, 'g', QLocale::FloatingPointShortest).toStdString() : "";
  to.policy = s.p ? "" : s.policy;
  to.measure = s.measure;
  if (s.cuts != wire::ViewQuestion::SPATIOTEMPORAL) to.cuts = scene::cuts_word(s.cuts);
  to.states = s.states.empty() ? s.filter.states : s.states;
  // Names and terms at once are what the terms leave of the names.
  if (const auto terms = wire::StateTerms::parse(s.filter.states); terms && !s.states.empty())
    std::erase_if(to.states, [&](const std::string& name) {
      const auto known = std::find_if(session_.states().begin(), session_.states().end(),
                                      [&](const scene::State& state) { return state.name == name; });
      return !terms->shows(name, known == session_.states().end() ? wire::FAMILY_OTHER : known->family);
    });
  to.resources = s.filter.resources;
  to.of_the_rest = s.filter.of_the_rest;
  return command::link_of(to);
}

// What is measured is part of it.
QString Window::file_name() const {
  QString measured = text_of(session_.data().question.measure());
  if (measured.isEmpty()) measured = "duration";
  static const QRegularExpression kNoLetters("[^A-Za-z0-9_.]+");
  return "margay-" + measured.left(kLongestInFile).replace(kNoLetters, "-") + ".png";
}

void Window::save_as() {
  const QString path = QFileDialog::getSaveFileName(this, tr("Save what is shown"), file_name(),
                                                    tr("Pictures (*.png *.svg);;Tables (*.csv)"));
  if (path.isEmpty()) return;
  const QString error = save(path);
  statusBar()->showMessage(error.isEmpty() ? tr("saved: %1").arg(path) : error, 10'000);
}

QString Window::keys() const {
  const View* view = views_->current();
  return view == nullptr ? keys_document(*menuBar(), {}, {})
                         : keys_document(*menuBar(), view->keys(), view->mouse() + RunStrip::mouse());
}

}  // namespace margay::viewer
