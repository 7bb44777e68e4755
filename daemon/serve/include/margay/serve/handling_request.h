// What people ask about alerts (acknowledge, silence, take either back, list): as a value, on the wire, and
// done.
// The same for a daemon that is asked and for an archive that nobody watches.
//
// Thread safety: values and pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "margay/alert/notification_policy.h"
#include "margay/base/result.h"
#include "margay/base/time.h"
#include "margay/wire/control.pb.h"

namespace margay::daemon {

struct HandlingRequest {
  enum class Kind { kAcknowledge, kUnacknowledge, kSilence, kUnsilence, kList };
  Kind kind = Kind::kList;
  std::uint64_t token = 0;        // sent again, it is the same request
  std::string id;                 // of an alert (or how it ends), or of a silence
  std::string by, comment;        // who says so, and why
  std::string node, state, what;  // of a silence; `what` is the kind of alert
  TimeNs from{};                  // when a silence begins, wall clock; 0, or in the past: now
  DurationNs duration{};          // of a silence, from its begin on; 0: `until` counts
  TimeNs until{};                 // wall clock
};

bool is_handling(wire::ControlRequest::Kind kind);
wire::ControlRequest to_wire(const HandlingRequest& request);
// Of requests whose kind is one of these. Texts are made valid UTF-8.
HandlingRequest from_wire_untrusted(const wire::ControlRequest& request);

// Does it. Returns a sentence that says what was done. Errors: a sentence that says what is wrong.
// REQUIRES: not kList.
Result<std::string> perform(const HandlingRequest& request, alert::NotificationPolicy& policy, TimeNs wall);

}  // namespace margay::daemon
