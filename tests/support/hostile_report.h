// Reports as somebody who wants to break a viewer would send them.
#pragma once

#include <random>

#include "margay/wire/report.pb.h"

namespace margay::support {

// Any bytes as names, shares that are NaN or negative, unknown ids, absurd times and counts, broken JSON.
wire::Report hostile_report(std::mt19937& rng);

}  // namespace margay::support
