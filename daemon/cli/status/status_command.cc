// `margay status`: how a run stands, asked of its daemon.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "ask_daemon.h"
#include "command.h"
#include "margay/terminal/status.h"
#include "margay/text/text.h"
#include "margay/wire/columns.h"
#include "where_flags.h"

namespace margay::daemon {
namespace {

struct StatusRequest {
  Where where;
  bool json = false, check = false;
};

// For scripts and monitoring: 0 healthy, 1 degraded, 2 not reachable, and one line that says so.
int check(const wire::Report& report) {
  const auto& h = report.health();
  const bool healthy = h.state() == wire::Health::HEALTHY;
  const std::string sentence =
      h.verdict().empty() ? "degraded: the daemon gives no verdict yet" : h.verdict();
  std::printf("%s: %s\n", text::printable(report.run(), true, 200).c_str(),
              text::printable(sentence, true, 1000).c_str());
  return healthy ? 0 : 1;
}

void add_status_command(CLI::App& command, StatusRequest& r) {
  command.description(
      R"(State of a running job: phases, open alerts, where every event went, counters, health of the daemon.

  margay status                  the newest run
  margay status night --check    healthy or not: one line and an exit code, for scripts

Exit code: 0; 3 if there is no such run; 1 if its daemon does not answer.
With --check: 0 healthy, 1 degraded, 2 not reachable.)");
  add_where(command, r.where);
  auto* json = command.add_flag("--json", r.json, "print JSON, for programs");
  command
      .add_flag("--check", r.check,
                "print one line; the exit code says whether all is well (not with --json)")
      ->excludes(json);
}

// The exit code: 0; 3 if no such run is live; 1 if its daemon does not answer. Of --check: 0 healthy, 1
// degraded, 2 not reachable. What went wrong is said on stderr.
int status_command(const StatusRequest& r) {
  wire::ControlRequest request;
  request.set_version(wire::kWireVersion);
  request.set_kind(wire::ControlRequest::STATUS);
  const auto reply = ask(r.where, request, seconds(7));
  if (!reply) {
    const int code = say_error(reply.error());
    return r.check ? 2 : code;
  }
  if (r.check) return check(reply->report());
  const std::string text =
      r.json ? terminal::status_json(reply->report()) + "\n" : terminal::status_text(reply->report());
  std::fputs(text.c_str(), stdout);
  return 0;
}

}  // namespace

Declare declare_status() {
  return declare(add_status_command, status_command);
}

}  // namespace margay::daemon
