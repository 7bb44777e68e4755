// A directory of a test's own, which is also the runtime directory of daemons in it; gone with this object.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

namespace margay::test {

class RuntimePlace {
 public:
  RuntimePlace() {
    std::string name = std::filesystem::temp_directory_path() / "margay-test-XXXXXX";
    if (mkdtemp(name.data()) != nullptr) path = name;
    setenv("MARGAY_RUNTIME_DIR", path.c_str(), 1);
  }
  ~RuntimePlace() {
    unsetenv("MARGAY_RUNTIME_DIR");
    std::error_code ec;
    if (!path.empty()) std::filesystem::remove_all(path, ec);
  }
  RuntimePlace(const RuntimePlace&) = delete;
  RuntimePlace& operator=(const RuntimePlace&) = delete;
  std::string path;
};

}  // namespace margay::test
