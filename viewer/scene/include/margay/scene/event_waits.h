// Whom resources waited for in a stretch: a daemon's answer (wire::EventsAnswer to WAITS), checked.
//
// WHAT IS CHECKED. As of sums (event_sums.h): it is refused with a sentence (kCorrupt) where lists differ in
// length, an index is out of range, a length is longer than 64 bits, or partners have more time than was
// waited; and where there are more than kMostWaitedFor (kLimit). An answer that is nothing but an error gives
// that error (kUnavailable).
//
// UNITS. Times are trace time, lengths nanoseconds; shares lie in [0, 1].
//
// Thread safety: values and pure functions. Cost: linear in the answer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "margay/base/result.h"
#include "margay/base/time.h"
#include "margay/scene/view_data.h"
#include "margay/wire/events.pb.h"

namespace margay::scene {

inline constexpr int kMostWaitedFor = 256;

struct EventWaits {
  struct Partner {
    std::string resource;  // path
    DurationNs time{};
    double share = 0;  // of `waited`
  };
  TimeRange time;            // of which it is: a minute at most
  std::uint64_t leaves = 0;  // resources that waited
  DurationNs waited{};       // summed over them
  std::vector<Partner> partners;
  double unknown = 0;  // share of `waited` whose partner is unknown
  std::uint64_t token = 0;
};

Result<EventWaits> event_waits_untrusted(const wire::EventsAnswer& answer);

}  // namespace margay::scene
