#include <algorithm>

#include "margay/base/text.h"
#include "margay/lttng_rules/rule_set.h"
#include "shipped_texts.h"

namespace margay::lttng_rules {

std::vector<std::string> RuleSet::shipped_names() {
  std::vector<std::string> names;
  for (const ShippedText& one : shipped_texts()) names.emplace_back(one.name);
  return names;
}

std::string_view RuleSet::shipped_text(std::string_view name) {
  const auto one = std::find_if(shipped_texts().begin(), shipped_texts().end(),
                                [name](const ShippedText& t) { return t.name == name; });
  return one == shipped_texts().end() ? std::string_view() : one->text;
}

Result<RuleSet> RuleSet::shipped(std::string_view name) {
  const std::string_view text = shipped_text(name);
  if (!text.empty()) return parse(text, std::string(name) + ".toml");
  std::string known;
  for (const std::string& one : shipped_names()) known += (known.empty() ? "" : ", ") + one;
  return fail(ErrorCode::kNotFound,
              "no rule set is called '" + clean_utf8(name, 64) + "'; there are " + known);
}

}  // namespace margay::lttng_rules
