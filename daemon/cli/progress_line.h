// How far a command has come, for who sits before a terminal.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>

namespace margay::daemon {

// Writes "exporting: 12 %" over itself on stderr; empty where that is no terminal. Told shares from 0 to 1.
inline std::function<void(double share)> progress_line(std::string doing) {
  if (isatty(STDERR_FILENO) != 1) return {};
  return [doing = std::move(doing), last = -1](double share) mutable {
    const int percent = static_cast<int>(std::clamp(share, 0.0, 1.0) * 100);
    if (percent != last) std::fprintf(stderr, "\r%s: %d %%", doing.c_str(), percent);
    last = percent;
  };
}

}  // namespace margay::daemon
