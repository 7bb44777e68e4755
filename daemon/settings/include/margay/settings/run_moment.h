// A moment of a run as somebody types it.
//
// Thread safety: as localtime_r. Cost: as moment_of_day() (margay/base/time_of_day.h).
#pragma once

#include <string_view>

#include "margay/base/result.h"
#include "margay/base/time.h"

namespace margay::config {

// What parse_moment() takes (units.h), or a time of day of the run, which lasts from `zero` to `end`, in the
// time zone here: "12:38:05", "2026-11-20 12:38". Errors: kInvalidArgument, of parse_moment() or
// moment_of_day().
Result<TimeNs> parse_run_moment(std::string_view text, TimeNs zero, TimeNs end);

}  // namespace margay::config
