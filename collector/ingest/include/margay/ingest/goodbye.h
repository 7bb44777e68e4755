// The end of a source: what its streams have counted last.
//
// Promise: a source ends once all of its records are accounted for; until then its goodbye is asked for
// again. Thread safety: none. Cost: O(streams).
#pragma once

#include <utility>

#include "margay/ingest/delivery.h"

namespace margay::ingest {

class GoodbyeReceiver {
 public:
  GoodbyeReceiver(const Options& options, SourceTable& sources, Authority& authority, LeafTable& leaves,
                  Delivery& delivery, slicer::Slicer& slicer, Replies& replies, MessageCounters& counters)
      : options_(options),
        sources_(sources),
        authority_(authority),
        leaves_(leaves),
        delivery_(delivery),
        slicer_(slicer),
        replies_(replies),
        counters_(counters) {}

  void receive(const wire::Goodbye& goodbye, const Sender& from);
  // Whether any came since take_came() was called last: they wait for a cut that holds it.
  bool came() const { return came_; }
  bool take_came() { return std::exchange(came_, false); }

 private:
  bool counts_missing(const wire::Goodbye& goodbye, Source& source, TimeNs end, TimeNs now);
  void end(const wire::Goodbye& goodbye, Source& source, TimeNs end);

  const Options& options_;
  SourceTable& sources_;
  Authority& authority_;
  LeafTable& leaves_;
  Delivery& delivery_;
  slicer::Slicer& slicer_;
  Replies& replies_;
  MessageCounters& counters_;
  bool came_ = false;
};

}  // namespace margay::ingest
