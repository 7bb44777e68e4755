// Opens a run's archive, or makes it, and settles what holds for this daemon: what a run keeps from its begin
// (levels, operator) and what goes on from another boot of the machine. No thread, no socket.
#pragma once

#include <memory>
#include <string>

#include "margay/analysis/history.h"
#include "margay/settings/options.h"
#include "margay/store/archive.h"

namespace margay::daemon {

struct OpenRun {
  std::unique_ptr<store::Archive> archive;
  store::Resume resume;  // what it held; its run is as this daemon goes on with it
  LookBack back;
  bool exists = false;  // there was one
};

// The options become the run's: levels, operator, number of restarts, former boot, bounds that follow of
// them. `boot` is this machine's (this_boot()). Errors: those of the archive; kInvalidArgument: it is another
// run's, or one that is over, or its slices do not fit the options.
Result<OpenRun> open_run(Options& options, const Clock& clock, const std::string& boot,
                         store::ArchiveOptions archive_options = {});

}  // namespace margay::daemon
