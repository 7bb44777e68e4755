#include "name_template.h"

namespace margay::lttng_rules {
namespace {

bool is_field(std::string_view name) {
  if (name.empty()) return false;
  for (const char c : name)
    if (!(c == '_' || c == '.' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')))
      return false;
  return true;
}

Result<NamePart> parse_placeholder(std::string_view inside) {
  using Kind = NamePart::Kind;
  if (inside.size() == 1 && inside[0] >= '1' && inside[0] <= '9')
    return NamePart{Kind::kCapture, "", static_cast<std::size_t>(inside[0] - '1')};
  if (inside == "procname") return NamePart{Kind::kProcname, "", 0};
  NamePart part{Kind::kField, std::string(inside), 0};
  if (const std::size_t colon = inside.find(':'); colon != std::string_view::npos) {
    const std::string_view how = inside.substr(0, colon);
    part.text = inside.substr(colon + 1);
    if (how != "symbol" && how != "hex")
      return fail(ErrorCode::kInvalidArgument,
                  "unknown placeholder '{" + std::string(inside) + "}': before a colon is 'symbol' or 'hex'");
    part.kind = how == "symbol" ? Kind::kSymbol : Kind::kHexField;
  }
  if (!is_field(part.text))
    return fail(ErrorCode::kInvalidArgument,
                "'{" + std::string(inside) +
                    "}' is no placeholder: {1} to {9}, {FIELD}, {hex:FIELD}, {symbol:FIELD} or {procname}");
  return part;
}

}  // namespace

Result<std::vector<NamePart>> parse_name(std::string_view text) {
  std::vector<NamePart> parts;
  std::string literal;
  const auto flush = [&parts, &literal] {
    if (!literal.empty()) parts.push_back({NamePart::Kind::kLiteral, literal, 0});
    literal.clear();
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if ((c == '{' || c == '}') && i + 1 < text.size() && text[i + 1] == c) {
      literal += c;
      ++i;
    } else if (c == '}') {
      return fail(ErrorCode::kInvalidArgument, "a '}' without '{'; a brace itself is '}}'");
    } else if (c == '{') {
      const std::size_t end = text.find('}', i);
      if (end == std::string_view::npos)
        return fail(ErrorCode::kInvalidArgument, "a '{' without '}'; a brace itself is '{{'");
      auto part = parse_placeholder(text.substr(i + 1, end - i - 1));
      if (!part) return fail(part.error().code, part.error().message);
      flush();
      parts.push_back(std::move(*part));
      i = end;
    } else {
      literal += c;
    }
  }
  flush();
  if (parts.empty()) return fail(ErrorCode::kInvalidArgument, "a name cannot be empty");
  return parts;
}

}  // namespace margay::lttng_rules
