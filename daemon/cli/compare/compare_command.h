// What `margay compare` is asked for, and the command. A library, so that it can be tested without the
// program.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace margay::daemon {

struct CompareRequest {
  std::vector<std::string> runs;  // the last is compared with those before
  std::string by = "phase";       // or run
  std::string per;                // run, second; "": run, of stretches second
  std::string view;
  std::vector<std::string> fail_if;
  std::string junit;  // a file, or ""
  bool json = false;
};

void add_compare_command(CLI::App& command, CompareRequest& request);
// Exit code: 0; 1 where a rule holds; 2 if it cannot be done.
int compare_command(const CompareRequest& request);

}  // namespace margay::daemon
