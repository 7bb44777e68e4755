#include "end_wait.h"

#include "closing.h"
#include "margay/text/text.h"

namespace margay::daemon {
namespace {

constexpr DurationNs kSilent = seconds(2);
constexpr DurationNs kSayAgain = seconds(10);

}  // namespace

void EndWait::begin() {
  if (began_ == TimeNs()) began_ = clock_.monotonic();
}

void EndWait::say(const std::string& what) {
  if (signals_.wish_to_end()) wanted_ = true;
  const TimeNs now = clock_.monotonic();
  if (now - began_ < kSilent || now < next_) return;
  next_ = now + kSayAgain;
  daemon::say("the job has ended; waiting for " + what + " (" + text::duration_text((now - began_).value) +
              " so far; Ctrl-C leaves it to end by itself)");
}

bool EndWait::may_leave() const {
  return wanted_ && clock_.monotonic() - began_ >= kSilent;
}

}  // namespace margay::daemon
