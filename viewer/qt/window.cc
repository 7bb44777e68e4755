#include "window.h"

#include <QActionGroup>
#include <QDockWidget>
#include <QFileDialog>
#include <QHeaderView>
#include <QInputDialog>
#include <QMenuBar>
#include <QMessageBox>
#include <QPushButton>
#include <QSpinBox>
#include <QStatusBar>
#include <QToolBar>
#include <QVBoxLayout>

#include "margay/scene/time_axis.h"
#include "picture_file.h"

namespace margay::viewer {
namespace {

constexpr double kNear = 0.7;  // a step of zooming in
constexpr double kPan = 0.25;  // of what is shown

QTableView* table(QAbstractItemModel* model, QWidget* parent, const char* name) {
  auto* view = new QTableView(parent);
  auto* sorted = new QSortFilterProxyModel(view);
  sorted->setSourceModel(model);
  sorted->setSortRole(Qt::EditRole);
  view->setModel(sorted);
  view->setSortingEnabled(true);
  view->setSelectionBehavior(QAbstractItemView::SelectRows);
  view->setSelectionMode(QAbstractItemView::SingleSelection);
  view->setAlternatingRowColors(true);
  view->setShowGrid(false);
  view->setWordWrap(false);
  view->verticalHeader()->hide();
  view->verticalHeader()->setDefaultSectionSize(view->fontMetrics().height() + 6);
  view->setAccessibleName(name);
  return view;
}

}  // namespace

Window::Window(Session& session, const QString& attached_to, QWidget* parent)
    : QMainWindow(parent), session_(session), attached_to_(attached_to) {
  setWindowTitle("Margay: " + attached_to);
  overview_ = new Overview(session, this);
  setCentralWidget(overview_);
  alerts_ = new AlertModel(this);
  statistics_ = new StatisticsModel(this);

  auto* right = new QDockWidget(tr("How much is aggregated"), this);
  right->setObjectName("quality");
  auto* box = new QWidget(right);
  auto* column = new QVBoxLayout(box);
  column->setContentsMargins(4, 4, 4, 4);
  quality_ = new QualityView(session, box);
  column->addWidget(quality_);
  auto* line = new QHBoxLayout;
  line->addWidget(new QLabel("p", box));
  p_ = new QLineEdit(box);
  p_->setPlaceholderText(tr("0 to 1"));
  p_->setToolTip(tr("0: all detail; 1: one part. What is between is given by gain and loss"));
  line->addWidget(p_);
  for (const auto& [name, policy, tip] :
       {std::tuple(tr("noise"), "noise", tr("just above what chance alone could cut")),
        std::tuple(tr("jump"), "jump", tr("before the largest fall of quality"))}) {
    auto* button = new QPushButton(name, box);
    button->setToolTip(tip);
    connect(button, &QPushButton::clicked, this, [this, p = std::string(policy)] { session_.set_policy(p); });
    line->addWidget(button);
  }
  column->addLayout(line);
  selected_ = new QLabel(box);
  selected_->setWordWrap(true);
  column->addWidget(selected_);
  auto* states = table(statistics_, box, "States of the selection");
  states->sortByColumn(StatisticsModel::kShare, Qt::DescendingOrder);
  states->horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
  column->addWidget(states, 1);
  right->setWidget(box);
  addDockWidget(Qt::RightDockWidgetArea, right);
  connect(p_, &QLineEdit::returnPressed, this, [this] {
    const auto p = scene::parse_p(p_->text().toStdString());
    if (!p) return statusBar()->showMessage(QString::fromStdString(p.error().message), 8000);
    session_.set_p(*p);
    overview_->setFocus();
  });
  // A double click on a state shows it alone, again shows all.
  connect(states, &QTableView::doubleClicked, this, [this, states](const QModelIndex& index) {
    const QString name = states->model()->index(index.row(), StatisticsModel::kName).data().toString();
    session_.set_states(session_.subject().states.empty() ? std::vector<std::string>{name.toStdString()}
                                                          : std::vector<std::string>());
  });

  auto* below = new QDockWidget(tr("Alerts"), this);
  below->setObjectName("alerts");
  auto* alert_box = new QWidget(below);
  auto* alert_column = new QVBoxLayout(alert_box);
  alert_column->setContentsMargins(4, 4, 4, 4);
  alert_list_ = table(alerts_, alert_box, "Alerts");
  alert_list_->sortByColumn(AlertModel::kOnset, Qt::DescendingOrder);
  alert_list_->horizontalHeader()->setStretchLastSection(true);
  alert_list_->setColumnWidth(AlertModel::kState, 110);
  alert_list_->setColumnWidth(AlertModel::kNode, 170);
  alert_list_->setMinimumHeight(90);
  alert_column->addWidget(alert_list_);
  below->setWidget(alert_box);
  addDockWidget(Qt::BottomDockWidgetArea, below);
  connect(alert_list_, &QTableView::activated, this, &Window::go_to_alert);
  connect(alert_list_, &QTableView::clicked, this, &Window::go_to_alert);

  standing_ = new QLabel(this);
  notes_ = new QLabel(this);
  statusBar()->addWidget(standing_, 1);
  statusBar()->addPermanentWidget(notes_);
  make_actions();

  connect(&session_, &Session::said, this, [this](const QString& s) { statusBar()->showMessage(s, 10'000); });
  connect(&session_, &Session::report_changed, this, [this] {
    alerts_->set(*session_.report());
    show_standing();
  });
  connect(&session_, &Session::standing_changed, this, &Window::show_standing);
  connect(&session_, &Session::data_changed, this, [this] {
    if (!p_->hasFocus()) p_->setText(QString::fromStdString(scene::p_text(session_.data().p)));
    p_->setToolTip(QString::fromStdString(session_.data().why));
    show_standing();
    show_statistics();
  });
  connect(&session_, &Session::view_changed, this, [this] {
    // They take as long as a frame: not of a picture that has only been moved.
    if (session_.selection() != told_of_ || session_.palette().theme() != told_in_.theme() ||
        session_.palette().overrides() != told_in_.overrides())
      show_statistics();
  });
  resizeDocks({right}, {300}, Qt::Horizontal);
  resizeDocks({below}, {130}, Qt::Vertical);
  show_standing();
}

void Window::make_actions() {
  auto* bar = addToolBar(tr("Look"));
  bar->setObjectName("look");
  bar->setMovable(false);
  auto* file = menuBar()->addMenu(tr("&Picture"));
  auto* go = menuBar()->addMenu(tr("&Go"));
  auto* look = menuBar()->addMenu(tr("&Look"));
  auto* alert = menuBar()->addMenu(tr("&Alerts"));
  const auto action = [this](QMenu* menu, const QString& text, const QList<QKeySequence>& keys, auto what) {
    auto* a = new QAction(text, this);
    a->setShortcuts(keys);
    if (!keys.isEmpty()) a->setToolTip(text + " (" + keys[0].toString(QKeySequence::NativeText) + ")");
    connect(a, &QAction::triggered, this, what);
    menu->addAction(a);
    return a;
  };
  action(file, tr("&Save as PNG, SVG or CSV..."), {QKeySequence::Save}, [this] { save_as(); });
  action(file, tr("&Quit"), {QKeySequence::Quit, QKeySequence("Q")}, [this] { close(); });
  back_ = action(go, tr("Back"), {QKeySequence("Alt+Left"), QKeySequence("Backspace")},
                 [this] { session_.back(); });
  forward_ = action(go, tr("Forward"), {QKeySequence("Alt+Right")}, [this] { session_.forward(); });
  auto* whole = action(go, tr("Whole"), {QKeySequence("Home")}, [this] { session_.reset(); });
  auto* newest = action(go, tr("Newest"), {QKeySequence("End")}, [this] { session_.follow(); });
  hold_ = action(go, tr("Hold"), {QKeySequence("Space")}, [this] { session_.hold(hold_->isChecked()); });
  hold_->setCheckable(true);
  action(go, tr("Earlier"), {QKeySequence("Left")}, [this] { session_.pan_by(-kPan); });
  action(go, tr("Later"), {QKeySequence("Right")}, [this] { session_.pan_by(kPan); });
  const auto middle = [this] {
    const scene::TimeRange t = session_.time();
    return t.from + DurationNs((t.to - t.from).value / 2);
  };
  action(go, tr("Closer"), {QKeySequence("+"), QKeySequence("=")},
         [this, middle] { session_.zoom_by(kNear, middle()); });
  action(go, tr("Farther"), {QKeySequence("-")}, [this, middle] { session_.zoom_by(1 / kNear, middle()); });
  action(go, tr("Into the selection"), {QKeySequence("Return")}, [this] {
    if (const auto s = session_.selection()) session_.into(s->node);
  });
  action(go, tr("To the node above"), {QKeySequence("U")}, [this] { session_.up(); });
  action(look, tr("More detail"), {QKeySequence("<"), QKeySequence(",")}, [this] { session_.step_p(-1); });
  action(look, tr("Less detail"), {QKeySequence(">"), QKeySequence(".")}, [this] { session_.step_p(1); });
  action(look, tr("Fold or unfold"), {QKeySequence("F")}, [this] {
    if (const auto s = session_.selection()) session_.toggle_fold(s->node);
  });
  const auto move = [this](int by) {
    const scene::Rows& rows = session_.rows();
    const auto s = session_.selection();
    const std::int64_t row = scene::next_row(rows, s ? scene::row_of(rows, s->node) : -1, by);
    if (row < 0) return;
    const std::uint32_t node = rows.rows[static_cast<std::size_t>(row)].node;
    session_.select(Session::Selection{node, s ? s->first : 0,
                                       s ? s->last : static_cast<std::uint32_t>(session_.data().slices())});
    session_.set_scroll(scene::showing(rows, session_.scroll(), node));
  };
  action(look, tr("Row above"), {QKeySequence("Up")}, [move] { move(-1); });
  action(look, tr("Row below"), {QKeySequence("Down")}, [move] { move(1); });
  dark_ = action(look, tr("Dark"), {QKeySequence("D")}, [this] {
    session_.set_theme(dark_->isChecked() ? scene::Theme::kDark : scene::Theme::kLight);
  });
  dark_->setCheckable(true);
  dark_->setChecked(session_.palette().theme() == scene::Theme::kDark);
  action(look, tr("Search"), {QKeySequence::Find, QKeySequence("/")}, [this] {
    search_->setFocus();
    search_->selectAll();
  });
  action(alert, tr("Go to"), {QKeySequence("G")}, [this] { go_to_alert(alert_list_->currentIndex()); });
  action(alert, tr("Acknowledge..."), {QKeySequence("A")}, [this] { acknowledge(); });
  action(alert, tr("Silence its node..."), {QKeySequence("S")}, [this] { silence(); });

  for (auto* a : {back_, forward_, whole, newest, hold_}) bar->addAction(a);
  bar->addSeparator();
  bar->addWidget(new QLabel(tr(" slices "), bar));
  auto* slices = new QSpinBox(bar);
  slices->setRange(0, static_cast<int>(scene::kMostAskedSlices));
  slices->setSpecialValueText(tr("auto"));
  slices->setKeyboardTracking(false);
  slices->setToolTip(tr("into how many slices the stretch is cut"));
  connect(slices, &QSpinBox::valueChanged, this,
          [this](int n) { session_.set_slices(static_cast<std::uint32_t>(n)); });
  bar->addWidget(slices);
  bar->addSeparator();
  search_ = new QLineEdit(bar);
  search_->setPlaceholderText(tr("search a resource"));
  search_->setClearButtonEnabled(true);
  search_->setMaximumWidth(220);
  connect(search_, &QLineEdit::textChanged, this,
          [this](const QString& s) { session_.search(s.toStdString()); });
  connect(search_, &QLineEdit::returnPressed, overview_, qOverload<>(&QWidget::setFocus));
  bar->addWidget(search_);
}

void Window::show_standing() {
  back_->setEnabled(session_.history().can_back());
  forward_->setEnabled(session_.history().can_forward());
  hold_->setChecked(session_.held());
  QStringList words{attached_to_};
  if (const wire::Report* r = session_.report()) {
    const wire::Health& h = r->health();
    if (!session_.there())
      words << session_.trouble();
    else if (r->final())
      words << tr("ended");
    else if (r->has_replay())
      words << tr("a replay");
    else
      words
          << tr("live, %1 behind").arg(QString::fromStdString(scene::duration_text(DurationNs(h.lag_ns()))));
    words << tr("lost %1").arg(h.lost_events());
    if (h.state() == wire::Health::DEGRADED) words << QString::fromStdString(h.verdict());
    if (alerts_->firing() > 0) words << tr("%n alert(s) firing", nullptr, alerts_->firing());
  } else if (!session_.trouble().isEmpty()) {
    words << session_.trouble();
  }
  standing_->setText(words.join("  |  "));
  const scene::ViewData& d = session_.data();
  QStringList notes;
  if (!d.empty())
    notes << QString("%1, p %2, %3 parts")
                 .arg(QString::fromStdString(scene::range_text(d.range(), d.zero)),
                      QString::fromStdString(scene::p_text(d.p)))
                 .arg(d.parts.size());
  for (const std::string& n : d.notes) notes << QString::fromStdString(n);
  notes_->setText(notes.join("  |  "));
}

void Window::show_statistics() {
  const scene::ViewData& d = session_.data();
  told_of_ = session_.selection();
  told_in_ = session_.palette();
  if (d.empty()) return;
  scene::Selection s{0, 0, d.slices()};
  if (const auto& chosen = session_.selection()) s = {chosen->node, chosen->first, chosen->last};
  statistics_->set(scene::statistics(d, s), d, session_.palette());
  const scene::Node& n = d.nodes[std::min<std::size_t>(s.node, d.nodes.size() - 1)];
  const scene::Statistics& of = statistics_->statistics();
  selected_->setText(
      QString("<b>%1</b>, %2<br>%3")
          .arg(QString::fromStdString(n.path.empty() || n.path == "/" ? "all" : n.path).toHtmlEscaped(),
               QString::fromStdString(
                   scene::range_text({d.boundaries[of.selection.first], d.boundaries[of.selection.last]},
                                     d.zero))
                   .toHtmlEscaped(),
               tr("%1 resources, %2 parts, gain %3, loss %4 bits")
                   .arg(of.leaves)
                   .arg(of.parts)
                   .arg(of.gain, 0, 'g', 4)
                   .arg(of.loss, 0, 'g', 4)));
}

int Window::alert_row() const {
  const QModelIndex index = alert_list_->currentIndex();
  return index.isValid()
             ? static_cast<const QSortFilterProxyModel*>(alert_list_->model())->mapToSource(index).row()
             : -1;
}

void Window::go_to_alert(const QModelIndex& index) {
  if (!index.isValid()) return;
  const int row = static_cast<const QSortFilterProxyModel*>(alert_list_->model())->mapToSource(index).row();
  session_.go_to(TimeNs(alerts_->at(row).onset_ns), alerts_->node_of(row));
}

void Window::acknowledge() {
  const int row = alert_row();
  if (row < 0) return statusBar()->showMessage(tr("choose an alert first"), 5000);
  bool ok = false;
  const QString comment = QInputDialog::getText(
      this, tr("Acknowledge"), tr("Why (for those who come after):"), QLineEdit::Normal, "", &ok);
  if (ok) session_.acknowledge(alerts_->at(row).id, comment.toStdString());
}

void Window::silence() {
  const int row = alert_row();
  if (row < 0) return statusBar()->showMessage(tr("choose an alert first"), 5000);
  bool ok = false;
  const std::string node = alerts_->node_of(row);
  const QString how_long = QInputDialog::getText(
      this, tr("Silence"), tr("Nothing is sent of %1 for:").arg(QString::fromStdString(node)),
      QLineEdit::Normal, "2h", &ok);
  if (!ok) return;
  const auto d = scene::parse_duration(how_long.toStdString());
  if (!d || d->value <= 0)
    return statusBar()->showMessage(tr("%1 is no duration: 30 min, 2h").arg(how_long), 8000);
  session_.silence(node, *d);
}

QString Window::save(const QString& path) {
  return save_picture(path, session_, overview_->size(), attached_to_);
}

void Window::save_as() {
  const QString path = QFileDialog::getSaveFileName(this, tr("Save the picture"), "margay.png",
                                                    tr("Pictures (*.png *.svg);;Tables (*.csv)"));
  if (path.isEmpty()) return;
  const QString error = save(path);
  statusBar()->showMessage(error.isEmpty() ? tr("saved: %1").arg(path) : error, 10'000);
}

}  // namespace margay::viewer
