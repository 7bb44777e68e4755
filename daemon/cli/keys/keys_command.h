// `margay keys`: the directory of keys of a daemon that listens on the network (proto/SECURITY.md).
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace margay::app {

struct KeysRequest {
  CLI::App *init = nullptr, *add = nullptr, *ls = nullptr, *revoke = nullptr, *rotate = nullptr,
           *retire = nullptr, *trust = nullptr;
  std::string dir, name, role, out, key;
  bool json = false, begin = false, finish = false;
};
void add_keys_command(CLI::App& command, KeysRequest& request);
// The exit code; what went wrong is said on stderr. REQUIRES: the request was parsed.
int keys_command(const KeysRequest& request);

}  // namespace margay::app
