// `margay views`: by which attributes the resources of an archive can be put in order
// (margay/model/view.h).
#pragma once

#include <span>
#include <string>

#include "margay/query/run_views.h"

namespace CLI {
class App;
}

namespace margay::daemon {

struct ViewsRequest {
  std::string archive;
  bool json = false;
};
void add_views_command(CLI::App& command, ViewsRequest& request);
// The exit code: 0, 2 for what cannot be read, and a sentence on stderr.
int views_command(const ViewsRequest& request);

// What it prints of an archive of that name.
std::string views_text(const std::string& archive, std::span<const model::Attributes> leaves);
std::string views_json(std::span<const model::Attributes> leaves);

}  // namespace margay::daemon
