#include "margay/live/daemon_health.h"

#include <utility>

#include "margay/log/log.h"

namespace margay::daemon {

using observe::Id;

std::uint64_t milliseconds_since(TimeNs then, TimeNs now) {
  return then < now ? static_cast<std::uint64_t>((now - then).value / 1'000'000) : 0;
}

DaemonHealth::DaemonHealth(const Options& options, const Exchange& exchange, const Clock& clock)
    : options_(options),
      exchange_(exchange),
      clock_(clock),
      status_at_(clock.monotonic()),
      started_(clock.monotonic()),
      started_wall_(clock.realtime()) {}

void DaemonHealth::take(std::shared_ptr<const RunStatus> status) {
  status_at_ = clock_.monotonic();
  if (!status_) watch_.begin(status->values, status_at_);
  status_ = std::move(status);
}

void DaemonHealth::look(bool over, const std::function<void(observe::Values&)>& set) {
  const TimeNs now = clock_.monotonic();
  if (status_) values_.merge(status_->values);
  set_ingest(over, now);
  set_process(now);
  set(values_);
  const bool was_healthy = verdict_.healthy;
  verdict_ = watch_.judge(values_, now);
  if (!verdict_.healthy && was_healthy) log::warning(verdict_.sentence);
  if (verdict_.healthy && !was_healthy) log::info("healthy again");
}

void DaemonHealth::set_ingest(bool over, TimeNs now) {
  values_.set(Id::standing_age_ms, milliseconds_since(status_at_, now));
  values_.set(Id::slices_queued, exchange_.slices.size());
  values_.set(Id::findings_queued, exchange_.findings.size());
  const bool stalled = !ingest_pulse_.alive(exchange_.beats.ingest, now);
  values_.set(Id::ingest_stalled, stalled && !over);
  if (stalled)
    values_.explain(Id::ingest_stalled, "the thread margay-ingest has made no progress for " +
                                            std::to_string(ingest_pulse_.quiet(now).value / 1'000'000'000) +
                                            " s");
}

void DaemonHealth::set_process(TimeNs now) {
  values_.set(Id::restarts, options_.restarts);
  values_.set(Id::start_time_s, static_cast<std::uint64_t>(started_wall_.value / 1'000'000'000));
  values_.set(Id::uptime_s, milliseconds_since(started_, now) / 1000);
  if (now >= next_process_) {
    next_process_ = now + seconds(1);
    observe::set_process(observe::process_use(), values_);
  }
  values_.set(Id::memory_promised_bytes, exchange_.memory_promised);
  values_.set(Id::messages_not_sent, exchange_.outgoing->refused);
  const log::Counts log = log::counts();
  values_.set(Id::log_lines, log.lines);
  values_.set(Id::log_lines_suppressed, log.suppressed);
  values_.set(Id::http_requests, exchange_.http_requests());
  values_.set(Id::http_unavailable, !options_.http_listen.empty() && !exchange_.http);
}

}  // namespace margay::daemon
