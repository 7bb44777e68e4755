// The window's actions: everything there is to do, each in one menu with its keys.
#include <QActionGroup>
#include <QApplication>
#include <QClipboard>
#include <QDockWidget>
#include <QHBoxLayout>
#include <QLabel>
#include <QMenuBar>
#include <QStatusBar>
#include <algorithm>

#include "command_palette.h"
#include "cuts_menu.h"
#include "filter_menu.h"
#include "keys_dialog.h"
#include "measure_menu.h"
#include "paint.h"
#include "pins.h"
#include "point_of_view_menu.h"
#include "silences_dialog.h"
#include "window.h"

namespace margay::viewer {
namespace {

constexpr double kNear = 0.7;                                 // a step of zooming in
constexpr double kPan = 0.25;                                 // of what is shown
constexpr double kScroll = 0.8;                               // of the rows that are seen
constexpr int kThresholdNotice = 4000, kTimeNotice = 10'000;  // ms

}  // namespace

QAction* Window::action(QMenu* menu, const QString& text, const QList<QKeySequence>& keys,
                        std::function<void()> what, bool in_view) {
  auto* a = new QAction(text, this);
  a->setShortcuts(keys);
  if (!keys.isEmpty())
    a->setToolTip(QString(text).remove('&') + " (" + keys[0].toString(QKeySequence::NativeText) + ")");
  // Arrows, Return and Space belong to lists and fields while these have the focus.
  if (in_view) {
    a->setShortcutContext(Qt::WidgetWithChildrenShortcut);
    views_->addAction(a);
  }
  connect(a, &QAction::triggered, this, what);
  menu->addAction(a);
  return a;
}

void Window::make_actions() {
  make_picture_menu();
  make_go_menu();
  make_bookmark_menu();
  make_look_menu();
  make_unit_menu();
  menuBar()->addMenu(new MeasureMenu(session_, this));
  menuBar()->addMenu(new CutsMenu(session_, this));
  make_filter_menu();
  make_states_menu();
  make_alerts_menu();
  make_tool_bar();
  make_replay_menu();
  make_help_menu();
  leave_to_actions(*this, anything_->shortcut());
}

void Window::make_picture_menu() {
  QMenu* picture = menuBar()->addMenu(tr("&Picture"));
  action(picture, tr("&Save as PNG, SVG or CSV..."), {QKeySequence::Save}, [this] { save_as(); });
  link_ = action(picture, tr("Copy a &link to this"), {QKeySequence("Ctrl+L")}, [this] {
    QApplication::clipboard()->setText(text_of(link()));
    statusBar()->showMessage(tr("copied: %1").arg(text_of(link())), kThresholdNotice);
  });
  link_->setEnabled(false);
  link_->setToolTip(tr("a line of text that margay-viewer and margay render open: this run, time, node, p"));
  action(picture, tr("&Quit"), {QKeySequence("Ctrl+Q"), QKeySequence("Q")}, [this] { close(); });
}

void Window::make_go_menu() {
  QMenu* go = menuBar()->addMenu(tr("&Go"));
  back_ = action(go, tr("&Back"), {QKeySequence("Alt+Left"), QKeySequence("Backspace")},
                 [this] { session_.back(); });
  forward_ = action(go, tr("&Forward"), {QKeySequence("Alt+Right")}, [this] { session_.forward(); });
  whole_ = action(
      go, tr("&Whole run"), {QKeySequence("Home")}, [this] { session_.whole(); }, true);
  live_ = action(
      go, tr("Live"), {QKeySequence("Space")},
      [this] { session_.follows() ? session_.hold(true) : session_.follow(); }, true);
  live_->setCheckable(true);
  action(
      go, tr("&Newest"), {QKeySequence("End")}, [this] { session_.follow(); }, true);
  action(go, tr("As at the &start"), {QKeySequence("Ctrl+Home")}, [this] { session_.reset(); });
  go->addSeparator();
  action(
      go, tr("&Earlier"), {QKeySequence("Left")}, [this] { session_.pan_by(-kPan); }, true);
  action(
      go, tr("&Later"), {QKeySequence("Right")}, [this] { session_.pan_by(kPan); }, true);
  const auto zoom = [this](double factor) {
    const scene::TimeRange t = session_.time();
    session_.zoom_by(factor, t.from + DurationNs((t.to - t.from).value / 2));
  };
  action(
      go, tr("&Closer"), {QKeySequence("+"), QKeySequence("=")}, [zoom] { zoom(kNear); }, true);
  action(
      go, tr("F&arther"), {QKeySequence("-")}, [zoom] { zoom(1 / kNear); }, true);
  action(
      go, tr("&Into the selection"), {QKeySequence("Return"), QKeySequence("Enter")},
      [this] {
        if (const auto s = session_.selection()) session_.into(*s);
      },
      true);
  action(go, tr("&Only the selected node"), {QKeySequence("N")}, [this] {
    if (const auto s = session_.selection()) session_.into(s->node);
  });
  action(go, tr("To the node abo&ve"), {QKeySequence("U")}, [this] { session_.up(); });
  go->addSeparator();
  action(go, tr("T&ype a time..."), {QKeySequence("T"), QKeySequence("Ctrl+T")}, [this] {
    time_->setFocus();
    time_->selectAll();
  });
  anything_ =
      action(go, tr("Find any&thing by its name..."), {QKeySequence("Ctrl+K")}, [this] { find_anything(); });
}

void Window::make_look_menu() {
  look_ = menuBar()->addMenu(tr("&Look"));
  // Each page by its number.
  for (int page = 0; page < views_->count() && page < 9; ++page)
    action(look_, tr("Page: %1").arg(views_->tabText(page)), {QKeySequence(QString::number(page + 1))},
           [this, page] {
             views_->setCurrentIndex(page);
             views_->currentWidget()->setFocus();
           });
  undo_ = action(look_, tr("Undo how it looks"), {QKeySequence("Ctrl+Z")}, [this] { undo_look(false); });
  redo_ = action(look_, tr("Redo how it looks"), {QKeySequence("Ctrl+Shift+Z"), QKeySequence("Ctrl+Y")},
                 [this] { undo_look(true); });
  const auto show_undo = [this] {
    undo_->setEnabled(looks_.can_undo());
    redo_->setEnabled(looks_.can_redo());
  };
  connect(&looks_, &LookHistory::changed, this, show_undo);
  show_undo();
  action(look_, tr("&More detail"), {QKeySequence(","), QKeySequence("<")}, [this] { session_.step_p(-1); });
  action(look_, tr("&Less detail"), {QKeySequence("."), QKeySequence(">")}, [this] { session_.step_p(1); });
  action(look_, tr("&Fold or unfold the node"), {QKeySequence("F")}, [this] {
    if (const auto s = session_.selection()) session_.toggle_fold(s->node);
  });
  action(
      look_, tr("Row &above"), {QKeySequence("Up")}, [this] { move_row(-1); }, true);
  action(
      look_, tr("Row &below"), {QKeySequence("Down")}, [this] { move_row(1); }, true);
  action(
      look_, tr("Part b&efore"), {QKeySequence("Shift+Left")}, [this] { move_part(-1); }, true);
  action(
      look_, tr("&Part after"), {QKeySequence("Shift+Right")}, [this] { move_part(1); }, true);
  action(look_, tr("Measure from the selection on"), {QKeySequence("Shift+M")},
         [this] { overview_->measure_from_selection(); });
  action(look_, tr("Mark the selection, or as far as it"), {QKeySequence("K")},
         [this] { session_.mark_selection(); });
  action(
      look_, tr("Select and mark &nothing"), {QKeySequence("Escape")},
      [this] { session_.mark(std::nullopt), session_.select(std::nullopt); }, true);
  action(
      look_, tr("Rows further &up"), {QKeySequence("PgUp")}, [this] { scroll_rows(-kScroll); }, true);
  action(
      look_, tr("Rows further &down"), {QKeySequence("PgDown")}, [this] { scroll_rows(kScroll); }, true);
  action(look_, tr("&Taller rows"), {QKeySequence("Ctrl++"), QKeySequence("Ctrl+=")},
         [this] { taller_rows(kNear); });
  action(look_, tr("L&ower rows"), {QKeySequence("Ctrl+-")}, [this] { taller_rows(1 / kNear); });
  action(look_, tr("Small parts one by one"), {QKeySequence("[")}, [this] { step_threshold(-1); });
  action(look_, tr("Small parts together"), {QKeySequence("]")}, [this] { step_threshold(1); });
  action(look_, tr("&Search a resource"), {QKeySequence("/"), QKeySequence("Ctrl+F")}, [this] {
    search_->setFocus();
    search_->selectAll();
  });
  make_points_of_view();
  action(look_, tr("Show e&verything"), {QKeySequence("0")}, [this] { session_.show_everything(); });
  calls_ = action(look_, tr("Single &calls of what is near"), {QKeySequence("E")}, [this] {
    session_.set_calls(calls_->isChecked() ? Session::Calls::kCloser : Session::Calls::kNever);
  });
  calls_->setCheckable(true);
  calls_->setChecked(session_.calls() != Session::Calls::kNever);
  messages_ = action(look_, tr("Messa&ges between them"), {QKeySequence("M")},
                     [this] { session_.set_messages(messages_->isChecked()); });
  messages_->setCheckable(true);
  messages_->setChecked(session_.shows_messages());
  QAction* bands = action(look_, tr("Collective calls as bands"), {QKeySequence("Shift+E")}, [] {});
  bands->setCheckable(true);
  bands->setChecked(session_.shows_bands());
  connect(bands, &QAction::toggled, this, [this](bool shown) { session_.set_bands(shown); });
  clock_ = action(look_, tr("Times by the &wall clock"), {QKeySequence("W")},
                  [this] { tell_by_clock(clock_->isChecked()); });
  clock_->setCheckable(true);
  dark_ = action(look_, tr("Da&rk"), {QKeySequence("D")}, [this] {
    session_.set_theme(dark_->isChecked() ? scene::Theme::kDark : scene::Theme::kLight);
  });
  dark_->setCheckable(true);
  hues_ = action(look_, tr("Anot&her palette (Paul Tol's)"), {QKeySequence("Shift+D")}, [this] {
    session_.set_hues(hues_->isChecked() ? scene::Hues::kTol : scene::Hues::kOkabeIto);
    keep_switch(kTolSwitch, hues_->isChecked());
  });
  hues_->setCheckable(true);
}

void Window::make_points_of_view() {
  auto* views = new PointOfViewMenu(session_, this);
  look_->addMenu(views);
  connect(views, &PointOfViewMenu::said, this,
          [this](const QString& s) { statusBar()->showMessage(s, kTimeNotice); });
  action(look_, tr("Another point of view"), {QKeySequence("Shift+V")}, [views] { views->next(); });
}

// Of the time axis.
void Window::make_unit_menu() {
  QMenu* menu = look_->addMenu(tr("Unit of the time a&xis"));
  auto* group = new QActionGroup(this);
  for (const scene::TimeUnit unit : scene::kTimeUnits) {
    const QString word = text_of(scene::unit_word(unit));
    QAction* a = action(menu, unit == scene::TimeUnit::kAuto ? tr("as fits") : word, {},
                        [this, unit] { set_unit(unit); });
    a->setCheckable(true);
    a->setData(static_cast<int>(unit));
    group->addAction(a);
  }
  const auto show = [this, group] {
    for (QAction* a : group->actions())
      a->setChecked(a->data().toInt() == static_cast<int>(session_.times().unit));
  };
  connect(menu, &QMenu::aboutToShow, this, show);
  // By its name it is opened where one looks.
  connect(menu->menuAction(), &QAction::triggered, menu,
          [this, menu] { menu->popup(mapToGlobal(rect().center())); });
  show();
  action(look_, tr("Another unit of the time axis"), {QKeySequence("Shift+W")}, [this] {
    const auto next = (static_cast<std::size_t>(session_.times().unit) + 1) % std::size(scene::kTimeUnits);
    set_unit(scene::kTimeUnits[next]);
  });
}

// Kept at once, as all that is chosen here.
void Window::set_unit(scene::TimeUnit unit) {
  session_.set_unit(unit);
  keep_word(kUnitWord, text_of(scene::unit_word(unit)));
  const QString in = unit == scene::TimeUnit::kAuto ? tr("what fits") : text_of(scene::unit_word(unit));
  statusBar()->showMessage(session_.times().clock()
                               ? tr("the time axis is in %1 where it is not by the clock").arg(in)
                               : tr("the time axis is in %1").arg(in),
                           kThresholdNotice);
}

// Kept at once: the next window begins with it.
void Window::step_threshold(int by) {
  session_.set_threshold(scene::next_threshold(session_.threshold(), by));
  keep_number("threshold", session_.threshold());
  statusBar()->showMessage(tr("parts smaller than %1 pixels are drawn together").arg(session_.threshold()),
                           kThresholdNotice);
}

// Of a run that has no clock the choice stays as it was, for the next one.
void Window::tell_by_clock(bool by_clock) {
  if (by_clock && !session_.times().utc_offset_s) {
    clock_->setChecked(false);
    return statusBar()->showMessage(text_of(scene::no_clock_text()), kTimeNotice);
  }
  session_.set_by_clock(by_clock);
  keep_switch(kClockSwitch, by_clock);
}

void Window::make_bookmark_menu() {
  auto* bookmarks = new BookmarkMenu(session_, kept_, this);
  menuBar()->addMenu(bookmarks);
  connect(bookmarks, &BookmarkMenu::said, this,
          [this](const QString& sentence) { statusBar()->showMessage(sentence, kTimeNotice); });
  // Not before the window is there.
  connect(&kept_, &KeptNotes::changed, this, &Window::show_pins, Qt::QueuedConnection);
}

// There from the first pin on, gone with the last.
void Window::show_pins() {
  const bool any = command::pins_of(kept_.notes()) > 0;
  auto* dock = findChild<QDockWidget*>("pins");
  if (dock == nullptr && any) {
    dock = new QDockWidget(tr("Pins"), this);
    dock->setObjectName("pins");
    dock->setWidget(new PinsPanel(session_, kept_, dock));
    auto* alerts = findChild<QDockWidget*>("alerts");
    addDockWidget(Qt::BottomDockWidgetArea, dock);
    splitDockWidget(dock, alerts, Qt::Vertical);
    look_->addAction(dock->toggleViewAction());
  }
  if (dock == nullptr) return;
  dock->setVisible(any);
  if (any) resizeDocks({dock}, {dock->sizeHint().height()}, Qt::Vertical);
}

void Window::undo_look(bool redo) {
  const QString what = redo ? looks_.redo() : looks_.undo();
  const QString said = redo ? tr("done again: %1") : tr("undone: %1");
  statusBar()->showMessage(what.isEmpty() ? tr("there is nothing to be undone") : said.arg(what),
                           kThresholdNotice);
}

void Window::make_filter_menu() {
  auto* menu = new FilterMenu(session_, kept_, this);
  menuBar()->addMenu(menu);
  connect(menu, &FilterMenu::said, this,
          [this](const QString& sentence) { statusBar()->showMessage(sentence, kTimeNotice); });
  connect(filters_, &FilterBar::asked, menu, &FilterMenu::open_dialog);
}

void Window::make_states_menu() {
  QMenu* state = menuBar()->addMenu(tr("&States"));
  action(state, tr("&Only this one, or all again"), {QKeySequence("O")}, [this] { states_->only(); });
  action(state, tr("&Show it, or leave it out"), {QKeySequence("X")}, [this] { states_->toggle(); });
  action(state, tr("Cop&y the list as CSV"), {}, [this] { states_->copy(); });
  action(state, tr("&All states"), {QKeySequence("Shift+O")}, [this] { session_.set_states({}); });
  action(state, tr("Another &colour..."), {QKeySequence("C")}, [this] { states_->choose_colour(); });
  action(state, tr("Its &usual colour"), {QKeySequence("Shift+C")}, [this] { states_->usual_colour(); });
}

void Window::make_alerts_menu() {
  QMenu* alert = menuBar()->addMenu(tr("&Alerts"));
  action(alert, tr("&Go to it"), {QKeySequence("G")}, [this] { go_to_alert(alert_list_->currentIndex()); });
  action(alert, tr("&What it rests on"), {QKeySequence("V")}, [this] { show_evidence(); });
  action(alert, tr("&Acknowledge..."), {QKeySequence("A")}, [this] { acknowledge(); });
  action(alert, tr("&Take its acknowledgement back"), {QKeySequence("Shift+A")}, [this] { unacknowledge(); });
  action(alert, tr("&Silence its node..."), {QKeySequence("S")}, [this] { silence(); });
  action(alert, tr("Si&lences..."), {QKeySequence("Shift+S")},
         [this] { (new SilencesDialog(session_, this))->open(); });
  notify_ = action(alert, tr("&Notify me of new ones"), {}, [this] {
    notifier_.set_on(notify_->isChecked());
    keep_switch("notify", notify_->isChecked());
  });
  notify_->setCheckable(true);
  notify_->setToolTip(tr("on the desktop, or in a bar here; at most one every ten seconds"));
}

void Window::make_replay_menu() {
  replay_ = new ReplayBar(session_, this);
  QMenu* replay = menuBar()->addMenu(tr("&Replay"));
  replay->setObjectName("replay");  // the viewer adds what begins another one
  QAction* play =
      action(replay, tr("&Play or pause"), {QKeySequence("P")}, [this] { replay_->play_or_pause(); });
  QAction* step = action(replay, tr("One &slice"), {QKeySequence("Shift+J")}, [this] { replay_->step(); });
  QAction* to = action(replay, tr("&Jump to a time..."), {QKeySequence("J")}, [this] { jump(); });
  replay_->control({play, step, to});
  // Below the tools.
  addToolBarBreak();
  addToolBar(replay_);
  replay_->setVisible(session_.report() != nullptr && session_.report()->has_replay());
}

void Window::make_help_menu() {
  QMenu* help = menuBar()->addMenu(tr("&Help"));
  action(help, tr("&Keys"), {QKeySequence("F1")}, [this] { (new KeysDialog(keys(), this))->open(); });
}

void Window::make_tool_bar() {
  QToolBar* bar = addToolBar(tr("Tools"));
  bar->setObjectName("tools");
  bar->setMovable(false);
  for (QAction* a : {back_, forward_, whole_, live_}) bar->addAction(a);
  bar->addSeparator();
  time_ = new TimeField(session_, bar);
  connect(time_, &TimeField::left, this, &Window::to_the_page);
  connect(time_, &TimeField::said, this,
          [this](const QString& sentence) { statusBar()->showMessage(sentence, kTimeNotice); });
  bar->addWidget(time_);
  bar->addSeparator();
  slices_ = new QSpinBox(bar);
  slices_->setRange(0, static_cast<int>(scene::kMostAskedSlices));
  slices_->setSpecialValueText(tr("auto"));
  slices_->setKeyboardTracking(false);
  slices_->setStepType(QAbstractSpinBox::AdaptiveDecimalStepType);
  slices_->setToolTip(tr("number of slices of the time range, at most %1; auto: as the daemon thinks best")
                          .arg(scene::kMostAskedSlices));
  slices_->setAccessibleName(tr("number of slices"));
  connect(slices_, &QSpinBox::valueChanged, this,
          [this](int n) { session_.set_slices(static_cast<std::uint32_t>(n)); });
  bar->addWidget(slices_);
  bar->addWidget(new QLabel(tr(" slices "), bar));
  auto* level = new QWidget(bar);
  auto* line = new QHBoxLayout(level);
  line->setContentsMargins(0, 0, 0, 0);
  line->addWidget(new QLabel(tr("of"), level));
  level_ = new QComboBox(level);
  level_->setAccessibleName(tr("how long a slice is"));
  level_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  line->addWidget(level_);
  connect(level_, &QComboBox::activated, this,
          [this](int i) { session_.set_level(DurationNs(level_->itemData(i).toLongLong())); });
  level_shown_ = bar->addWidget(level);
  bar->addSeparator();
  search_ = new QLineEdit(bar);
  search_->setPlaceholderText(tr("search a resource"));
  search_->setAccessibleName(tr("search a resource"));
  search_->setToolTip(
      tr("only rows with this in their name, or with a / in their path; Return selects the next of them"));
  search_->setClearButtonEnabled(true);
  search_->setMaximumWidth(240);
  search_->setMaxLength(240);
  connect(search_, &QLineEdit::textChanged, this,
          [this](const QString& s) { session_.search(s.toStdString()); });
  connect(search_, &QLineEdit::returnPressed, this, &Window::search_next);
  bar->addWidget(search_);
}

void Window::move_row(int by) {
  const scene::Rows& rows = session_.rows();
  const auto s = session_.selection();
  const std::int64_t row = scene::next_row(rows, s ? scene::row_of(rows, s->node) : -1, by);
  if (row < 0) return;
  const std::uint32_t node = rows.rows[static_cast<std::size_t>(row)].node;
  session_.select(Session::Selection{node, s ? s->first : 0,
                                     s ? s->last : static_cast<std::uint32_t>(session_.data().slices())});
  session_.set_scroll(scene::showing(rows, session_.scroll(), node));
}

// The next part of the selection's rows in time: of those that begin there the uppermost.
void Window::move_part(int by) {
  const scene::ViewData& d = session_.data();
  const scene::Rows& rows = session_.rows();
  if (d.empty() || rows.rows.empty()) return;
  const auto s = session_.selection();
  const scene::Node& n = d.nodes[s ? s->node : rows.rows[0].node];
  const bool whole = !s || (s->first == 0 && s->last == d.slices());
  const scene::Part* best = nullptr;
  for (const scene::Part& part : d.parts) {
    const scene::Node& of = d.nodes[part.node];
    if (of.first_leaf > n.first_leaf || of.first_leaf + of.leaf_count <= n.first_leaf) continue;
    if (!whole && (by > 0 ? part.first < s->last : part.last > s->first)) continue;
    const bool nearer = best == nullptr || (by > 0 ? part.first < best->first : part.last > best->last);
    if (nearer) best = &part;
  }
  if (best != nullptr) session_.select(Session::Selection{best->node, best->first, best->last});
}

void Window::scroll_rows(double share) {
  const scene::Scroll s = session_.scroll();
  const double by = share * (s.bottom - s.top);
  session_.set_scroll({s.top + by, s.bottom + by});
}

void Window::taller_rows(double factor) {
  const scene::Scroll s = session_.scroll();
  session_.set_scroll(scene::zoomed(session_.rows(), s, factor, (s.top + s.bottom) / 2));
}

// Selects what was found: Return again goes into it, N shows only that node.
void Window::search_next() {
  const scene::Rows& rows = session_.rows();
  const auto s = session_.selection();
  const std::int64_t row = scene::next_match(rows, s ? scene::row_of(rows, s->node) : -1, true);
  if (row < 0)
    return statusBar()->showMessage(tr("no resource has \"%1\" in its name").arg(search_->text()), 8000);
  const std::uint32_t node = rows.rows[static_cast<std::size_t>(row)].node;
  session_.select(Session::Selection{node, 0, static_cast<std::uint32_t>(session_.data().slices())});
  session_.set_scroll(scene::showing(rows, session_.scroll(), node));
  overview_->setFocus();
}

void Window::to_the_page() {
  if (views_->currentWidget() != nullptr) views_->currentWidget()->setFocus();
}

void Window::find_anything() {
  const Commands::Deeds deeds{[this](const std::string& state) { states_->choose(state); },
                              [this](const QString& id) { go_to_alert(id); }};
  (new CommandPalette(Commands(session_, *menuBar(), anything_, deeds), this))->open();
}

}  // namespace margay::viewer
