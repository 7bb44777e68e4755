// Accepted records, for the archive of events, until it takes them.
//
// Bounded by bytes: what is beyond is dropped, and counted. Thread safety: none. Cost: a copy of the columns.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "margay/base/record.h"
#include "margay/ingest/source_registry.h"
#include "margay/wire/columns.h"

namespace margay::ingest {

struct AcceptedBatch {
  LeafIndex leaf{};
  SourceId source{};
  std::uint64_t first = 0;
  TimeNs begin{}, end{};
  std::uint32_t count = 0;
  std::string columns;
};

class RawRecords {
 public:
  // Keeps up to this many bytes (0, as at first: none).
  void keep(std::size_t bytes) { limit_ = bytes; }
  bool keeps() const { return limit_ > 0; }
  // Records [from, until) of the batch, whose times are `times`; `latest`: no time is later.
  void put(const wire::EventBatch& batch, const Source& source, const Stream& stream, std::size_t from,
           std::size_t until, const std::vector<std::int64_t>& times, TimeNs latest);
  std::vector<AcceptedBatch> take();
  std::uint64_t dropped() const { return dropped_; }  // records, for want of room

 private:
  std::size_t limit_ = 0;
  std::size_t bytes_ = 0;
  std::vector<AcceptedBatch> accepted_;
  std::vector<EventRecord> scratch_;
  std::uint64_t dropped_ = 0;
};

}  // namespace margay::ingest
