#include <toml++/toml.h>

#include <algorithm>
#include <optional>
#include <sstream>

#include "glob.h"
#include "margay/base/text.h"
#include "name_template.h"
#include "parse.h"
#include "rule_kinds.h"

namespace margay::lttng_rules {
namespace {

constexpr std::size_t kLongestText = 512;
constexpr std::size_t kMostPatterns = 64;

// "pthread.toml:12"
std::string place(const std::string& where, const toml::node& node) {
  return where + ":" + std::to_string(node.source().begin.line);
}

tl::unexpected<Error> wrong(const std::string& place, const std::string& sentence) {
  return fail(ErrorCode::kInvalidArgument, place + ": " + clean_utf8(sentence));
}

std::string shown(const toml::node& node) {
  std::ostringstream out;
  if (const auto* s = node.as_string())
    out << '"' << s->get() << '"';
  else if (const auto* i = node.as_integer())
    out << i->get();
  else if (const auto* b = node.as_boolean())
    out << (b->get() ? "true" : "false");
  else
    out << "a value of type " << node.type();
  std::string text = out.str();
  return text.size() > 80 ? text.substr(0, 77) + "..." : text;
}

template <class Specs>
std::string names_of(const Specs& specs,
                     std::string std::decay_t<decltype(*std::declval<Specs>().begin())>::*name) {
  std::string out;
  for (const auto& spec : specs) out += (out.empty() ? "" : ", ") + spec.*name;
  return out;
}

std::optional<std::string> text_of(const toml::node& node) {
  const auto* s = node.as_string();
  if (!s || s->get().empty() || s->get().size() > kLongestText) return std::nullopt;
  return s->get();
}

// One text, or a list of them.
std::optional<std::vector<std::string>> texts_of(const toml::node& node) {
  if (auto one = text_of(node)) return std::vector<std::string>{std::move(*one)};
  const auto* list = node.as_array();
  if (!list || list->empty() || list->size() > kMostPatterns) return std::nullopt;
  std::vector<std::string> out;
  for (const toml::node& entry : *list) {
    auto text = text_of(entry);
    if (!text) return std::nullopt;
    out.push_back(std::move(*text));
  }
  return out;
}

bool set_domain(const std::string& text, Rule& rule) {
  if (text == "kernel") rule.domain = Domain::kKernel;
  if (text == "ust") rule.domain = Domain::kUst;
  return rule.domain != Domain::kAny;
}

bool set_state_kind(const std::string& text, Rule& rule) {
  if (text == "wait") rule.name_kind = reader::NameKind::kWait;
  if (text == "io") rule.name_kind = reader::NameKind::kIo;
  if (text == "idle") rule.name_kind = reader::NameKind::kIdle;
  return text == "wait" || text == "io" || text == "idle" || text == "state";
}

// One key of a rule. False: the value is not what expected_of() says.
bool set_key(const KeySpec& spec, const toml::node& node, Rule& rule) {
  if (spec.type == KeyType::kPatterns) {
    auto patterns = texts_of(node);
    if (!patterns) return false;
    for (const std::string& pattern : *patterns)
      if (!event_captures(pattern)) return false;
    (spec.name == "leave" ? rule.leaves : rule.events) = std::move(*patterns);
    return true;
  }
  if (spec.type == KeyType::kFlag) {
    const auto* flag = node.as_boolean();
    if (flag) rule.values[spec.name] = flag->get() ? "true" : "false";
    return flag != nullptr;
  }
  const auto* s = node.as_string();
  // An empty name of a switch's state: that state is not wanted.
  if (s && s->get().empty() && spec.type == KeyType::kLiteral) {
    rule.values[spec.name] = "";
    return true;
  }
  const auto text = text_of(node);
  if (!text) return false;
  switch (spec.type) {
    case KeyType::kDomain:
      return set_domain(*text, rule);
    case KeyType::kStateKind:
      return set_state_kind(*text, rule);
    case KeyType::kGlob:
      rule.process = *text;
      return true;
    default:
      rule.values[spec.name] = *text;
      return true;
  }
}

// Placeholders that no event could fill.
Status check_name(const Rule& rule, const std::string& at) {
  const std::string& name = rule.value("name");
  if (name.empty() || rule.kind == RuleKind::kThread || rule.kind == RuleKind::kProcess) return {};
  const auto parts = parse_name(name);
  if (!parts) return wrong(at, "name: " + parts.error().message + ", got \"" + name + "\"");
  for (const NamePart& part : *parts)
    for (const std::string& pattern : rule.events)
      if (part.kind == NamePart::Kind::kCapture && part.capture >= event_captures(pattern).value_or(0))
        return wrong(at, "name: {" + std::to_string(part.capture + 1) +
                             "} needs as many '*' or groups in \"" + pattern + "\"");
  return {};
}

Status check_pair(const Rule& rule, const std::string& at) {
  if (rule.kind != RuleKind::kState) return {};
  for (const std::string& enter : rule.events)
    if (std::find(rule.leaves.begin(), rule.leaves.end(), enter) != rule.leaves.end())
      return wrong(at, "leave: expected another event than that of enter, got \"" + enter + "\" for both");
  if (!rule.value("leave_key").empty() && rule.value("key").empty())
    return wrong(at, "leave_key: expected 'key' beside it, the field of the event that enters");
  return {};
}

Result<Rule> parse_rule(const KindSpec& kind, const toml::table& table, const std::string& where) {
  Rule rule;
  rule.kind = kind.kind;
  rule.where = place(where, table);
  for (const KeySpec& spec : kind.keys)
    if (!spec.otherwise.empty()) rule.values[spec.name] = spec.otherwise;
  for (const auto& [written, node] : table) {
    const std::string key(written.str());
    const std::string at = where + ":" + std::to_string(written.source().begin.line);
    const auto spec =
        std::find_if(kind.keys.begin(), kind.keys.end(), [&key](const KeySpec& s) { return s.name == key; });
    if (spec == kind.keys.end())
      return wrong(at, "[[" + kind.table + "]]: unknown key '" + key.substr(0, 64) + "'; it may have " +
                           names_of(kind.keys, &KeySpec::name));
    if (!set_key(*spec, node, rule))
      return wrong(at, "[[" + kind.table + "]] " + key + ": expected " + expected_of(spec->type) + ", got " +
                           shown(node));
  }
  for (const KeySpec& spec : kind.keys)
    if (spec.required && !table.contains(spec.name))
      return wrong(rule.where, "[[" + kind.table + "]]: the key '" + spec.name + "' is missing: expected " +
                                   expected_of(spec.type));
  for (const Status& status : {check_name(rule, rule.where), check_pair(rule, rule.where)})
    if (!status) return fail(status.error().code, status.error().message);
  return rule;
}

Status parse_threads(const toml::node& node, const std::string& where, std::vector<std::string>& left_out) {
  const auto* table = node.as_table();
  if (!table) return wrong(place(where, node), "threads: expected a section, [threads], got " + shown(node));
  for (const auto& [written, value] : *table) {
    const std::string at = where + ":" + std::to_string(written.source().begin.line);
    if (written.str() != "leave_out")
      return wrong(at, "[threads]: unknown key '" + std::string(written.str()).substr(0, 64) +
                           "'; it may have leave_out");
    auto patterns = texts_of(value);
    if (!patterns)
      return wrong(
          at, "[threads] leave_out: expected " + expected_of(KeyType::kPatterns) + ", got " + shown(value));
    left_out = std::move(*patterns);
  }
  return {};
}

tl::unexpected<Error> not_a_rule(const std::string& kind, const toml::node& entry, const std::string& where) {
  return wrong(place(where, entry), kind + ": expected a rule below [[" + kind + "]], got " + shown(entry));
}

Status parse_kind(const std::string& name, const toml::node& node, const std::string& where,
                  std::vector<Rule>& rules) {
  const auto kind = std::find_if(kind_specs().begin(), kind_specs().end(),
                                 [&name](const KindSpec& k) { return k.table == name; });
  if (kind == kind_specs().end())
    return wrong(place(where, node), "unknown kind of rule '" + name.substr(0, 64) + "'; there are " +
                                         names_of(kind_specs(), &KindSpec::table) + ", and [threads]");
  const auto* list = node.as_array();
  if (!list)
    return wrong(place(where, node),
                 name + ": expected a list of rules, each below [[" + name + "]], got " + shown(node));
  for (const toml::node& entry : *list) {
    const auto* table = entry.as_table();
    if (!table) return not_a_rule(name, entry, where);
    if (rules.size() == RuleSet::kMostRules)
      return fail(ErrorCode::kLimit,
                  place(where, *table) + ": more than " + std::to_string(RuleSet::kMostRules) + " rules");
    auto rule = parse_rule(*kind, *table, where);
    if (!rule) return fail(rule.error().code, rule.error().message);
    rules.push_back(std::move(*rule));
  }
  return {};
}

std::size_t line_of(const Rule& rule) {
  return std::stoul(rule.where.substr(rule.where.rfind(':') + 1));
}

}  // namespace

Result<ParsedRules> parse_rules(std::string_view text, const std::string& where) {
  const std::string file = clean_utf8(where);
  if (text.size() > RuleSet::kLargestText)
    return fail(ErrorCode::kLimit, file + ": " + std::to_string(text.size()) + " bytes; at most " +
                                       std::to_string(RuleSet::kLargestText) + " are read");
  toml::table root;
  try {
    root = toml::parse(text);
  } catch (const toml::parse_error& e) {
    return wrong(file + ":" + std::to_string(e.source().begin.line), std::string(e.description()));
  }
  ParsedRules set;
  for (const auto& [written, node] : root) {
    const std::string name(written.str());
    const std::string at = file + ":" + std::to_string(written.source().begin.line);
    if (name == "description") {
      if (!node.is_string()) return wrong(at, "description: expected a text, got " + shown(node));
      continue;
    }
    const Status status = name == "threads" ? parse_threads(node, file, set.left_out_threads)
                                            : parse_kind(name, node, file, set.rules);
    if (!status) return fail(status.error().code, status.error().message);
  }
  // TOML sorts by name; what counts is the order in which they were written.
  std::stable_sort(set.rules.begin(), set.rules.end(),
                   [](const Rule& a, const Rule& b) { return line_of(a) < line_of(b); });
  return set;
}

}  // namespace margay::lttng_rules
