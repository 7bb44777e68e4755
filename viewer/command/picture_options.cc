#include "margay/command/picture_options.h"

#include <CLI/CLI.hpp>

namespace margay::command {

void add_picture_options(CLI::App& app, PictureOptions& o) {
  app.add_option("what", o.what,
                 "a run's name, the directory of an archive, or example: the one that is shipped (default: "
                 "the newest run here)");
  auto* connect =
      app.add_option("--connect", o.connect, "the control endpoint of a daemon elsewhere: tcp://HOST:PORT");
  app.add_option("--key", o.key, "the key file for it (margay keys)")->needs(connect);
  app.add_option("--size", o.size, "of the window or the picture, pixels: WIDTHxHEIGHT")
      ->capture_default_str();
  app.add_option("--from", o.from, "begin of what is looked at, since the run's: 12, 1min");
  app.add_option("--to", o.to, "and its end");
  app.add_option("--node", o.node, "of the hierarchy: /node7");
  app.add_option("--slices", o.slices, "into how many slices it is cut (default: as many as are useful)")
      ->check(CLI::Range(0, 256));
  app.add_option("--p", o.p, "gain/loss ratio, 0 to 1");
  app.add_option("--policy", o.policy, "that chooses p: noise, jump")
      ->check(CLI::IsMember({"noise", "jump"}));
  app.add_flag("--dark", o.dark, "light on dark");
}

std::vector<std::string> arguments_of(const PictureOptions& o) {
  // With '=': a value that begins with '-' stays one.
  std::vector<std::string> out;
  const auto add = [&](const char* option, const std::string& value, const std::string& usual) {
    if (value != usual) out.push_back(std::string(option) + "=" + value);
  };
  add("--connect", o.connect, "");
  add("--key", o.key, "");
  add("--size", o.size, PictureOptions().size);
  add("--from", o.from, "");
  add("--to", o.to, "");
  add("--node", o.node, "");
  add("--slices", std::to_string(o.slices), "0");
  add("--p", o.p, "");
  add("--policy", o.policy, "");
  if (o.dark) out.emplace_back("--dark");
  if (!o.what.empty()) out.insert(out.end(), {"--", o.what});
  return out;
}

}  // namespace margay::command
