// A folder of a test's own, which is also the runtime directory of daemons in it; gone with this object.
#pragma once

#include <stdlib.h>

#include "temporary_folder.h"

namespace margay::test {

class RuntimePlace : public TemporaryFolder {
 public:
  RuntimePlace() { setenv("MARGAY_RUNTIME_DIR", path.c_str(), 1); }
  ~RuntimePlace() { unsetenv("MARGAY_RUNTIME_DIR"); }
};

}  // namespace margay::test
