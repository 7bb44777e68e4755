// An archive's raw events as a trace: what zoom, replay and export read.
//
// Names are the archive's states, in the order of its state table (Absent, Unknown and Compute first); names
// of regions, variables, marks and links follow when they first occur. Leaves are the archive's, with the
// base that an imported trace gave them. Regions whose names the archive does not keep are left out. Times
// and names are those of raw_block.h.
//
// THE BEGIN. A leaf's nested states are known only from its records. To begin at `from`, each leaf is read
// from the last moment before it at which no state was open (the open states of the finest slices tell), back
// to the begin of the run if need be. Where that is no longer kept, what is open then is taken as the only
// open state, and `exact` is false.
//
// Thread safety: none. Cost: the blocks from there to `to`, one pass. Memory: one block.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "margay/store/archive.h"
#include "margay/trace/trace.h"

namespace margay::trace {

struct ArchiveTraceOptions {
  TimeNs from{};  // records of [from, to), and of each leaf what it takes to know what is open at `from`
  TimeNs to{};
  std::function<bool(LeafIndex)> wanted;  // leaves; nothing: all. The others are named and have no records.
  // Also the value that each variable has at `from`: every leaf is read from the begin of the run.
  bool values = false;
  // What is open where the reading of a leaf begins has its own begin; else it has that of the reading.
  bool begins = false;
  // Ends that nobody told of (a program that went without MPI_Finalize) come when the reading passes them.
  // Else they come last, when all is read.
  bool ends_in_time = false;
  // Called now and then with the time that was reached; while the beginnings are looked for, with `from`. An
  // error ends the reading with it.
  std::function<Status(TimeNs)> step;
};

struct ArchiveTraceCounts {
  std::uint64_t blocks = 0;
  std::uint64_t records = 0;   // that were passed on
  std::uint64_t rejected = 0;  // that make no sense, as for a live run
  std::uint64_t holes = 0;     // in the ordinals of a leaf: records that were lost, and are told as gaps
  bool exact = true;           // every leaf was read from a moment at which its open states are known
};

// Whether raw events are kept for all of [from, to), as far as the archive can tell: there are some, and the
// oldest is not after the oldest slice that holds something.
Result<bool> has_raw(const store::Archive& archive, const store::Resume& resume, TimeNs from);

// Errors: those of Archive's reading calls, kCorrupt (columns that do not decode), those of the consumer and
// of `step`.
Result<ArchiveTraceCounts> read_archive(const store::Archive& archive, const store::Resume& resume,
                                        const ArchiveTraceOptions& options, Consumer& consumer);

}  // namespace margay::trace
