// Names with placeholders: "{1}", "{state}", "{symbol:addr}", "{procname}".
//
// Thread safety: values and pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "margay/base/result.h"

namespace margay::lttng_rules {

struct NamePart {
  enum class Kind { kLiteral, kCapture, kField, kHexField, kSymbol, kProcname };
  Kind kind = Kind::kLiteral;
  std::string text;         // the literal, or the field's name
  std::size_t capture = 0;  // from 0
};

// "{{" and "}}" are braces. The error says what is wrong, without the place.
Result<std::vector<NamePart>> parse_name(std::string_view text);

}  // namespace margay::lttng_rules
