#include "margay/lttng_trace/live_sessions.h"

#include "bt.h"
#include "graph.h"

namespace margay::lttng {
namespace {

using ExecutorRef = BtRef<const bt_query_executor, bt_query_executor_put_ref>;
using ConstValueRef = BtRef<const bt_value, bt_value_put_ref>;

constexpr std::size_t kMostSessions = 10'000;

std::string text_of(const bt_value* map, const char* key) {
  const bt_value* const v = bt_value_map_borrow_entry_value_const(map, key);
  return v != nullptr && bt_value_is_string(v) ? bt_value_string_get(v) : "";
}
std::int64_t number_of(const bt_value* map, const char* key) {
  const bt_value* const v = bt_value_map_borrow_entry_value_const(map, key);
  if (v == nullptr) return 0;
  if (bt_value_is_signed_integer(v)) return bt_value_integer_signed_get(v);
  if (bt_value_is_unsigned_integer(v)) return static_cast<std::int64_t>(bt_value_integer_unsigned_get(v));
  return 0;
}

}  // namespace

Result<std::vector<ServedSession>> live_sessions(const std::string& relay) {
  constexpr std::string_view kScheme = "net://";
  if (!relay.starts_with(kScheme) || relay.size() == kScheme.size() ||
      relay.find('/', kScheme.size()) != std::string::npos)
    return fail(ErrorCode::kInvalidArgument,
                relay + ": not the address of a relay daemon (net://HOST[:PORT])");
  auto plugin = load_plugin();
  if (!plugin) return tl::unexpected(plugin.error());
  const ValueRef params(bt_value_map_create());
  if (!params || bt_value_map_insert_string_entry(params.get(), "url", relay.c_str()) !=
                     BT_VALUE_MAP_INSERT_ENTRY_STATUS_OK)
    return fail(ErrorCode::kLimit, "no memory");
  bt_query_executor* const made = bt_query_executor_create(
      bt_component_class_source_as_component_class_const(plugin->live), "sessions", params.get());
  const ExecutorRef executor(made);
  if (!executor) return fail(ErrorCode::kLimit, "no memory");
  const bt_value* answer = nullptr;
  if (bt_query_executor_query(made, &answer) != BT_QUERY_EXECUTOR_QUERY_STATUS_OK)
    return fail(ErrorCode::kUnavailable,
                relay + ": no relay daemon answers there (" + take_error().text + ")");
  const ConstValueRef owned(answer);
  std::vector<ServedSession> out;
  if (!bt_value_is_array(answer)) return out;
  const std::uint64_t n = std::min<std::uint64_t>(bt_value_array_get_length(answer), kMostSessions);
  for (std::uint64_t i = 0; i < n; ++i) {
    const bt_value* const map = bt_value_array_borrow_element_by_index_const(answer, i);
    if (!bt_value_is_map(map) || number_of(map, "timer-us") == 0) continue;
    ServedSession session{text_of(map, "target-hostname"), text_of(map, "session-name"), "",
                          number_of(map, "client-count")};
    if (session.host.empty() || session.name.empty()) continue;
    session.url = relay + "/host/" + session.host + "/" + session.name;
    out.push_back(std::move(session));
  }
  return out;
}

}  // namespace margay::lttng
