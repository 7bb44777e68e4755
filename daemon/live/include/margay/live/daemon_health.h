// How this daemon stands: the table of counters, whole, and the verdict on it. Thread safety: none.
#pragma once

#include <functional>
#include <memory>

#include "margay/analysis/exchange.h"
#include "margay/observe/health.h"
#include "margay/settings/options.h"

namespace margay::daemon {

class DaemonHealth {
 public:
  DaemonHealth(const Options& options, const Exchange& exchange, const Clock& clock);

  // What the ingest says of itself, newest. The first was said before any message was taken: the verdict is
  // on what has grown since.
  void take(std::shared_ptr<const RunStatus> status);
  const RunStatus* status() const { return status_.get(); }
  // What the ingest said, what `set` knows, what the process uses; and the verdict. `over`: the run is.
  void look(bool over, const std::function<void(observe::Values& values)>& set);

  const observe::Values& values() const { return values_; }
  const observe::Verdict& verdict() const { return verdict_; }

 private:
  static constexpr DurationNs kIngestPatience = seconds(5);
  void set_ingest(bool over, TimeNs now);
  void set_process(TimeNs now);

  const Options& options_;
  const Exchange& exchange_;
  const Clock& clock_;
  std::shared_ptr<const RunStatus> status_;
  TimeNs status_at_{};
  observe::Values values_;
  observe::Verdict verdict_;
  observe::HealthWatch watch_;
  observe::Pulse ingest_pulse_{kIngestPatience};
  TimeNs started_{}, started_wall_{};
  TimeNs next_process_{};
};

// 0 if `then` lies behind `now`.
std::uint64_t milliseconds_since(TimeNs then, TimeNs now);

}  // namespace margay::daemon
