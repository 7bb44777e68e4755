// Text as part of an address: letters, digits and -._~/: stand for themselves, all others are %XX.
//
// Thread safety: pure. Cost: linear in the text.
#pragma once

#include <string>
#include <string_view>

namespace margay {

inline std::string percent_encoded(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF", kAlsoThemselves = "-._~/:";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (letter || kAlsoThemselves.find(c) != std::string_view::npos)
      out += c;
    else
      (out += '%') += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return out;
}

}  // namespace margay
