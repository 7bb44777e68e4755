// How late live events of LTTng are, beside Babeltrace's own minimum in the same run: two live sessions of
// the same program at the live timer of the default (100 ms), one read as margay-lttng-reader does
// (TraceReader, rules, a sink), one by ctf.lttng-live and a sink that only counts, in a process of its own.
//
//   lttng_live_bench [EVENTS [PERIOD_US [THREADS]]]     of each thread (20000 100 4)
//
// Late is the time from the event to the sink. Goal: no more than 1.3 times the minimum's. And the processor
// time of each, for their throughput where the program makes more than they can read (5000 0 4 and more): 85
// % at least. Needs lttng-tools.
#include <babeltrace2/babeltrace.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

#include "margay/base/time.h"
#include "margay/lttng_rules/interpreter.h"
#include "margay/lttng_trace/trace_reader.h"
#include "unit/lttng_trace/lttng_rig.h"

namespace margay::lttng {
namespace {

constexpr DurationNs kPatience = seconds(60);
constexpr DurationNs kQuiet = seconds(3);  // no event for so long: no more come (some were discarded)
constexpr auto kPause = std::chrono::milliseconds(5);

double cpu_seconds() {  // of this thread
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

struct Late {
  std::vector<double> ms;
  double cpu = 0;  // seconds
  std::size_t looked = 0;
  TimeNs news{};
  // Whether more may come.
  bool goes_on(std::size_t events, TimeNs now) {
    if (ms.size() > looked) looked = ms.size(), news = now;
    return ms.size() < events && (ms.empty() || now - news < kQuiet);
  }
  void add(TimeNs at) { ms.push_back(static_cast<double>((SystemClock().monotonic() - at).value) / 1e6); }
  double percentile(double p) {
    if (ms.empty()) return 0;
    std::sort(ms.begin(), ms.end());
    return ms[std::min(ms.size() - 1, static_cast<std::size_t>(p / 100 * static_cast<double>(ms.size())))];
  }
};

// What the rules tell goes nowhere, but is told.
class Nowhere final : public reader::StateSink {
 public:
  reader::ProcessId process(std::int64_t, std::string_view) override { return reader::ProcessId(0); }
  reader::ThreadId begin_thread(reader::ProcessId, std::int64_t, std::string_view, TimeNs) override {
    return reader::ThreadId(threads_++);
  }
  void rename_thread(reader::ThreadId, std::string_view) override {}
  reader::NameId name(std::string_view, reader::NameKind) override { return reader::NameId(0); }
  void enter(reader::ThreadId, reader::NameId, TimeNs at) override { late.add(at); }
  void leave(reader::ThreadId, reader::NameId, TimeNs at) override { late.add(at); }
  void mark(reader::ThreadId, reader::NameId, TimeNs at) override { late.add(at); }
  void variable(reader::ThreadId, reader::NameId, double, TimeNs at) override { late.add(at); }
  void lost(reader::ThreadId, std::uint64_t, TimeNs) override {}
  void end_thread(reader::ThreadId, TimeNs) override {}
  void end_process(reader::ProcessId, TimeNs) override {}
  void cover(TimeNs) override {}
  Late late;

 private:
  std::uint32_t threads_ = 0;
};

Late ours(const std::string& url, std::size_t events) {
  auto rules =
      lttng_rules::RuleSet::parse("[[mark]]\nevent = \"lttng_ust_tracef:*\"\nname = \"tick\"\n", "bench");
  Nowhere sink;
  lttng_rules::ElfSymbols symbols;
  lttng_rules::Interpreter interpreter(std::move(*rules), sink, symbols);
  auto reader = TraceReader::open_live(url, interpreter);
  if (!reader) return {};
  const SystemClock clock;
  const double begin = cpu_seconds();
  for (const TimeNs until = clock.monotonic() + kPatience;
       clock.monotonic() < until && sink.late.goes_on(events, clock.monotonic());) {
    const auto step = (*reader)->run_once(20'000);
    if (!step || *step == Step::kEnd) break;
    if (*step == Step::kAgain) std::this_thread::sleep_for(kPause);
  }
  sink.late.cpu = cpu_seconds() - begin;
  return std::move(sink.late);
}

bt_graph_simple_sink_component_initialize_func_status keep(bt_message_iterator* /*iterator*/,
                                                           void* /*data*/) {
  return BT_GRAPH_SIMPLE_SINK_COMPONENT_INITIALIZE_FUNC_STATUS_OK;
}
bt_graph_simple_sink_component_consume_func_status count(bt_message_iterator* iterator, void* data) {
  bt_message_array_const messages = nullptr;
  std::uint64_t n = 0;
  switch (bt_message_iterator_next(iterator, &messages, &n)) {
    case BT_MESSAGE_ITERATOR_NEXT_STATUS_OK:
      break;
    case BT_MESSAGE_ITERATOR_NEXT_STATUS_AGAIN:
      return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_AGAIN;
    case BT_MESSAGE_ITERATOR_NEXT_STATUS_END:
      return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_END;
    default:
      return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_ERROR;
  }
  for (std::uint64_t i = 0; i < n; ++i) {
    if (bt_message_get_type(messages[i]) == BT_MESSAGE_TYPE_EVENT)
      static_cast<Late*>(data)->add(TimeNs(static_cast<std::int64_t>(
          bt_clock_snapshot_get_value(bt_message_event_borrow_default_clock_snapshot_const(messages[i])))));
    bt_message_put_ref(messages[i]);
  }
  return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_OK;
}

Late minimum(const std::string& url, std::size_t events) {
  const bt_plugin* ctf = nullptr;
  Late late;
  if (bt_plugin_find("ctf", BT_FALSE, BT_FALSE, BT_TRUE, BT_TRUE, BT_FALSE, &ctf) != BT_PLUGIN_FIND_STATUS_OK)
    return late;
  bt_graph* const graph = bt_graph_create(0);
  bt_value* const params = bt_value_map_create();
  bt_value* inputs = nullptr;
  bt_value_map_insert_empty_array_entry(params, "inputs", &inputs);
  bt_value_array_append_string_element(inputs, url.c_str());
  bt_value_map_insert_string_entry(params, "session-not-found-action", "continue");
  const bt_component_source* source = nullptr;
  const bt_component_sink* sink = nullptr;
  bt_graph_add_source_component(graph,
                                bt_plugin_borrow_source_component_class_by_name_const(ctf, "lttng-live"),
                                "live", params, BT_LOGGING_LEVEL_NONE, &source);
  bt_graph_add_simple_sink_component(graph, "count", keep, count, nullptr, &late, &sink);
  bt_graph_connect_ports(graph, bt_component_source_borrow_output_port_by_index_const(source, 0),
                         bt_component_sink_borrow_input_port_by_index_const(sink, 0), nullptr);
  const SystemClock clock;
  const double begin = cpu_seconds();
  for (const TimeNs until = clock.monotonic() + kPatience;
       clock.monotonic() < until && late.goes_on(events, clock.monotonic());) {
    const auto status = bt_graph_run_once(graph);
    if (status == BT_GRAPH_RUN_ONCE_STATUS_AGAIN)
      std::this_thread::sleep_for(kPause);
    else if (status != BT_GRAPH_RUN_ONCE_STATUS_OK)
      break;
  }
  late.cpu = cpu_seconds() - begin;
  return late;
}

bool make_session(test::LttngRig& rig, const std::string& name) {
  return rig.lttng({"create", name, "--live=100000", "--set-url=" + rig.relay_url()}) &&
         rig.lttng({"enable-channel", "-u", "-s", name, "--buffers-uid", "--subbuf-size=256k",
                    "--num-subbuf=8", "c"}) &&
         rig.lttng({"enable-event", "-u", "-s", name, "-c", "c", "lttng_ust_tracef:*"}) &&
         rig.lttng(
             {"add-context", "-u", "-s", name, "-c", "c", "-t", "vpid", "-t", "vtid", "-t", "procname"}) &&
         rig.lttng({"start", name});
}

int run(const std::string& count, const std::string& period, const std::string& threads) {
  if (!test::LttngRig::is_here()) {
    std::fprintf(stderr, "lttng-tools is not installed\n");
    return 1;
  }
  test::LttngRig rig;
  if (!rig.start(true) || !make_session(rig, "ours") || !make_session(rig, "least")) return 1;
  const std::size_t events =
      std::strtoull(count.c_str(), nullptr, 10) * std::strtoull(threads.c_str(), nullptr, 10);
  std::array<int, 2> pipe_of{};
  if (pipe(pipe_of.data()) != 0) return 1;
  const pid_t child = fork();
  if (child == 0) {
    Late late = minimum(rig.live_url("least"), events);
    const std::array<double, 5> said{static_cast<double>(late.ms.size()), late.percentile(50),
                                     late.percentile(90), late.percentile(99), late.cpu};
    _exit(write(pipe_of[1], said.data(), sizeof said) == sizeof said ? 0 : 1);
  }
  pid_t program = -1;
  std::thread starter([&] {
    std::this_thread::sleep_for(std::chrono::seconds(1));  // both are attached by then
    program = rig.start_program({MARGAY_TICKER, count, period, threads});
  });
  Late late = ours(rig.live_url("ours"), events);
  starter.join();
  rig.wait_for(program);
  std::array<double, 5> least{};
  if (read(pipe_of[0], least.data(), sizeof least) != sizeof least) return 1;
  if (late.ms.empty() || least[0] <= 0) {
    std::fprintf(stderr, "no events came\n");
    return 1;
  }
  const auto cost = [](double cpu, double seen) { return seen > 0 ? cpu / seen * 1e9 : 0; };
  const double mine = cost(late.cpu, static_cast<double>(late.ms.size())), minimal = cost(least[4], least[0]);
  std::printf(
      "%zu events made\n                      seen   p50 ms   p90 ms   p99 ms late  CPU ns an event\n",
      events);
  const char* const row = "  %-18s %7.0f  %7.1f  %7.1f  %7.1f  %12.0f\n";
  std::printf(row, "a sink that counts", least[0], least[1], least[2], least[3], minimal);
  std::printf(row, "Margay's reader", static_cast<double>(late.ms.size()), late.percentile(50),
              late.percentile(90), late.percentile(99), mine);
  std::printf("  late: %.2f, %.2f, %.2f times (goal: 1.3); throughput %.0f %% (goal: 85 %%)\n",
              late.percentile(50) / least[1], late.percentile(90) / least[2], late.percentile(99) / least[3],
              100 * minimal / mine);
  return 0;
}

}  // namespace
}  // namespace margay::lttng

int main(int argc, char** argv) {
  return margay::lttng::run(argc > 1 ? argv[1] : "20000", argc > 2 ? argv[2] : "100",
                            argc > 3 ? argv[3] : "4");
}
