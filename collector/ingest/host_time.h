// What senders say of times, made safe to compute with. Pure; of the ingest's own.
#pragma once

#include <algorithm>
#include <cstdint>

#include "margay/ingest/options.h"

namespace margay::ingest {

// Host times and offsets are whatever their sender says: kept where sums of two cannot overflow.
inline constexpr std::int64_t kFarthestNs = std::int64_t{1} << 61;
inline std::int64_t bounded(std::int64_t ns) {
  return std::clamp(ns, -kFarthestNs, kFarthestNs);
}
// The trace time of a host time that a source told.
inline TimeNs to_trace(std::int64_t host_ns, const Source& source) {
  if (source.clock) return source.clock->to_trace(TimeNs(bounded(host_ns)));
  return TimeNs(bounded(host_ns)) + source.clock_offset;
}

// Trace time beyond which nothing can have happened yet.
inline TimeNs latest(const Options& options, TimeNs now) {
  return now + options.clock_offset + options.future;
}

}  // namespace margay::ingest
