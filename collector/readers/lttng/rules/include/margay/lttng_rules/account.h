// Where every event of a trace went, and what was odd.
//
// Thread safety: values.
#pragma once

#include <cstdint>
#include <string>

namespace margay::lttng_rules {

// Every event that was seen is in exactly one bin: seen == used + ignored + unmatched + unattributed +
// too_deep
// + leave_without_enter + leave_after_loss + left_out, at any time.
struct Account {
  std::uint64_t seen = 0;
  std::uint64_t used = 0;          // told to the sink, or taken as knowledge (names, libraries)
  std::uint64_t ignored = 0;       // by an `ignore` rule, a filter on processes, or a thread that is left out
  std::uint64_t unmatched = 0;     // no rule is for it; Interpreter::unmatched() says which
  std::uint64_t unattributed = 0;  // it does not tell its thread, and nothing else does
  std::uint64_t too_deep = 0;      // enters beyond the bound of nesting, and their leaves
  std::uint64_t leave_without_enter = 0;  // what it would leave is not open
  std::uint64_t leave_after_loss = 0;  // the same, but the enter was, or may have been, before or in a loss
  std::uint64_t left_out = 0;          // of threads and processes beyond the bounds, here or of the sink

  // Oddities; no bins of events.
  std::uint64_t unbalanced = 0;         // states that ended because one around them did, or were entered anew
                                        // (`once`), or their thread ran again
  std::uint64_t left_open = 0;          // states that were open when their thread, process or trace ended
  std::uint64_t forgotten_in_loss = 0;  // states that were open when events were lost
  std::uint64_t discarded = 0;          // events that the tracer lost
  std::uint64_t discarded_inexact = 0;  // messages of losses of an unknown number of events
  std::uint64_t discarded_unattributed = 0;  // of `discarded`: no thread was known that they might be of
  std::uint64_t names_left_out = 0;          // names beyond the bound, asked for this often: "(other names)"
  std::uint64_t threads_begun = 0;
  std::uint64_t threads_ended = 0;
  std::uint64_t threads_forgotten = 0;  // of threads_ended: idle for long, and another needed the place

  std::uint64_t bins() const {
    return used + ignored + unmatched + unattributed + too_deep + leave_without_enter + leave_after_loss +
           left_out;
  }
};

// Events of one name that no rule is for.
struct Unmatched {
  std::string name;
  std::uint64_t events = 0;
};

}  // namespace margay::lttng_rules
