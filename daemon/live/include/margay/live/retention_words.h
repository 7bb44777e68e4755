// The archive's ages and bounds as options, and what they cost in words. Pure. Thread safety: functions are
// safe.
#pragma once

#include <string>

#include "margay/settings/options.h"
#include "margay/store/retention_manager.h"

namespace margay::daemon {

// The floor: of the finest level as many slices as the window, the amendable ones and those from which the
// coarsest is merged anew after a restart; of every coarser level the window.
store::RetentionOptions retention_options(const Options& options);

// "it has come near its bound (limits.disk is 20GiB)", that the file system is short of room, or that what it
// holds is too old.
std::string retention_cause(const store::RetentionReport& report, const Options& options);

// "keeps the raw events of the last 12 min (limits.disk is 20GiB)", or "... of the last 7 d (store.keep_raw
// is 7d)"; "" while nothing was dropped.
std::string retention_sentence(const store::RetentionReport& report, const Options& options);

}  // namespace margay::daemon
