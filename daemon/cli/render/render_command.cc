// `margay render`: a picture of a run, made by margay-viewer, which lies beside this program where Qt was
// there when Margay was built.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "command.h"
#include "margay/command/picture_options.h"
#include "margay/process/installation.h"

namespace margay::daemon {
namespace {

struct RenderRequest {
  command::PictureOptions picture;
  std::string file;  // .png, .svg or .csv
};

int complain(const std::string& sentence) {
  std::fprintf(stderr, "margay: %s\n", sentence.c_str());
  return 2;
}

void add_render_command(CLI::App& command, RenderRequest& r) {
  command.description(
      R"(Write a picture of a run, an archive or a model, as the viewer shows it (no display is needed): the
optimal partition over time and hierarchy, phases, alerts, time in each state. An archive is drawn
whole, a running job with its newest slices.

  margay render example -o example.png                   the archive that is shipped
  margay render night.margay -o night.svg                for print; .csv: the numbers as a table
  margay render night.margay -o a.png --from 90 --to 3min --node /node7    a part of it
  margay render night.margay -o curve.png --picture curve      which p there are, what each keeps
  margay render night.margay -o bars.csv --picture bars        each state's time, over time
  margay render model.csv -o model.png --dark --size 3840x2160    what margay partition reads

Exit code: 0; 1 if the input cannot be read or the file cannot be written; 2 if the call is wrong,
or the viewer is not installed.)");
  command::add_picture_options(command, r.picture);
  command.add_option("-o,--output", r.file, "the file; its ending says what: .png, .svg, .csv")
      ->type_name("FILE")
      ->required();
}

// Becomes margay-viewer; returns only where that cannot be: 2, and the reason on stderr.
int render_command(const RenderRequest& r) {
  const auto viewer = process::find_program("bin/margay-viewer");
  if (!viewer)
    return complain("margay-viewer makes the pictures: " + viewer.error().message +
                    "; it is built and installed where Qt 6 is there (Debian: qt6-base-dev, qt6-svg-dev)");
  std::vector<std::string> arguments{"margay render", "--render=" + r.file};
  for (std::string& a : command::arguments_of(r.picture)) arguments.push_back(std::move(a));
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (std::string& a : arguments) argv.push_back(a.data());
  argv.push_back(nullptr);
  ::execv(viewer->c_str(), argv.data());
  return complain(*viewer + ": " + std::strerror(errno));
}

}  // namespace

Declare declare_render() {
  return declare(add_render_command, render_command);
}

}  // namespace margay::daemon
