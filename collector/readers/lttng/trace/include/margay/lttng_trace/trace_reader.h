// Reads LTTng's traces (CTF 1.8) with Babeltrace 2: recorded ones below a directory, and one live session of
// a relay daemon. Each event goes to an EventSink (event.h) in the order of time. TRACE.md says what is read
// of it, which clocks there are, what becomes of damaged traces, and how late live events are.
//
// The caller's loop stays in charge: run_once hands over at most so many events and comes back.
//
// UNITS. Times are host time (CLOCK_MONOTONIC of the traced host) in nanoseconds, as the trace's raw clock
// has it, without the offset to the wall clock; offset() is that offset. Traces of other clocks (another
// boot, another host) come in the first trace's host time, by their wall clocks. Of a trace whose clock is
// not CLOCK_MONOTONIC (clock().monotonic is false) times can be compared with each other, not with this
// host's.
//
// ERRORS are sentences that name the trace and the stream. Nothing is written to standard error. A damaged
// stream ends where it does not decode, a damaged trace is left out, the others go on; both are in counts()
// and damage(). After an error every further call returns the same.
//
// THREAD SAFETY: none, but stop(), which any thread and any signal handler may call.
// OWNERSHIP: the sink is the caller's and outlives the reader. What is handed to it is valid during the call.
// The sink must not throw.
// FILES: one is open for each stream; the process' soft limit of open files is raised where it takes that.
// COST: about that of Babeltrace's own decoding (tests/bench/lttng_trace_bench). Memory: 8 MiB of mapped file
// a stream, 15 messages a stream, and each class once. Live, run_once waits for the relay daemon's answers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "margay/base/result.h"
#include "margay/base/time.h"
#include "margay/lttng/event.h"

namespace margay::lttng {

struct ReaderOptions {
  DurationNs progress = milliseconds(10);  // on_progress comes at least this often in the trace's time
  // Where a directory of symbolic links is made for a damaged trace; empty: the system's temporary directory.
  std::string scratch;
};

enum class Step {
  kMore,   // call again
  kAgain,  // live: nothing there (or no such session yet); call again after a while, 5 to 100 ms
  kEnd,    // the trace, or the live session, is over; or stop() was called
};

struct ReaderCounts {
  std::uint64_t events = 0;                // handed over
  std::uint64_t discarded_events = 0;      // told by on_discarded, exactly
  std::uint64_t discarded_packets = 0;     // whole packets that are missing
  std::uint64_t unknown_discards = 0;      // times that events were lost, and not even how many is known
  std::uint64_t damaged_streams = 0;       // ended before their end, or could not be read at all
  std::uint64_t damaged_traces = 0;        // could not be read at all (metadata)
  std::uint64_t events_before_damage = 0;  // handed over of the damaged streams
  std::uint64_t moved = 0;  // live: events some ns earlier than the one before, whose time they were given
};

// One stream or one trace that could not be read to its end.
struct Damage {
  std::string place;  // the stream's file, or the trace's directory
  std::string what;
  std::uint64_t events = 0;  // of the stream, handed over before
};

struct TraceClock {
  std::string name;        // "" before the first event
  bool monotonic = false;  // CLOCK_MONOTONIC of the traced host
};

class TraceReader {
 public:
  static constexpr std::size_t kMostTraces = 100'000;
  static constexpr std::uint32_t kMostClasses = 1'000'000;
  static constexpr std::size_t kMostDamage = 1'000;  // sentences that damage() keeps

  // All traces in `directory` and below it (16 levels), together.
  // Errors: kNotFound (no such directory, or no trace in it), kCorrupt (none of them can be read), kLimit
  // (more than kMostTraces; more streams than files may be open), kUnavailable (Babeltrace's plugins are not
  // there), kIo.
  static Result<std::unique_ptr<TraceReader>> open_directory(const std::string& directory, EventSink& sink,
                                                             ReaderOptions options = {});
  // "net://HOST[:PORT]/host/HOSTNAME/SESSION". Connects in run_once. A session that is not there yet is
  // waited for; what happened before attached() is not seen. Errors: kInvalidArgument (not such a URL),
  // kUnavailable (Babeltrace's plugins are not there).
  static Result<std::unique_ptr<TraceReader>> open_live(const std::string& url, EventSink& sink,
                                                        ReaderOptions options = {});
  ~TraceReader();
  TraceReader(const TraceReader&) = delete;
  TraceReader& operator=(const TraceReader&) = delete;

  // Hands over at most `most_events` events (at least 1).
  // Errors: kUnavailable (live: no relay daemon, or it is gone), kCorrupt (live: does not decode), kLimit
  // (classes, memory), kInternal.
  Result<Step> run_once(std::uint64_t most_events);
  // run_once returns kEnd from now on. One that waits for a relay daemon which does not answer comes back
  // only when its thread gets a signal.
  void stop();

  bool attached() const;      // live: the session is there, and what happens from now on is seen
  DurationNs offset() const;  // wall clock minus host time of the first trace; 0 before the first event
  TraceClock clock() const;   // the first trace's
  std::string host() const;   // name of the host that the first trace is of; "" where it does not say
  const ReaderCounts& counts() const;
  const std::vector<Damage>& damage() const;  // the first kMostDamage

 private:
  struct Impl;
  explicit TraceReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace margay::lttng
