// `margay render`: a picture of a run, made by margay-viewer, which lies beside this program where Qt was
// there when Margay was built.
#pragma once

#include <string>

#include "margay/command/picture_options.h"

namespace CLI {
class App;
}

namespace margay::app {

struct RenderRequest {
  command::PictureOptions picture;
  std::string file;  // .png, .svg or .csv
};
void add_render_command(CLI::App& command, RenderRequest& request);
// Becomes margay-viewer; returns only where that cannot be: 2, and the reason on stderr.
int render_command(const RenderRequest& request);

}  // namespace margay::app
