// Closes slices up to the watermark and passes them on: to the analysis, to the next cut, merged to the
// coarser levels; shows slices again that late events have changed; and makes a gap of time in which nobody
// watched.
//
// Promise: level 0 is closed in order, each slice or its gap once; a slice goes into a cut with the coarser
// ones above it. Thread safety: none; owned by the ingest.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "margay/live/cut_builder.h"
#include "margay/live/ingest_model.h"
#include "margay/live/slice_feed.h"

namespace margay::daemon {

class SliceCloser {
 public:
  SliceCloser(IngestModel& model, CutBuilder& cuts, SliceFeed& feed)
      : model_(model), options_(model.options), cuts_(cuts), feed_(feed) {}

  // Slices that had changed when the last daemon ended, and that it did not show again. `unchanged`: the
  // others that can still change, by the journal's entry that showed them.
  Result<std::map<SliceIndex, std::uint64_t>> restore(const store::Archive& archive);
  // This process was away until now: until `t` what agents kept meanwhile may still come, and no gap is made.
  void away_until(TimeNs t) { no_gap_before_ = std::max(no_gap_before_, t); }
  // These were there when the machine was started anew, and are not any more; when they ended nobody knows.
  void former_boot(std::vector<LeafIndex> leaves) { former_boot_ = std::move(leaves); }

  // `hold_back`: slices do not close faster than the disk takes them. `at_once`: a gap is made at once.
  struct Pace {
    bool hold_back = false, at_once = false;
  };
  void close(TimeNs watermark, TimeNs now, Pace pace);
  // Those that have changed: to the next cut, and once a period, as they are by then, to the analysis. `all`:
  // now.
  void show_amended(TimeNs watermark, TimeNs now, bool all);
  // The next cut replaces closed slices that have changed.
  void note_amended();

 private:
  bool held_up(TimeNs watermark, bool behind, Pace pace) const;
  std::optional<SliceIndex> gap_from(TimeNs watermark) const;
  void take_gap(SliceIndex next);
  void keep(const model::SliceColumn& column);
  void keep_what_left();
  std::size_t most_held() const;

  IngestModel& model_;
  const Options& options_;
  CutBuilder& cuts_;
  SliceFeed& feed_;
  std::set<SliceIndex> amended_;  // not yet shown to the analysis
  TimeNs next_amended_{};
  TimeNs no_gap_before_{};              // who was not known may still bring what happened meanwhile
  std::vector<LeafIndex> former_boot_;  // leaves that were there when the machine was started anew
};

}  // namespace margay::daemon
