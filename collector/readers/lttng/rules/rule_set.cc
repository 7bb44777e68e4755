#include "margay/lttng_rules/rule_set.h"

#include <algorithm>

#include "glob.h"
#include "rule_kinds.h"

namespace margay::lttng_rules {

const std::string& Rule::value(const std::string& key) const {
  static const std::string none;
  const auto at = values.find(key);
  return at == values.end() ? none : at->second;
}

std::string Rule::shown() const {
  std::string text = where + ": " + kind_spec(kind).table;
  if (const std::string& name = value("name"); !name.empty()) text += " \"" + name + "\"";
  text += " (" + (events.empty() ? "" : events.front());
  if (!leaves.empty()) text += " .. " + leaves.front();
  return text + ")";
}

bool Rule::same_as(const Rule& other) const {
  return kind == other.kind && events == other.events && leaves == other.leaves && domain == other.domain &&
         process == other.process && name_kind == other.name_kind && values == other.values;
}

Status RuleSet::add(const RuleSet& other) {
  for (const Rule& rule : other.rules_) {
    if (std::any_of(rules_.begin(), rules_.end(), [&rule](const Rule& r) { return r.same_as(rule); }))
      continue;
    if (rules_.size() == kMostRules)
      return fail(ErrorCode::kLimit, rule.where + ": more than " + std::to_string(kMostRules) + " rules");
    rules_.push_back(rule);
  }
  for (const std::string& pattern : other.left_out_threads_)
    if (std::find(left_out_threads_.begin(), left_out_threads_.end(), pattern) == left_out_threads_.end())
      left_out_threads_.push_back(pattern);
  return {};
}

std::vector<std::string> RuleSet::event_patterns(Domain domain) const {
  std::vector<std::string> out;
  for (const Rule& rule : rules_) {
    if (rule.kind == RuleKind::kIgnore) continue;
    if (domain != Domain::kAny && rule.domain != Domain::kAny && rule.domain != domain) continue;
    for (const auto* patterns : {&rule.events, &rule.leaves})
      for (const std::string& pattern : *patterns) {
        for (std::string& plain : event_expanded(pattern)) {
          std::replace(plain.begin(), plain.end(), '?', '*');
          out.push_back(std::move(plain));
        }
      }
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace margay::lttng_rules
