// What an Interpreter is made of. How an event goes through it: interpreter.cc (which act), _threads (whose),
// _switches (the scheduler), _losses (what was lost).
//
// Thread safety: none.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "bindings.h"
#include "margay/lttng_rules/interpreter.h"
#include "names.h"
#include "threads.h"

namespace margay::lttng_rules {

// What became of an event. Where it has several acts, the first of these that one of them had.
enum class Outcome : std::uint8_t {
  kUsed,
  kTooDeep,
  kLeaveAfterLoss,
  kLeaveWithoutEnter,
  kLeftOut,
  kUnattributed,
  kIgnored,
  kUnmatched,
};
inline constexpr std::size_t kOutcomes = 8;
inline constexpr std::int32_t kMostCpus = 65'536;  // of those beyond nothing is kept

// A thread, or why there is none.
struct Found {
  std::uint32_t thread = kNothing;
  Outcome why = Outcome::kUnattributed;
};

struct Interpreter::Impl {
  Impl(RuleSet rules, reader::StateSink& s, SymbolSource& symbols, const Limits& l)
      : sink(s),
        limits(l),
        bindings(std::move(rules), s, kMostProblems),
        names(bindings, s, symbols, l),
        threads(l.threads, l.processes) {}

  reader::StateSink& sink;
  const Limits limits;
  Bindings bindings;
  Names names;
  Threads threads;
  std::array<std::uint64_t, kOutcomes> bins{};
  Account odd;                             // the oddities; its bins are not used
  std::vector<std::int64_t> current_tid;   // by CPU: what the scheduler said last; -1 unknown
  std::vector<std::uint32_t> last_thread;  // by CPU: whose event was the newest
  std::uint64_t recent_loss = 0;           // events; threads that are new may have been in it
  TimeNs no_idle_until{};                  // not to be searched for again before

  // interpreter.cc
  Outcome act(const Bindings::Class& cls, const lttng::Event& event);
  Outcome act(const Action& action, const Bindings::Class& cls, const lttng::Event& event, Found& own);
  Outcome act_on_own(const Action& action, const lttng::Event& event, Thread& thread);
  Outcome enter(Thread& thread, std::uint32_t slot, std::uint64_t key, reader::NameId name, TimeNs at);
  Outcome leave(Thread& thread, std::uint32_t slot, std::uint64_t key, TimeNs at);
  void leave_missed(Thread& thread, std::uint32_t slot, TimeNs at);
  void pop(Thread& thread, TimeNs at);
  void learn_process_name(std::uint32_t process, std::string_view name, TimeNs at);
  Outcome learn_process(const Action& action, const lttng::Event& event);

  // interpreter_threads.cc
  Found own_thread(const Bindings::Class& cls, const lttng::Event& event);
  Found find_or_add(const lttng::Event& event);
  std::uint32_t add_thread(std::int64_t pid, std::int64_t tid, bool stand_in, TimeNs at);
  std::uint32_t add_process(std::int64_t pid, TimeNs at);
  void begin(Thread& thread, TimeNs at);
  void rename(Thread& thread, std::string_view name);
  void name_process(Process& process, std::string_view name);
  bool passes(Process& process, std::uint32_t filter);
  void close(Thread& thread, TimeNs at);
  // Of the sink and of the table.
  void end_thread(std::uint32_t thread, TimeNs at);
  void end_process(std::uint32_t process, TimeNs at);
  Outcome learn_thread(const Action& action, const lttng::Event& event);
  Outcome learn_thread_end(const Action& action, const lttng::Event& event);
  void thread_is_over(std::uint32_t thread, TimeNs at);

  // interpreter_switches.cc
  Outcome switch_threads(const Action& action, const lttng::Event& event);
  Outcome switch_out(const Action& action, const lttng::Event& event, std::int64_t tid, std::int64_t state);
  Outcome switch_in(const Action& action, const lttng::Event& event, std::int64_t tid);
  Found scheduled(const Action& action, const lttng::Event& event, std::int64_t tid, const BoundField& comm);
  Outcome wake_up(const Action& action, const lttng::Event& event);
  void pop_out(Thread& thread, TimeNs at);
  Outcome enter_out(Thread& thread, reader::NameId name, TimeNs at);

  // interpreter_losses.cc
  void lose(const lttng::Discarded& discarded);
};

}  // namespace margay::lttng_rules
