// Words of a trace in messages: short, in quotes, fit to print.
#pragma once

#include <string>
#include <string_view>

#include "margay/base/text.h"

namespace margay::trace::paje {

inline std::string quote(std::string_view text) {
  constexpr std::size_t kLongest = 80;
  const bool cut = text.size() > kLongest;
  return "'" + clean_utf8(text, kLongest) + (cut ? "...'" : "'");
}

}  // namespace margay::trace::paje
