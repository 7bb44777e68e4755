#include "margay/serve/control.h"

#include <algorithm>
#include <utility>

#include "margay/wire/columns.h"
#include "margay/wire/control.pb.h"

namespace margay::daemon {

ControlAction decode_control_untrusted(std::string_view body) {
  constexpr DurationNs kLongestPatience = seconds(60);
  ControlAction action;
  wire::ControlRequest request;
  if (!request.ParseFromArray(body.data(), static_cast<int>(body.size())) ||
      request.version() != wire::kWireVersion) {
    action.error = "the request is not of wire version " + std::to_string(wire::kWireVersion);
  } else if (request.kind() == wire::ControlRequest::STATUS) {
    action.status = true;
  } else if (request.kind() == wire::ControlRequest::FINISH) {
    action.finish = {request.exit_code(),
                     std::clamp(DurationNs(request.timeout_ns()), DurationNs(0), kLongestPatience)};
  } else if (is_handling(request.kind())) {
    action.handling = from_wire_untrusted(request);
  } else if (request.kind() == wire::ControlRequest::VIEW) {
    action.view = std::move(*request.mutable_view());
  } else if (request.kind() == wire::ControlRequest::EVENTS) {
    action.events = std::move(*request.mutable_events());
  } else if (request.kind() >= wire::ControlRequest::PLAY && request.kind() <= wire::ControlRequest::JUMP) {
    action.error =
        "this run is live: it can be held in the viewer, but only a replay can be paused or go back";
  } else {
    action.error = "the request's kind is unknown";
  }
  return action;
}

}  // namespace margay::daemon
