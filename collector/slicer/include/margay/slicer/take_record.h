// What a record tells of its leaf's states, told to the slicer.
//
// Thread safety: the slicer's. Cost: that of the slicer's one call.
#pragma once

#include <cstdint>

#include "margay/base/record.h"
#include "margay/slicer/slicer.h"

namespace margay::slicer {

// `state`: of the record's name, where it has one. Records that tell nothing of states, and those of imported
// traces alone (MARGAY_BEGIN, MARGAY_END), change nothing.
inline Outcome take_record(Slicer& slicer, LeafIndex leaf, StateId state, TimeNs t,
                           const EventRecord& record) {
  const Carried carried{record.bytes, record.peer != MARGAY_NO_PEER};
  switch (record.kind) {
    case MARGAY_ENTER:
      return slicer.enter(leaf, state, t, carried);
    case MARGAY_LEAVE:
      return slicer.leave(leaf, state, t, carried);
    case MARGAY_GAP:
      return slicer.gap(leaf, t, record.bytes);
    case MARGAY_STACK:
    case MARGAY_SUM_OPEN:
      return slicer.stack(leaf, state, t, carried);
    case MARGAY_SUM_INSIDE:
      return slicer.inside(leaf, state, t, carried);
    case MARGAY_SUM:
      return slicer.sum(leaf, state, t, record.comm, DurationNs(static_cast<std::int64_t>(record.bytes)));
    case MARGAY_SUM_MOVED:
      return slicer.moved(leaf, state, t,
                          {record.comm, static_cast<std::uint32_t>(record.tag), record.bytes});
    default:
      return Outcome::kModelled;
  }
}

}  // namespace margay::slicer
