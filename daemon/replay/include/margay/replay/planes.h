// What another operator measures in the slices of a replay, from a scratch archive (resample.h): put into
// each slice on its way to the analysis, so that alerts and phases stay those of the archive that is
// replayed.
//
// Of slices that changed after they were shown, the last state is measured. Thread safety: any. Cost: each
// slice is read once, some at a time.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "margay/analysis/exchange.h"
#include "margay/store/archive.h"

namespace margay::daemon {

class Planes {
 public:
  // Opens the scratch archive. Errors: those of the archive.
  static Result<std::unique_ptr<Planes>> open(const std::string& path);

  // Gives the message's slice its plane, and its topology the states that stand in for marks and links.
  // Errors: those of the archive.
  Status attach(ClosedSlice& message);

 private:
  std::unique_ptr<store::Archive> archive_;
  std::vector<model::StateInfo> states_;
  std::mutex mutex_;
  std::vector<model::SliceColumn> ahead_;  // guarded by mutex_; ascending
};

}  // namespace margay::daemon
