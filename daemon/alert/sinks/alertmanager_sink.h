// Prometheus Alertmanager, API v2: POST /api/v2/alerts.
//
// One alert of Margay is one alert there: its labels (alertname, kind, severity, run, node, alert_id) are the
// same from its first word to its last. Alertmanager forgets what it is not told again: what fires is posted
// every kRepeat, each time with an endsAt of kHold from then on, so that it outlives four posts that fail and
// ends by itself when this daemon is gone. The resolved one has the endsAt at which it was over.
//
// Bounded: kMostOpen alerts are repeated, the newest.
#pragma once

#include <deque>

#include "http_post.h"

namespace margay::sinks {

// One entry of the array that is posted. Pure. A firing one ends at `now` + `hold`, in wall time.
std::string alertmanager_json(const Notice& notice, TimeNs now, DurationNs hold);

class AlertmanagerSink final : public Sink {
 public:
  static constexpr DurationNs kRepeat = seconds(60);
  static constexpr DurationNs kHold = seconds(300);
  static constexpr std::size_t kMostOpen = 256;

  // `clock` (the wall's) must outlive it. `repeat` and `hold` are for tests.
  AlertmanagerSink(HttpPost post, const Clock& clock, DurationNs repeat = kRepeat, DurationNs hold = kHold);
  const char* name() const override { return "alertmanager"; }
  std::string where() const override;
  void begin(const Notice& notice, TimeNs now) override;
  std::optional<Outcome> progress(TimeNs now) override;
  void cut(TimeNs now) override;
  void adopt(const Notice& notice) override;
  void forget(const std::string& id) override;
  TimeNs repeat_at() const override;
  void begin_repeat(TimeNs now) override;

 private:
  void remember(const Notice& notice);

  HttpPost post_;
  const Clock& clock_;
  DurationNs repeat_, hold_;
  std::deque<Notice> open_;  // oldest first
  TimeNs repeat_at_ = kNever;
};

}  // namespace margay::sinks
