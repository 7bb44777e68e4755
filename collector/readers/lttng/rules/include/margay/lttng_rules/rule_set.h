// Rules that say what events of an LTTng trace mean: which two of them are the begin and the end of a state,
// which one is a mark, where a variable's value is. RULES.md is the manual; `shipped/` has examples.
//
// A rule set is text (TOML) that is read strictly: an unknown key, a wrong type, a pattern that cannot be, is
// an error that tells file, line, key and what was expected; nothing is ignored or adjusted.
//
// Thread safety: values and pure functions; load() reads one file. Cost: linear in the text.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "margay/base/result.h"
#include "margay/reader/state_sink.h"

namespace margay::lttng_rules {

enum class RuleKind : std::uint8_t {
  kState,      // enter and leave: two events, one state
  kMark,       // something that happens, without a length
  kVariable,   // a number that has a new value
  kSwitch,     // one CPU's scheduler puts one thread in the place of another
  kWakeup,     // a blocked thread may run again
  kThread,     // which process a thread is of, and what its name is
  kThreadEnd,  // a thread is over
  kProcess,    // what a process is called
  kLibrary,    // where a program or library lies in a process's memory
  kIgnore,     // known, and of no interest
};

enum class Domain : std::uint8_t { kAny, kKernel, kUst };

// One rule as it was written. What each kind has in `values` is what RULES.md says; defaults are filled in.
struct Rule {
  RuleKind kind = RuleKind::kIgnore;
  std::vector<std::string> events;  // patterns; of a state those that enter it
  std::vector<std::string> leaves;  // of a state
  Domain domain = Domain::kAny;
  std::string process;  // pattern of the process's name; "" for all
  reader::NameKind name_kind = reader::NameKind::kState;
  std::map<std::string, std::string> values;  // key -> field, or name
  std::string where;                          // "pthread.toml:12", for messages

  // "" for a key that was not given.
  const std::string& value(const std::string& key) const;
  // "pthread.toml:12: state \"mutex wait\" (lttng_ust_pthread:pthread_mutex_lock_req)"
  std::string shown() const;
  // Says the same, wherever it was written.
  bool same_as(const Rule& other) const;
};

class RuleSet {
 public:
  static constexpr std::size_t kLargestText = 1 << 20;  // bytes
  static constexpr std::size_t kMostRules = 4096;

  // `where` is named in errors: a file's path, or what the text is.
  static Result<RuleSet> parse(std::string_view text, const std::string& where);
  // Of a file. Errors: kNotFound, kIo; else as parse().
  static Result<RuleSet> load(const std::string& path);
  // One that is part of Margay, by name: "pthread". kNotFound tells which there are.
  static Result<RuleSet> shipped(std::string_view name);
  static std::vector<std::string> shipped_names();
  // Its text, to be shown or copied; "" for an unknown name.
  static std::string_view shipped_text(std::string_view name);

  // Appends what the other has; rules that say the same are kept once. Where several rules are for one event
  // the first one counts, so that what is to come before a shipped set has to be there first.
  // Errors: kLimit where there would be more than kMostRules.
  Status add(const RuleSet& other);

  const std::vector<Rule>& rules() const { return rules_; }
  // Patterns of names of threads that are left out: what they do is counted as ignored.
  const std::vector<std::string>& left_out_threads() const { return left_out_threads_; }
  // What to ask LTTng for: every event pattern of a rule but those of `ignore`, each once, for the kernel
  // (kKernel) or user space (kUst); a rule without a domain is among both. Groups are written out, and `?` is
  // `*`, which is all that LTTng knows. System calls go by the names of their events, "syscall_entry_read":
  // LTTng wants to be asked for the call, "read".
  std::vector<std::string> event_patterns(Domain domain) const;

 private:
  std::vector<Rule> rules_;
  std::vector<std::string> left_out_threads_;
};

}  // namespace margay::lttng_rules
