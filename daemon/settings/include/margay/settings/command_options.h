// Flags that `margay run` and `margayd` share, and how they become options. Flags override the configuration
// file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "margay/base/result.h"
#include "margay/settings/flags.h"
#include "options.h"

namespace margay::daemon {

struct CommonFlags {
  std::string config;
  std::vector<std::string> set;  // "slice.window=512"
  std::optional<std::string> slice;
  std::string archive;
  std::string alerts;
  std::string capture;
  bool no_raw = false;
  bool every_call = false;
  std::optional<std::string> p;
  std::optional<std::string> op;
  // As they were given, to be handed on to a daemon.
  std::vector<std::string> to_arguments() const;
};

// Their rows, which set the members of `flags`.
Flags common_flags(CommonFlags& flags);
// Sets in `options`, which has its defaults, what the file and the flags say. After an error it may have
// changed in part.
// Errors: kInvalidArgument, kNotFound, with file, line and key where the configuration is at fault.
Status apply_flags(const CommonFlags& flags, Options& options);

}  // namespace margay::daemon
