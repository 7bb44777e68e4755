// The methods that Babeltrace calls of our sink component. None of them lets an exception out.
#include <exception>
#include <string>

#include "graph.h"

namespace margay::lttng {
namespace {

SinkData& data_of(bt_self_component_sink* self) {
  return *static_cast<SinkData*>(bt_self_component_get_data(bt_self_component_sink_as_self_component(self)));
}

bt_component_class_initialize_method_status initialize(bt_self_component_sink* self,
                                                       bt_self_component_sink_configuration* /*unused*/,
                                                       const bt_value* /*params*/, void* data) noexcept {
  bt_self_component_set_data(bt_self_component_sink_as_self_component(self), data);
  try {
    const std::size_t ports = data_of(self).merger->ports();
    for (std::size_t i = 0; i < ports; ++i)
      if (bt_self_component_sink_add_input_port(self, std::to_string(i).c_str(), nullptr, nullptr) !=
          BT_SELF_COMPONENT_ADD_PORT_STATUS_OK)
        return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_ERROR;
  } catch (const std::exception&) {
    return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_MEMORY_ERROR;
  }
  return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_OK;
}

bt_component_class_sink_graph_is_configured_method_status graph_is_configured(
    bt_self_component_sink* self) noexcept {
  try {
    data_of(self).merger->connect(self);
  } catch (const std::exception&) {
    return BT_COMPONENT_CLASS_SINK_GRAPH_IS_CONFIGURED_METHOD_STATUS_MEMORY_ERROR;
  }
  return BT_COMPONENT_CLASS_SINK_GRAPH_IS_CONFIGURED_METHOD_STATUS_OK;
}

bt_component_class_sink_consume_method_status consume(bt_self_component_sink* self) noexcept {
  SinkData& data = data_of(self);
  try {
    data.state = data.merger->pull();
  } catch (const std::exception& e) {
    data.state = Merger::State::kFailed;
    try {
      data.merger->set_error(ErrorCode::kLimit, std::string("the trace cannot be read on: ") + e.what());
    } catch (const std::exception&) {
      return BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_MEMORY_ERROR;
    }
  }
  switch (data.state) {
    case Merger::State::kMore:
      return BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_OK;
    case Merger::State::kAgain:
      return BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_AGAIN;
    case Merger::State::kEnd:
    case Merger::State::kFailed:
      break;  // failed: error() says why, and nobody calls again
  }
  return BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_END;
}

}  // namespace

const bt_component_class_sink* make_sink_class() {
  bt_component_class_sink* cls = bt_component_class_sink_create("margay", consume);
  if (cls == nullptr) return nullptr;
  bt_component_class_sink_set_initialize_method(cls, initialize);
  bt_component_class_sink_set_graph_is_configured_method(cls, graph_is_configured);
  return cls;
}

}  // namespace margay::lttng
