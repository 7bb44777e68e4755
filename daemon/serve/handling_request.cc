#include "margay/serve/handling_request.h"

#include <algorithm>
#include <utility>

#include "margay/base/pair_table.h"
#include "margay/base/text.h"
#include "margay/wire/columns.h"

namespace margay::daemon {

using Kind = HandlingRequest::Kind;
using Wire = wire::ControlRequest;

namespace {

constexpr std::pair<Kind, Wire::Kind> kKinds[] = {{Kind::kAcknowledge, Wire::ACKNOWLEDGE},
                                                  {Kind::kUnacknowledge, Wire::UNACKNOWLEDGE},
                                                  {Kind::kSilence, Wire::SILENCE},
                                                  {Kind::kUnsilence, Wire::UNSILENCE},
                                                  {Kind::kList, Wire::HANDLING}};

}  // namespace

bool is_handling(Wire::Kind kind) {
  return first_of(kKinds, kind).has_value();
}

wire::ControlRequest to_wire(const HandlingRequest& r) {
  Wire out;
  out.set_version(wire::kWireVersion);
  out.set_kind(second_of(kKinds, r.kind));
  wire::Handle& h = *out.mutable_handle();
  h.set_token(r.token);
  h.set_id(clean_utf8(r.id));
  h.set_by(clean_utf8(r.by));
  h.set_comment(clean_utf8(r.comment));
  h.set_node(clean_utf8(r.node));
  h.set_state(clean_utf8(r.state));
  h.set_kind(clean_utf8(r.what));
  h.set_duration_ns(r.duration.value);
  h.set_until_ns(r.until.value);
  h.set_from_ns(r.from.value);
  return out;
}

HandlingRequest from_wire_untrusted(const wire::ControlRequest& in) {
  HandlingRequest r;
  r.kind = first_of(kKinds, in.kind()).value_or(r.kind);
  const wire::Handle& h = in.handle();
  r.token = h.token();
  r.id = clean_utf8(h.id());
  r.by = clean_utf8(h.by());
  r.comment = clean_utf8(h.comment());
  r.node = clean_utf8(h.node());
  r.state = clean_utf8(h.state());
  r.what = clean_utf8(h.kind());
  r.duration = DurationNs(h.duration_ns());
  r.until = TimeNs(h.until_ns());
  r.from = TimeNs(h.from_ns());
  return r;
}

Result<std::string> perform(const HandlingRequest& r, alert::NotificationPolicy& policy, TimeNs wall) {
  if (r.kind == Kind::kAcknowledge) return policy.acknowledge(r.id, r.by, r.comment, wall);
  if (r.kind == Kind::kUnacknowledge) return policy.unacknowledge(r.id, wall);
  if (r.kind == Kind::kUnsilence) return policy.unsilence(r.id, wall);
  alert::Silence s;
  s.node = r.node;
  s.state = r.state;
  s.by = r.by;
  s.comment = r.comment;
  s.token = r.token;
  s.from = std::max(wall, r.from);
  if (!r.what.empty()) {
    const auto kind = alert::kind_of(r.what);
    if (!kind) return fail(kind.error(), "--kind");
    s.kind = *kind;
  }
  if (r.duration < DurationNs(0) || (r.duration == DurationNs(0) && r.until == TimeNs()))
    return fail(ErrorCode::kInvalidArgument, "for how long? --for 2h, or --until 18:00");
  if (r.duration > alert::Silence::kLongest)
    return fail(ErrorCode::kInvalidArgument, "a silence may last for a year at most");
  // No sum of what somebody sends overflows.
  if (s.from - wall > alert::Silence::kLongest) s.from = wall + alert::Silence::kLongest + seconds(1);
  s.until = r.duration > DurationNs(0) ? s.from + r.duration : r.until;
  return policy.silence(s, wall);
}

}  // namespace margay::daemon
