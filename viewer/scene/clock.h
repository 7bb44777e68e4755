// Days and times of day, for the texts of times.h. Private to the folder.
#pragma once

#include <cstdint>
#include <string>

#include "margay/base/time.h"

namespace margay::scene::internal {

struct LocalTime {
  std::int64_t day = 0;     // since 1970-01-01
  std::int64_t of_day = 0;  // ns, [0, a day)
};

// What does not fit 64 bits is the nearest that does.
LocalTime local_time(TimeNs time, std::int64_t utc_offset_s);
TimeNs trace_time(LocalTime time, std::int64_t utc_offset_s);
std::string day_text(std::int64_t since_1970);  // "2026-11-20"
// "12:38", "12:38:05", "12:38:05.25"; without seconds what is over is left out.
std::string of_day_text(std::int64_t of_day, bool with_seconds);

}  // namespace margay::scene::internal
