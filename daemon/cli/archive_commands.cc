// What the program margay-archive has of the commands.
#include "command.h"

#include "alerts/alerts_command.h"
#include "archive/archive_command.h"
#include "export/export_command.h"
#include "import/import_command.h"
#include "partition/partition_command.h"
#include "render/render_command.h"
#include "replay/replay_command.h"

namespace margay::app {

std::vector<Command> commands() {
  return {
#define ARCHIVE_COMMAND(name, about) command(#name, about, add_##name##_command, name##_command),
#define COMMAND(name, about)
#include "commands.def"
  };
}

}  // namespace margay::app
