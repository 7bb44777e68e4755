// What the node sampler says of processes, as evidence of their leaves' slices.
//
// A sample says what happened since the one before. Times that nobody has seen yet are not taken; more
// processes than there can be leaves is nobody's node, and counted. Thread safety: none.
// Cost: O(processes and their streams).
#pragma once

#include <cstdint>

#include "margay/ingest/authority.h"
#include "margay/slicer/slicer.h"

namespace margay::ingest {

class ProcessSamples {
 public:
  ProcessSamples(const Options& options, SourceTable& sources, Authority& authority, slicer::Slicer& slicer,
                 MessageCounters& counters)
      : options_(options), sources_(sources), authority_(authority), slicer_(slicer), counters_(counters) {}

  void receive(const wire::NodeSample& sample, const Sender& from);
  std::uint64_t steal_ns() const { return steal_ns_; }  // of the node that told most

 private:
  void take(const wire::ProcessSample& sample, Source& source, TimeNs at);
  void observe_threads(const wire::ProcessSample& sample, Source& source, TimeNs at,
                       const model::NodeEvidence& of_process);
  void observe_takers(const wire::ProcessSample& sample, const Source& source, TimeNs at);

  const Options& options_;
  SourceTable& sources_;
  Authority& authority_;
  slicer::Slicer& slicer_;
  MessageCounters& counters_;
  std::uint64_t steal_ns_ = 0;
};

}  // namespace margay::ingest
