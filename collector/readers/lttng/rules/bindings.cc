#include "bindings.h"

#include <algorithm>

#include "glob.h"
#include "margay/base/pair_table.h"
#include "margay/base/text.h"

namespace margay::lttng_rules {
namespace {

using lttng::EventClass;
using lttng::FieldType;

bool is_of(Domain domain, bool kernel) {
  return domain == Domain::kAny || (domain == Domain::kKernel) == kernel;
}

// The captures of the first pattern that matches.
std::optional<std::vector<std::string>> first_match(const std::vector<std::string>& patterns,
                                                    const std::string& name) {
  for (const std::string& pattern : patterns)
    if (auto captures = event_match(pattern, name)) return captures;
  return std::nullopt;
}

Role role_of(const Rule& rule) {
  static constexpr std::pair<RuleKind, Role> kRoles[] = {
      {RuleKind::kState, Role::kEnter},     {RuleKind::kVariable, Role::kVariable},
      {RuleKind::kSwitch, Role::kSwitch},   {RuleKind::kWakeup, Role::kWakeup},
      {RuleKind::kThread, Role::kThread},   {RuleKind::kThreadEnd, Role::kThreadEnd},
      {RuleKind::kProcess, Role::kProcess}, {RuleKind::kLibrary, Role::kLibrary}};
  if (rule.kind == RuleKind::kLibrary && rule.value("unload") == "true") return Role::kUnload;
  return second_of(kRoles, rule.kind, Role::kMark);
}

// The keys that name what Action::fields has, in its order.
std::vector<std::string> field_keys(Role role) {
  static const std::pair<Role, std::vector<std::string>> kKeys[] = {
      {Role::kEnter, {"key"}},
      {Role::kLeave, {"key"}},
      {Role::kVariable, {"value"}},
      {Role::kSwitch, {"prev_tid", "next_tid", "prev_comm", "next_comm", "prev_state"}},
      {Role::kThread, {"tid", "pid", "name"}},
      {Role::kThreadEnd, {"tid"}},
      {Role::kWakeup, {"tid"}},
      {Role::kProcess, {"name"}},
      {Role::kLibrary, {"base", "size", "path"}},
      {Role::kUnload, {"base"}}};
  return second_of(kKeys, role);
}

bool wants_text(const std::string& key) {
  return key == "prev_comm" || key == "next_comm" || key == "name" || key == "path";
}

// A key of a pair is of either kind; a variable may be a real number; all others are integers, or texts.
bool fits(const std::string& key, FieldType type) {
  if (type == FieldType::kOther) return false;
  if (key == "key") return type != FieldType::kReal;
  if (key == "value") return type != FieldType::kText;
  return wants_text(key) == (type == FieldType::kText) && type != FieldType::kReal;
}

std::string fields_of(const EventClass& cls) {
  std::string out;
  for (const lttng::Field& f : cls.fields) {
    if (out.size() > 200) return out + ", ...";
    out += (out.empty() ? "" : ", ") + f.name;
  }
  return out.empty() ? "no fields" : out;
}

}  // namespace

Bindings::Bindings(RuleSet rules, reader::StateSink& sink, std::size_t most_problems)
    : rules_(std::move(rules)), sink_(sink), most_problems_(most_problems), used_(rules_.rules().size()) {}

void Bindings::problem(const Rule& rule, const std::string& what) {
  const std::string sentence = clean_utf8(rule.shown() + ": " + what);
  if (problems_.size() >= most_problems_) return;
  // Each trace and process has classes of its own.
  if (std::find(problems_.begin(), problems_.end(), sentence) == problems_.end())
    problems_.push_back(sentence);
}

void Bindings::add(const EventClass& cls) {
  Class bound;
  bound.kernel = cls.kernel;
  bound.first = static_cast<std::uint32_t>(actions_.size());
  bound.name =
      class_names_.try_emplace(cls.name, static_cast<std::uint32_t>(class_names_.size())).first->second;
  classes_.push_back(bound);
  bool ignored = false;
  for (std::uint32_t r = 0; r < rules_.rules().size() && !ignored; ++r) {
    const Rule& rule = rules_.rules()[r];
    if (!is_of(rule.domain, cls.kernel)) continue;
    if (rule.kind != RuleKind::kIgnore) {
      match(r, cls);
    } else if (first_match(rule.events, cls.name)) {
      ignored = true;
      used_[r] |= 1;
    }
  }
  Class& added = classes_.back();
  added.count = static_cast<std::uint32_t>(actions_.size()) - added.first;
  // What is left comes first: one event may end a state and begin the next.
  std::stable_sort(actions_.begin() + added.first, actions_.end(), [](const Action& a, const Action& b) {
    return (a.role == Role::kLeave) > (b.role == Role::kLeave);
  });
  added.fate = added.count > 0 ? Fate::kActions : ignored ? Fate::kIgnored : Fate::kUnmatched;
}

void Bindings::match(std::uint32_t r, const EventClass& cls) {
  const Rule& rule = rules_.rules()[r];
  if (const auto captures = first_match(rule.events, cls.name)) {
    used_[r] |= 1;
    bind(r, role_of(rule), *captures, cls);
  }
  if (rule.kind != RuleKind::kState) return;
  if (const auto captures = first_match(rule.leaves, cls.name)) {
    used_[r] |= 2;
    bind(r, Role::kLeave, *captures, cls);
  }
}

// By a rule before, for all processes. An event may have several variables.
bool Bindings::is_taken(Role role, std::uint32_t first) const {
  if (role == Role::kVariable) return false;
  return std::any_of(actions_.begin() + first, actions_.end(),
                     [role](const Action& a) { return a.role == role && a.filter == kNothing; });
}

void Bindings::bind(std::uint32_t r, Role role, const std::vector<std::string>& captures,
                    const EventClass& cls) {
  const Rule& rule = rules_.rules()[r];
  if (is_taken(role, classes_.back().first)) return;
  Action action;
  action.role = role;
  if (!rule.process.empty()) action.filter = filter(rule.process);
  if (!bind_fields(rule, cls, action)) return;
  if (role == Role::kEnter || role == Role::kLeave) action.slot = slot(r, captures);
  action.once = role == Role::kEnter && rule.value("once") == "true";
  action.name_kind = role == Role::kMark       ? reader::NameKind::kMark
                     : role == Role::kVariable ? reader::NameKind::kVariable
                                               : rule.name_kind;
  const bool named = role == Role::kEnter || role == Role::kMark || role == Role::kVariable;
  if (named && !bind_name(rule, captures, cls, action)) return;
  if (role == Role::kSwitch) bind_switch(rule, action);
  actions_.push_back(action);
}

bool Bindings::field(const Rule& rule, const EventClass& cls, const std::string& name, BoundField& out) {
  const auto f = std::find_if(cls.fields.begin(), cls.fields.end(),
                              [&name](const lttng::Field& one) { return one.name == name; });
  if (f == cls.fields.end()) {
    problem(rule, cls.name + " has no field '" + name + "', it has " + fields_of(cls));
    return false;
  }
  out.index = static_cast<std::uint32_t>(f - cls.fields.begin());
  out.type = f->type;
  return true;
}

bool Bindings::bind_fields(const Rule& rule, const EventClass& cls, Action& action) {
  const std::vector<std::string> keys = field_keys(action.role);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    std::string name = rule.value(keys[i]);
    if (action.role == Role::kLeave && !rule.value("leave_key").empty()) name = rule.value("leave_key");
    if (name.empty()) continue;
    if (!field(rule, cls, name, action.fields[i])) return false;
    if (fits(keys[i], action.fields[i].type)) continue;
    problem(rule, "the field '" + name + "' of " + cls.name + " is not " +
                      (wants_text(keys[i])  ? "a text"
                       : keys[i] == "value" ? "a number"
                       : keys[i] == "key"   ? "an integer or a text"
                                            : "an integer"));
    return false;
  }
  return true;
}

bool Bindings::bind_part(const Rule& rule, const NamePart& part, const std::vector<std::string>& captures,
                         const EventClass& cls, BoundName& name) {
  using Kind = NamePart::Kind;
  BoundPart bound{part.kind, part.text, {}};
  if (part.kind == Kind::kCapture) {
    bound.kind = Kind::kLiteral;
    bound.text = part.capture < captures.size() ? captures[part.capture] : "";
  }
  if (part.kind == Kind::kField || part.kind == Kind::kHexField || part.kind == Kind::kSymbol) {
    if (!field(rule, cls, part.text, bound.field)) return false;
    const FieldType type = bound.field.type;
    if (type == FieldType::kOther ||
        (part.kind != Kind::kField && type != FieldType::kSigned && type != FieldType::kUnsigned)) {
      problem(rule, "the field '" + part.text + "' of " + cls.name + " cannot be shown so");
      return false;
    }
  }
  name.parts.push_back(std::move(bound));
  return true;
}

bool Bindings::bind_name(const Rule& rule, const std::vector<std::string>& captures, const EventClass& cls,
                         Action& action) {
  const auto parts = parse_name(rule.value("name"));
  if (!parts) return false;  // checked when it was read
  BoundName name;
  for (const NamePart& part : *parts)
    if (!bind_part(rule, part, captures, cls, name)) return false;
  std::string fixed;
  std::size_t dynamic = 0;
  for (std::uint32_t i = 0; i < name.parts.size(); ++i) {
    const BoundPart& part = name.parts[i];
    fixed += part.text;
    if (part.kind == NamePart::Kind::kLiteral) continue;
    ++dynamic;
    const bool integer =
        part.field.is_there() && part.field.type != FieldType::kText && part.field.type != FieldType::kReal;
    if (integer) name.only = i;
  }
  if (dynamic != 1) name.only = kNothing;
  if (dynamic == 0) {
    action.fixed = sink_.name(clean_utf8(fixed), action.name_kind);
    return true;
  }
  action.name = static_cast<std::uint32_t>(names_.size());
  names_.push_back(std::move(name));
  return true;
}

void Bindings::bind_switch(const Rule& rule, Action& action) {
  using reader::NameKind;
  const auto name = [this, &rule](const char* key, NameKind kind) {
    const std::string& text = rule.value(key);
    return text.empty() ? reader::NameId{kNothing} : sink_.name(clean_utf8(text), kind);
  };
  action.switch_names = static_cast<std::uint32_t>(switch_names_.size());
  switch_names_.push_back({name("on_cpu", NameKind::kState), name("runnable", NameKind::kWait),
                           name("blocked", NameKind::kWait), name("uninterruptible", NameKind::kIo),
                           name("stopped", NameKind::kWait)});
}

std::uint32_t Bindings::slot(std::uint32_t rule, const std::vector<std::string>& captures) {
  return slots_.try_emplace({rule, captures}, static_cast<std::uint32_t>(kOnCpuSlot + 1 + slots_.size()))
      .first->second;
}

std::uint32_t Bindings::filter(const std::string& pattern) {
  const auto known = std::find(filters_.begin(), filters_.end(), pattern);
  const auto index = static_cast<std::uint32_t>(known - filters_.begin());
  if (known == filters_.end()) filters_.push_back(pattern);
  return index;
}

std::vector<Unmatched> Bindings::unmatched() const {
  std::vector<Unmatched> by_name(class_names_.size());
  for (const auto& [name, index] : class_names_) by_name[index].name = name;
  for (const Class& cls : classes_)
    if (cls.fate == Fate::kUnmatched) by_name[cls.name].events += cls.events;
  std::erase_if(by_name, [](const Unmatched& u) { return u.events == 0; });
  std::sort(by_name.begin(), by_name.end(), [](const Unmatched& a, const Unmatched& b) {
    return a.events != b.events ? a.events > b.events : a.name < b.name;
  });
  return by_name;
}

std::vector<std::string> Bindings::unused_rules() const {
  std::vector<std::string> out;
  for (std::size_t r = 0; r < used_.size(); ++r) {
    const Rule& rule = rules_.rules()[r];
    if (used_[r] == (rule.leaves.empty() ? 1 : 3)) continue;
    if (used_[r] == 0 && rule.value("optional") == "true") continue;
    std::string half = used_[r] == 1 ? ", no event leaves it" : used_[r] == 2 ? ", no event enters it" : "";
    out.push_back(clean_utf8(rule.shown()) + half);
  }
  return out;
}

}  // namespace margay::lttng_rules
