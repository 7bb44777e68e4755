// A folder of a test's own; gone with this object, and all that is in it.
#pragma once

#include <stdlib.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>

namespace margay::test {

class TemporaryFolder {
 public:
  // `above`: /dev/shm, say, where a sync costs nothing; /tmp, where sockets are below it and need a short
  // path.
  explicit TemporaryFolder(const std::filesystem::path& above = std::filesystem::temp_directory_path())
      : path(make(above)) {}
  ~TemporaryFolder() {
    std::error_code ec;
    std::filesystem::remove_all(path, ec);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string operator/(const std::string& name) const { return path + "/" + name; }

  const std::string path;

 private:
  static std::string make(const std::filesystem::path& above) {
    std::string name = (above / "margay-test-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
      std::perror(name.c_str());
      std::abort();
    }
    return name;
  }
};

}  // namespace margay::test
