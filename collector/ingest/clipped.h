// Texts of senders, cut to what is kept of them. Pure; of the ingest's own.
#pragma once

#include <string>
#include <string_view>

#include "margay/base/text.h"

namespace margay::ingest {

inline constexpr std::size_t kLongestText = 256;
inline std::string clipped(std::string_view text) {
  return std::string(cut_utf8(text, kLongestText));
}

}  // namespace margay::ingest
