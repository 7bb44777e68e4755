// `margay archive`: what archives there are, what they hold, whether they are whole.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace margay::app {

struct ArchiveRequest {
  CLI::App *list = nullptr, *info = nullptr, *verify = nullptr;
  std::vector<std::string> paths{"."};
  std::string path;
  bool json = false;
};
void add_archive_command(CLI::App& app, ArchiveRequest& request);
// The exit code: 0; 1 if what was read is damaged; 2 if it cannot be read. What went wrong is said on stderr.
// REQUIRES: the request was parsed.
int archive_command(const ArchiveRequest& request);

}  // namespace margay::app
