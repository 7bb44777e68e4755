// The programs margay, margay-watch and margay-archive (command.h).
#include <unistd.h>

#include <google/protobuf/stubs/logging.h>
#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>

#include "command.h"
#include "margay/process/installation.h"
#include "margay/text/help_page.h"

namespace {

// The page of `margay --help`: a line for each command, whose own page has the rest.
std::string about(const std::vector<margay::daemon::Command>& commands) {
  std::string page =
      R"(Margay watches a parallel job while it runs: it names the job's phases, shows when and where the job
is disturbed, and names the likely cause.

  margay run -- mpirun -np 4 ./app      watch a job
  margay run --help                     one command explained; each has such a page

Commands:
)";
  for (const margay::daemon::Command& c : commands) {
    std::string line = "  " + c.name;
    line.resize(14, ' ');
    page += line + c.about + "\n";
  }
  page.pop_back();
  return page;
}

// Another program in this one's place. Comes back only where that fails.
int become(const std::string& program, char** argv) {
  const auto path = margay::process::find_helper(program);
  if (!path) {
    std::fprintf(stderr,
                 "margay: '%s' needs the program %s: %s. config/try builds it after the first look; else "
                 "build or install all of Margay.\n",
                 argv[1], program.c_str(), path.error().message.c_str());
    return 1;
  }
  ::execv(path->c_str(), argv);
  std::fprintf(stderr, "margay: %s: %s\n", path->c_str(), std::strerror(errno));
  return 1;
}

// What is wrong with the command line, and where to read on. CLI11 has a code for each kind of error: ours
// is 2.
int complain(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* at = &app;
  std::string command = "margay";
  for (auto given = at->get_subcommands(); !given.empty(); given = at->get_subcommands()) {
    at = given[0];
    command += " " + at->get_name();
  }
  const bool wants_command = at->get_require_subcommand_min() > 0;
  const std::vector<std::string> words = at->remaining();
  std::string what = error.what();
  if (!words.empty() && (words[0][0] == '-' || !wants_command)) {
    what = "unexpected:";
    for (const std::string& word : words) what += " " + word;
  } else if (wants_command) {
    what = words.empty() ? "no command was given" : "there is no command '" + words[0] + "'";
  }
  std::fprintf(stderr, "%s: %s; %s --help lists %s\n", command.c_str(), what.c_str(), command.c_str(),
               wants_command ? "them" : "what it takes");
  return 2;
}

int run(int argc, char** argv) {
  const std::vector<margay::daemon::Command> commands = margay::daemon::commands();
  for (const margay::daemon::Command& c : commands)
    if (argc > 1 && !c.declare && c.name == argv[1]) return become(c.program, argv);
  CLI::App app{about(commands), "margay"};
  margay::text::use_help_page(app);
  app.require_subcommand(1);
  app.set_version_flag("--version", MARGAY_VERSION, "the version");
  std::vector<std::function<int()>> runs;
  for (const margay::daemon::Command& c : commands) {
    CLI::App* const command = app.add_subcommand(c.name);
    runs.push_back(c.declare ? c.declare(*command) : nullptr);
    command->group("");  // the page has them
  }

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);  // --help, --version
    return complain(app, e);
  }
  for (std::size_t i = 0; i < commands.size(); ++i)
    if (app.get_subcommand(commands[i].name)->parsed()) return runs[i]();
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  // Bad input is counted and told by ourselves; the library would write a line for every message.
  google::protobuf::SetLogHandler(nullptr);
  int code = 1;
  try {
    code = run(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "margay: %s\n", e.what());
  }
  // What we hold is given back by now; what libraries do at the end of a process is theirs, and with a
  // sanitizer's runtime preloaded by the user one of them (p11-kit) waits for ever.
  std::fflush(nullptr);
  std::cout.flush();
  _exit(code);
}
