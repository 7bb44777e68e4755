// Recorded traces of LTTng (CTF), user space and kernel together, as a trace of Margay's: states of threads,
// as rules say.
//
//   /process:pid/thread   path1, path2 of a leaf; a thread has no state at first (Compute)
//
// Times are wall clock times: the trace's own clock and its offset. Damaged streams are read as far as they
// go, and told; what LTTng lost is a GAP: the threads that may be concerned are Unknown for that time.
//
// Thread safety: none. Memory: 8 MiB of mapped file a stream; names and threads by the bounds of the rules'
// interpreter; records are handed on in blocks. Babeltrace aborts the process on some metadata that is
// damaged in a way which passes its own checks (TRACE.md).
#pragma once

#include <string>
#include <vector>

#include "margay/import/format.h"

namespace margay::lttng_import {

struct Summary {
  trace::ReadCounts counts;
  std::uint64_t events = 0;     // seen
  std::uint64_t used = 0;       // of those: told of by a rule
  std::uint64_t ignored = 0;    // known, and of no interest
  std::uint64_t unmatched = 0;  // of no rule
  std::uint64_t other = 0;      // left what was not open, too deep, of no thread, beyond bounds
  std::uint64_t discarded = 0;  // that LTTng lost
  std::uint64_t damaged_streams = 0;
};

// Reads every trace in `directory` and below it. `rules`: files, which go before the shipped sets.
// Errors: those of TraceReader, of the rules and of the consumer; kCorrupt where a stream is damaged, without
// options.keep_going.
Result<Summary> read(const std::string& directory, const std::vector<std::string>& rules,
                     const trace::ReadOptions& options, trace::Consumer& consumer);

}  // namespace margay::lttng_import
