// The files of shipped/, as embed.cmake puts them into the library.
#pragma once

#include <string_view>
#include <vector>

namespace margay::lttng_rules {

struct ShippedText {
  std::string_view name;
  std::string_view text;
};

const std::vector<ShippedText>& shipped_texts();

}  // namespace margay::lttng_rules
