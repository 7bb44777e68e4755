// The time zone of this machine and this person (TZ), for those who may ask for it.
//
// Thread safety: as localtime_r. Cost: a look at the zone's table.
#pragma once

#include <cstdint>
#include <ctime>

#include "margay/base/time.h"

namespace margay {

// Seconds east of Greenwich, as of that time; 0 where nobody knows.
inline std::int64_t utc_offset_at(TimeNs wall) {
  const auto then = static_cast<std::time_t>(wall.value / 1'000'000'000);
  std::tm local{};
  return localtime_r(&then, &local) != nullptr ? local.tm_gmtoff : 0;
}

}  // namespace margay
