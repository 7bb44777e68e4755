// An alert from its JSON object. Thread safety: pure. Cost: linear in the text.
#pragma once

#include <string_view>

#include "margay/alert/alert.h"
#include "margay/base/result.h"

namespace margay::alert {

// What to_json() wrote, or another Margay: members that are not there keep their defaults, but for id, kind,
// status and onset, and what it does not know is passed over. Errors: kCorrupt, naming the member.
Result<Alert> parse_untrusted(std::string_view json);

}  // namespace margay::alert
