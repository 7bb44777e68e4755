// What pages of events and their sums are checked for alike. Private to the folder.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "margay/base/text.h"
#include "margay/scene/view_data.h"
#include "margay/wire/events.pb.h"

namespace margay::scene::internal {

inline tl::unexpected<Error> bad_answer(const std::string& what) {
  return fail(ErrorCode::kCorrupt, "the daemon's answer: " + what);
}

// What it is of: longer than nothing, and its length fits 64 bits.
inline Result<TimeRange> stretch_of(const wire::EventsAnswer& answer) {
  const TimeRange out{TimeNs(answer.question().from_ns()), TimeNs(answer.question().to_ns())};
  std::int64_t length = 0;
  if (out.to <= out.from || __builtin_sub_overflow(out.to.value, out.from.value, &length))
    return bad_answer("its time range is none");
  return out;
}

inline std::vector<State> names_of(const wire::EventsAnswer& answer) {
  std::vector<State> out;
  for (const wire::Name& name : answer.names()) {
    const int family = static_cast<int>(std::min<std::uint32_t>(name.family(), 1000));
    out.push_back({clean_utf8(name.name(), kLongestName), wire::StateFamily_IsValid(family)
                                                              ? static_cast<wire::StateFamily>(family)
                                                              : wire::FAMILY_OTHER});
  }
  return out;
}

}  // namespace margay::scene::internal
