// What is said of processes that could not be looked at: it is never "none lost" then.
#pragma once

#include <string>

#include "margay/wire/report.pb.h"

namespace margay::terminal {

// "2 of 7 processes were not watched (2 got no shared memory for events)"; "" if all were. Not fit for a
// terminal before text::printable(). Thread safety: pure.
std::string unwatched_text(const wire::Health& health);

}  // namespace margay::terminal
