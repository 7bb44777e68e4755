// `margay watch`: the live view of a run in this terminal.
#include <CLI/CLI.hpp>

#include "ask_daemon.h"
#include "command.h"
#include "margay/terminal/watch.h"
#include "where_flags.h"

namespace margay::daemon {
namespace {

struct WatchRequest {
  Where where;
  bool exit_at_end = false;
};

void add_watch_command(CLI::App& command, WatchRequest& r) {
  command.description(
      R"(Show a running job live in this terminal: its partition, phases and alerts. Press q to leave.

  margay watch                                           the newest run
  margay watch --connect tcp://head:7413 --key me.key    a run on another machine)");
  add_where(command, r.where);
  command.add_flag("--exit-at-end", r.exit_at_end, "leave when the run ends");
}

// The exit code: that of terminal::watch(); 3 if no such run is live, which is said on stderr.
int watch_command(const WatchRequest& r) {
  terminal::WatchOptions options;
  options.connect = r.where.endpoint;
  options.key = r.where.key;
  if (options.connect.empty()) {
    auto directory = choose_run(r.where.run);
    if (!directory) return say_error(directory.error());
    options.dir = *directory;
  }
  options.exit_at_end = r.exit_at_end;
  options.view = terminal::view_for_terminal();
  return terminal::watch(options);
}

}  // namespace

Declare declare_watch() {
  return declare(add_watch_command, watch_command);
}

}  // namespace margay::daemon
