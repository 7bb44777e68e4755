#include "margay/command/picture_options.h"

#include <CLI/CLI.hpp>

namespace margay::command {

const std::vector<PictureName>& picture_names() {
  static const std::vector<PictureName> kNames = {
#define MARGAY_PICTURE(name, help) {#name, help},
#include "margay/command/pictures.def"
#undef MARGAY_PICTURE
  };
  return kNames;
}

void add_picture_options(CLI::App& app, PictureOptions& o) {
  app.add_option("what", o.what,
                 "a run's name, an archive, 'example' (shipped), model.csv, or a link "
                 "(margay://night#t=14.9-15.1) (default: the newest run here)");
  auto* connect = app.add_option("--connect", o.connect,
                                 "a daemon on another machine: its listen.control, e.g. tcp://head:7413")
                      ->type_name("URL");
  app.add_option("--key", o.key, "key file for --connect (margay keys add)")
      ->type_name("FILE")
      ->needs(connect);
  app.add_option("--size", o.size, "size of the window or picture in pixels (default: 1280x720)")
      ->type_name("WIDTHxHEIGHT");
  app.add_option("--from", o.from, "begin of the range: since the run's begin (12, 1min), or 12:38:05")
      ->type_name("TIME");
  app.add_option("--to", o.to, "end of the time range")->type_name("TIME");
  app.add_option("--node", o.node, "only this node of the hierarchy, e.g. /node7")->type_name("NODE");
  app.add_option("--view", o.view, "another hierarchy: host/core, 'rank mod 8', group@FILE (margay views)")
      ->type_name("VIEW");
  app.add_option("--state", o.states,
                 "only this state, and others given so: a name, 'MPI_*', family:wait, "
                 "'!MPI_Wait' (all but that); others count as time that is not shown")
      ->type_name("NAME")
      ->allow_extra_args(false);
  app.add_option("--resource", o.resources,
                 "only these, with all below: '/node1/*', '*rank6', '!/node2' (not it)")
      ->type_name("NAME")
      ->allow_extra_args(false);
  app.add_flag("--rest", o.of_the_rest, "shares are of the rest: what these leave out counts nowhere");
  app.add_option("--slices", o.slices,
                 "number of slices of the range, at most 1000 (default: 0, as many as fit)")
      ->type_name("NUMBER")
      ->check(CLI::Range(0, 1000));
  app.add_option("--p", o.p, "gain/loss ratio, 0 (all details) to 1 (one part)")->type_name("P");
  app.add_option("--policy", o.policy, "how p is chosen: noise or jump (margay partition --help)")
      ->type_name("POLICY")
      ->check(CLI::IsMember({"noise", "jump"}));
  app.add_option("--operator", o.measure,
                 "duration (default), occurrences, bytes, messages, length, or of a variable mean:NAME, "
                 "max:NAME, rate:NAME")
      ->type_name("WORD");
  app.add_option("--cut", o.cuts,
                 "spatiotemporal (default: in space and time at once), spatial (nodes only, all time) or "
                 "product (in space only times in time only)")
      ->type_name("WORD")
      ->check(CLI::IsMember({"spatiotemporal", "spatial", "product"}));
  std::vector<std::string> names;
  std::string help;
  for (const PictureName& picture : picture_names()) {
    names.emplace_back(picture.name);
    help += (help.empty() ? "" : "; ") + names.back() + ": " + std::string(picture.help);
  }
  app.add_option("--picture", o.picture, help + " (default: overview; the window has single calls of few)")
      ->type_name("KIND")
      ->check(CLI::IsMember(names));
  app.add_option("--threshold", o.threshold,
                 "smaller parts are drawn as one, 1 to 64 (default: 3, or as last)")
      ->type_name("PIXELS")
      ->check(CLI::Range(1, 64));
  app.add_flag("--clock", o.clock, "times of day, in the time zone here, not since the begin of the run");
  app.add_option("--unit", o.unit, "unit of the time axis: auto (default), h, min, s, ms, us")
      ->type_name("UNIT")
      ->check(CLI::IsMember({"auto", "h", "min", "s", "ms", "us"}));
  app.add_flag("--dark", o.dark, "light lines on a dark ground");
  app.add_option(
         "--colours", o.colours,
         "palette: okabe-ito or tol, which colour-blind people see as well (default: okabe-ito; in the "
         "window the one last chosen)")
      ->type_name("PALETTE")
      ->check(CLI::IsMember({"okabe-ito", "tol"}));
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
  add("--view", o.view, "");
  add("--slices", std::to_string(o.slices), "0");
  add("--p", o.p, "");
  add("--policy", o.policy, "");
  add("--operator", o.measure, "");
  add("--cut", o.cuts, "");
  add("--picture", o.picture, "");
  add("--unit", o.unit, "");
  add("--colours", o.colours, "");
  add("--threshold", std::to_string(o.threshold), "0");
  for (const std::string& state : o.states) out.push_back("--state=" + state);
  for (const std::string& resource : o.resources) out.push_back("--resource=" + resource);
  if (o.of_the_rest) out.emplace_back("--rest");
  if (o.clock) out.emplace_back("--clock");
  if (o.dark) out.emplace_back("--dark");
  if (!o.what.empty()) out.insert(out.end(), {"--", o.what});
  return out;
}

}  // namespace margay::command
