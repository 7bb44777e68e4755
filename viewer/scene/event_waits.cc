#include "margay/scene/event_waits.h"

#include <limits>

#include "events_answer.h"
#include "margay/base/text.h"

namespace margay::scene {

Result<EventWaits> event_waits_untrusted(const wire::EventsAnswer& answer) {
  if (!answer.error().empty()) return fail(ErrorCode::kUnavailable, clean_utf8(answer.error(), 4096));
  const wire::EventsWaits& in = answer.waits();
  if (in.partner_size() > kMostWaitedFor)
    return fail(ErrorCode::kLimit, "the daemon's answer: it has more partners than are accepted (" +
                                       std::to_string(kMostWaitedFor) + ")");
  if (in.partner_size() != in.for_ns_size())
    return internal::bad_answer("the lists of whom resources waited for differ in length");
  const auto time = internal::stretch_of(answer);
  if (!time) return tl::unexpected(time.error());
  EventWaits out;
  out.token = answer.token();
  out.time = *time;
  out.leaves = in.leaves();
  if (in.waited_ns() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    return internal::bad_answer("resources waited longer than all times");
  out.waited = DurationNs(static_cast<std::int64_t>(in.waited_ns()));
  const auto share = [&](std::uint64_t ns) {
    return in.waited_ns() == 0 ? 0 : static_cast<double>(ns) / static_cast<double>(in.waited_ns());
  };
  std::uint64_t left = in.waited_ns();
  for (int i = 0; i < in.partner_size(); ++i) {
    const std::uint64_t ns = in.for_ns(i);
    if (in.partner(i) >= static_cast<std::uint32_t>(answer.resources_size()))
      return internal::bad_answer("resources waited for one that it does not name");
    if (ns > left) return internal::bad_answer("resources waited longer for some than at all");
    left -= ns;
    out.partners.push_back({clean_utf8(answer.resources(static_cast<int>(in.partner(i))), 16 * kLongestName),
                            DurationNs(static_cast<std::int64_t>(ns)), share(ns)});
  }
  if (in.unknown_ns() > left) return internal::bad_answer("resources waited longer for some than at all");
  out.unknown = share(in.unknown_ns());
  return out;
}

}  // namespace margay::scene
