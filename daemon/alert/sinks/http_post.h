// An HTTP POST that nobody waits for: libcurl's multi interface, driven by progress().
//
// What is taken from the other side is bounded: kMostAnswer bytes of an answer are looked at, and no redirect
// is followed. https verifies the certificate and the name. A proxy is taken from the environment
// (http_proxy, https_proxy, no_proxy), as curl does. Headers with secrets come from a file that is read anew
// for each request, so that a token may be changed while the daemon runs.
//
// Thread safety: none; different objects may be used by different threads.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "margay/base/result.h"
#include "margay/sinks/sink.h"

namespace margay::sinks {

// "Name: value" a line, at most 16 of them in 8 KiB; empty lines and lines that begin with # are left out.
// Nothing of their content is in errors. Errors: kNotFound, kIo; kInvalidArgument with the line, also for a
// file that everybody may read.
Result<std::vector<std::string>> read_headers(const std::string& path);

class HttpPost {
 public:
  static constexpr std::size_t kMostAnswer = 16 << 10;

  struct Target {
    std::string url;
    std::string headers_file;  // "": none
    std::string ca_file;       // "": the system's
    DurationNs time_limit = seconds(10);
  };
  // Errors: kInvalidArgument: no such URL, headers or certificates.
  static Result<HttpPost> make(Target target);
  HttpPost(HttpPost&&) noexcept;
  HttpPost& operator=(HttpPost&&) = delete;
  ~HttpPost();

  // `header`: one more, "Name: value"; "": none.
  void begin(std::string json, const std::string& header = {});
  std::optional<Outcome> progress();
  void cut();
  const Target& target() const;

 private:
  struct State;
  explicit HttpPost(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace margay::sinks
