// What the program margay has of the commands, and knows of the others.
#include "command.h"

namespace margay::daemon {

#define COMMAND(name, about) Declare declare_##name();
#include "commands.def"

std::vector<Command> commands() {
  return {
#define COMMAND(name, about) {#name, about, declare_##name(), ""},
#define WATCH_COMMAND(name, about) {#name, about, {}, "margay-watch"},
#define ARCHIVE_COMMAND(name, about) {#name, about, {}, "margay-archive"},
#include "commands.def"
  };
}

}  // namespace margay::daemon
