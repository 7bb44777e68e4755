#include "margay/gst/log_line.h"

#include <algorithm>
#include <charconv>

namespace margay::gst {
namespace {

constexpr std::int64_t kLongestHours = 1'000'000;

std::string_view word(std::string_view& rest) {
  const std::size_t begin = rest.find_first_not_of(' ');
  if (begin == std::string_view::npos) return rest = {};
  rest.remove_prefix(begin);
  const std::string_view w = rest.substr(0, rest.find(' '));
  rest.remove_prefix(w.size());
  return w;
}

template <class Number>
bool number(std::string_view text, Number& out, int base = 10) {
  const auto r = std::from_chars(text.data(), text.data() + text.size(), out, base);
  return r.ec == std::errc() && r.ptr == text.data() + text.size() && !text.empty();
}

// "0:00:01.323064396"
std::optional<DurationNs> time_of(std::string_view text) {
  const std::size_t a = text.find(':');
  if (a == std::string_view::npos || a == 0 || text.size() != a + 16 || text[a + 3] != ':' ||
      text[a + 6] != '.')
    return std::nullopt;
  std::int64_t h = 0, m = 0, s = 0, ns = 0;
  if (!number(text.substr(0, a), h) || !number(text.substr(a + 1, 2), m) ||
      !number(text.substr(a + 4, 2), s) || !number(text.substr(a + 7), ns) || h < 0 || h > kLongestHours ||
      m < 0 || s < 0 || ns < 0)
    return std::nullopt;
  return DurationNs(((h * 60 + m) * 60 + s) * 1'000'000'000 + ns);
}

}  // namespace

bool begins_with_time(std::string_view line) {
  return time_of(line.substr(0, line.find(' '))).has_value();
}

std::optional<LogLine> parse_line_untrusted(std::string_view line) {
  LogLine out;
  std::string_view rest = line;
  const auto since = time_of(word(rest));
  if (!since) return std::nullopt;
  out.since_start = *since;
  if (!number(word(rest), out.pid) || out.pid <= 0) return std::nullopt;
  const std::string_view thread = word(rest);
  if (!thread.starts_with("0x") || !number(thread.substr(2), out.thread, 16)) return std::nullopt;
  if (word(rest).empty() || word(rest).empty()) return std::nullopt;  // level, category
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  // file:line:function:
  const std::size_t file = rest.find(':');
  if (file == std::string_view::npos) return std::nullopt;
  const std::size_t number_end = rest.find(':', file + 1);
  if (number_end == std::string_view::npos) return std::nullopt;
  int source_line = 0;
  if (!number(rest.substr(file + 1, number_end - file - 1), source_line)) return std::nullopt;
  rest.remove_prefix(number_end + 1);
  const std::size_t name = rest.find(':');
  if (name == std::string_view::npos || name == 0) return std::nullopt;
  out.function = rest.substr(0, name);
  rest.remove_prefix(name + 1);
  if (rest.starts_with('<'))
    if (const std::size_t end = rest.find('>'); end != std::string_view::npos) {
      out.object = rest.substr(1, end - 1);
      rest.remove_prefix(end + 1);
    }
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  out.text = rest;
  return out;
}

}  // namespace margay::gst
