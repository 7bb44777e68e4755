// What another operator than state duration measured, in words. Everything of a report is untrusted.
#pragma once

#include <string>

#include "margay/wire/report.pb.h"

namespace margay::terminal {

// At most 4 columns: "0.12", "7", "340", "1.2k", "45M", "3e21". What is negative or no number is "?".
std::string amount_text(double value);
// The unit of StateShare.value: "bytes/s", "visits and events/s"; of a mean the variable's name.
std::string rate_unit(const wire::Measured& measured);
// The title of the bars: "bytes/s, newest slices; a full bar is 1.2M".
std::string bars_title(const wire::Report& report);
// The lines of `margay status` on it; nothing where durations are shown.
std::string measured_text(const wire::Report& report);

}  // namespace margay::terminal
