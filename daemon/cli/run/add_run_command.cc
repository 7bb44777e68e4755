// The flags of `margay run`.
#include <CLI/CLI.hpp>

#include "add_flags.h"
#include "run_command.h"

namespace margay::app {

void add_run_command(CLI::App& command, RunRequest& r) {
  command.description(
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
  add_flags(command, common_flags(r.flags));
  command.add_option(
      "--summary", r.summary,
      "file for the summary at the end (JSON): events produced and where each went, phases, alerts");
  command.add_option("--name", r.name,
                     "name of the run (default: made of date and time); one that another run has, "
                     "or its archive, becomes NAME-2");
  command.add_flag("--gst-debug{*:6}", r.gst_debug,
                   "the job is, or starts, GStreamer programs: read their debug log live; functions are "
                   "states, threads are "
                   "resources.\n--gst-debug='*:7' tells more (GST_DEBUG goes before, if it is set)");
  command.add_flag("--lttng{none}", r.lttng,
                   "trace the job with LTTng, live: its own session, made before the job starts. "
                   "--lttng=pthread,libc instruments\n"
                   "programs that are not: pthread (mutexes), libc (malloc), functions (built with "
                   "-finstrument-functions), dl");
  command
      .add_option("--lttng-rules", r.lttng_rules,
                  "file of rules that say what events mean (collector/readers/lttng/rules/RULES.md); these "
                  "are traced, too")
      ->allow_extra_args(false);
  command.add_flag("-q,--quiet", r.quiet, "say nothing but errors");
  command.add_option("command", r.command, "the job: everything after --")->option_text("-- COMMAND ...");
  command.positionals_at_end();
}

}  // namespace margay::app
