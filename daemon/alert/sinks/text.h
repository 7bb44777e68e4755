// What sinks say of an alert, in common. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "margay/alert/alert.h"

namespace margay::sinks {

// How bad each kind is; the words are those that Alertmanager's users route by.
enum class Urgency { kInfo, kWarning, kCritical };
Urgency urgency(alert::Kind kind);
const char* to_string(Urgency urgency);

// Valid UTF-8 without control characters, of `most` bytes at most, cut between characters ("..." then).
std::string fit(std::string text, std::size_t most);
// "/h1/rank3, /h1/rank4 and 17 more"
std::string listed(const std::vector<std::string>& names, std::size_t most);
// RFC 3339 in UTC, to the millisecond: "2026-11-20T13:02:11.250Z"
std::string rfc3339(TimeNs wall);
// "2.5", three digits; "" where there is none.
std::string number_text(std::optional<double> number);
// What may be said of a URL: scheme, host and port. The path may be a secret.
std::string safe_url(std::string_view url);

}  // namespace margay::sinks
