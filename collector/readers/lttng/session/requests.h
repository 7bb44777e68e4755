// What liblttng-ctl is asked, one function each: its codes made Status, its objects freed.
//
// All of these are for the thread that ask() makes: they find the session daemon where that thread looks.
// Errors: kUnavailable (no session daemon), kNotFound (no such session), kInvalidArgument (it refuses a name,
// a filter, a size), kInternal; with LTTng's own words.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "margay/lttng_session/live_session.h"

namespace margay::lttng {

struct SessionOrder {
  std::string name;
  std::string control_url, data_url;
  std::uint32_t live_timer_us = 0;
  std::uint32_t switch_timer_us = 0;
  BufferPlan buffers;
  std::vector<std::string> contexts;
  std::vector<EventPattern> events;
};

Status request_session(const SessionOrder& order);  // made, with channel, contexts, events; or nothing of it
Status request_start(const std::string& session);
Status request_stop(const std::string& session);
Result<bool> request_pending(const std::string& session);  // data waits for the relay daemon
Status request_destroy(const std::string& session);        // does not wait for data
Result<std::vector<Loss>> request_loss(const std::string& session);
Result<std::vector<SessionInfo>> request_list();
bool is_context(const std::string& name);

}  // namespace margay::lttng
