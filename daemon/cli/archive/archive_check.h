// Reads all of an archive and says what does not hold (`margay archive verify`):
//
// - every record, slice, raw block and report can be decoded (checksums of RocksDB and of the store);
// - of each level the slices from the oldest to the newest kept are there, none twice, but for gaps that are
// told;
// - in a closed slice each leaf's times sum to the slice's duration, to the nanosecond, and none is negative;
// - a slice names no more leaves and states than there are, a raw block none that is not there;
// - phases follow each other; no event is in two of the counters that its end must be in one of.
//
// Thread safety: as of store::Archive. Memory: one slice or block at a time. Cost: the whole archive once.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "margay/base/result.h"
#include "margay/store/archive.h"

namespace margay::daemon {

struct ArchiveCheck {
  static constexpr std::size_t kMostListed = 20;
  std::uint64_t slices = 0, cells = 0, raw_blocks = 0, raw_events = 0, reports = 0;
  std::uint64_t damages = 0;
  std::vector<std::string> damaged;  // the first of them: the place, and what is wrong there
};

// `progress` is called with what was found so far, now and then. What cannot be read at all is damage, too.
// Errors: those of load().
Result<ArchiveCheck> check_archive(const store::Archive& archive,
                                   const std::function<void(const ArchiveCheck&)>& progress);

}  // namespace margay::daemon
