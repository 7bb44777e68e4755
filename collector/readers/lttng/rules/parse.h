// The text of a rule set (RULES.md), taken apart. Private.
//
// Thread safety: pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "margay/lttng_rules/rule_set.h"

namespace margay::lttng_rules {

struct ParsedRules {
  std::vector<Rule> rules;  // in the order in which they are written
  std::vector<std::string> left_out_threads;
};

// See RuleSet::parse.
Result<ParsedRules> parse_rules(std::string_view text, const std::string& where);

}  // namespace margay::lttng_rules
