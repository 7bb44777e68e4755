#include "margay/settings/run_moment.h"

#include "margay/base/time_of_day.h"
#include "margay/base/zone.h"
#include "margay/settings/units.h"

namespace margay::config {

Result<TimeNs> parse_run_moment(std::string_view text, TimeNs zero, TimeNs end) {
  if (!looks_like_time_of_day(text)) return parse_moment(text, zero);
  return moment_of_day(text, zero, end,
                       counts_from_epoch(zero) ? std::optional(utc_offset_at(zero)) : std::nullopt);
}

}  // namespace margay::config
