// Batches of records, in order and once each.
//
//   ordinal == next   accepted
//   ordinal <  next   a repeat: the part known already is skipped
//   ordinal >  next   pending: nothing is taken and nothing promised until the hole is filled or given up
//
// A hole that cannot be filled any more (a new epoch, or waited too long) is told to the slicer as a gap, and
// counted. Thread safety: none. Cost: one pass over the records of a batch.
#pragma once

#include <cstdint>

#include "margay/ingest/authority.h"
#include "margay/ingest/leaf_table.h"
#include "margay/ingest/record_taker.h"

namespace margay::ingest {

class Delivery {
 public:
  Delivery(const Options& options, SourceTable& sources, Authority& authority, LeafTable& leaves,
           RecordTaker& records, slicer::Slicer& slicer, Replies& replies, MessageCounters& counters)
      : options_(options),
        sources_(sources),
        authority_(authority),
        leaves_(leaves),
        records_(records),
        slicer_(slicer),
        replies_(replies),
        counters_(counters) {}

  // A message begins: it may bring so many records (Limits::records_per_message).
  void begin_message() { records_left_ = options_.limits.records_per_message; }
  void receive(const wire::EventBatch& batch, const Sender& from);
  // After an exception amid receive(): what of its records has no place yet is rejected. Returns the leaf and
  // how many, for the slicer to be told; nothing: the batch is none of the sender's, or was not begun.
  struct Rejected {
    LeafIndex leaf{};
    TimeNs covered{};
    std::uint64_t records = 0;
  };
  std::optional<Rejected> reject_rest(const wire::EventBatch& batch, const Sender& from);
  // Records of the stream up to `next` will not come: nobody knows what happened before `t`.
  void give_up(Source& source, Stream& stream, std::uint64_t next, TimeNs t);
  // Of all: what waits for room, when there is some, and what is missing. The request, or what came of it,
  // may be lost as well: as long as records are missing they are asked for.
  void ask_again(TimeNs now);

 private:
  // The source that the batch is of, if its sender may speak for it; nullptr, and answered: not.
  Source* source_of(const wire::EventBatch& batch, const Sender& from);
  // What is between the stream and the batch. True: nothing any more, and `gave_up` tells whether it was
  // given up; false: it is waited for.
  bool close_hole(const wire::EventBatch& batch, Source& source, Stream& stream, TimeNs covered,
                  const Sender& from, bool& gave_up);
  void take_totals(const wire::EventBatch& batch, Stream& stream, TimeNs covered);
  TimeNs gap_end(const wire::EventBatch& batch, const Source& source, TimeNs covered);

  const Options& options_;
  SourceTable& sources_;
  Authority& authority_;
  LeafTable& leaves_;
  RecordTaker& records_;
  slicer::Slicer& slicer_;
  Replies& replies_;
  MessageCounters& counters_;
  std::uint32_t records_left_ = 0;  // of the message that is being taken
};

}  // namespace margay::ingest
