// `margay env`: a shell whose jobs report to a daemon that was started by hand.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "ask_daemon.h"
#include "command.h"
#include "margay/process/installation.h"
#include "margay/transport/local_user.h"
#include "run/preload.h"
#include "shell_words.h"

namespace margay::daemon {
namespace {

struct EnvRequest {
  std::string run;  // "": the newest
};

void add_env_command(CLI::App& command, EnvRequest& r) {
  command.description(
      R"page(Print shell lines after which the jobs of this shell report to a daemon started by hand (margayd
--help). They start a node agent and set two variables.

  eval "$(margay env night)")page");
  command.add_option("run", r.run, "name of the run (default: the newest)");
}

// Prints lines for a shell. The exit code: 0; 3 if no such run is live; 1 where a part of Margay is missing.
// What went wrong is said on stderr.
int env_command(const EnvRequest& r) {
  auto directory = choose_run(r.run);
  if (!directory) return say_error(directory.error());
  auto parts = process::find_installation();
  if (!parts) return say_error(parts.error());
  auto preload = Preload::prepare(parts->probe, directory->path);
  if (!preload) return say_error(preload.error());
  preload->keep();  // the shell's jobs are still to come
  const std::string run = directory->path.substr(directory->path.rfind('/') + 1);
  // The agent ends with the shell that asked for it, once that shell's jobs are over.
  std::printf("%s --run-dir %s --run %s --owner-pid $$ </dev/null >/dev/null 2>&1 &\n",
              shell_word(parts->node).c_str(), shell_word(directory->path).c_str(), shell_word(run).c_str());
  std::printf("export MARGAY_RUN_DIR=%s\n", shell_word(transport::shared_memory_of(*directory)).c_str());
  std::printf("export LD_PRELOAD=\"${LD_PRELOAD:+$LD_PRELOAD:}\"%s\n", shell_word(preload->path()).c_str());
  return 0;
}

}  // namespace

Declare declare_env() {
  return declare(add_env_command, env_command);
}

}  // namespace margay::daemon
