// What margay-store does for each cut: commits it, and behind it retention, joining of slices, files of the
// quarantine, the measure of the disk.
//
// Thread safety: write() for one thread at a time; what the others call may run beside it. REQUIRES: archive
// and clock outlive it.
#pragma once

#include "margay/live/quarantine.h"
#include "margay/observe/process.h"
#include "margay/settings/options.h"
#include "margay/store/archive.h"
#include "margay/store/retention_manager.h"
#include "margay/store/slice_compactor.h"

namespace margay::daemon {

class ArchiveWriter {
 public:
  ArchiveWriter(const Options& options, store::Archive& archive, const Clock& clock);
  // Errors: those of Archive::commit. Cost: waits for the disk.
  Status write(const store::Cut& cut, bool sync);

  const store::RetentionManager& retention() const { return retention_; }
  const observe::DiskGauge& disk() const { return disk_; }
  Quarantine& quarantine() { return quarantine_; }

 private:
  store::Archive& archive_;
  const Clock& clock_;
  store::RetentionManager retention_;
  store::SliceCompactor compactor_;
  Quarantine quarantine_;
  observe::DiskGauge disk_;
};

}  // namespace margay::daemon
