// The one JSON form of an alert: a line of the alerts file, a record of an archive, what sinks are given, and
// what commands print with --json. Thread safety: pure. Cost: linear in the text.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "margay/base/result.h"
#include "margay/wire/alert.pb.h"

namespace margay::wire {

// "phase_duration"; "" for UNKNOWN.
const char* name_of(Alert::Kind kind);
// UNKNOWN for what is no kind of this version.
Alert::Kind kind_of(std::string_view name);

// Its members in the order in which they are written; without `handled`.
nlohmann::ordered_json json_of(const Alert& alert);
// "acknowledged" and "silenced_by", where there is any.
nlohmann::ordered_json json_of(const Handled& handled);
// One line without the newline. Numbers that are none are null.
std::string to_json(const Alert& alert);

// What to_json() wrote, or another Margay: members that are not there keep their defaults, but for id, kind,
// status and onset, and what it does not know is passed over. Errors: kCorrupt, naming the member.
Result<Alert> read_alert_untrusted(std::string_view json);

}  // namespace margay::wire
