// Who sends what in a capture, as its reader has learnt so far. Private to the folder.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "margay/base/ids.h"
#include "margay/base/time.h"
#include "margay/model/hierarchy.h"

namespace margay::trace::internal {

// Host times and offsets are whatever their sender says: kept where sums of two cannot overflow.
inline constexpr std::int64_t kFarthestNs = std::int64_t{1} << 61;
inline constexpr std::uint16_t kNoName = 0xffff;
inline constexpr TimeNs kNever{std::numeric_limits<std::int64_t>::min()};

struct Stream {
  LeafIndex leaf{};
  std::uint64_t next = 0;
  std::uint32_t epoch = 0;
  bool began = false;
  bool ended = false;
  bool mine = false;  // its records are passed on
  std::optional<std::int64_t> gap_since;
  std::int64_t covered = -kFarthestNs;  // trace time
};

struct Source {
  model::Attributes attributes;
  std::vector<std::uint16_t> names;  // global; kNoName: cannot be named
  // Indices of MPI_Finalize and of a thread's end: leaving one of them, a leaf ceases to exist.
  std::uint16_t finalize = kNoName, thread_end = kNoName;
  std::int64_t offset = 0;
  std::uint32_t epoch = 0;
  bool ended = false;
  std::int64_t met = 0;  // trace time of its first hello
  std::map<std::uint32_t, Stream> streams;
};

// The trace time that all streams which go on are covered to, `most` at most; one that is behind `held` holds
// nothing.
inline std::int64_t covered_by_all(const std::unordered_map<std::uint64_t, Source>& sources,
                                   std::int64_t held, std::int64_t most) {
  std::int64_t least = most;
  for (const auto& [id, source] : sources) {
    if (source.ended) continue;
    if (source.streams.empty()) least = std::min(least, std::max(source.met, held));
    for (const auto& [index, stream] : source.streams)
      if (!stream.ended) least = std::min(least, std::max(stream.covered, held));
  }
  return least;
}

}  // namespace margay::trace::internal
