// What a picture is of, as options: `margay render` takes them and hands them on to margay-viewer, which
// takes the same.
//
// Thread safety: values. Cost: none worth the name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace margay::command {

struct PictureOptions {
  std::string what;          // a run's name, an archive's directory, "example", a link; "": the newest run
  std::string connect, key;  // a daemon elsewhere
  std::string size = "1280x720";
  std::string from, to;  // durations since the run's begin, or times of day (margay/base/time_of_day.h)
  std::string node, p, policy;
  std::string view;     // LEVELS or LEVELS@FILE (margay/wire/view_words.h); "": the usual one
  std::string measure;  // as margay partition --operator says it; "": duration
  std::string cuts;     // "spatial", "product"; "" and "spatiotemporal": in both at once
  std::vector<std::string> states, resources;  // terms (margay/wire/filter.h); none: all
  bool of_the_rest = false;                    // shares are of what these leave
  std::string picture;          // of picture_names(); "": the window's choice, of a file an overview
  std::uint32_t slices = 0;     // 0 to 1000; 0: as many as are useful
  std::uint32_t threshold = 0;  // pixels, 1 to 64: smaller parts are drawn together; 0: not said
  bool dark = false;
  bool clock = false;   // times of day; else since the begin, in the window as was chosen there last
  std::string unit;     // of the time axis: "auto", "h", "min", "s", "ms", "us"; "": as colours
  std::string colours;  // "okabe-ito" or "tol"; "": the window's choice, of a file okabe-ito
  bool operator==(const PictureOptions&) const = default;
};

// The rows of pictures.def, in its order.
struct PictureName {
  std::string_view name, help;  // the help is a clause
};
const std::vector<PictureName>& picture_names();

// REQUIRES: `options` outlives the parsing.
void add_picture_options(CLI::App& app, PictureOptions& options);
// What the options were made of, for another program's command line; what is as by default is left out.
std::vector<std::string> arguments_of(const PictureOptions& options);

}  // namespace margay::command
