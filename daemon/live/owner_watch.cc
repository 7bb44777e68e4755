#include "margay/live/owner_watch.h"

#include <signal.h>

#include <cerrno>

namespace margay::daemon {
namespace {

constexpr DurationNs kPatience = seconds(5);

}  // namespace

bool OwnerWatch::left_alone(bool idle, TimeNs now) {
  if (pid_ <= 0 || now < next_look_) return false;
  next_look_ = now + seconds(1);
  if (kill(pid_, 0) == 0 || errno != ESRCH) return false;
  if (gone_ == TimeNs()) gone_ = now;
  return idle && now - gone_ >= kPatience;
}

}  // namespace margay::daemon
