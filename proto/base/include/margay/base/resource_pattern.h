// Patterns of resources (glob.h): one that begins with '/' names what it matches as a whole path, any other
// what it matches as one name in the path; either with all that is below it.
//
// Thread safety: pure. Cost: a pattern's for each name in the path.
#pragma once

#include <algorithm>
#include <string_view>

#include "margay/base/glob.h"

namespace margay {

// Whether it names the resource of this path, or one above it.
inline bool names_resource(std::string_view pattern, std::string_view path) {
  if (pattern.starts_with('/')) {
    while (pattern.size() > 1 && pattern.ends_with('/')) pattern.remove_suffix(1);
    if (pattern == "/") return true;
    for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
      if (glob_match(pattern, path.substr(0, end))) return true;
      if (end == std::string_view::npos) return false;
    }
  }
  for (std::string_view rest = path; !rest.empty();) {
    const std::size_t end = std::min(rest.find('/'), rest.size());
    if (end > 0 && glob_match(pattern, rest.substr(0, end))) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

}  // namespace margay
