// A sink that writes down what it is told, and checks that it is told so as its contract demands; and a trace
// that is made by hand.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "margay/lttng_rules/interpreter.h"

namespace margay::lttng_rules::test {

class Recorder final : public reader::StateSink {
 public:
  reader::ProcessId process(std::int64_t pid, std::string_view command) override;
  reader::ThreadId begin_thread(reader::ProcessId process, std::int64_t tid, std::string_view name,
                                TimeNs at) override;
  void rename_thread(reader::ThreadId thread, std::string_view name) override;
  reader::NameId name(std::string_view text, reader::NameKind kind) override;
  void enter(reader::ThreadId thread, reader::NameId state, TimeNs at) override;
  void leave(reader::ThreadId thread, reader::NameId state, TimeNs at) override;
  void mark(reader::ThreadId thread, reader::NameId mark, TimeNs at) override;
  void variable(reader::ThreadId thread, reader::NameId variable, double value, TimeNs at) override;
  void lost(reader::ThreadId thread, std::uint64_t events, TimeNs at) override;
  void end_thread(reader::ThreadId thread, TimeNs at) override;
  void end_process(reader::ProcessId process, TimeNs at) override;
  void cover(TimeNs until) override;

  // What was told since the last call, a line each: "7 enter 100/101 mutex wait".
  std::vector<std::string> take();
  std::size_t open_states() const;
  std::size_t live_threads() const;
  std::uint64_t told_lost() const { return told_lost_; }
  reader::NameKind kind_of(const std::string& name) const;
  bool quiet = false;                   // checks only: writes nothing down
  std::size_t most_threads = SIZE_MAX;  // for more there is no room

 private:
  struct Thread {
    std::string shown;
    std::uint32_t process = 0;
    bool live = true;
    std::vector<std::uint32_t> open;
  };
  struct Process {
    std::int64_t pid = 0;
    bool live = true;
  };
  struct Name {
    std::string text;
    reader::NameKind kind;
  };
  Thread& live(reader::ThreadId thread);
  void write(TimeNs at, const std::string& what);

  std::vector<Process> processes_;
  std::vector<Thread> threads_;
  std::vector<Name> names_;
  std::vector<std::string> lines_;
  std::uint64_t told_lost_ = 0;
};

using Value = std::variant<std::int64_t, double, std::string>;

class Values final : public lttng::FieldValues {
 public:
  explicit Values(std::vector<Value> values) : values_(std::move(values)) {}
  std::int64_t integer(std::uint32_t field) const override {
    return std::get<std::int64_t>(values_.at(field));
  }
  double real(std::uint32_t field) const override { return std::get<double>(values_.at(field)); }
  std::string_view text(std::uint32_t field) const override {
    return std::get<std::string>(values_.at(field));
  }

 private:
  std::vector<Value> values_;
};

// "lib.so" -> functions of 16 bytes each: "lib.so#0", "lib.so#1" up to #3, and nothing beyond.
class FakeSymbols final : public SymbolSource {
 public:
  std::string find(std::string_view path, std::uint64_t base, std::uint64_t address) override;
  int asked = 0;
};

// An interpreter, and what it is told by hand.
struct Trace {
  explicit Trace(const std::string& rules, Limits limits = {});
  explicit Trace(RuleSet rules, Limits limits = {});

  // Fields as "name" (signed), "name:u", "name:r" (real), "name:t" (text), "name:o" (other).
  std::uint32_t cls(const std::string& name, const std::vector<std::string>& fields = {},
                    bool kernel = false);
  // At the next nanosecond, of `vpid` and `vtid`.
  void event(std::uint32_t cls, std::vector<Value> values = {});
  // With another context.
  void event_of(std::int64_t pid, std::int64_t tid, std::uint32_t cls, std::vector<Value> values = {});
  void expect_account_adds_up() const;
  Account account() const { return interpreter.account(); }

  Recorder sink;
  FakeSymbols symbols;
  Interpreter interpreter;
  std::int64_t now = 0;
  std::int64_t vpid = 100;
  std::int64_t vtid = 101;
  std::string procname;
  std::int32_t cpu = 0;
  std::uint32_t classes = 0;
  std::uint64_t events = 0;
};

// One rule and its two events: "in" enters the state "s", "out" leaves it.
inline constexpr char kState[] = "[[state]]\nenter=\"in\"\nleave=\"out\"\nname=\"s\"\n";
struct InOut : Trace {
  explicit InOut(Limits limits = {}) : Trace(kState, limits) {}
  const std::uint32_t in = cls("in"), out = cls("out");
};

RuleSet rules_of(const std::string& text);

}  // namespace margay::lttng_rules::test
