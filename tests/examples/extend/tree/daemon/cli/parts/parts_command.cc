// A command, as an example: `margay parts` says where the programs of this installation are.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "command.h"
#include "margay/process/installation.h"

namespace margay::daemon {
namespace {

struct PartsRequest {
  std::string program;
};

void add_parts_command(CLI::App& command, PartsRequest& request) {
  command.description(
      "Where the programs of this installation are.\n\n"
      "  margay parts margayd");
  command.add_option("program", request.program, "one of them")->required();
}

int parts_command(const PartsRequest& request) {
  auto path = process::find_program("bin/" + request.program);
  if (!path) path = process::find_helper(request.program);
  if (!path) {
    std::fprintf(stderr, "margay: %s\n", path.error().message.c_str());
    return 1;
  }
  std::puts(path->c_str());
  return 0;
}

}  // namespace

Declare declare_parts() {
  return declare(add_parts_command, parts_command);
}

}  // namespace margay::daemon
