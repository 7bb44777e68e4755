// margayd: the daemon. `margay run` starts one per job; it can also be run by itself.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <google/protobuf/stubs/logging.h>
#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "command_options.h"
#include "pipeline.h"

namespace {

int run(int argc, char** argv) {
  CLI::App app{
      "margayd watches one run of a parallel job: it takes events from node agents, keeps the model and the "
      "archive,\n"
      "and publishes phases and alerts. `margay run -- COMMAND` starts one for you. By hand, apart from the "
      "job:\n\n"
      "  margayd --run night --archive /data/night &\n"
      "  eval \"$(margay env night)\"      # what the job needs: starts a node agent, sets two variables\n"
      "  mpirun -np 4 ./app\n\n"
      "SIGTERM ends it in order; started again with the same --run and --archive it takes up where it left "
      "off."};
  margay::app::Options options;
  margay::app::CommonFlags flags;
  margay::app::add_common_flags(app, flags);
  app.add_option("--run", options.run, "name of the run: letters, digits, '-', '_'")->required();
  app.add_option("--command", options.command, "the job's command line, for people");
  app.add_option("--owner-pid", options.owner_pid,
                 "end by itself when this process has gone and nothing is left to watch");
  app.add_option("--restarts", options.restarts, "how often the owner had to restart this daemon");
  app.set_version_flag("--version", MARGAY_VERSION);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  if (auto ok = margay::app::apply_flags(flags, options); !ok) {
    std::fprintf(stderr, "margayd: %s\n", ok.error().message.c_str());
    return 2;
  }
  auto directory = margay::transport::make_run_directory(options.run);
  if (!directory) {
    std::fprintf(stderr, "margayd: %s\n", directory.error().message.c_str());
    return 1;
  }
  options.directory = *directory;
  if (options.archive.empty()) options.archive = "margay-" + options.run;

  // Signals are taken as events by this thread; the others must not see them.
  sigset_t set;
  sigemptyset(&set);
  for (const int s : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaddset(&set, s);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);

  auto pipeline = margay::app::Pipeline::start(options);
  if (!pipeline) {
    std::fprintf(stderr, "margayd: %s\n", pipeline.error().message.c_str());
    return 1;
  }
  for (const std::string& line : (*pipeline)->listening())
    std::fprintf(stderr, "margayd: %s\n", line.c_str());
  timespec tick{0, 100'000'000};
  while (!(*pipeline)->stopped()) {
    siginfo_t info;
    if (sigtimedwait(&set, &info, &tick) > 0) (*pipeline)->request_stop();
  }
  (*pipeline)->wait();
  pipeline->reset();
  if (options.owner_pid > 0 && kill(options.owner_pid, 0) != 0 && errno == ESRCH) {
    // `margay run` was killed: what it would have done at the end is left to us.
    std::error_code ec;
    std::filesystem::copy_file(options.directory.path + "/log", options.archive + "/log",
                               std::filesystem::copy_options::overwrite_existing, ec);
    margay::transport::remove_run_directory(options.directory);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  // Bad input is counted and told by ourselves; the library would write a line for every message.
  google::protobuf::SetLogHandler(nullptr);
  try {
    return run(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "margayd: %s\n", e.what());
    return 1;
  }
}
