// The flags of `margay run`.
#include <CLI/CLI.hpp>

#include "add_flags.h"
#include "run_command.h"

namespace margay::daemon {

void add_run_command(CLI::App& command, RunRequest& r) {
  command.description(
      R"(Start a job and watch it. The job keeps its input, output and exit code; Margay writes to stderr,
and each of its lines begins with 'margay: '. Works with mpirun, srun, scripts and Python (mpi4py).
A probe is preloaded: nothing is compiled or linked into the program.

  margay run -- mpirun -np 4 ./app
  margay run --archive night.margay --alerts alerts.jsonl -- mpirun -np 4 lmp -in in.lj

Signals that `margay run` gets are passed on to the job; what was ignored or blocked stays so
(nohup).
Exit code: the job's; 128 + N if signal N ended it; 127 not found; 126 cannot be executed; 2 an
option is wrong (the job was not started).)");
  add_flags(command, common_flags(r.flags));
  command.add_option("--summary", r.summary, "write a summary (JSON) at the end: events, phases, alerts")
      ->type_name("FILE");
  command
      .add_option("--name", r.name,
                  "name of the run (default: date and time); NAME-2 if a run or its archive has it already")
      ->type_name("NAME");
  command
      .add_flag(
          "--gst-debug{*:6}", r.gst_debug,
          "for GStreamer programs: read their debug log live (functions are states, threads are resources); "
          "LEVELS as in GST_DEBUG, '*:6' by default, more with '*:7'")
      ->option_text("[=LEVELS]");
  command
      .add_flag("--lttng{none}", r.lttng,
                "trace the job with LTTng, live, in a session of its own; WHAT adds helpers for programs "
                "without trace points: pthread (mutexes), libc (malloc), dl, functions (built with "
                "-finstrument-functions)")
      ->option_text("[=WHAT,...]");
  command
      .add_option("--lttng-rules", r.lttng_rules,
                  "what LTTng events mean, and which to trace (collector/readers/lttng/rules/RULES.md)")
      ->type_name("FILE")
      ->allow_extra_args(false);
  command.add_flag("-q,--quiet", r.quiet, "print errors only");
  command.add_option("command", r.command, "the job: everything after --")->option_text("-- COMMAND ...");
  command.positionals_at_end();
}

}  // namespace margay::daemon
