// What the program margay-archive has of the commands.
#include "command.h"

namespace margay::daemon {

#define ARCHIVE_COMMAND(name, about) Declare declare_##name();
#include "commands.def"

std::vector<Command> commands() {
  return {
#define ARCHIVE_COMMAND(name, about) {#name, about, declare_##name(), ""},
#include "commands.def"
  };
}

}  // namespace margay::daemon
