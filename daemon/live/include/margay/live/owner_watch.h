// The process that owns this daemon and ends it, if there is one. Without it the daemon ends by itself, once
// nothing is left to watch. Thread safety: none.
#pragma once

#include "margay/base/time.h"

namespace margay::daemon {

class OwnerWatch {
 public:
  explicit OwnerWatch(int pid) : pid_(pid) {}
  // True: it has been gone for some seconds, and nothing is left to watch. Looks once a second.
  bool left_alone(bool idle, TimeNs now);
  bool gone() const { return gone_ != TimeNs(); }

 private:
  int pid_;  // 0: there is none
  TimeNs gone_{}, next_look_{};
};

}  // namespace margay::daemon
