#include "margay/observe/service.h"

#include <systemd/sd-daemon.h>

#include "margay/log/log.h"

namespace margay::observe {
namespace {

void tell(const std::string& text) {
  static_cast<void>(sd_notify(0, text.c_str()));  // nobody listens, or nobody can be told
}

}  // namespace

Service::Service(const Heartbeats& beats) : beats_(beats) {
  std::uint64_t us = 0;
  if (sd_watchdog_enabled(0, &us) > 0) period_ = DurationNs(static_cast<std::int64_t>(us) * 1000 / 2);
}

void Service::ready() {
  tell("READY=1");
}

void Service::tick(TimeNs now) {
  if (!watched()) return;
  const bool ingest = ingest_.alive(beats_.ingest, now), analysis = analysis_.alive(beats_.analysis, now);
  if (ingest && analysis) {
    said_hung_ = false;
    if (now < next_) return;
    next_ = now + period_;
    tell("WATCHDOG=1");
    return;
  }
  if (said_hung_) return;
  said_hung_ = true;
  log::error(
      std::string("the thread ") + (ingest ? "margay-analyse" : "margay-ingest") +
      " makes no progress: the watchdog of systemd is not served any more, and will restart the daemon");
}

void Service::status(const std::string& sentence) {
  if (sentence == status_) return;
  status_ = sentence;
  tell("STATUS=" + sentence);
}

void Service::stopping() {
  tell("STOPPING=1");
}

}  // namespace margay::observe
