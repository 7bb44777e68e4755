// What the rules do with each class of events: decided once, when the class is told.
//
// Of each role (enter, leave, mark, ...) the first rule that is for the class counts; one with a filter on
// processes lets later ones have what it does not take. An `ignore` hides what comes after it.
// Thread safety: none. Cost: a class is compared with every pattern; then an array access an event.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "margay/lttng/event.h"
#include "margay/lttng_rules/account.h"
#include "margay/lttng_rules/rule_set.h"
#include "margay/reader/state_sink.h"
#include "name_template.h"

namespace margay::lttng_rules {

inline constexpr std::uint32_t kNothing = ~std::uint32_t{0};
// Slots say what is to be left: a rule and what its pattern's stars stood for. These two are no rule's.
inline constexpr std::uint32_t kOutSlot = 0;    // switched out
inline constexpr std::uint32_t kOnCpuSlot = 1;  // on a processor, and nothing else is known

enum class Role : std::uint8_t {
  kEnter,
  kLeave,
  kMark,
  kVariable,
  kSwitch,
  kWakeup,
  kThread,
  kThreadEnd,
  kProcess,
  kLibrary,
  kUnload
};

struct BoundField {
  std::uint32_t index = kNothing;  // of the class's fields
  lttng::FieldType type = lttng::FieldType::kOther;
  bool is_there() const { return index != kNothing; }
};

struct BoundPart {
  NamePart::Kind kind = NamePart::Kind::kLiteral;
  std::string text;
  BoundField field;
};
// A name that depends on the event.
struct BoundName {
  std::vector<BoundPart> parts;
  std::uint32_t only = kNothing;  // the part that is an integer or a symbol, where all others are literal
};

struct SwitchNames {
  reader::NameId on_cpu{kNothing}, runnable{kNothing}, blocked{kNothing}, uninterruptible{kNothing},
      stopped{kNothing};  // kNothing: not wanted
};

struct Action {
  Role role = Role::kMark;
  reader::NameKind name_kind = reader::NameKind::kMark;
  std::uint32_t slot = kNothing;
  bool once = false;                // kEnter: it ends the one before
  std::uint32_t filter = kNothing;  // of filters()
  std::uint32_t name = kNothing;    // of names(); kNothing: fixed
  reader::NameId fixed{};
  std::uint32_t switch_names = kNothing;
  // kEnter, kLeave: the key. kVariable: the value. kSwitch: tids, comms and state of prev and next. kThread:
  // tid, pid, name. kThreadEnd, kWakeup: tid. kProcess: name. kLibrary: base, size, path.
  std::array<BoundField, 5> fields;
};

class Bindings {
 public:
  enum class Fate : std::uint8_t { kUnmatched, kIgnored, kActions };
  struct Class {
    std::uint32_t first = 0;  // of its actions
    std::uint32_t count = 0;
    Fate fate = Fate::kUnmatched;
    bool kernel = false;
    std::uint32_t name = 0;
    std::uint64_t events = 0;
  };

  Bindings(RuleSet rules, reader::StateSink& sink, std::size_t most_problems);

  void add(const lttng::EventClass& cls);

  std::size_t size() const { return classes_.size(); }
  Class& at(std::uint32_t cls) { return classes_[cls]; }
  const Action* actions(const Class& cls) const { return actions_.data() + cls.first; }
  const BoundName& name(std::uint32_t n) const { return names_[n]; }
  const SwitchNames& switch_names(std::uint32_t n) const { return switch_names_[n]; }
  const std::vector<std::string>& filters() const { return filters_; }
  const std::vector<std::string>& left_out_threads() const { return rules_.left_out_threads(); }
  bool has_switches() const { return !switch_names_.empty(); }

  std::vector<Unmatched> unmatched() const;
  std::vector<std::string> unused_rules() const;
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  void match(std::uint32_t rule, const lttng::EventClass& cls);
  bool is_taken(Role role, std::uint32_t first) const;
  void bind(std::uint32_t rule, Role role, const std::vector<std::string>& captures,
            const lttng::EventClass& cls);
  bool bind_fields(const Rule& rule, const lttng::EventClass& cls, Action& action);
  bool bind_name(const Rule& rule, const std::vector<std::string>& captures, const lttng::EventClass& cls,
                 Action& action);
  bool bind_part(const Rule& rule, const NamePart& part, const std::vector<std::string>& captures,
                 const lttng::EventClass& cls, BoundName& name);
  bool field(const Rule& rule, const lttng::EventClass& cls, const std::string& name, BoundField& out);
  void bind_switch(const Rule& rule, Action& action);
  std::uint32_t slot(std::uint32_t rule, const std::vector<std::string>& captures);
  std::uint32_t filter(const std::string& pattern);
  void problem(const Rule& rule, const std::string& what);

  const RuleSet rules_;
  reader::StateSink& sink_;
  const std::size_t most_problems_;
  std::vector<Class> classes_;
  std::vector<Action> actions_;
  std::vector<BoundName> names_;
  std::vector<SwitchNames> switch_names_;
  std::vector<std::string> filters_;
  std::map<std::pair<std::uint32_t, std::vector<std::string>>, std::uint32_t> slots_;
  std::map<std::string, std::uint32_t> class_names_;
  std::vector<std::uint8_t> used_;  // by rule: 1 its events, 2 its leaves
  std::vector<std::string> problems_;
};

}  // namespace margay::lttng_rules
