// Which leaf each stream of a source feeds, and what leaves say of themselves.
//
// A job made of several MPI programs one after the other has each rank several times: the same resource, and
// so the same leaf, unless another owner has it. Leaves are never taken away. Thread safety: none.
// Cost: a stream that is known O(log streams); a new one O(leaves).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "margay/ingest/source_table.h"
#include "margay/slicer/slicer.h"

namespace margay::ingest {

class LeafTable {
 public:
  using Feeder = std::pair<SourceId, std::uint32_t>;  // and its stream

  LeafTable(const Options& options, const SourceTable& sources, Quota& quota, slicer::Slicer& slicer,
            const model::StateTable& states, MessageCounters& counters)
      : options_(options),
        sources_(sources),
        quota_(quota),
        slicer_(slicer),
        states_(states),
        counters_(counters) {}

  // A message begins: it may search for leaves where there is no room so often.
  void begin_message() { vain_searches_ = 0; }
  // The source's stream, with a leaf if it is new; `name` of its thread, "" where it is not told. nullptr,
  // and counted: there is no room. If it throws, nothing has changed.
  Stream* stream_of(Source& source, std::uint32_t index, const std::string& name);
  // Of the source and of its leaves; where there is no room for them it keeps what it had.
  void take_attributes(Source& source, model::Attributes attributes);
  // `sources_` are there already, and are told which leaves fed them.
  void restore(SourceTable& sources, std::vector<model::Attributes> attributes, std::vector<Feeder> feeders,
               std::vector<std::string> keepers);

  std::size_t size() const { return attributes_.size(); }
  const std::vector<model::Attributes>& attributes() const { return attributes_; }
  // Who feeds each leaf now.
  const std::vector<Feeder>& feeders() const { return feeders_; }
  // Whose sources may feed each leaf; "": an archive of an older version did not tell.
  const std::vector<std::string>& keepers() const { return keepers_; }
  // Grows when a leaf joins, or says more of itself.
  std::uint64_t version() const { return version_; }

 private:
  std::optional<LeafIndex> leaf_for(const Source& source, std::uint32_t stream, const std::string& name);
  // One that nobody feeds any more; nothing and `refused`: there is one, but no room for its text.
  std::optional<LeafIndex> left_by_another(const Source& source, std::uint32_t stream,
                                           model::Attributes& attributes, bool& refused);
  LeafIndex add(const Source& source, std::uint32_t stream, model::Attributes attributes);

  const Options& options_;
  const SourceTable& sources_;
  Quota& quota_;
  slicer::Slicer& slicer_;
  const model::StateTable& states_;
  MessageCounters& counters_;
  std::vector<model::Attributes> attributes_;
  std::vector<Feeder> feeders_;
  std::vector<std::string> keepers_;
  std::uint64_t version_ = 0;
  int vain_searches_ = 0;
};

}  // namespace margay::ingest
