// `margay import`: traces of other tools become archives.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace margay::daemon {

struct ImportRequest {
  std::string file;
  std::string archive;
  std::string format = "auto";
  std::string slice = "100ms";
  std::string lateness = "0s";
  std::string page = "4KiB";       // of address traces
  std::string structures = {};     // file: what lies where in them; "": none
  std::vector<std::string> rules;  // files: what events of an LTTng trace mean
  std::string op = {};             // what the slices also hold; "": nothing. Not an option
  bool keep_going = false;
  bool no_raw = false;
  bool json = false;
  bool quiet = false;  // says nothing of what it made (of another command, on its way)
};
void add_import_command(CLI::App& command, ImportRequest& request);
// The exit code: 0; 2 if the trace or the options are wrong; 1 if the machine is (the disk ...); 128 + N if
// signal N ended it. What went wrong is said on stderr, and nothing is left then.
// REQUIRES: the request was parsed. SIGINT, SIGTERM and SIGHUP are its own until it returns.
int import_command(const ImportRequest& request);

}  // namespace margay::daemon
