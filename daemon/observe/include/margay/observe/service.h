// What systemd is told of this process (sd_notify), if it asked: READY=1, STATUS=, STOPPING=1, and WATCHDOG=1
// for as long as both stages go on. Without NOTIFY_SOCKET nothing happens. Thread safety: none; for the main
// thread. Cost: a look at two numbers; a datagram when there is something to say.
#pragma once

#include <string>

#include "margay/base/time.h"
#include "margay/observe/process.h"

namespace margay::observe {

class Service {
 public:
  // A stage that does not go on for this long hangs: no more pings, and systemd restarts the process. A ping
  // withheld takes the unit's WatchdogSec to count, so that a slow machine is given time twice.
  static constexpr DurationNs kPatience = seconds(10);

  explicit Service(const Heartbeats& beats);
  void ready();
  // To be called some times a second. Sends a ping each half of the time that systemd gives.
  void tick(TimeNs now);
  void status(const std::string& sentence);  // sent when it differs from the last one
  void stopping();
  bool watched() const { return period_.value > 0; }

 private:
  const Heartbeats& beats_;
  Pulse ingest_{kPatience}, analysis_{kPatience};
  DurationNs period_{};  // between pings; 0: nobody asked
  TimeNs next_{};
  std::string status_;
  bool said_hung_ = false;
};

}  // namespace margay::observe
