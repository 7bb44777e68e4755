#include "notifier.h"

#include <utility>

#include "paint.h"

namespace margay::viewer {

Notifier::Notifier(QObject* parent, int period_ms) : QObject(parent) {
  pause_.setSingleShot(true);
  pause_.setInterval(period_ms);
  connect(&pause_, &QTimer::timeout, this, &Notifier::say);
}

void Notifier::set_on(bool on) {
  on_ = on;
  if (!on) waiting_ = 0;
}

void Notifier::take(const wire::Report& report, const std::vector<terminal::AlertView>& alerts) {
  if (report.has_replay()) return;
  if (run_ != report.run() || begin_ != report.run_begin_ns()) {
    run_ = report.run();
    begin_ = report.run_begin_ns();
    begun_ = false;
  }
  std::set<std::string> now;
  QString sentence, id;
  int news = 0;
  for (const terminal::AlertView& a : alerts) {
    if (!a.firing) continue;
    now.insert(a.id);
    if (firing_.contains(a.id) || a.acknowledged || !a.silenced_by.empty()) continue;
    // The newest comes first.
    if (news++ == 0) sentence = text_of(a.sentence), id = text_of(a.id);
  }
  firing_ = std::move(now);
  if (!std::exchange(begun_, true) || news == 0 || !on_) return;
  waiting_ += news;
  sentence_ = sentence;
  id_ = id;
  if (!pause_.isActive()) say();
}

void Notifier::say() {
  if (waiting_ == 0) return;
  const int n = std::exchange(waiting_, 0);
  pause_.start();
  emit tell(n == 1 ? sentence_ : tr("%1 alerts, the newest: %2").arg(n).arg(sentence_), id_);
}

}  // namespace margay::viewer
