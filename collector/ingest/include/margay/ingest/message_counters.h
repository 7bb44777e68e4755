// What happened to messages, counted where it happens; what happened to events is in the accounts (Account).
#pragma once

#include <cstdint>

namespace margay::ingest {

struct MessageCounters {
  std::uint64_t messages = 0;
  std::uint64_t undecodable = 0;  // not a message of this protocol
  std::uint64_t wrong_version = 0;
  std::uint64_t wrong_run = 0;
  std::uint64_t bad_batches = 0;   // columns that do not decode
  std::uint64_t repeats = 0;       // records that had been accepted already
  std::uint64_t gaps_pending = 0;  // batches put off because something before them was missing
  std::uint64_t room_waits = 0;    // batches put off, as a whole or from a record on: later than can be held
  std::uint64_t gaps_given_up = 0;
  std::uint64_t unknown_source = 0;     // batches of sources that had not said hello, or not with all names
  std::uint64_t refused_by_limit = 0;   // messages, sources, streams or names over the limits
  std::uint64_t amended_events = 0;     // late events that changed a closed slice
  std::uint64_t sources_forgotten = 0;  // ended, confirmed, and silent since: their counters stay
  std::uint64_t ghosts_forgotten = 0;   // said hello, never sent a record, and went away
  std::uint64_t agents_forgotten = 0;   // not heard of for long, or made way for another
  std::uint64_t sources_silenced = 0;   // became silent
  std::uint64_t sources_returned = 0;   // and were heard again
  std::uint64_t clock_waits = 0;        // batches put off until the clock of their machine is known
  std::uint64_t clock_steps = 0;        // jumps of another machine's clock
  std::uint64_t clock_refused = 0;      // answers to a question that nobody asked, or that cannot be
  std::uint64_t not_theirs = 0;      // messages in the name of a source, or of one's sample, of another owner
  std::uint64_t claims_refused = 0;  // batches and goodbyes with numbers that cannot be
  std::uint64_t quarantined = 0;     // messages amid which an error of our own was met
  std::uint64_t clock_backwards = 0;
  std::uint64_t unbalanced = 0;     // leaves of states that were not open
  std::uint64_t summed_before = 0;  // events that sources summed which are forgotten
  // Of readers (wire::ReaderAccount), all together.
  struct Readers {
    std::uint64_t seen = 0, used = 0, ignored = 0, unmatched = 0, unbalanced = 0, too_deep = 0, left_out = 0,
                  discarded = 0;
  } readers;
};

}  // namespace margay::ingest
