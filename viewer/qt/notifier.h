// When to tell somebody who is not looking: of alerts that begin to fire after the first report was seen.
// Those that fired before are no news, nor are those of a replay, nor what somebody has acknowledged or
// silenced.
//
// At most one sentence every `period`: what comes in between is counted and told then, together. Bounded:
// what is remembered are the ids of the newest report (256 at most), one sentence and a number.
//
// Thread safety: none; belongs to the thread of the window.
#pragma once

#include <QObject>
#include <QString>
#include <QTimer>
#include <set>
#include <string>

#include "alerts.h"
#include "margay/wire/report.pb.h"

namespace margay::viewer {

class Notifier : public QObject {
  Q_OBJECT

 public:
  static constexpr int kPeriod = 10'000;  // ms
  explicit Notifier(QObject* parent = nullptr, int period_ms = kPeriod);

  // Reports are followed also while it is off, so that what fires then is no news later.
  void set_on(bool on);
  bool on() const { return on_; }
  // With the alerts that terminal::read_alerts() finds in it.
  void take(const wire::Report& report, const std::vector<terminal::AlertView>& alerts);

 signals:
  // "rank 3 computes 4.0 x longer", or of several the newest and how many there are.
  void tell(QString sentence, QString id);

 private:
  void say();

  QTimer pause_;
  bool on_ = false, begun_ = false;
  std::string run_;
  std::int64_t begin_ = 0;
  std::set<std::string> firing_;  // ids, of the report before
  int waiting_ = 0;
  QString sentence_, id_;
};

}  // namespace margay::viewer
