// Makes states of the events of an LTTng trace, as rules say.
//
// A class of events is compared with all rules once, when it is told (on_class). An event then costs a
// look-up of its thread and an act on that thread's stack: no text is read or made but for names that depend
// on an event's fields, and those are kept.
//
// Every event is in exactly one bin of account(). What each malformed situation does, and where it is
// counted, is in RULES.md.
//
// Nothing here fails: a rule that cannot be applied to a class of its name (a field is missing) is in
// problems(), and the class's events are unmatched.
//
// Bounds: Limits, and kMostProblems messages. Memory: some 300 bytes a thread, and 24 a state that is open.
// Thread safety: none; events come in the order of time. Cost: O(1) an event (the nesting is bounded), about
// 50 ns with what a sink does left out; a loss costs a call of the sink for each thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "margay/base/time.h"
#include "margay/lttng/event.h"
#include "margay/lttng_rules/account.h"
#include "margay/lttng_rules/rule_set.h"
#include "margay/lttng_rules/symbols.h"
#include "margay/reader/state_sink.h"

namespace margay::lttng_rules {

struct Limits {
  std::uint32_t depth = 64;        // open states of a thread; deeper ones are counted and left out
  std::uint32_t threads = 65'536;  // known at a time
  std::uint32_t processes = 4096;  // known at a time
  std::uint32_t names = 8192;      // names made of fields; others are "(other names)"
  std::uint32_t name_bytes = 128;  // longer names are cut
  std::uint32_t cached = 65'536;   // names kept by the values that they were made of
  std::uint32_t libraries = 4096;  // of a process
  // A thread that did nothing for this long, and has no state open, is forgotten when another needs its
  // place.
  DurationNs idle = seconds(10);
};

class Interpreter final : public lttng::EventSink {
 public:
  static constexpr std::size_t kMostProblems = 64;

  // `sink` and `symbols` outlive it. `symbols` is used by rules with {symbol:FIELD} only.
  Interpreter(RuleSet rules, reader::StateSink& sink, SymbolSource& symbols, Limits limits = {});
  ~Interpreter() override;

  void on_class(const lttng::EventClass& cls) override;
  void on_event(const lttng::Event& event) override;
  void on_discarded(const lttng::Discarded& discarded) override;
  void on_progress(TimeNs until) override;

  // For who sees it otherwise: LTTng does not tell when a process of user space ends. Unknown pids do
  // nothing.
  void end_process(std::int64_t pid, TimeNs at);
  // The trace is over: every open state, thread and process ends. What comes afterwards begins anew.
  void finish(TimeNs at);

  Account account() const;
  // By number of events, the most first. Cost: linear in the classes.
  std::vector<Unmatched> unmatched() const;
  // Rules that no class seen so far is for, as Rule::shown(). Half a pair counts as unused, too; a
  // rule that is `optional` does only then.
  std::vector<std::string> unused_rules() const;
  // Rules that are for a class and cannot be applied to it, a sentence each.
  const std::vector<std::string>& problems() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace margay::lttng_rules
