// Up to where the run is known: what sources promise, who is silent, and how long either is waited for.
//
// Thread safety: none. Cost: O(streams) each.
#pragma once

#include <algorithm>

#include "margay/ingest/leaf_table.h"

namespace margay::ingest {

class Coverage {
 public:
  Coverage(const Options& options, SourceTable& sources, const LeafTable& leaves, slicer::Slicer& slicer,
           MessageCounters& counters)
      : options_(options), sources_(sources), leaves_(leaves), slicer_(slicer), counters_(counters) {}

  // Until then, or until all have caught up, silence is not held against sources: it may be ours.
  void catch_up(TimeNs until) { catch_up_until_ = std::max(catch_up_until_, until); }
  // Have all caught up? To be asked before listen().
  void check_caught_up(TimeNs now);
  // Who is silent? The slices are told.
  void listen(TimeNs now);

  // See Ingest.
  TimeNs watermark(TimeNs now) const;
  void fill_promises(TimeNs until);
  TimeNs promised() const;
  bool is_promised(LeafIndex leaf, TimeNs t) const;

 private:
  TimeNs waited_for(const Source& source, const Stream& stream, TimeNs now) const;

  const Options& options_;
  SourceTable& sources_;
  const LeafTable& leaves_;
  slicer::Slicer& slicer_;
  MessageCounters& counters_;
  TimeNs catch_up_until_{};
};

}  // namespace margay::ingest
