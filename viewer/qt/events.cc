#include "events.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QKeyEvent>
#include <QSaveFile>
#include <QScrollBar>
#include <QVBoxLayout>
#include <algorithm>

#include "margay/scene/time_axis.h"
#include "marked.h"
#include "paint.h"

namespace margay::viewer {
namespace {

constexpr int kSettle = 150;  // ms without another change
constexpr int kRest = 2000;   // ms between two lists of a run that is followed

using scene::EventColumn;

}  // namespace

View* make_events(Session& session, QWidget* parent) {
  return new EventsView(session, parent);
}

EventsView::EventsView(Session& session, QWidget* parent) : View(session, parent) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  model_ = new EventModel(session, this);
  filter_ = new EventFilterLine(this);
  density_ = new DensityView(model_->pages(), session, this);
  status_ = new ElidedLabel(this);
  stop_ = new QPushButton(this);
  make_table();
  auto* line = new QHBoxLayout;
  line->setContentsMargins(4, 2, 4, 2);
  line->addWidget(status_, 1);
  line->addWidget(stop_);
  column->addWidget(filter_);
  column->addWidget(density_);
  column->addLayout(line);
  column->addWidget(table_, 1);
  setFocusProxy(table_);
  for (QWidget* field : filter_->fields()) field->installEventFilter(this);

  settle_.setSingleShot(true);
  settle_.setInterval(kSettle);
  rest_.setSingleShot(true);
  rest_.setInterval(kRest);
  connect(&settle_, &QTimer::timeout, this, &EventsView::read_anew);
  connect(&rest_, &QTimer::timeout, this, &EventsView::session_changed);
  connect(&session_, &Session::data_changed, this, &EventsView::session_changed);
  connect(&session_, &Session::view_changed, this, &EventsView::session_changed);
  connect(&session_, &Session::status_changed, this, [this] {
    // A daemon that has come back knows nothing of what the one before was asked.
    if (session_.there() && !there_ && isVisible()) model_->set(subject()), go_on();
    there_ = session_.there();
    session_changed();
  });
  connect(filter_, &EventFilterLine::changed, this, [this] {
    if (filter_->trouble().isEmpty()) read_anew();
    show_status();
  });
  connect(model_, &EventModel::changed, this, &EventsView::go_on);
  connect(stop_, &QPushButton::clicked, this, &EventsView::stop_or_go_on);
  connect(density_, &DensityView::chosen, this, [this](scene::TimeRange range) { session_.zoom_to(range); });
  connect(density_, &DensityView::clicked, this, [this](TimeNs at) {
    session_.zoom_to({at, model_->pages().subject().time.to});
  });
  show_status();
}

void EventsView::make_table() {
  table_ = new EventTable(*model_, session_, tr("Events, one by one"), this);
  table_->horizontalHeader()->setSectionsClickable(true);
  table_->installEventFilter(this);
  connect(table_->horizontalHeader(), &QHeaderView::sectionClicked, this, [this](int section) {
    if (section <= static_cast<int>(EventColumn::kDuration)) filter_->set_longest(section != 0);
  });
  connect(table_->verticalScrollBar(), &QScrollBar::valueChanged, this, &EventsView::look);
}

// What the session looks at, and what of it is shown.
scene::EventSubject EventsView::subject() const {
  scene::EventSubject s;
  if (!session_.data().empty()) s.time = session_.time();
  if (!session_.subject().node.empty()) s.nodes = {session_.subject().node};
  if (session_.marked()) s.time = session_.marked()->time, s.nodes = session_.marked()->nodes;
  s.view = session_.subject().view;
  s.states = session_.subject().states;
  s.run_filter = session_.subject().filter;
  s.filter = filter_->filter();
  s.longest = filter_->longest();
  return s;
}

void EventsView::session_changed() {
  show_status();
  const scene::EventSubject now = subject(), &was = model_->pages().subject();
  if (now == was || !isVisible()) return;
  scene::EventSubject same = was;
  same.time = now.time;
  const bool only_moved_on = same == now && session_.follows() && was.time.to > was.time.from;
  if (!only_moved_on) return settle_.start();
  // Who is in the list is not to have it taken away.
  const bool busy = model_->pages().reading() || table_->currentIndex().isValid() ||
                    table_->verticalScrollBar()->value() > 0;
  if (!busy && !rest_.isActive()) read_anew();
}

void EventsView::showEvent(QShowEvent* event) {
  View::showEvent(event);
  if (subject() != model_->pages().subject()) return read_anew();
  // What was under way may have made way for another page's question.
  if (model_->pages().reading() || !model_->pages().trouble().empty()) model_->set(subject());
}

void EventsView::read_anew() {
  settle_.stop();
  if (!isVisible()) return;
  rest_.start();
  if (subject() == model_->pages().subject()) return;
  model_->set(subject());  // and so go_on()
}

// Asks for what comes next, and shows how far it is.
void EventsView::go_on() {
  if (isVisible()) {
    look();
    model_->ask();
  }
  density_->update();
  show_status();
}

// What is in sight is fetched.
void EventsView::look() {
  const int rows = model_->rowCount();
  const int first = std::max(0, table_->rowAt(0));
  int last = table_->rowAt(table_->viewport()->height() - 1);
  if (last < 0) last = rows - 1;
  model_->see(first, last + 1);
  const auto from = model_->at(first), to = model_->at(std::min(last, rows - 1));
  if (from.row != nullptr && to.row != nullptr && !filter_->longest())
    density_->set_seen(scene::TimeRange{from.row->begin, to.row->begin});
  else
    density_->set_seen(std::nullopt);
  if (!model_->pages().reading() && isVisible()) {
    model_->ask();
    show_status();
  }
}

void EventsView::stop_or_go_on() {
  if (model_->pages().stopped())
    model_->go_on();
  else
    model_->stop();
  go_on();
}

// The arrows and Return are the list's own while it has the focus, as in every list; Escape stops what is
// being read before it does anything else.
bool EventsView::table_key(int key, Qt::KeyboardModifiers modifiers) {
  if (key == Qt::Key_Escape) return model_->pages().wants_more();
  if (key == Qt::Key_C) return modifiers == Qt::ControlModifier;
  return modifiers != Qt::ControlModifier &&
         (key == Qt::Key_Up || key == Qt::Key_Down || key == Qt::Key_PageUp || key == Qt::Key_PageDown ||
          key == Qt::Key_Return || key == Qt::Key_Enter);
}

bool EventsView::eventFilter(QObject* object, QEvent* event) {
  if (event->type() != QEvent::ShortcutOverride && event->type() != QEvent::KeyPress)
    return View::eventFilter(object, event);
  const auto* key = static_cast<QKeyEvent*>(event);
  if (!table_key(key->key(), key->modifiers())) return false;
  if (event->type() == QEvent::ShortcutOverride) {
    event->accept();
    return true;
  }
  if (key->key() == Qt::Key_Escape) return stop_or_go_on(), true;
  if (object != table_) {
    // From a field into the list.
    if (key->key() != Qt::Key_Down || object == filter_->fields().back()) return false;
    table_->setFocus();
    return true;
  }
  if (key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter) return table_->choose(), true;
  if (key->key() == Qt::Key_C) return table_->copy(), true;
  return false;
}

void EventsView::show_status() {
  const scene::EventPages& pages = model_->pages();
  const scene::TimeRange& time = pages.subject().time;
  QStringList words;
  if (!filter_->trouble().isEmpty()) words << filter_->trouble();
  if (!session_.there() && !session_.trouble().isEmpty()) words << session_.trouble();
  if (session_.marked()) words << marked_text(*session_.marked());
  if (time.to > time.from)
    words << text_of(pages.status()) << text_of(scene::range_text(time, session_.times()));
  status_->setText(words.isEmpty() ? tr("nothing has been seen of this run yet") : words.join("  |  "));
  stop_->setText(pages.stopped() ? tr("Read on") : tr("Stop"));
  stop_->setToolTip(pages.stopped() ? tr("read on where it was stopped")
                                    : tr("read no more; what was found stays (Escape)"));
  stop_->setEnabled(pages.stopped() || pages.wants_more());
}

QStringList EventsView::mouse() const {
  return {tr("click on a row|select its resource and its time, in all views"),
          tr("double click on a row|go there"),
          tr("click on duration, begin|the longest first; in order of time"),
          tr("drag over the bars|only the events of that time"),
          tr("click on the bars|the events from there on")};
}

QStringList EventsView::keys() const {
  return {tr("Up, Down, PgUp, PgDown|another row"),
          tr("Return|select the row's resource and time, in all views; once more: go there"),
          tr("Escape|read no more; what was found stays"),
          tr("Ctrl+C|copy the chosen rows as text; Shift and arrows choose several"),
          tr("Shift+Tab|from the list to the filter; Down leads back")};
}

QString EventsView::save(const QString& path, const QString&) {
  const auto wrong = [&](const QString& why) { return tr("%1: not written: %2").arg(path, why); };
  const QString ending = path.section('.', -1).toLower();
  if (ending == "png") return grab().save(path, "PNG") ? QString() : wrong(tr("the image cannot be written"));
  if (ending != "csv") return tr("%1: the name of a list of events has to end in .csv or .png").arg(path);
  if (model_->rowCount() == 0) return wrong(tr("the list is empty"));
  QSaveFile file(path);
  if (!file.open(QIODevice::WriteOnly)) return wrong(file.errorString());
  std::string text = scene::event_csv_head();
  for (int row = 0; row < model_->rowCount(); ++row) {
    const auto listed = model_->at(row);
    if (listed.row == nullptr)
      return wrong(
          tr("of so long a list not all rows are here any more: choose a shorter stretch, or use margay "
             "events --csv"));
    text += scene::event_csv(*listed.page, *listed.row);
    if (text.size() < 1 << 20) continue;
    if (file.write(text.data(), static_cast<qint64>(text.size())) < 0) return wrong(file.errorString());
    text.clear();
  }
  if (file.write(text.data(), static_cast<qint64>(text.size())) < 0 || !file.commit())
    return wrong(file.errorString());
  return {};
}

}  // namespace margay::viewer
