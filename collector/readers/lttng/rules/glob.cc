#include "glob.h"

#include <algorithm>

#include "margay/base/glob.h"

namespace margay::lttng_rules {

namespace {

constexpr std::size_t kMostGroups = 8;
constexpr std::size_t kMostCombinations = 256;
// Around the chosen alternative of a group. Names of events have none of them.
constexpr char kOpen = '\x01';
constexpr char kClose = '\x02';

std::vector<std::string_view> alternatives(std::string_view inside) {
  std::vector<std::string_view> out;
  while (true) {
    const std::size_t bar = inside.find('|');
    out.push_back(inside.substr(0, bar));
    if (bar == std::string_view::npos) return out;
    inside.remove_prefix(bar + 1);
  }
}

// Every combination of alternatives, each between kOpen and kClose.
std::vector<std::string> combinations(std::string_view pattern) {
  const std::size_t open = pattern.find('(');
  if (open == std::string_view::npos) return {std::string(pattern)};
  const std::size_t close = pattern.find(')', open);
  const std::string before(pattern.substr(0, open));
  const std::vector<std::string> after = combinations(pattern.substr(close + 1));
  std::vector<std::string> out;
  for (const std::string_view one : alternatives(pattern.substr(open + 1, close - open - 1)))
    for (const std::string& rest : after) {
      std::string& text = out.emplace_back(before);
      text += kOpen;
      text += one;
      text += kClose;
      text += rest;
    }
  return out;
}

std::string without_marks(std::string text) {
  std::erase_if(text, [](char c) { return c == kOpen || c == kClose; });
  return text;
}

std::vector<std::string> captures(std::string_view pattern, std::string_view text) {
  std::vector<std::string> out;
  while (true) {
    constexpr char kSpecial[] = {'*', kOpen, '\0'};
    const std::size_t at = pattern.find_first_of(kSpecial);
    if (at == std::string_view::npos) return out;
    text.remove_prefix(at);  // what is before it is as long as itself
    std::size_t length = 0;
    if (pattern[at] == kOpen) {
      length = pattern.find(kClose, at) - at - 1;
      pattern.remove_prefix(at + length + 2);
    } else {
      pattern.remove_prefix(at + 1);
      const std::string rest = without_marks(std::string(pattern));
      while (length < text.size() && !glob_match(rest, text.substr(length))) ++length;
    }
    out.emplace_back(text.substr(0, length));
    text.remove_prefix(length);
  }
}

}  // namespace

std::optional<std::vector<std::string>> event_match(std::string_view pattern, std::string_view text) {
  for (const std::string& marked : combinations(pattern))
    if (glob_match(without_marks(marked), text)) return captures(marked, text);
  return std::nullopt;
}

std::optional<std::size_t> event_captures(std::string_view pattern) {
  std::size_t groups = 0;
  std::size_t count = 1;
  std::size_t stars = 0;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == kOpen || c == kClose || c == ')' || c == '|') return std::nullopt;
    stars += c == '*' ? 1 : 0;
    if (c != '(') continue;
    const std::size_t close = pattern.find(')', i);
    if (close == std::string_view::npos || ++groups > kMostGroups) return std::nullopt;
    const std::string_view inside = pattern.substr(i + 1, close - i - 1);
    if (inside.find_first_of("(*?\x01\x02") != std::string_view::npos) return std::nullopt;
    const auto choices = alternatives(inside);
    for (const std::string_view one : choices)
      if (one.empty()) return std::nullopt;
    count *= choices.size();
    if (count > kMostCombinations) return std::nullopt;
    i = close;
  }
  return stars + groups;
}

std::vector<std::string> event_expanded(std::string_view pattern) {
  std::vector<std::string> out = combinations(pattern);
  for (std::string& one : out) one = without_marks(std::move(one));
  return out;
}

}  // namespace margay::lttng_rules
