// What sources are told of what has arrived: that it is committed, and before that, that it is taken.
//
// Promise: what is acknowledged was in a committed cut. Thread safety: none. Cost: O(streams).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "margay/ingest/replies.h"
#include "margay/ingest/source_table.h"

namespace margay::ingest {

// How far each stream is in a cut, by routing id; acknowledged once the cut is committed.
using AckPoint = std::vector<std::pair<std::string, wire::StreamAck>>;

class Acknowledgements {
 public:
  Acknowledgements(SourceTable& sources, Replies& replies) : sources_(sources), replies_(replies) {}

  // What stands in the cut that is being made now.
  AckPoint point() const;
  void committed(const AckPoint& point);
  // In order, commits tell what is taken. Where they do not come (the disk is full, or slow), agents would
  // wait for them.
  void tick(TimeNs now);

 private:
  void tell_taken();

  SourceTable& sources_;
  Replies& replies_;
  TimeNs told_{};                  // when agents were last told what has been taken
  bool committed_lately_ = false;  // since then: the acknowledgement has told them
};

}  // namespace margay::ingest
