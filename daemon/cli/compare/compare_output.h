// A comparison as text, as JSON, and as JUnit's XML.
#pragma once

#include <string>
#include <vector>

#include "compare/comparison.h"
#include "margay/compare/rule.h"

namespace margay::daemon {

struct JudgedRule {
  compare::Rule rule;
  compare::Judged judged;
};

std::string comparison_text(const ComparedRuns& c, const std::vector<JudgedRule>& rules);
// One line. COMPARE.md says what is in it.
std::string comparison_json(const ComparedRuns& c, const std::vector<JudgedRule>& rules);
// A test case for each rule.
std::string comparison_junit(const ComparedRuns& c, const std::vector<JudgedRule>& rules);

}  // namespace margay::daemon
