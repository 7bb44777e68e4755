// `margay archive`: what archives there are, what they hold, whether they are whole; giving up what is old,
// compacting, taking away.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace margay::daemon {

struct ArchiveRequest {
  CLI::App *list = nullptr, *info = nullptr, *verify = nullptr;
  CLI::App *prune = nullptr, *compact = nullptr, *remove = nullptr;
  std::vector<std::string> paths{"."};  // of ls
  std::vector<std::string> doomed;      // of rm
  std::string path;                     // of the others
  std::string keep_raw, keep_reports, to_size;
  std::vector<std::string> keep_levels;
  bool dry_run = false, force = false, json = false;
};
void add_archive_command(CLI::App& command, ArchiveRequest& request);
// The exit code: 0; 1 if what was read is damaged, a size was not reached or somebody said no; 2 if it cannot
// be read or changed. What went wrong is said on stderr. REQUIRES: the request was parsed.
int archive_command(const ArchiveRequest& request);

}  // namespace margay::daemon
