// `margay export`: what an archive holds, for other programs: Pajé, CSV, SQLite.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace margay::daemon {

struct ExportRequest {
  std::string archive, format, output, level, from, to, view;
  std::string table;  // names with commas between them, or "all"; "": the usual ones
  bool messages = false;
};
void add_export_command(CLI::App& command, ExportRequest& request);
// The exit code: 0; 2 if it cannot be read or written, or was not asked for in a way that makes sense. What
// went wrong is said on stderr. REQUIRES: the request was parsed.
int export_command(const ExportRequest& request);

}  // namespace margay::daemon
