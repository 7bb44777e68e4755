// Where the parts of Margay lie: beside this program (build tree or installation).
#pragma once

#include <string>

#include "margay/base/result.h"

namespace margay::process {

struct Installation {
  std::string daemon, node, probe;
  std::string gst, lttng;  // "" where they are not installed
};
Result<Installation> find_installation();

// A program of Margay by where it lies below the installation (a build tree or a prefix) that this program is
// of: "bin/margay-viewer". kNotFound: it was not built, or not installed.
Result<std::string> find_program(const std::string& name);
// One of libexec/margay.
Result<std::string> find_helper(const std::string& name);

}  // namespace margay::process
