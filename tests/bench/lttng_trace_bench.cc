// What reading a recorded trace costs, beside Babeltrace's own minimum in the same run: ctf.fs, utils.muxer
// and a sink that only counts messages. Ours hands events to an EventSink that counts, and reads of each
// vpid, vtid and the name of the thread.
//
//   lttng_trace_bench [TRACE | EVENTS]     a trace of LTTng's, or so many made-up events of 8 CPUs (2000000)
//
// They take turns; processor time, for others may use the machine. Goal: 85 % of the minimum's throughput.
#include <babeltrace2/babeltrace.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

#include "margay/lttng_trace/trace_reader.h"
#include "support/ctf_writer.h"

namespace margay::lttng {
namespace {

constexpr int kRounds = 7;

double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

class Counter final : public EventSink {
 public:
  void on_class(const EventClass& /*cls*/) override {}
  void on_event(const Event& e) override {
    ++events;
    sum += static_cast<std::uint64_t>(e.vpid + e.vtid) + e.procname.size();
  }
  void on_discarded(const Discarded& /*discarded*/) override {}
  void on_progress(TimeNs /*until*/) override { ++progress; }
  std::uint64_t events = 0, sum = 0, progress = 0;
};

// Seconds, or less than 0.
double ours(const std::string& path, std::uint64_t& events) {
  const double begin = cpu_seconds();
  Counter counter;
  auto reader = TraceReader::open_directory(path, counter);
  if (!reader) {
    std::fprintf(stderr, "%s\n", reader.error().message.c_str());
    return -1;
  }
  for (;;) {
    const auto step = (*reader)->run_once(4096);
    if (!step) return -1;
    if (*step == Step::kEnd) break;
  }
  events = counter.events;
  return cpu_seconds() - begin;
}

bt_graph_simple_sink_component_initialize_func_status keep(bt_message_iterator* /*iterator*/,
                                                           void* /*data*/) {
  return BT_GRAPH_SIMPLE_SINK_COMPONENT_INITIALIZE_FUNC_STATUS_OK;
}

bt_graph_simple_sink_component_consume_func_status count(bt_message_iterator* iterator, void* data) {
  bt_message_array_const messages = nullptr;
  std::uint64_t n = 0;
  const auto status = bt_message_iterator_next(iterator, &messages, &n);
  if (status != BT_MESSAGE_ITERATOR_NEXT_STATUS_OK)
    return status == BT_MESSAGE_ITERATOR_NEXT_STATUS_END
               ? BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_END
               : BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_ERROR;
  for (std::uint64_t i = 0; i < n; ++i) bt_message_put_ref(messages[i]);
  *static_cast<std::uint64_t*>(data) += n;
  return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_OK;
}

// All traces below `path` into the muxer of one graph, or each stream into a sink of its own (no order at
// all); as ours, found by their metadata.
double minimum(const std::string& path, bool muxed, std::uint64_t& messages) {
  const double begin = cpu_seconds();
  const bt_plugin* ctf = nullptr;
  const bt_plugin* utils = nullptr;
  if (bt_plugin_find("ctf", BT_FALSE, BT_FALSE, BT_TRUE, BT_TRUE, BT_FALSE, &ctf) !=
          BT_PLUGIN_FIND_STATUS_OK ||
      bt_plugin_find("utils", BT_FALSE, BT_FALSE, BT_TRUE, BT_TRUE, BT_FALSE, &utils) !=
          BT_PLUGIN_FIND_STATUS_OK)
    return -1;
  bt_graph* graph = bt_graph_create(0);
  const bt_component_filter* muxer = nullptr;
  if (muxed)
    bt_graph_add_filter_component(graph,
                                  bt_plugin_borrow_filter_component_class_by_name_const(utils, "muxer"), "m",
                                  nullptr, BT_LOGGING_LEVEL_NONE, &muxer);
  std::vector<std::string> traces;
  if (std::filesystem::exists(path + "/metadata")) traces.push_back(path);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path))
    if (entry.is_directory() && std::filesystem::exists(entry.path() / "metadata"))
      traces.push_back(entry.path());
  std::uint64_t input = 0;
  const bt_component_sink* sink = nullptr;
  for (const std::string& trace : traces) {
    bt_value* params = bt_value_map_create();
    bt_value* inputs = nullptr;
    bt_value_map_insert_empty_array_entry(params, "inputs", &inputs);
    bt_value_array_append_string_element(inputs, trace.c_str());
    const bt_component_source* source = nullptr;
    if (bt_graph_add_source_component(graph, bt_plugin_borrow_source_component_class_by_name_const(ctf, "fs"),
                                      trace.c_str(), params, BT_LOGGING_LEVEL_NONE,
                                      &source) != BT_GRAPH_ADD_COMPONENT_STATUS_OK)
      return -1;
    bt_value_put_ref(params);
    for (std::uint64_t p = 0; p < bt_component_source_get_output_port_count(source); ++p, ++input) {
      const bt_port_output* port = bt_component_source_borrow_output_port_by_index_const(source, p);
      const bt_port_input* to = nullptr;
      if (muxed) {
        to = bt_component_filter_borrow_input_port_by_index_const(muxer, input);
      } else {
        bt_graph_add_simple_sink_component(graph, std::to_string(input).c_str(), keep, count, nullptr,
                                           &messages, &sink);
        to = bt_component_sink_borrow_input_port_by_index_const(sink, 0);
      }
      bt_graph_connect_ports(graph, port, to, nullptr);
    }
  }
  if (muxed) {
    bt_graph_add_simple_sink_component(graph, "count", keep, count, nullptr, &messages, &sink);
    bt_graph_connect_ports(graph, bt_component_filter_borrow_output_port_by_index_const(muxer, 0),
                           bt_component_sink_borrow_input_port_by_index_const(sink, 0), nullptr);
  }
  messages = 0;
  const bool good = bt_graph_run(graph) == BT_GRAPH_RUN_STATUS_OK;
  bt_graph_put_ref(graph);
  bt_plugin_put_ref(ctf);
  bt_plugin_put_ref(utils);
  return good ? cpu_seconds() - begin : -1;
}

bool make_trace(const std::string& path, std::uint64_t events) {
  using test_support::CtfBytes;
  test_support::CtfOptions options;
  options.packet_bytes = 128 << 10;
  test_support::CtfTrace trace(
      path, options,
      {{"lttng_ust_pthread:pthread_mutex_lock_req", {{"mutex", "u64"}}},
       {"lttng_ust_pthread:pthread_mutex_lock_acq", {{"mutex", "u64"}, {"status", "i32"}}},
       {"lttng_ust_libc:malloc", {{"size", "u64"}, {"ptr", "u64"}}}});
  std::uint64_t random = 88172645463325252ULL;
  std::uint64_t at = 1'000'000'000;
  for (std::uint64_t i = 0; i < events; ++i) {
    random ^= random << 13U;
    random ^= random >> 7U;
    random ^= random << 17U;
    at += 100 + random % 800;
    const auto cpu = static_cast<std::uint32_t>((random >> 20U) % 8);
    const auto cls = static_cast<std::uint32_t>((random >> 32U) % 3);
    CtfBytes payload;
    payload.u64(random);
    if (cls == 1) payload.i32(0);
    if (cls == 2) payload.u64(i);
    const auto tid = static_cast<int>(1000 + (random >> 40U) % 64);
    if (!trace.event(cpu, at, cls, CtfBytes().i32(1000).i32(tid).comm("worker"), payload)) return false;
  }
  return trace.finish();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

int run(const std::string& path) {
  std::vector<double> a, b, c, ratios, bare;
  std::uint64_t events = 0, messages = 0;
  for (int i = 0; i <= kRounds; ++i) {
    const double m = minimum(path, true, messages);
    const double u = minimum(path, false, messages);
    const double o = ours(path, events);
    if (m <= 0 || o <= 0 || u <= 0 || events == 0) {
      std::fprintf(stderr, "%s: cannot be read\n", path.c_str());
      return 1;
    }
    if (i == 0) continue;  // files and plugins are in memory now
    a.push_back(m);
    b.push_back(o);
    c.push_back(u);
    ratios.push_back(m / o);
    bare.push_back(u / o);
  }
  const double n = static_cast<double>(events);
  std::printf("%.0f events, %llu messages, median of %d turns, processor time\n", n,
              static_cast<unsigned long long>(messages), kRounds);
  std::printf("  muxer and a sink that counts  %6.0f ns an event  %5.2f M events/s\n", median(a) / n * 1e9,
              n / median(a) / 1e6);
  std::printf("  decoding alone, no order      %6.0f ns an event  %5.2f M events/s\n", median(c) / n * 1e9,
              n / median(c) / 1e6);
  std::printf("  TraceReader                   %6.0f ns an event  %5.2f M events/s\n", median(b) / n * 1e9,
              n / median(b) / 1e6);
  std::printf(
      "  throughput of TraceReader: %.0f %% of the minimum's (goal: 85 %%), %.0f %% of decoding alone\n",
      100 * median(ratios), 100 * median(bare));
  return 0;
}

}  // namespace
}  // namespace margay::lttng

int main(int argc, char** argv) {
  const std::string given = argc > 1 ? argv[1] : "2000000";
  if (given.find_first_not_of("0123456789") != std::string::npos) return margay::lttng::run(given);
  std::string name = std::filesystem::temp_directory_path() / "margay-bench-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) return 1;
  const bool made = margay::lttng::make_trace(name, std::strtoull(given.c_str(), nullptr, 10));
  const int code = made ? margay::lttng::run(name) : 1;
  std::error_code ec;
  std::filesystem::remove_all(name, ec);
  return code;
}
