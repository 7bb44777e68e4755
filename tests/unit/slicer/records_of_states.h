// Records of states for tests, and what they are to the plain reference slicer.
#pragma once

#include <vector>

#include "margay/slicer/reslicer.h"
#include "support/reference_slicer.h"

namespace margay::slicer {

inline std::vector<test::ReferenceEvent> reference_events(const std::vector<EventRecord>& records) {
  using E = test::ReferenceEvent;
  std::vector<E> out;
  for (const EventRecord& r : records) {
    const E::Kind kind = r.kind == MARGAY_ENTER   ? E::kEnter
                         : r.kind == MARGAY_LEAVE ? E::kLeave
                         : r.kind == MARGAY_GAP   ? E::kGap
                         : r.kind == MARGAY_STACK ? E::kStack
                         : r.kind == MARGAY_END   ? E::kEnd
                                                  : E::kBegin;
    out.push_back({kind, StateId(static_cast<std::uint16_t>(3 + r.state)), TimeNs(r.time_ns)});
  }
  return out;
}

// In batches of any size. Returns what was wrong with the first that was refused.
template <class Random>
Status take_in_batches(Reslicer& r, const std::vector<EventRecord>& records, Random& random) {
  for (std::size_t i = 0; i < records.size();) {
    const std::size_t n = std::min<std::size_t>(1 + random() % 7, records.size() - i);
    if (Status ok = r.take(LeafIndex(0), std::span(records).subspan(i, n)); !ok) return ok;
    i += n;
  }
  return {};
}

}  // namespace margay::slicer
