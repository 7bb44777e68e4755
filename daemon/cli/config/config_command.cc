// `margay config`: the configuration file with every key explained; or, with --check, whether a file is
// right.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <optional>
#include <string>

#include "command.h"
#include "margay/settings/command_options.h"
#include "margay/settings/config.h"
#include "margay/text/text.h"

namespace margay::daemon {
namespace {

struct ConfigRequest {
  std::optional<std::string> check;  // file; nothing: print the defaults
};

constexpr std::size_t kLongestSentence = 2000;  // columns

// What no file tells alone: whether the programs and files that it names are there.
std::vector<std::string> problems_here(const std::string& path) {
  CommonFlags flags;
  flags.config = path;
  Options options;
  const Status applied = apply_flags(flags, options);
  if (applied) return {};
  std::string sentence = applied.error().message;
  if (sentence.starts_with(path + ": ")) sentence.erase(0, path.size() + 2);
  return {config::place_of(path, sentence.substr(0, sentence.find(':'))) + ": " + sentence};
}

void add_config_command(CLI::App& command, ConfigRequest& r) {
  command.description(
      R"(Print the configuration file with every key, its default and its meaning; or check a file.

  margay config >margay.toml              a file to begin with; keep only what differs
  margay config --check margay.toml       all errors in it, each with its line and key

Exit code: 0; 2 if the file has errors.)");
  command
      .add_option(
          "--check", r.check,
          "check this file and whether the commands, header files and certificates that it names exist; "
          "start nothing")
      ->type_name("FILE");
}

// The exit code: 0; 2 where the file is not right, and all that is wrong is said on stderr, one a line.
int config_command(const ConfigRequest& r) {
  if (!r.check) {
    std::fputs(config::default_text().c_str(), stdout);
    return 0;
  }
  const auto said = [](const std::string& text) { return text::printable(text, true, kLongestSentence); };
  std::vector<std::string> problems = config::problems_of(*r.check);
  if (problems.empty()) problems = problems_here(*r.check);
  for (const std::string& p : problems) std::fprintf(stderr, "margay: %s\n", said(p).c_str());
  if (!problems.empty()) return 2;
  std::printf("%s: ok\n", said(*r.check).c_str());
  return 0;
}

}  // namespace

Declare declare_config() {
  return declare(add_config_command, config_command);
}

}  // namespace margay::daemon
