// What the program margay has of the commands, and knows of the others.
#include "command.h"

#include "config/config_command.h"
#include "env/env_command.h"
#include "finish/finish_command.h"
#include "keys/keys_command.h"
#include "run/run_command.h"
#include "runs/runs_command.h"
#include "status/status_command.h"
#include "watch/watch_command.h"

namespace margay::app {

std::vector<Command> commands() {
  return {
#define COMMAND(name, about) command(#name, about, add_##name##_command, name##_command),
#define ARCHIVE_COMMAND(name, about) {#name, about, {}},
#include "commands.def"
  };
}

}  // namespace margay::app
