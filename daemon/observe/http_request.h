// The head of an HTTP request, from anybody. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace margay::observe {

struct HttpRequest {
  std::string method, path;         // without the query
  std::optional<std::string> host;  // as it was sent: "node7:9464"; absent only in HTTP/1.0
};

// Where the head ends (behind its empty line), once all of it is there; npos before.
std::size_t head_end_untrusted(std::string_view bytes);
// Nothing where it is no request of HTTP/1.x, or has no Host, or more than one.
std::optional<HttpRequest> parse_head_untrusted(std::string_view head);

// Whether a request for `host` is meant for us: an address in numbers, "localhost", or one of `names`
// (case does not matter), with any port. A page of the web whose name was made to lead to this machine (DNS
// rebinding) sends that name.
bool host_is_ours(std::string_view host, const std::vector<std::string>& names);
// What this machine calls itself: "node7.example.org", "node7".
std::vector<std::string> own_host_names();

}  // namespace margay::observe
