// The archive's bounds as options, and what they cost in words. Pure. Thread safety: functions are safe.
#pragma once

#include <string>

#include "margay/store/keeper.h"
#include "options.h"

namespace margay::app {

// The floor: of the finest level as many slices as the window, the amendable ones and those from which the
// coarsest is merged anew after a restart; of every coarser level the window.
store::KeeperOptions keeper_options(const Options& options);

// "it has reached seven eighths of limits.disk (20GiB)", or that the file system is short of room.
std::string retention_cause(const store::KeeperReport& report, const Options& options);

// "keeps the raw events of the last 12 min (limits.disk is 20GiB)"; "" while nothing was dropped.
std::string retention_sentence(const store::KeeperReport& report, const Options& options);

}  // namespace margay::app
