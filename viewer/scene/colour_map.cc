#include <algorithm>
#include <cstdio>

#include "margay/base/text.h"
#include "margay/scene/palette.h"

namespace margay::scene {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

std::string shown(std::string_view text) {
  return "\"" + clean_utf8(text, 60) + "\"";
}

}  // namespace

Result<Rgb> parse_rgb(std::string_view text) {
  const auto wrong = [&] {
    return fail(ErrorCode::kInvalidArgument, shown(text) + " is no colour: it should look like #0072b2");
  };
  if ((text.size() != 4 && text.size() != 7) || text[0] != '#') return wrong();
  int digits[6];
  for (std::size_t i = 0; i < 6; ++i) {
    digits[i] = digit_of(text[text.size() == 7 ? i + 1 : i / 2 + 1]);
    if (digits[i] < 0) return wrong();
  }
  const auto channel = [&](int i) { return static_cast<std::uint8_t>(digits[i] * 16 + digits[i + 1]); };
  return Rgb{channel(0), channel(2), channel(4)};
}

std::string text_of(Rgb colour) {
  char text[8];
  std::snprintf(text, sizeof text, "#%02x%02x%02x", colour.r, colour.g, colour.b);
  return text;
}

Result<ColourMap> parse_colours(std::string_view text) {
  ColourMap out;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line == "#" || line.starts_with("# ") || line.starts_with("//")) continue;
    const std::string where = "line " + std::to_string(number);
    const std::size_t at = line.rfind('=');
    if (at == std::string_view::npos)
      return fail(ErrorCode::kInvalidArgument, where + ": " + shown(line) + " is not name=#rrggbb");
    const std::string_view name = trimmed(line.substr(0, at));
    if (name.empty()) return fail(ErrorCode::kInvalidArgument, where + ": there is no name before the =");
    const auto colour = parse_rgb(trimmed(line.substr(at + 1)));
    if (!colour) return fail(colour.error(), where);
    out.insert_or_assign(std::string(name), *colour);
  }
  return out;
}

std::string text_of(const ColourMap& colours) {
  std::string out;
  for (const auto& [name, colour] : colours) out += name + "=" + text_of(colour) + "\n";
  return out;
}

}  // namespace margay::scene
