#include "requests.h"

#include <lttng/lttng.h>

#include <cstdlib>
#include <cstring>
#include <memory>

#include "margay/base/text.h"

namespace margay::lttng {
namespace {

constexpr const char* kChannel = "margay";

struct Context {
  const char* name;
  lttng_event_context_type type;
};
constexpr Context kContexts[] = {
    {"vpid", LTTNG_EVENT_CONTEXT_VPID},
    {"vtid", LTTNG_EVENT_CONTEXT_VTID},
    {"procname", LTTNG_EVENT_CONTEXT_PROCNAME},
    {"pthread_id", LTTNG_EVENT_CONTEXT_PTHREAD_ID},
    {"ip", LTTNG_EVENT_CONTEXT_IP},
    {"vuid", LTTNG_EVENT_CONTEXT_VUID},
    {"vgid", LTTNG_EVENT_CONTEXT_VGID},
    {"pid_ns", LTTNG_EVENT_CONTEXT_PID_NS},
};

template <auto Free>
struct Freed {
  template <class T>
  void operator()(T* t) const {
    Free(t);
  }
};
using Handle = std::unique_ptr<lttng_handle, Freed<lttng_destroy_handle>>;
using Channel = std::unique_ptr<lttng_channel, Freed<lttng_channel_destroy>>;
using Event = std::unique_ptr<lttng_event, Freed<lttng_event_destroy>>;
using Descriptor = std::unique_ptr<lttng_session_descriptor, Freed<lttng_session_descriptor_destroy>>;
template <class T>
using Array = std::unique_ptr<T[], Freed<std::free>>;

// LTTng's functions return 0 or more, or minus one of its codes.
Status checked(int code, const std::string& what) {
  if (code >= 0) return {};
  ErrorCode out = ErrorCode::kInternal;
  switch (-code) {
    case LTTNG_ERR_NO_SESSIOND:
    case LTTNG_ERR_NO_UST:
    case LTTNG_ERR_UST_CONSUMER64_FAIL:
    case LTTNG_ERR_RELAYD_CONNECT_FAIL:
      out = ErrorCode::kUnavailable;
      break;
    case LTTNG_ERR_SESS_NOT_FOUND:
      out = ErrorCode::kNotFound;
      break;
    case LTTNG_ERR_INVALID:
    case LTTNG_ERR_FILTER_INVAL:
    case LTTNG_ERR_FILTER_NOMEM:
    case LTTNG_ERR_UST_CHAN_FAIL:
    case LTTNG_ERR_INVALID_CHANNEL_NAME:
      out = ErrorCode::kInvalidArgument;
      break;
    default:
      break;
  }
  return fail(out, what + ": " + lttng_strerror(code));
}

lttng_domain user_domain() {
  lttng_domain domain{};
  domain.type = LTTNG_DOMAIN_UST;
  domain.buf_type = LTTNG_BUFFER_PER_UID;  // per process they can hang a reader, and come and go with ranks
  return domain;
}

void put(char* into, std::size_t size, const std::string& text) {
  std::memcpy(into, text.data(), std::min(text.size(), size - 1));
}

Handle handle_of(const std::string& session) {
  lttng_domain domain = user_domain();
  return Handle(lttng_create_handle(session.c_str(), &domain));
}

Status enable_channel(lttng_handle* handle, const SessionOrder& order) {
  lttng_domain domain = user_domain();
  const Channel channel(lttng_channel_create(&domain));
  if (!channel) return fail(ErrorCode::kInternal, "channel: no memory");
  put(channel->name, sizeof channel->name, kChannel);
  lttng_channel_attr& a = channel->attr;
  a.overwrite = 0;
  a.subbuf_size = order.buffers.sub_buffer_bytes;
  a.num_subbuf = order.buffers.sub_buffers;
  a.switch_timer_interval = order.switch_timer_us;
  a.read_timer_interval = 0;
  a.tracefile_size = order.buffers.file_bytes;
  a.tracefile_count = order.buffers.files;
  a.output = LTTNG_EVENT_MMAP;
  lttng_channel_set_monitor_timer_interval(channel.get(), 0);
  lttng_channel_set_blocking_timeout(channel.get(), 0);
  return checked(lttng_enable_channel(handle, channel.get()), "channel");
}

Status add_context(lttng_handle* handle, const std::string& name) {
  for (const Context& c : kContexts) {
    if (name != c.name) continue;
    lttng_event_context context{};
    context.ctx = c.type;
    return checked(lttng_add_context(handle, &context, nullptr, kChannel), "context " + name);
  }
  return fail(ErrorCode::kInvalidArgument, "'" + name + "' is no context");
}

Status enable_events(lttng_handle* handle, const EventPattern& pattern) {
  const Event event(lttng_event_create());
  if (!event) return fail(ErrorCode::kInternal, "events: no memory");
  event->type = LTTNG_EVENT_TRACEPOINT;
  event->loglevel_type = LTTNG_EVENT_LOGLEVEL_ALL;
  event->loglevel = -1;
  put(event->name, sizeof event->name, pattern.name);
  std::vector<char*> excluded;
  for (const std::string& e : pattern.exclude) excluded.push_back(const_cast<char*>(e.c_str()));
  return checked(lttng_enable_event_with_exclusions(
                     handle, event.get(), kChannel, pattern.filter.empty() ? nullptr : pattern.filter.c_str(),
                     static_cast<int>(excluded.size()), excluded.empty() ? nullptr : excluded.data()),
                 "events " + clean_utf8(pattern.name));
}

Status fill(const SessionOrder& order) {
  const Handle handle = handle_of(order.name);
  if (!handle) return fail(ErrorCode::kInternal, "session: no memory");
  Status status = enable_channel(handle.get(), order);
  for (const std::string& c : order.contexts)
    if (status) status = add_context(handle.get(), c);
  for (const EventPattern& e : order.events)
    if (status) status = enable_events(handle.get(), e);
  return status;
}

}  // namespace

std::vector<std::string> context_names() {
  std::vector<std::string> out;
  for (const Context& c : kContexts) out.emplace_back(c.name);
  return out;
}

bool is_context(const std::string& name) {
  for (const Context& c : kContexts)
    if (name == c.name) return true;
  return false;
}

Status request_session(const SessionOrder& order) {
  const Descriptor descriptor(lttng_session_descriptor_live_network_create(
      order.name.c_str(), order.control_url.c_str(), order.data_url.c_str(), order.live_timer_us));
  if (!descriptor)
    return fail(ErrorCode::kInvalidArgument,
                "LTTng refuses the name or the relay daemon " + order.control_url);
  const lttng_error_code code = lttng_create_session_ext(descriptor.get());
  if (code != LTTNG_OK) return checked(-static_cast<int>(code), "session");
  Status status = fill(order);
  if (!status) lttng_destroy_session_no_wait(order.name.c_str());
  return status;
}

Status request_start(const std::string& session) {
  return checked(lttng_start_tracing(session.c_str()), "start");
}

Status request_stop(const std::string& session) {
  const int code = lttng_stop_tracing_no_wait(session.c_str());
  if (code == -LTTNG_ERR_TRACE_ALREADY_STOPPED) return {};
  return checked(code, "stop");
}

Result<bool> request_pending(const std::string& session) {
  const int code = lttng_data_pending(session.c_str());
  if (auto good = checked(code, "data"); !good) return tl::unexpected<Error>(good.error());
  return code > 0;
}

Status request_destroy(const std::string& session) {
  return checked(lttng_destroy_session_no_wait(session.c_str()), "destroy");
}

Result<std::vector<Loss>> request_loss(const std::string& session) {
  const Handle handle = handle_of(session);
  if (!handle) return fail(ErrorCode::kInternal, "session: no memory");
  lttng_channel* listed = nullptr;
  const int n = lttng_list_channels(handle.get(), &listed);
  const Array<lttng_channel> channels(listed);
  if (auto good = checked(n, "channels"); !good) return tl::unexpected<Error>(good.error());
  std::vector<Loss> out;
  for (int i = 0; i < n; ++i) {
    Loss loss;
    loss.channel.assign(channels[i].name, ::strnlen(channels[i].name, sizeof channels[i].name));
    if (lttng_channel_get_discarded_event_count(&channels[i], &loss.discarded_events) != 0 ||
        lttng_channel_get_lost_packet_count(&channels[i], &loss.lost_packets) != 0)
      return fail(ErrorCode::kInternal, "channel " + clean_utf8(loss.channel) + " does not say what it lost");
    // Where a packet's counter is less than the one's before, which happens when all buffers are full, the
    // consumer daemon takes it for one that has wrapped, and adds this.
    constexpr std::uint64_t kWrap = std::uint64_t{1} << 63;
    loss.discarded_events %= kWrap;
    out.push_back(std::move(loss));
  }
  return out;
}

Result<std::vector<SessionInfo>> request_list() {
  lttng_session* listed = nullptr;
  const int n = lttng_list_sessions(&listed);
  const Array<lttng_session> sessions(listed);
  if (auto good = checked(n, "sessions"); !good) return tl::unexpected<Error>(good.error());
  std::vector<SessionInfo> out;
  for (int i = 0; i < n; ++i) {
    const lttng_session& s = sessions[i];
    SessionInfo info;
    info.name.assign(s.name, ::strnlen(s.name, sizeof s.name));
    info.output.assign(s.path, ::strnlen(s.path, sizeof s.path));
    info.live = s.live_timer_interval != 0;
    info.live_timer = DurationNs(static_cast<std::int64_t>(s.live_timer_interval) * 1000);
    info.started = s.enabled != 0;
    out.push_back(std::move(info));
  }
  return out;
}

}  // namespace margay::lttng
