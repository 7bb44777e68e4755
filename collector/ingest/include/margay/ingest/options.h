// What an ingest is told when it is made. Constant from then on.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "margay/ingest/source_registry.h"
#include "margay/slicer/slicer.h"

namespace margay::ingest {

struct Options {
  std::string run;
  std::string boot_id;         // of this host: sources with the same share its clock
  std::string former_boot_id;  // of this host when the run was watched last, if it was started anew since
  DurationNs clock_offset{};   // trace time less this host's CLOCK_MONOTONIC
  DurationNs lateness = milliseconds(10);
  DurationNs silence_hold = milliseconds(200);  // how long a silent source holds the watermark
  DurationNs behind_hold = seconds(10);         // one that is heard, and whose records are on their way
  DurationNs untold_hold =
      seconds(2);  // of behind_hold, for a GAP or goodbye to tell where records were dropped
  DurationNs silent_after = seconds(1);
  DurationNs lost_after = seconds(10);
  DurationNs give_up_gap = seconds(10);
  DurationNs forget_after = seconds(60);   // silence after which what has ended is forgotten
  DurationNs clock_patience = seconds(5);  // for the first answer of another machine's clock
  DurationNs future = seconds(1);          // records later than now plus this are rejected
  DurationNs slice{};                      // the finest; 0: agents are not told, and nothing is summed
  double record_budget = 0;                // of a node's cores, for recording (wire::Slices)
  std::uint64_t instance = 0;              // of this collector; another one makes agents say hello again
  Limits limits;
  slicer::Operator op;  // the slicer's
  // For tests: called before the records of a batch are taken; what it throws is met as an error of our own.
  std::function<void(const wire::EventBatch&)> fault;
};

}  // namespace margay::ingest
