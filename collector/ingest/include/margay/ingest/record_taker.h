// A batch's records on their way to cells.
//
// Most of what a program does is to enter a function and to leave it: that goes as a run
// (Slicer::take_plain). What is more than that is decoded as a whole, when there is any. Promise: each record
// is modelled, late or rejected, once (Account). Thread safety: none. Cost: one pass over the records.
#pragma once

#include <optional>
#include <vector>

#include "margay/base/record.h"
#include "margay/ingest/message_counters.h"
#include "margay/ingest/options.h"
#include "margay/ingest/raw_records.h"
#include "margay/ingest/sender.h"
#include "margay/slicer/slicer.h"
#include "margay/wire/columns.h"

namespace margay::ingest {

class RecordTaker {
 public:
  RecordTaker(const Options& options, slicer::Slicer& slicer, RawRecords& raw, MessageCounters& counters)
      : options_(options), slicer_(slicer), raw_(raw), counters_(counters) {}

  // Of the batch, records from `skip` on, which are those that its stream expects next. Those later than what
  // the slicer takes by now (Slicer::limit) stay where they are: Stream::waits. False: not taken, for names
  // are missing that they use.
  bool take(const wire::EventBatch& batch, Source& source, Stream& stream, std::size_t skip, TimeNs now);
  // The host time of its first record; nothing: it has none, or does not decode.
  std::optional<std::int64_t> first_time(const wire::EventBatch& batch);

 private:
  bool names_missing(Source& source, std::size_t skip, TimeNs now) const;
  void reject(const wire::EventBatch& batch, const Source& source, Stream& stream, std::size_t skip,
              TimeNs now);
  std::size_t take_decoded(const wire::EventBatch& batch, Source& source, Stream& stream, std::size_t skip,
                           TimeNs now);
  void apply(Source& source, Stream& stream, const EventRecord& record, TimeNs until);
  std::optional<slicer::Outcome> change(const Source& source, Stream& stream, const EventRecord& record,
                                        TimeNs t);
  std::optional<slicer::Outcome> note(const Source& source, const Stream& stream, const EventRecord& record,
                                      TimeNs t);

  const Options& options_;
  slicer::Slicer& slicer_;
  RawRecords& raw_;
  MessageCounters& counters_;
  wire::Changes changes_;             // of the batch that is being taken
  std::vector<EventRecord> scratch_;  // the same as a whole, where it was decoded
};

}  // namespace margay::ingest
