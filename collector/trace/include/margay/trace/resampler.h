// A trace made into a dense model: the consumer that a zoom is made of (slicer/reslicer.h does the work).
//
// Beside the cells it keeps the leaves' attributes, for the hierarchy. Thread safety: none; one for each
// reading of a trace, several readings may run at the same time and be joined.
#pragma once

#include <vector>

#include "margay/slicer/reslicer.h"
#include "margay/trace/trace.h"

namespace margay::trace {

class Resampler final : public Consumer {
 public:
  explicit Resampler(slicer::Reslicer::Options options) : cells_(std::move(options)) {}

  // Errors: those of slicer::Reslicer; kInvalidArgument for numbers that are not the next.
  Status on_name(std::uint16_t index, const Name& name) override;
  Status on_leaf(LeafIndex index, const Leaf& leaf) override;
  Status on_records(LeafIndex leaf, std::span<const EventRecord> records) override {
    return cells_.take(leaf, records);
  }
  Status on_covered(TimeNs t) override;

  // The trace is over: what is open goes on to where the trace was covered to.
  Status finish() { return cells_.finish(covered_); }

  slicer::Reslicer& cells() { return cells_; }
  const slicer::Reslicer& cells() const { return cells_; }
  const std::vector<model::Attributes>& leaves() const { return leaves_; }
  const std::vector<Name>& names() const { return names_; }

 private:
  slicer::Reslicer cells_;
  std::vector<model::Attributes> leaves_;
  std::vector<Name> names_;
  TimeNs covered_{std::numeric_limits<std::int64_t>::min()};
};

}  // namespace margay::trace
