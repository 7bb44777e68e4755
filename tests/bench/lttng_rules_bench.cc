// What the rules cost an event, beside a sink that only counts:
//
//   build/release/tests/bench/lttng_rules_bench [--benchmark_filter=REGEX]
//
// A stream of 1000 threads of 20 processes on 16 CPUs, made before and read again and again. `count` is the
// stream itself, handed to a sink that counts; `ns_of_rules` is what a rule set takes beyond that, measured
// in the same run. A sink in Babeltrace that counts takes 700 ns an event: `ratio_to_700` is (700 + rules) /
// 700.
#include <benchmark/benchmark.h>

#include <chrono>
#include <random>

#include "margay/lttng_rules/interpreter.h"

namespace margay::lttng_rules {
namespace {

constexpr std::int64_t kThreads = 1000;
constexpr std::size_t kEvents = 1 << 20;

class CountingSink final : public reader::StateSink {
 public:
  reader::ProcessId process(std::int64_t, std::string_view) override { return reader::ProcessId(ids_++); }
  reader::ThreadId begin_thread(reader::ProcessId, std::int64_t, std::string_view, TimeNs) override {
    return reader::ThreadId(ids_++);
  }
  void rename_thread(reader::ThreadId, std::string_view) override {}
  reader::NameId name(std::string_view, reader::NameKind) override { return reader::NameId(ids_++); }
  void enter(reader::ThreadId, reader::NameId, TimeNs) override { ++calls; }
  void leave(reader::ThreadId, reader::NameId, TimeNs) override { ++calls; }
  void mark(reader::ThreadId, reader::NameId, TimeNs) override { ++calls; }
  void variable(reader::ThreadId, reader::NameId, double, TimeNs) override { ++calls; }
  void lost(reader::ThreadId, std::uint64_t, TimeNs) override {}
  void end_thread(reader::ThreadId, TimeNs) override {}
  void end_process(reader::ProcessId, TimeNs) override {}
  void cover(TimeNs) override {}
  std::uint64_t calls = 0;

 private:
  std::uint32_t ids_ = 0;
};

class CountingEvents final : public lttng::EventSink {
 public:
  void on_class(const lttng::EventClass&) override {}
  void on_event(const lttng::Event& event) override {
    sum += event.cls + static_cast<std::uint64_t>(event.vtid);
  }
  void on_discarded(const lttng::Discarded&) override {}
  void on_progress(TimeNs) override {}
  std::uint64_t sum = 0;
};

class NoSymbols final : public SymbolSource {
 public:
  std::string find(std::string_view, std::uint64_t, std::uint64_t) override { return "function"; }
};

// Field 0 is an address or a thread, the others are small numbers; texts are the state's name.
class Values final : public lttng::FieldValues {
 public:
  std::int64_t integer(std::uint32_t field) const override { return field == 0 ? first : 1; }
  double real(std::uint32_t) const override { return 1; }
  std::string_view text(std::uint32_t) const override { return word; }
  std::int64_t first = 0;
  std::string_view word;
};

struct Line {
  std::uint32_t cls;
  std::int32_t cpu;
  std::int64_t tid;
  std::int64_t first;
  std::string_view word;
};

struct Stream {
  std::vector<lttng::EventClass> classes;
  std::vector<Line> lines;
};

std::string_view word_of(std::int64_t n) {
  static const std::string_view words[] = {"decode", "demux", "convert the colours", "wait for a buffer",
                                           "render"};
  return words[static_cast<std::size_t>(n) % 5];
}

// Pairs of two classes, nested up to four deep, the next event of a thread chosen at random.
Stream stream_of(const lttng::EventClass& enter, const lttng::EventClass& leave) {
  std::mt19937_64 rng(1);
  Stream stream{{enter, leave}, {}};
  std::vector<std::vector<std::int64_t>> open(kThreads);
  while (stream.lines.size() < kEvents) {
    const auto t = static_cast<std::int64_t>(rng() % kThreads);
    auto& stack = open[static_cast<std::size_t>(t)];
    const bool enters = stack.empty() || (stack.size() < 4 && rng() % 2 == 0);
    const auto what = enters ? static_cast<std::int64_t>(rng() % 100) : stack.back();
    if (enters)
      stack.push_back(what);
    else
      stack.pop_back();
    stream.lines.push_back(
        {enters ? 0U : 1U, static_cast<std::int32_t>(t % 16), 1000 + t, 0x1000 + what * 64, word_of(what)});
  }
  // So that it can be read again: what is open is left.
  for (std::int64_t t = 0; t < kThreads; ++t)
    for (auto& stack = open[static_cast<std::size_t>(t)]; !stack.empty(); stack.pop_back())
      stream.lines.push_back({1U, static_cast<std::int32_t>(t % 16), 1000 + t, 0x1000 + stack.back() * 64,
                              word_of(stack.back())});
  return stream;
}

void play(const Stream& stream, lttng::EventSink& sink, std::int64_t& now) {
  Values values;
  lttng::Event event;
  event.values = &values;
  event.procname = "gst-launch-1.0";
  for (const Line& line : stream.lines) {
    values.first = line.first;
    values.word = line.word;
    event.cls = line.cls;
    event.at = TimeNs(++now);
    event.cpu = line.cpu;
    event.vtid = line.tid;
    event.vpid = line.tid / 50;
    sink.on_event(event);
  }
}

double seconds_of(const Stream& stream, lttng::EventSink& sink, std::int64_t& now) {
  const auto begin = std::chrono::steady_clock::now();
  play(stream, sink, now);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void rules(benchmark::State& state, const char* set, const Stream& stream) {
  RuleSet all = *RuleSet::shipped("base");
  if (!all.add(*RuleSet::shipped(set))) return state.SkipWithError("too many rules");
  CountingSink sink;
  NoSymbols symbols;
  CountingEvents count;
  Interpreter interpreter(all, sink, symbols);
  for (const lttng::EventClass& cls : stream.classes) interpreter.on_class(cls);
  std::int64_t now = 0;
  play(stream, interpreter, now);
  double counting = 0;
  double ruling = 0;
  for (auto _ : state) {
    counting += seconds_of(stream, count, now);
    ruling += seconds_of(stream, interpreter, now);
  }
  benchmark::DoNotOptimize(count.sum);
  benchmark::DoNotOptimize(sink.calls);
  const double events = static_cast<double>(stream.lines.size()) * static_cast<double>(state.iterations());
  const double ns = (ruling - counting) / events * 1e9;
  state.counters["ns_of_count"] = counting / events * 1e9;
  state.counters["ns_of_rules"] = ns;
  state.counters["ratio_to_700"] = (700 + ns) / 700;
  state.counters["used"] =
      static_cast<double>(interpreter.account().used) / static_cast<double>(interpreter.account().seen);
}

lttng::EventClass cls(const char* name, bool kernel, const char* field, lttng::FieldType type) {
  return {name, kernel, {{field, type}}};
}

void pthread(benchmark::State& state) {
  const auto type = lttng::FieldType::kUnsigned;
  rules(state, "pthread",
        stream_of(cls("lttng_ust_pthread:pthread_mutex_lock_req", false, "mutex", type),
                  cls("lttng_ust_pthread:pthread_mutex_lock_acq", false, "mutex", type)));
}
void functions(benchmark::State& state) {
  const auto type = lttng::FieldType::kUnsigned;
  rules(state, "functions",
        stream_of(cls("lttng_ust_cyg_profile:func_entry", false, "addr", type),
                  cls("lttng_ust_cyg_profile:func_exit", false, "addr", type)));
}
void margay(benchmark::State& state) {
  const auto type = lttng::FieldType::kText;
  rules(state, "margay",
        stream_of(cls("margay:enter", false, "state", type), cls("margay:leave", false, "state", type)));
}
void syscalls(benchmark::State& state) {
  const auto type = lttng::FieldType::kSigned;
  rules(state, "syscalls",
        stream_of(cls("syscall_entry_futex", true, "uaddr", type),
                  cls("syscall_exit_futex", true, "ret", type)));
}
void unmatched(benchmark::State& state) {
  const auto type = lttng::FieldType::kSigned;
  rules(state, "pthread", stream_of(cls("x:a", false, "a", type), cls("x:b", false, "b", type)));
}
BENCHMARK(pthread)->Unit(benchmark::kMillisecond);
BENCHMARK(functions)->Unit(benchmark::kMillisecond);
BENCHMARK(margay)->Unit(benchmark::kMillisecond);
BENCHMARK(syscalls)->Unit(benchmark::kMillisecond);
BENCHMARK(unmatched)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace margay::lttng_rules
BENCHMARK_MAIN();
