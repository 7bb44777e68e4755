// The verdict: is all well with this daemon, and if not, why. One function for `margay status`, its exit
// code, /health and systemd's status line.
//
// Degraded is: a condition or gauge of severity error that is not 0; or a counter of severity error that has
// grown within the last minute. What was lost earlier stays visible in its counter, and degrades no more.
// Thread safety: none; owned by the analysis. Cost: a comparison per row; 60 copies of the values are kept.
#pragma once

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "margay/base/time.h"
#include "margay/observe/counters.h"

namespace margay::observe {

struct Verdict {
  bool healthy = true;
  std::string sentence = "healthy";  // one line: "degraded: the archive cannot be written since 13:02:11 ..."
  std::vector<std::string> reasons;  // all of them, without "degraded: "
};

class HealthWatch {
 public:
  static constexpr DurationNs kMemory = seconds(60);

  // What counters stood at when this daemon took up its work, such as those of the daemons before it; of one
  // that is not told, counting begins at 0.
  void begin(const Values& values, TimeNs now);
  // `now` is monotonic.
  Verdict judge(const Values& values, TimeNs now);

 private:
  static constexpr DurationNs kStep = seconds(1);
  std::deque<std::pair<TimeNs, Values>> past_;  // oldest first, one a step, the front at least kMemory old
};

void write_verdict(const Verdict& verdict, wire::Health& health);

}  // namespace margay::observe
