// What comes in on the control socket, decoded and checked: no socket, no thread. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "handling_request.h"
#include "margay/analysis/exchange.h"
#include "margay/wire/events.pb.h"
#include "margay/wire/view.pb.h"

namespace margay::daemon {

// What the daemon is asked for. With an `error` (a sentence, the answer) it is asked for nothing.
struct ControlAction {
  bool status = false;                      // the newest report
  std::optional<FinishRequest> finish;      // the end of the run; patience is within 0 s and 60 s
  std::optional<HandlingRequest> handling;  // what people say about alerts
  std::optional<wire::ViewQuestion> view;   // a stretch, partitioned; not checked yet (query/view_question.h)
  std::optional<wire::EventsQuestion> events;  // its single events; likewise (query/event_question.h)
  std::string error;
};
ControlAction decode_control_untrusted(std::string_view body);

}  // namespace margay::daemon
