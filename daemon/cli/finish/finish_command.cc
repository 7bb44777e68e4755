#include "finish_command.h"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "margay/wire/columns.h"

namespace margay::app {

void add_finish_command(CLI::App& command, FinishRequest& r) {
  command.description(
      "End a run whose daemon was started by hand: what is left is taken, the archive closed, the summary "
      "printed\n(JSON). Then the daemon may be ended.\n\n"
      "  margay finish night");
  add_where(command, r.where);
}

int finish_command(const FinishRequest& r) {
  wire::ControlRequest request;
  request.set_version(wire::kWireVersion);
  request.set_kind(wire::ControlRequest::FINISH);
  request.set_timeout_ns(seconds(10).value);
  const auto reply = ask(r.where, request, seconds(40));
  if (!reply) return say_error(reply.error());
  std::printf("%s\n", reply->summary_json().c_str());
  return 0;
}

}  // namespace margay::app
