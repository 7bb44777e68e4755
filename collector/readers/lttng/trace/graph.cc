#include "graph.h"

namespace margay::lttng {
namespace {

using SinkClassRef = BtRef<const bt_component_class_sink, bt_component_class_sink_put_ref>;

bool put_text(bt_value* map, const char* key, const std::string& text) {
  return bt_value_map_insert_string_entry(map, key, text.c_str()) == BT_VALUE_MAP_INSERT_ENTRY_STATUS_OK;
}

// {"inputs": [...]}; empty: no memory.
ValueRef with_inputs(const std::vector<std::string>& inputs) {
  ValueRef map(bt_value_map_create());
  bt_value* array = nullptr;
  if (!map || bt_value_map_insert_empty_array_entry(map.get(), "inputs", &array) !=
                  BT_VALUE_MAP_INSERT_ENTRY_STATUS_OK)
    return {};
  for (const std::string& input : inputs)
    if (bt_value_array_append_string_element(array, input.c_str()) != BT_VALUE_ARRAY_APPEND_ELEMENT_STATUS_OK)
      return {};
  return map;
}

Failure failed(std::size_t input) {
  return {input, take_error()};
}

}  // namespace

Result<Plugin> load_plugin() {
  Plugin out;
  const bt_plugin* plugin = nullptr;
  const auto status = bt_plugin_find("ctf", BT_TRUE, BT_FALSE, BT_TRUE, BT_TRUE, BT_FALSE, &plugin);
  if (status != BT_PLUGIN_FIND_STATUS_OK) {
    const std::string why = status == BT_PLUGIN_FIND_STATUS_NOT_FOUND ? "it is not there" : take_error().text;
    return fail(ErrorCode::kUnavailable, "Babeltrace's plugin ctf cannot be loaded: " + why);
  }
  out.ref.reset(plugin);
  out.recorded = bt_plugin_borrow_source_component_class_by_name_const(plugin, "fs");
  out.live = bt_plugin_borrow_source_component_class_by_name_const(plugin, "lttng-live");
  if (out.recorded == nullptr || out.live == nullptr)
    return fail(ErrorCode::kUnavailable, "Babeltrace's plugin ctf has no component class fs or lttng-live");
  return out;
}

void Graph::clear() {
  if (merger_ != nullptr) merger_->end();
  graph_.reset(nullptr);
  bt_current_thread_clear_error();
}

std::optional<Failure> Graph::build(const std::vector<const bt_component_source*>& sources,
                                    std::vector<const Input*> ports, bool live) {
  merger_->begin(std::move(ports), live);
  const SinkClassRef cls(make_sink_class());
  const bt_component_sink* sink = nullptr;
  data_ = {merger_, Merger::State::kMore};
  if (!cls || bt_graph_add_sink_component_with_initialize_method_data(
                  graph_.get(), cls.get(), "sink", nullptr, &data_, BT_LOGGING_LEVEL_NONE, &sink) !=
                  BT_GRAPH_ADD_COMPONENT_STATUS_OK)
    return failed(Failure::kNone);
  std::uint64_t to = 0;
  for (std::size_t i = 0; i < sources.size(); ++i)
    for (std::uint64_t p = 0; p < bt_component_source_get_output_port_count(sources[i]); ++p)
      if (bt_graph_connect_ports(graph_.get(),
                                 bt_component_source_borrow_output_port_by_index_const(sources[i], p),
                                 bt_component_sink_borrow_input_port_by_index_const(sink, to++),
                                 nullptr) != BT_GRAPH_CONNECT_PORTS_STATUS_OK)
        return failed(Failure::kNone);
  return std::nullopt;
}

std::optional<Failure> Graph::build_recorded(const Plugin& plugin, const std::vector<Input>& inputs,
                                             Merger& merger, const bt_interrupter* interrupter) {
  clear();
  merger_ = &merger;
  graph_.reset(bt_graph_create(0));
  if (!graph_ || bt_graph_add_interrupter(graph_.get(), interrupter) != BT_GRAPH_ADD_INTERRUPTER_STATUS_OK)
    return failed(Failure::kNone);
  std::vector<const bt_component_source*> sources;
  std::vector<const Input*> ports;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ValueRef params = with_inputs(inputs[i].given);
    const bt_component_source* source = nullptr;
    const std::string name = "trace" + std::to_string(i);
    if (!params ||
        bt_graph_add_source_component(graph_.get(), plugin.recorded, name.c_str(), params.get(),
                                      BT_LOGGING_LEVEL_NONE, &source) != BT_GRAPH_ADD_COMPONENT_STATUS_OK)
      return failed(i);
    sources.push_back(source);
    ports.insert(ports.end(), bt_component_source_get_output_port_count(source), &inputs[i]);
  }
  return build(sources, std::move(ports), false);
}

std::optional<Failure> Graph::build_live(const Plugin& plugin, const std::string& url, Merger& merger,
                                         const bt_interrupter* interrupter) {
  clear();
  merger_ = &merger;
  graph_.reset(bt_graph_create(0));
  // With "continue" the end of the session would never be told: it waits for another one of its name. With
  // "end", a session that is not there yet ends at once, and is asked for again by TraceReader.
  const ValueRef params = with_inputs({url});
  const bt_component_source* source = nullptr;
  if (!graph_ || !params || !put_text(params.get(), "session-not-found-action", "end") ||
      bt_graph_add_interrupter(graph_.get(), interrupter) != BT_GRAPH_ADD_INTERRUPTER_STATUS_OK ||
      bt_graph_add_source_component(graph_.get(), plugin.live, "live", params.get(), BT_LOGGING_LEVEL_NONE,
                                    &source) != BT_GRAPH_ADD_COMPONENT_STATUS_OK)
    return failed(Failure::kNone);
  return build({source}, {nullptr}, true);
}

Merger::State Graph::run_once() {
  const bt_graph_run_once_status status = bt_graph_run_once(graph_.get());
  switch (status) {
    case BT_GRAPH_RUN_ONCE_STATUS_OK:
    case BT_GRAPH_RUN_ONCE_STATUS_AGAIN:
    case BT_GRAPH_RUN_ONCE_STATUS_END:
      return data_.state;
    default: {
      const BtError error = take_error();
      if (merger_->error().message.empty())
        merger_->set_error(ErrorCode::kInternal, "Babeltrace cannot read on: " + error.text);
      return Merger::State::kFailed;
    }
  }
}

}  // namespace margay::lttng
