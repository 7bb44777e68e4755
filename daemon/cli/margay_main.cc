// margay: the command.
#include <unistd.h>

#include <google/protobuf/stubs/logging.h>
#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <string>

#include "add_flags.h"
#include "alerts/alerts_command.h"
#include "archive/archive_command.h"
#include "ask_daemon.h"
#include "config/config_command.h"
#include "export/export_command.h"
#include "import/import_command.h"
#include "keys/keys_command.h"
#include "margay/process/installation.h"
#include "margay/settings/command_options.h"
#include "margay/terminal/status.h"
#include "margay/terminal/watch.h"
#include "margay/text/text.h"
#include "margay/transport/local_user.h"
#include "margay/wire/columns.h"
#include "partition/partition_command.h"
#include "render/render_command.h"
#include "replay/replay_command.h"
#include "run/preload.h"
#include "run/run_command.h"
#include "shell_words.h"

namespace {

using margay::app::add_where;
using margay::app::ask;
using margay::app::choose_run;
using margay::app::Where;

// An error may come from a daemon on another machine, and names from a file.
int complain(const margay::Error& error) {
  std::fprintf(stderr, "margay: %s\n", margay::terminal::printable(error.message, true, 2000).c_str());
  return error.code == margay::ErrorCode::kNotFound ? 3 : 1;
}

enum class StatusAs { kText, kJson, kCheck };

// For scripts and monitoring: 0 healthy, 1 degraded, 2 not reachable, and one line that says so.
int check(const margay::wire::Report& report) {
  const auto& h = report.health();
  const bool healthy = h.state() == margay::wire::Health::HEALTHY;
  const std::string sentence =
      h.verdict().empty() ? "degraded: the daemon gives no verdict yet" : h.verdict();
  std::printf("%s: %s\n", margay::terminal::printable(report.run(), true, 200).c_str(),
              margay::terminal::printable(sentence, true, 1000).c_str());
  return healthy ? 0 : 1;
}

int status(const Where& where, StatusAs as) {
  margay::wire::ControlRequest request;
  request.set_version(margay::wire::kWireVersion);
  request.set_kind(margay::wire::ControlRequest::STATUS);
  const auto reply = ask(where, request, margay::seconds(7));
  if (!reply) {
    const int code = complain(reply.error());
    return as == StatusAs::kCheck ? 2 : code;
  }
  if (as == StatusAs::kCheck) return check(reply->report());
  const std::string text = as == StatusAs::kJson ? margay::terminal::status_json(reply->report()) + "\n"
                                                 : margay::terminal::status_text(reply->report());
  std::fputs(text.c_str(), stdout);
  return 0;
}

int finish(const Where& where) {
  margay::wire::ControlRequest request;
  request.set_version(margay::wire::kWireVersion);
  request.set_kind(margay::wire::ControlRequest::FINISH);
  request.set_timeout_ns(margay::seconds(10).value);
  const auto reply = ask(where, request, margay::seconds(40));
  if (!reply) return complain(reply.error());
  std::printf("%s\n", reply->summary_json().c_str());
  return 0;
}

int run(int argc, char** argv) {
  CLI::App app{
      "Margay watches a parallel job while it runs: it names the job's phases, flags the moments and places "
      "where the\n"
      "job is disturbed, and says who is likely to have caused it.\n\n"
      "  margay run -- mpirun -np 4 ./app      watch a job: phases and alerts as they happen, an archive at "
      "the end\n"
      "  margay watch                          the live view of it, in another terminal\n"
      "  margay status                         where every event went, and how the daemon is\n"
      "  margay alerts ls                      what disturbed runs that were watched, and are\n"
      "  margay archive ls                     what is kept of runs that were watched\n"
      "  margay replay margay-RUN              phases and alerts again, from an archive; what if, too\n"
      "  margay render example -o example.png  a picture of a run, an archive, the example that is shipped\n"
      "  margay export night.margay --format paje  what an archive holds, for other programs\n"
      "  margay import lu.trace --archive lu   an archive of another tool's trace\n"
      "  margay partition night.margay         the optimal partition of any stretch of one, or of a model in "
      "a file"};
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
                                     "The job gets the signals that are sent to `margay run`, with "
                                     "everything ignored or blocked as it was (nohup works).\n\n"
                                     "Exit code: the job's; 128 + N if signal N ended it; 127 if it was not "
                                     "found, 126 if it could not be run;\n"
                                     "2 if something is wrong with the options (the job was not started).");
  margay::app::add_flags(*run_app, margay::app::common_flags(request.flags));
  run_app->add_option(
      "--summary", request.summary,
      "file for the summary at the end (JSON): events produced and where each went, phases, alerts");
  run_app->add_option("--name", request.name,
                      "name of the run (default: made of date and time); one that another run has, "
                      "or its archive, becomes NAME-2");
  run_app->add_flag("--gst-debug{*:6}", request.gst_debug,
                    "the job is, or starts, GStreamer programs: read their debug log live; functions are "
                    "states, threads are "
                    "resources.\n--gst-debug='*:7' tells more (GST_DEBUG goes before, if it is set)");
  run_app->add_flag("--lttng{none}", request.lttng,
                    "trace the job with LTTng, live: its own session, made before the job starts. "
                    "--lttng=pthread,libc instruments\n"
                    "programs that are not: pthread (mutexes), libc (malloc), functions (built with "
                    "-finstrument-functions), dl");
  run_app
      ->add_option("--lttng-rules", request.lttng_rules,
                   "file of rules that say what events mean (collector/readers/lttng/rules/RULES.md); these "
                   "are traced, too")
      ->allow_extra_args(false);
  run_app->add_flag("-q,--quiet", request.quiet, "say nothing but errors");
  run_app->add_option("command", request.command, "the job: everything after --")->required();
  run_app->positionals_at_end();

  Where watch_where;
  bool exit_at_end = false;
  auto* watch_app = app.add_subcommand(
      "watch",
      "The live view of a run in this terminal: what every node does, the phases, the alerts. q leaves.");
  add_where(*watch_app, watch_where);
  watch_app->add_flag("--exit-at-end", exit_at_end, "leave when the run ends");

  Where status_where, finish_where;
  bool json = false, check_only = false;
  auto* status_app =
      app.add_subcommand("status",
                         "How a run stands: phases, open alerts, the account of every event, counters.\n"
                         "Exit code: 0; 3 if no such run is live; 1 if its daemon does not answer.\n"
                         "With --check: 0 healthy, 1 degraded, 2 not reachable.");
  add_where(*status_app, status_where);
  auto* json_flag = status_app->add_flag("--json", json, "for programs");
  status_app->add_flag("--check", check_only, "one line and an exit code, for scripts and monitoring")
      ->excludes(json_flag);

  auto* finish_app =
      app.add_subcommand("finish",
                         "End a run whose daemon was started by hand: what is left is taken, the "
                         "archive closed, the summary printed\n(JSON). Then the daemon may be ended.");
  add_where(*finish_app, finish_where);
  margay::app::KeysRequest keys_request;
  margay::app::add_keys_command(app, keys_request);
  auto* keys_app = app.get_subcommand("keys");

  margay::app::PartitionRequest partition_request;
  margay::app::add_partition_command(app, partition_request);
  auto* partition_app = app.get_subcommand("partition");

  margay::app::AlertsRequest alerts_request;
  margay::app::add_alerts_command(app, alerts_request);
  auto* alerts_app = app.get_subcommand("alerts");

  margay::app::ArchiveRequest archive_request;
  margay::app::add_archive_command(app, archive_request);
  auto* archive_app = app.get_subcommand("archive");

  margay::app::ReplayRequest replay_request;
  margay::app::add_replay_command(app, replay_request);
  auto* replay_app = app.get_subcommand("replay");
  margay::app::RenderRequest render_request;
  margay::app::add_render_command(app, render_request);
  auto* render_app = app.get_subcommand("render");
  margay::app::ExportRequest export_request;
  margay::app::add_export_command(app, export_request);
  auto* export_app = app.get_subcommand("export");
  margay::app::ImportRequest import_request;
  margay::app::add_import_command(app, import_request);
  auto* import_app = app.get_subcommand("import");

  auto* runs_app = app.add_subcommand("runs", "The names of the runs that are live, newest first.");
  margay::app::add_trust_user(*runs_app);
  std::string env_run;
  auto* env_app = app.add_subcommand(
      "env",
      "Shell lines that let the jobs of this shell report to a daemon started by hand (see margayd --help):\n"
      "  eval \"$(margay env night)\"");
  env_app->add_option("run", env_run, "the run (default: the newest)");
  margay::app::ConfigRequest config_request;
  margay::app::add_config_command(app, config_request);
  auto* config_app = app.get_subcommand("config");

  try {
    app.parse(argc, argv);
  } catch (const CLI::RequiredError& e) {
    // What CLI11 says of these two is true, and helps nobody.
    const std::string first = argc > 1 ? argv[1] : "";
    if (run_app->parsed() && request.command.empty())
      std::fputs("margay: no job was given; e.g. margay run -- mpirun -np 4 ./your-program\n", stderr);
    else if (app.get_subcommands().empty() && !first.empty() && first[0] != '-')
      std::fprintf(stderr, "margay: '%s' is none of its commands; margay --help lists them\n", first.c_str());
    else
      app.exit(e);
    return 2;
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0
               ? 0
               : 2;  // --help and --version are no errors; CLI11 has a code for each kind of error
  }
  if (run_app->parsed()) return margay::app::run_command(request);
  if (watch_app->parsed()) {
    margay::terminal::WatchOptions options;
    options.connect = watch_where.endpoint;
    options.key = watch_where.key;
    if (options.connect.empty()) {
      auto directory = choose_run(watch_where.run);
      if (!directory) return complain(directory.error());
      options.dir = *directory;
    }
    options.exit_at_end = exit_at_end;
    options.view = margay::terminal::view_for_terminal();
    return margay::terminal::watch(options);
  }
  if (status_app->parsed())
    return status(status_where, check_only ? StatusAs::kCheck : json ? StatusAs::kJson : StatusAs::kText);
  if (finish_app->parsed()) return finish(finish_where);
  if (keys_app->parsed()) return margay::app::keys_command(keys_request);
  if (partition_app->parsed()) return margay::app::partition_command(partition_request);
  if (alerts_app->parsed()) return margay::app::alerts_command(alerts_request);
  if (archive_app->parsed()) return margay::app::archive_command(archive_request);
  if (replay_app->parsed()) return margay::app::replay_command(replay_request);
  if (render_app->parsed()) return margay::app::render_command(render_request);
  if (export_app->parsed()) return margay::app::export_command(export_request);
  if (import_app->parsed()) return margay::app::import_command(import_request);
  if (runs_app->parsed()) {
    for (const auto& r : margay::transport::list_runs())
      std::puts(margay::terminal::printable(r, true, 300).c_str());
    return 0;
  }
  if (env_app->parsed()) {
    auto directory = choose_run(env_run);
    if (!directory) return complain(directory.error());
    auto parts = margay::app::find_installation();
    if (!parts) return complain(parts.error());
    auto preload = margay::app::Preload::prepare(parts->probe, directory->path);
    if (!preload) return complain(preload.error());
    preload->keep();  // the shell's jobs are still to come
    const std::string run = directory->path.substr(directory->path.rfind('/') + 1);
    using margay::app::shell_word;
    // The agent ends with the shell that asked for it, once that shell's jobs are over.
    std::printf("%s --run-dir %s --run %s --owner-pid $$ </dev/null >/dev/null 2>&1 &\n",
                shell_word(parts->node).c_str(), shell_word(directory->path).c_str(),
                shell_word(run).c_str());
    std::printf("export MARGAY_RUN_DIR=%s\n",
                shell_word(margay::transport::shared_memory_of(*directory)).c_str());
    std::printf("export LD_PRELOAD=\"${LD_PRELOAD:+$LD_PRELOAD:}\"%s\n", shell_word(preload->path()).c_str());
    return 0;
  }
  if (config_app->parsed()) return margay::app::config_command(config_request);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  // Bad input is counted and told by ourselves; the library would write a line for every message.
  google::protobuf::SetLogHandler(nullptr);
  int code = 1;
  try {
    code = run(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "margay: %s\n", e.what());
  }
  // What we hold is given back by now; what libraries do at the end of a process is theirs, and with a
  // sanitizer's runtime preloaded by the user one of them (p11-kit) waits for ever.
  std::fflush(nullptr);
  std::cout.flush();
  _exit(code);
}
