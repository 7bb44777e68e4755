// Slices of any multiple of a level that an archive keeps, in order. Private to the folder.
#pragma once

#include <functional>

#include "margay/analysis/exchange.h"
#include "margay/store/archive.h"

namespace margay::daemon::internal {

// The coarsest level of which `slice` is a whole multiple; nothing if there is none.
std::optional<LevelIndex> level_for(const store::RunMeta& run, DurationNs slice);

// Each slice that lies in [from, to) whole, closing at its end; one that the archive does not have to its end
// is left out.
Status read_slices(const store::Archive& archive, const store::Resume& resume, DurationNs slice, TimeNs from,
                   TimeNs to, const std::function<bool(ClosedSlice&&)>& take);

}  // namespace margay::daemon::internal
