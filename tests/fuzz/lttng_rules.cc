// Rules for LTTng's events (up to a byte of 0), and then events of a few classes: rules are applied or
// refused with a sentence; each event is in exactly one bin, and the sink is told what its contract allows.
#include <map>
#include <vector>

#include "fuzz.h"
#include "margay/lttng_rules/interpreter.h"

namespace margay::lttng_rules {
namespace {

class CheckingSink final : public reader::StateSink {
 public:
  reader::ProcessId process(std::int64_t, std::string_view) override {
    processes_.push_back(true);
    return reader::ProcessId(static_cast<std::uint32_t>(processes_.size() - 1));
  }
  reader::ThreadId begin_thread(reader::ProcessId process, std::int64_t, std::string_view, TimeNs) override {
    FUZZ_CHECK(processes_.at(process.value), "a thread is of a live process");
    threads_.push_back({true, {}});
    return reader::ThreadId(static_cast<std::uint32_t>(threads_.size() - 1));
  }
  void rename_thread(reader::ThreadId thread, std::string_view) override { live(thread); }
  reader::NameId name(std::string_view text, reader::NameKind) override {
    return reader::NameId(
        names_.try_emplace(std::string(text), static_cast<std::uint32_t>(names_.size())).first->second);
  }
  void enter(reader::ThreadId thread, reader::NameId state, TimeNs) override {
    live(thread).push_back(state.value);
  }
  void leave(reader::ThreadId thread, reader::NameId state, TimeNs) override {
    FUZZ_CHECK(!live(thread).empty() && live(thread).back() == state.value, "the innermost state is left");
    live(thread).pop_back();
  }
  void mark(reader::ThreadId thread, reader::NameId, TimeNs) override { live(thread); }
  void variable(reader::ThreadId thread, reader::NameId, double, TimeNs) override { live(thread); }
  void lost(reader::ThreadId thread, std::uint64_t, TimeNs) override { live(thread).clear(); }
  void end_thread(reader::ThreadId thread, TimeNs) override {
    FUZZ_CHECK(live(thread).empty(), "nothing is open at a thread's end");
    threads_[thread.value].live = false;
  }
  void end_process(reader::ProcessId process, TimeNs) override {
    FUZZ_CHECK(processes_.at(process.value), "a process ends once");
    processes_[process.value] = false;
  }
  void cover(TimeNs) override {}

 private:
  struct Thread {
    bool live = false;
    std::vector<std::uint32_t> open;
  };
  std::vector<std::uint32_t>& live(reader::ThreadId thread) {
    FUZZ_CHECK(threads_.at(thread.value).live, "a thread is spoken of while it lives");
    return threads_[thread.value].open;
  }
  std::vector<bool> processes_;
  std::vector<Thread> threads_;
  std::map<std::string, std::uint32_t> names_;
};

class NoSymbols final : public SymbolSource {
 public:
  std::string find(std::string_view, std::uint64_t, std::uint64_t) override { return ""; }
};

class Values final : public lttng::FieldValues {
 public:
  std::int64_t integer(std::uint32_t field) const override { return number + field; }
  double real(std::uint32_t) const override { return 0.5; }
  std::string_view text(std::uint32_t) const override { return word; }
  std::int64_t number = 0;
  std::string_view word;
};

// Every class has every field that the shipped sets ask for.
const std::vector<lttng::Field>& fields() {
  using T = lttng::FieldType;
  static const std::vector<lttng::Field> all = {
      {"tid", T::kSigned},       {"pid", T::kSigned},        {"prev_tid", T::kSigned},
      {"next_tid", T::kSigned},  {"prev_state", T::kSigned}, {"child_tid", T::kSigned},
      {"child_pid", T::kSigned}, {"mutex", T::kUnsigned},    {"addr", T::kUnsigned},
      {"baddr", T::kUnsigned},   {"memsz", T::kUnsigned},    {"path", T::kText},
      {"prev_comm", T::kText},   {"next_comm", T::kText},    {"child_comm", T::kText},
      {"name", T::kText},        {"state", T::kText},        {"procname", T::kText},
      {"value", T::kReal},       {"other", T::kOther}};
  return all;
}

constexpr const char* kUst[] = {"lttng_ust_pthread:pthread_mutex_lock_req",
                                "lttng_ust_pthread:pthread_mutex_lock_acq",
                                "lttng_ust_cyg_profile:func_entry",
                                "lttng_ust_cyg_profile:func_exit",
                                "lttng_ust_statedump:bin_info",
                                "lttng_ust_statedump:procname",
                                "margay:enter",
                                "margay:leave",
                                "margay:value"};
constexpr const char* kKernel[] = {"sched_switch",       "sched_wakeup",       "sched_process_fork",
                                   "sched_process_exit", "syscall_entry_read", "syscall_exit_read"};
constexpr std::uint32_t kClasses = std::size(kUst) + std::size(kKernel);

void play(fuzz::Input& input, Interpreter& interpreter) {
  std::uint64_t events = 0;
  for (std::int64_t now = 0; !input.empty(); now += input.u8()) {
    const std::uint8_t what = input.u8();
    Values values;
    values.number = input.u8() % 8;
    values.word = input.bytes(1);
    lttng::Event event;
    event.cls = what % (kClasses + 1);  // one that there is not, too
    event.at = TimeNs(now);
    event.cpu = what % 3 - 1;
    event.vpid = input.u8() % 6 - 1;
    event.vtid = event.vpid < 0 ? -1 : input.u8() % 8;
    event.procname = values.word;
    event.values = &values;
    if (what == 255) {
      interpreter.on_discarded({values.word.size(), now % 2 == 0, event.cpu, TimeNs(now), TimeNs(now)});
    } else if (what == 254) {
      interpreter.end_process(event.vpid, TimeNs(now));
    } else {
      interpreter.on_event(event);
      ++events;
    }
  }
  interpreter.finish(TimeNs(1 << 20));
  const Account a = interpreter.account();
  FUZZ_CHECK(a.seen == events && a.bins() == events, "each event is in one bin");
  FUZZ_CHECK(a.threads_begun == a.threads_ended, "every thread ends");
}

}  // namespace
}  // namespace margay::lttng_rules

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace margay::lttng_rules;
  const std::string_view all = margay::fuzz::text_of(data, size);
  const std::size_t end = std::min(all.find('\0'), all.size());
  const auto rules = RuleSet::parse(all.substr(0, end), "file");
  if (!rules) {
    FUZZ_CHECK(rules.error().message.starts_with("file"), "an error names the file");
    return 0;
  }
  CheckingSink sink;
  NoSymbols symbols;
  Limits limits;
  limits.depth = 3;
  limits.threads = 6;
  limits.processes = 3;
  limits.names = 4;
  limits.idle = margay::DurationNs(100);
  Interpreter interpreter(*rules, sink, symbols, limits);
  for (const char* name : kUst) interpreter.on_class({name, false, fields()});
  for (const char* name : kKernel) interpreter.on_class({name, true, fields()});
  margay::fuzz::Input input(all.substr(end == all.size() ? end : end + 1));
  play(input, interpreter);
  return 0;
}
