// Patterns of names: `*` is any text, `?` any one character of UTF-8, all else is itself.
//
// Thread safety: pure. Cost: linear in the product of the lengths, at worst (the last `*` alone is ever gone
// back to); no recursion.
#pragma once

#include <string_view>

namespace margay {

inline bool glob_match(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, tried = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      tried = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
      if (pattern[p - 1] == '?')
        while (t < text.size() && (static_cast<unsigned char>(text[t]) & 0xc0) == 0x80) ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++tried;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace margay
