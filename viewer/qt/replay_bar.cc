#include "replay_bar.h"

#include <algorithm>

#include "margay/scene/times.h"
#include "paint.h"

namespace margay::viewer {
namespace {

constexpr double kFastest = -1;  // as it goes
// Times real time.
constexpr double kSpeeds[] = {0.1, 0.5, 1, 2, 5, 10, 100, kFastest};

QString speed_text(double speed) {
  return speed <= 0 ? QObject::tr("as fast as it goes") : QObject::tr("%1 times real time").arg(speed);
}

}  // namespace

ReplayBar::ReplayBar(Session& session, QWidget* parent) : QToolBar(parent), session_(session) {
  setObjectName("replay");
  setWindowTitle(tr("Replay"));
  setMovable(false);
  speed_ = new QComboBox(this);
  speed_->setAccessibleName(tr("how fast the replay plays"));
  speed_->setToolTip(tr("how fast the replay plays, from now on"));
  for (const double speed : kSpeeds) speed_->addItem(speed_text(speed), speed);
  speed_->setCurrentIndex(speed_->findData(1.0));
  state_ = new ElidedLabel(this);
  state_->setMinimumWidth(fontMetrics().averageCharWidth() * 30);
  // A replay that pauses or is over keeps to that.
  connect(speed_, &QComboBox::activated, this, [this] {
    const wire::Replay* r = replay();
    if (r != nullptr && !r->paused() && !r->at_end()) session_.play(chosen_speed());
  });
  connect(&session_, &Session::report_changed, this, &ReplayBar::show_replay);
  connect(&session_, &Session::view_changed, this, &ReplayBar::show_replay);
  show_replay();
}

void ReplayBar::control(const std::vector<QAction*>& actions) {
  actions_ = actions;
  for (QAction* a : actions_) addAction(a);
  addWidget(speed_);
  addWidget(state_);
  show_replay();
}

const wire::Replay* ReplayBar::replay() const {
  const wire::Report* report = session_.report();
  return report != nullptr && report->has_replay() ? &report->replay() : nullptr;
}

double ReplayBar::chosen_speed() const {
  return speed_->currentData().toDouble();
}

void ReplayBar::play_or_pause() {
  const wire::Replay* r = replay();
  if (r == nullptr) return;
  if (!r->paused() && !r->at_end()) return session_.pause();
  if (r->at_end()) session_.jump(TimeNs(r->begin_ns()));
  session_.play(chosen_speed());
  session_.follow();
}

void ReplayBar::step() {
  if (replay() == nullptr) return;
  session_.step(1);
  session_.follow();
}

QString ReplayBar::here() const {
  const scene::ViewData& d = session_.data();
  if (d.empty()) return {};
  const auto& s = session_.selection();
  const TimeNs at = s ? d.boundaries[s->first] : session_.time().from;
  scene::Times since = session_.times();
  since.by_clock = false;
  return text_of(scene::time_text(at, since));
}

QString ReplayBar::jump(const QString& typed) {
  const wire::Replay* r = replay();
  if (r == nullptr) return tr("this is no replay");
  const scene::TimeRange all{TimeNs(r->begin_ns()), TimeNs(r->end_ns())};
  // One time alone would be the middle of a stretch.
  const QString text = typed.trimmed();
  const bool one = !text.isEmpty() && text != "all" && !text.contains("..") && !text.contains('+') &&
                   !text.startsWith('-');
  const auto range =
      scene::parse_time_range((one ? text + "+1 s" : text).toStdString(), all, all, session_.times());
  if (!range) return text_of(range.error().message);
  session_.jump(range->from);
  session_.follow();
  return {};
}

void ReplayBar::show_replay() {
  const wire::Replay* r = replay();
  setVisible(r != nullptr);
  for (QAction* a : actions_) a->setEnabled(r != nullptr);
  if (r == nullptr) return state_->setText({});
  const QString at = text_of(scene::short_time_text(session_.now(), session_.times()));
  state_->setText("  " + (r->seeking()  ? tr("on its way, at %1").arg(at)
                          : r->at_end() ? tr("at the end")
                          : r->paused() ? tr("paused at %1").arg(at)
                                        : tr("playing, at %1").arg(at)));
}

}  // namespace margay::viewer
