// `margay finish`: the end of a run whose daemon was started by hand.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "ask_daemon.h"
#include "command.h"
#include "margay/wire/columns.h"
#include "where_flags.h"

namespace margay::daemon {
namespace {

struct FinishRequest {
  Where where;
};

void add_finish_command(CLI::App& command, FinishRequest& r) {
  command.description(
      R"(End a run whose daemon was started by hand: wait for the last events, close the archive, print the
summary (JSON). The daemon may be stopped after that.

  margay finish night)");
  add_where(command, r.where);
}

// The exit code: 0; 3 if no such run is live; 1 if its daemon does not answer. What went wrong is said on
// stderr.
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

}  // namespace

Declare declare_finish() {
  return declare(add_finish_command, finish_command);
}

}  // namespace margay::daemon
