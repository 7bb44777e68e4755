// margay: the command.
#include <unistd.h>

#include <google/protobuf/stubs/logging.h>
#include <CLI/CLI.hpp>
#include <cstdio>

#include "command_options.h"
#include "margay/config/config.h"
#include "margay/terminal/status.h"
#include "margay/terminal/text.h"
#include "margay/terminal/watch.h"
#include "margay/transport/transport.h"
#include "margay/wire/columns.h"
#include "run/run_command.h"

namespace {

using margay::transport::RunDirectory;

// The run that was named, or the newest one that is live.
margay::Result<RunDirectory> choose_run(const std::string& name) {
  if (!name.empty()) return margay::transport::open_run_directory(name);
  const auto runs = margay::transport::list_runs();
  if (runs.empty())
    return margay::fail(margay::ErrorCode::kNotFound,
                        "no run is live; start one: margay run -- mpirun -np 4 ./your-program");
  return margay::transport::open_run_directory(runs.front());
}

int complain(const margay::Error& error) {
  std::fprintf(stderr, "margay: %s\n", error.message.c_str());
  return error.code == margay::ErrorCode::kNotFound ? 3 : 1;
}

enum class StatusAs { kText, kJson, kCheck };

// For scripts and monitoring: 0 healthy, 1 degraded, 2 not reachable, and one line that says so.
int check(const margay::wire::Report& report) {
  const auto& h = report.health();
  const bool healthy = h.state() == margay::wire::Health::HEALTHY;
  const std::string sentence =
      h.verdict().empty() ? "degraded: the daemon gives no verdict yet" : h.verdict();
  std::printf("%s: %s\n", report.run().c_str(), margay::terminal::printable(sentence, true, 1000).c_str());
  return healthy ? 0 : 1;
}

int status(const std::string& name, StatusAs as) {
  const auto unreachable = [as](const margay::Error& error) {
    const int code = complain(error);
    return as == StatusAs::kCheck ? 2 : code;
  };
  auto directory = choose_run(name);
  if (!directory) return unreachable(directory.error());
  zmq::context_t context(1);
  auto control =
      margay::transport::Socket::connect(context, zmq::socket_type::dealer, directory->control_endpoint());
  if (!control) return unreachable(control.error());
  margay::wire::ControlRequest request;
  request.set_version(margay::wire::kWireVersion);
  request.set_kind(margay::wire::ControlRequest::STATUS);
  margay::transport::Socket* const sockets[] = {&*control};
  if (control->send(request, std::chrono::seconds(2)) &&
      margay::transport::wait_readable(sockets, std::chrono::seconds(5))) {
    const auto frame = control->try_receive();
    margay::wire::ControlReply reply;
    if (frame && reply.ParseFromString(frame->body)) {
      if (!reply.error().empty()) return unreachable({margay::ErrorCode::kUnavailable, reply.error()});
      if (as == StatusAs::kCheck) return check(reply.report());
      const std::string text = as == StatusAs::kJson ? margay::terminal::status_json(reply.report()) + "\n"
                                                     : margay::terminal::status_text(reply.report());
      std::fputs(text.c_str(), stdout);
      return 0;
    }
  }
  return unreachable(
      {margay::ErrorCode::kUnavailable, directory->path + ": the daemon of this run does not answer"});
}

int run(int argc, char** argv) {
  CLI::App app{
      "Margay watches a parallel job while it runs: it names the job's phases, flags the moments and places "
      "where the\n"
      "job is disturbed, and says who is likely to have caused it.\n\n"
      "  margay run -- mpirun -np 4 ./app      watch a job: phases and alerts as they happen, an archive at "
      "the end\n"
      "  margay watch                          the live view of it, in another terminal\n"
      "  margay status                         where every event went, and how the daemon is"};
  app.require_subcommand(1);
  app.set_version_flag("--version", MARGAY_VERSION);

  margay::app::RunRequest request;
  auto* run_app = app.add_subcommand("run",
                                     "Run a job under observation. The job's output, input and exit code are "
                                     "its own; what Margay has to say goes to\n"
                                     "stderr, each line beginning with 'margay: '. Works through mpirun, "
                                     "srun, scripts and Python (mpi4py); the probe\n"
                                     "is preloaded, nothing is compiled or linked.\n\n"
                                     "  margay run --slice 100ms --alerts alerts.jsonl --summary "
                                     "summary.json -- mpirun -np 4 lmp -in in.lj\n\n"
                                     "Exit code: the job's; 128 + N if signal N ended it; 127 if it was not "
                                     "found, 126 if it could not be run;\n"
                                     "2 if something is wrong with the options (the job was not started).");
  margay::app::add_common_flags(*run_app, request.flags);
  run_app->add_option(
      "--summary", request.summary,
      "file for the summary at the end (JSON): events produced and where each went, phases, alerts");
  run_app->add_option("--name", request.name, "name of the run (default: made of date and time)");
  run_app->add_flag("-q,--quiet", request.quiet, "say nothing but errors");
  run_app->add_option("command", request.command, "the job: everything after --")->required();
  run_app->positionals_at_end();

  std::string watch_run;
  bool exit_at_end = false;
  auto* watch_app = app.add_subcommand(
      "watch",
      "The live view of a run in this terminal: what every node does, the phases, the alerts. q leaves.");
  watch_app->add_option("run", watch_run, "the run (default: the newest)");
  watch_app->add_flag("--exit-at-end", exit_at_end, "leave when the run ends");

  std::string status_run;
  bool json = false, check_only = false;
  auto* status_app =
      app.add_subcommand("status",
                         "How a run stands: phases, open alerts, the account of every event, counters.\n"
                         "Exit code: 0; 3 if no such run is live; 1 if its daemon does not answer.\n"
                         "With --check: 0 healthy, 1 degraded, 2 not reachable.");
  status_app->add_option("run", status_run, "the run (default: the newest)");
  auto* json_flag = status_app->add_flag("--json", json, "for programs");
  status_app->add_flag("--check", check_only, "one line and an exit code, for scripts and monitoring")
      ->excludes(json_flag);

  auto* runs_app = app.add_subcommand("runs", "The names of the runs that are live, newest first.");
  std::string env_run;
  auto* env_app = app.add_subcommand(
      "env",
      "Shell lines that let the jobs of this shell report to a daemon started by hand (see margayd --help):\n"
      "  eval \"$(margay env night)\"");
  env_app->add_option("run", env_run, "the run (default: the newest)");
  auto* config_app = app.add_subcommand(
      "config", "Print the configuration file with every key, its default and its meaning.");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0
               ? 0
               : 2;  // --help and --version are no errors; CLI11 has a code for each kind of error
  }
  if (run_app->parsed()) return margay::app::run_command(request);
  if (watch_app->parsed()) {
    auto directory = choose_run(watch_run);
    if (!directory) return complain(directory.error());
    margay::terminal::WatchOptions options;
    options.dir = *directory;
    options.exit_at_end = exit_at_end;
    options.view = margay::terminal::view_for_terminal();
    return margay::terminal::watch(options);
  }
  if (status_app->parsed())
    return status(status_run, check_only ? StatusAs::kCheck : json ? StatusAs::kJson : StatusAs::kText);
  if (runs_app->parsed()) {
    for (const auto& r : margay::transport::list_runs()) std::puts(r.c_str());
    return 0;
  }
  if (env_app->parsed()) {
    auto directory = choose_run(env_run);
    if (!directory) return complain(directory.error());
    auto parts = margay::app::find_installation();
    if (!parts) return complain(parts.error());
    const std::string run = directory->path.substr(directory->path.rfind('/') + 1);
    // The agent ends with the shell that asked for it, once that shell's jobs are over.
    std::printf("'%s' --run-dir '%s' --run '%s' --owner-pid $$ </dev/null >/dev/null 2>&1 &\n",
                parts->node.c_str(), directory->path.c_str(), run.c_str());
    std::printf("export MARGAY_RUN_DIR='%s'\n", directory->path.c_str());
    std::printf("export LD_PRELOAD='%s'\"${LD_PRELOAD:+:$LD_PRELOAD}\"\n", parts->probe.c_str());
    return 0;
  }
  if (config_app->parsed()) {
    std::fputs(margay::config::default_text().c_str(), stdout);
    return 0;
  }
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  // Bad input is counted and told by ourselves; the library would write a line for every message.
  google::protobuf::SetLogHandler(nullptr);
  try {
    return run(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "margay: %s\n", e.what());
    return 1;
  }
}
