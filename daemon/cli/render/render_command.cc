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

namespace margay::app {
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
      "A picture of a run or an archive, as the viewer shows it, without a display: the optimal partition "
      "over time\n"
      "and hierarchy, phases, alerts, proportions of states. Of an archive all of it, of a run its newest "
      "slices.\n\n"
      "  margay render example -o example.png                   the archive that is shipped\n"
      "  margay render night.margay -o night.svg                to be printed; .csv has the parts as a "
      "table\n"
      "  margay render night.margay -o a.png --from 90 --to 3min --node /node7    a part of it\n"
      "  margay render -o now.png --dark --size 3840x2160       the newest run here\n\n"
      "Exit code: 0; 1 if what is to be shown cannot be read, or the file not be written; 2 for a wrong "
      "call, or where\n"
      "the viewer was not installed.");
  command::add_picture_options(command, r.picture);
  command.add_option("-o,--output", r.file, "the file, by its ending: .png, .svg, .csv")->required();
}

// Becomes margay-viewer; returns only where that cannot be: 2, and the reason on stderr.
int render_command(const RenderRequest& r) {
  const auto viewer = find_program("bin/margay-viewer");
  if (!viewer)
    return complain("margay-viewer makes the pictures: " + viewer.error().message +
                    "; it is built and installed where Qt 6 is there (Debian: qt6-base-dev, qt6-svg-dev)");
  std::vector<std::string> arguments{"margay render", "--render=" + r.file};
  for (std::string& a : command::arguments_of(r.picture)) arguments.push_back(std::move(a));
  std::vector<char*> argv;
  for (std::string& a : arguments) argv.push_back(a.data());
  argv.push_back(nullptr);
  ::execv(viewer->c_str(), argv.data());
  return complain(*viewer + ": " + std::strerror(errno));
}

}  // namespace

Declare declare_render() {
  return declare(add_render_command, render_command);
}

}  // namespace margay::app
