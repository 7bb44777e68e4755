// What a person reads of time that nobody watched. Thread safety: functions of their arguments.
#pragma once

#include <string>

#include "margay/base/time.h"

namespace margay::daemon {

// "nothing was watched from 2026-11-21 16:04:10 to 2026-11-24 15:59:02 (3 d): this daemon was not running,
// ...".
std::string absence_sentence(TimeNs from, TimeNs to);

}  // namespace margay::daemon
