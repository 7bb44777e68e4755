// The commands of `margay`: a line each.
#include "command.h"

#include "alerts/alerts_command.h"
#include "archive/archive_command.h"
#include "config/config_command.h"
#include "env/env_command.h"
#include "export/export_command.h"
#include "finish/finish_command.h"
#include "import/import_command.h"
#include "keys/keys_command.h"
#include "partition/partition_command.h"
#include "render/render_command.h"
#include "replay/replay_command.h"
#include "run/run_command.h"
#include "runs/runs_command.h"
#include "status/status_command.h"
#include "watch/watch_command.h"

namespace margay::app {

std::vector<Command> commands() {
  return {
      command("run", "watch a job: phases and alerts as they happen, an archive at the end", add_run_command,
              run_command),
      command("watch", "the live view of it, in another terminal", add_watch_command, watch_command),
      command("status", "where every event went, and how the daemon is", add_status_command, status_command),
      command("alerts", "what disturbed runs that were watched, and are", add_alerts_command, alerts_command),
      command("archive", "what is kept of runs that were watched", add_archive_command, archive_command),
      command("replay", "phases and alerts again, from an archive; what if, too", add_replay_command,
              replay_command),
      command("render", "a picture of a run, an archive, the example that is shipped", add_render_command,
              render_command),
      command("partition", "the optimal partition of any stretch of a run, or of a model in a file",
              add_partition_command, partition_command),
      command("import", "make an archive of another tool's trace", add_import_command, import_command),
      command("export", "what an archive holds, for other programs", add_export_command, export_command),
      command("config", "every key of the configuration, explained; check a file", add_config_command,
              config_command),
      command("keys", "who may reach a daemon from other machines", add_keys_command, keys_command),
      command("runs", "the names of the runs that are live, newest first", add_runs_command, runs_command),
      command("env", "lines for a shell whose jobs report to a daemon started by hand", add_env_command,
              env_command),
      command("finish", "end a run whose daemon was started by hand", add_finish_command, finish_command),
  };
}

}  // namespace margay::app
