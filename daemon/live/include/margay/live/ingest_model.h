// What a run's events have come to so far: names, cells, coarser slices, sources and their accounts. A cut is
// made of it, and a daemon that is started again goes on with what the archive holds of it.
//
// Thread safety: none; owned by the ingest. Its parts refer to each other: it stays where it is.
#pragma once

#include <memory>

#include "margay/ingest/ingest.h"
#include "margay/settings/options.h"
#include "margay/slicer/levels.h"
#include "margay/slicer/slicer.h"
#include "margay/store/archive.h"

namespace margay::daemon {

struct IngestModel {
  // REQUIRES: `levels` are those of the options, which outlive it.
  IngestModel(const Options& options, const store::RunMeta& run, const Clock& clock, slicer::Levels levels);
  IngestModel(const IngestModel&) = delete;
  IngestModel& operator=(const IngestModel&) = delete;

  // Goes on from the archive's last cut; `now` is host time. Call on a fresh one. Errors: those of the
  // archive; kCorrupt.
  Status restore(const store::Archive& archive, const store::Resume& resume, TimeNs now);

  // A closed slice as everybody but the slicer sees it: rounded, if the run's cells are.
  std::shared_ptr<const model::SliceColumn> closed_copy(const model::SliceColumn& column) const;
  DurationNs slice() const { return options.levels[0]; }

  const Options& options;
  model::StateTable states;
  slicer::Slicer slicer;
  slicer::Levels levels;
  ingest::Ingest ingest;

 private:
  Status restore_slicer(const store::Archive& archive, const store::Resume& resume, SliceIndex next_open);
  Status restore_levels(const store::Archive& archive, const store::Resume& resume, SliceIndex next_open);
  void restore_sources(const store::Resume& resume, TimeNs now);
};

}  // namespace margay::daemon
