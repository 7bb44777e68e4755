#include "margay/lttng_rules/rule_set.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "glob.h"
#include "margay/base/text.h"
#include "parse.h"
#include "rule_kinds.h"
#include "shipped_texts.h"

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

Result<RuleSet> RuleSet::parse(std::string_view text, const std::string& where) {
  auto parsed = parse_rules(text, where);
  if (!parsed) return tl::unexpected(parsed.error());
  RuleSet set;
  set.rules_ = std::move(parsed->rules);
  set.left_out_threads_ = std::move(parsed->left_out_threads);
  return set;
}

Result<RuleSet> RuleSet::load(const std::string& path) {
  const std::string shown = clean_utf8(path);
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    const int error = errno;
    return fail(error == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo, shown + ": " + std::strerror(error));
  }
  std::string text(kLargestText + 1, '\0');  // one more than is taken
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad()) return fail(ErrorCode::kIo, shown + ": cannot be read");
  text.resize(static_cast<std::size_t>(in.gcount()));
  return parse(text, path);
}

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
