// Words for a shell to read. Pure.
#pragma once

#include <string>

namespace margay::daemon {

// `text` as one word of a POSIX shell, whatever bytes it has (but 0): nothing in it is expanded or run.
inline std::string shell_word(const std::string& text) {
  std::string word = "'";
  for (const char c : text)
    if (c == '\'')
      word += "'\\''";
    else
      word += c;
  return word + "'";
}

}  // namespace margay::daemon
