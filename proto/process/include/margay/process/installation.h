// Where the parts of Margay lie: beside this program (build tree or installation).
#pragma once

#include <string>

#include "margay/base/result.h"

namespace margay::app {

struct Installation {
  std::string daemon, node, probe;
  std::string gst, lttng;  // "" where they are not installed
};
Result<Installation> find_installation();

}  // namespace margay::app
