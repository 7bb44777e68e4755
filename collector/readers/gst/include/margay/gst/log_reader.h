// Makes states of GStreamer's debug log: a thread is in the function that wrote its newest line, until it
// writes the next one. That is the microscopic description of the first paper on temporal aggregation:
// functions as states, threads as resources. A thread that waits does so in the function that said so before.
//
// Threads are named after the pad whose task they run ("queue0:src"); the first one of a process is "main".
//
// Time: lines tell the time since GStreamer began in that process. The shortest time between a line's writing
// and its coming here tells when that was; so times are right to within that (0.1 ms, seen here), and the
// order and distance of one thread's lines is kept.
//
// Thread safety: none. Bounds: kLongestLine bytes of an unfinished line; 256 tasks whose thread is not known
// yet. Cost: 0.3 us a line.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "margay/base/time.h"
#include "margay/gst/log_line.h"
#include "margay/reader/state_sink.h"

namespace margay::gst {

inline constexpr std::size_t kLongestLine = 64 << 10;

class LogReader {
 public:
  // Every line is in one of these.
  struct Counts {
    std::uint64_t lines = 0;
    std::uint64_t taken = 0;      // became states
    std::uint64_t text = 0;       // further lines of a text that has several, and empty ones
    std::uint64_t malformed = 0;  // began like one, but cannot be understood; or too long
    std::uint64_t left_out = 0;   // of processes and threads beyond the bounds
    std::uint64_t dropped = 0;    // before they were read; not among `lines`
  };
  // `sink` outlives it. `program` tells what people call a pid.
  LogReader(reader::StateSink& sink, std::function<std::string(std::int64_t)> program);

  // Bytes as they came, at host time `arrival`; a line may come in pieces.
  void feed(std::string_view bytes, TimeNs arrival);
  // `lines` of this process were dropped before they were read: what its threads did since their newest lines
  // is unknown until its next one.
  void lost(std::int64_t pid, std::uint64_t lines);
  // There is nothing more to read at `now`.
  void caught_up(TimeNs now);
  // The process has ended, and all that it wrote was fed.
  void end_process(reader::ProcessId process);

  const Counts& counts() const { return counts_; }

 private:
  struct Thread {
    reader::ThreadId id = reader::kNoThread;
    reader::NameId state{};
    bool in_state = false;
  };
  struct Process {
    reader::ProcessId id = reader::kNoProcess;
    std::optional<DurationNs> offset;  // host time less what lines tell
    TimeNs newest{};
    std::uint64_t lost = 0;  // lines, since its newest
    std::unordered_map<std::uint64_t, Thread> threads;
    std::map<std::string, std::string, std::less<>> tasks;  // their pads, until a thread runs them
  };
  void line(std::string_view text, TimeNs arrival);
  Process& process_of(std::int64_t pid);
  Thread& thread_of(Process& process, std::uint64_t number, TimeNs at);
  void tell_lost(Process& process, TimeNs at);
  void note_task(Process& process, const LogLine& line);
  reader::NameId name_of(std::string_view function);

  reader::StateSink& sink_;
  std::function<std::string(std::int64_t)> program_;
  std::map<std::int64_t, Process> processes_;
  std::unordered_map<std::string, reader::NameId> names_;
  std::string unfinished_;
  bool too_long_ = false;
  Counts counts_;
};

}  // namespace margay::gst
