// Fields of CSV (RFC 4180).
//
// Thread safety: pure.
#pragma once

#include <string>

namespace margay::text {

// Quoted where it must be, and where readers would take it for another: empty, or with spaces at its ends.
std::string csv_field(const std::string& text);

}  // namespace margay::text
