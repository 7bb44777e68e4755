// The daemon's health on the status page: the verdict and the counters. Pure; text is safe to print.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "margay/wire/report.pb.h"

namespace margay::terminal {

// "healthy", or "DEGRADED: " and every reason; at most 80 columns wide; "" if the daemon gave no verdict.
std::string verdict_text(const wire::Health& health);
// Counters that are not 0: errors with what to do, then warnings, then the rest; at most 80 columns wide.
std::string counters_text(const wire::Health& health);
// All of them: [{name, value, kind, unit, severity, help, remedy, detail}].
nlohmann::json counters_json(const wire::Health& health);
// {state "healthy|degraded|unknown", verdict, reasons, version}
nlohmann::json health_json(const wire::Health& health);

}  // namespace margay::terminal
