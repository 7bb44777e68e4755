// Commands as they are typed.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

namespace margay::daemon {

// The exit code of the command whose flags `add` declares, with these words behind its name.
template <class Request>
int run_typed(void (*add)(CLI::App&, Request&), int (*run)(const Request&), std::vector<std::string> words) {
  CLI::App app;
  Request request;
  add(app, request);
  std::reverse(words.begin(), words.end());
  app.parse(words);
  return run(request);
}

}  // namespace margay::daemon
