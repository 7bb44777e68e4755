// What the program margay has of the commands, and knows of the others.
#include "command.h"

namespace margay::app {

#define COMMAND(name, about) Declare declare_##name();
#define ARCHIVE_COMMAND(name, about)
#include "commands.def"
#undef COMMAND
#undef ARCHIVE_COMMAND

std::vector<Command> commands() {
  return {
#define COMMAND(name, about) {#name, about, declare_##name()},
#define ARCHIVE_COMMAND(name, about) {#name, about, {}},
#include "commands.def"
  };
}

}  // namespace margay::app
