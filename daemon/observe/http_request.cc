#include "http_request.h"

#include <arpa/inet.h>
#include <unistd.h>

#include <algorithm>
#include <climits>

namespace margay::observe {
namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 32) : c;
}
bool same(std::string_view a, std::string_view b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return lower(x) == lower(y); });
}
std::string_view trim(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t' || s.back() == '\r')) s.remove_suffix(1);
  return s;
}
std::string_view take_line(std::string_view& rest) {
  const std::size_t end = std::min(rest.find('\n'), rest.size());
  std::string_view line = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

}  // namespace

std::size_t head_end_untrusted(std::string_view bytes) {
  for (std::size_t at = bytes.find('\n'); at != std::string_view::npos; at = bytes.find('\n', at + 1)) {
    if (bytes.substr(at + 1, 1) == "\n") return at + 2;
    if (bytes.substr(at + 1, 2) == "\r\n") return at + 3;
  }
  return std::string_view::npos;
}

std::optional<HttpRequest> parse_head_untrusted(std::string_view head) {
  const std::string_view first = take_line(head);
  const std::size_t one = first.find(' '), two = first.rfind(' ');
  if (one == std::string_view::npos || one == 0 || two == one) return std::nullopt;
  const std::string_view version = first.substr(two + 1);
  if (version != "HTTP/1.1" && version != "HTTP/1.0") return std::nullopt;
  HttpRequest r;
  r.method = first.substr(0, one);
  const std::string_view target = first.substr(one + 1, two - one - 1);
  if (target.empty() || target.find(' ') != std::string_view::npos) return std::nullopt;
  r.path = target.substr(0, target.find('?'));
  while (!head.empty()) {
    const std::string_view line = take_line(head);
    if (line.empty()) break;
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || !same(line.substr(0, colon), "host")) continue;
    if (r.host) return std::nullopt;
    r.host = trim(line.substr(colon + 1));
  }
  if (!r.host && version == "HTTP/1.1") return std::nullopt;
  return r;
}

bool host_is_ours(std::string_view host, const std::vector<std::string>& names) {
  std::string_view name = host;
  if (const std::size_t colon = host.rfind(':');
      colon != std::string_view::npos && host.find(']', colon) == std::string_view::npos) {
    if (host.find_first_not_of("0123456789", colon + 1) != std::string_view::npos) return false;
    name = host.substr(0, colon);
  }
  unsigned char address[sizeof(in6_addr)];
  if (name.size() > 2 && name.front() == '[' && name.back() == ']')
    return inet_pton(AF_INET6, std::string(name.substr(1, name.size() - 2)).c_str(), address) == 1;
  if (inet_pton(AF_INET, std::string(name).c_str(), address) == 1) return true;
  if (!name.empty() && name.back() == '.') name.remove_suffix(1);
  return same(name, "localhost") ||
         std::any_of(names.begin(), names.end(), [&](const std::string& n) { return same(name, n); });
}

std::vector<std::string> own_host_names() {
  char text[HOST_NAME_MAX + 1] = "";
  if (gethostname(text, sizeof text - 1) != 0 || *text == '\0') return {};
  std::vector<std::string> names{text};
  if (const std::size_t dot = names[0].find('.'); dot != std::string::npos && dot > 0)
    names.push_back(names[0].substr(0, dot));
  return names;
}

}  // namespace margay::observe
