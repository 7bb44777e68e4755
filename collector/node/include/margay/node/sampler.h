// What /proc tells of the job's processes: it tells a stopped rank from a preempted one from a waiting one.
//
// The parsers are pure and take untrusted text. ProcessProbe keeps its files open where there are descriptors
// for that, so that a look costs one read; else it opens them each time, which takes twice as long. A pid
// used again by another process is never taken for the first: its start time is another. Thread safety: none
// shared. Units: nanoseconds.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "margay/base/result.h"
#include "margay/base/time.h"

namespace margay::node {

struct ProcStat {
  char state = 0;  // R S D T t Z X
  std::int64_t parent = 0;
  std::uint64_t cpu_ticks = 0;  // user and system
  std::uint64_t start_time = 0;
  std::int64_t threads = 0;
  std::int32_t core = -1;
  int exit_code = 0;  // as of wait(); 0 unless the process is a zombie and we may see it
};
// One line of /proc/PID/stat. Errors: kCorrupt naming the field.
Result<ProcStat> parse_stat(std::string_view text);
// What the scheduler has counted of one thread since it began: exact, but that a turn on the CPU, or a wait
// for one, is counted when it ends (the turn also at each tick of the kernel).
struct SchedStat {
  std::uint64_t cpu_ns = 0;        // on the CPU
  std::uint64_t run_delay_ns = 0;  // ready to run, and not let
};
// /proc/PID/schedstat, which is that of the process' first thread alone. Errors: kCorrupt.
Result<SchedStat> parse_schedstat(std::string_view text);
// What the process has had fetched from storage and has given to be written there, of /proc/PID/io: not what
// a cache knew, nor what went through pipes and sockets. Errors: kCorrupt naming the line.
Result<std::uint64_t> parse_storage_bytes(std::string_view text);
// The stolen ticks of the first line of /proc/stat.
Result<std::uint64_t> parse_steal_ticks(std::string_view text);

// File descriptors that may be kept open, of all that share it. Thread safety: none.
struct Descriptors {
  std::size_t left = 0;
};
// What this process may open, less what it needs otherwise.
Descriptors spare_descriptors();

// Whether a process is there.
enum class Presence : std::uint8_t {
  kThere,
  kGone,    // it has ended, is a zombie, or its pid is another's now
  kHidden,  // /proc does not show it to us (hidepid, another PID namespace), or we cannot look just now
};
struct Looked {
  Presence presence = Presence::kHidden;
  std::optional<ProcStat> stat;  // if it is there
};

// The files of one process.
class ProcessProbe {
 public:
  // `start_time` 0: whoever has the pid is the one. `keep`: descriptors that it may keep open, all or none;
  // without it may keep them always. `proc` is where the kernel tells of processes. All outlive it.
  ProcessProbe(std::int64_t pid, std::uint64_t start_time, Descriptors* keep = nullptr,
               const std::string& proc = "/proc");
  ProcessProbe(ProcessProbe&& other) noexcept;
  ProcessProbe& operator=(ProcessProbe&&) = delete;
  ~ProcessProbe();
  // kGone is said only if it is certain.
  Looked look();
  // Of its first thread; zeros where it is gone, or where the kernel does not count.
  SchedStat scheduled();
  // 0 where it is gone, or the kernel does not say: to another user's process, or to nobody.
  std::uint64_t storage_bytes();

 private:
  enum File : std::uint8_t { kStat, kSchedStat, kIo, kFiles };
  std::string_view read(File file, std::array<char, 2048>& room) const;
  std::int64_t pid_;
  std::uint64_t start_time_;
  Descriptors* keep_;
  std::string place_;  // PROC/PID/
  std::array<int, kFiles> kept_{-1, -1, -1};
};

// Decides when to sample next, so that sampling takes at most a part of the time: a 400th of that of the
// node's cores, and a 50th of one core's.
class SamplePace {
 public:
  SamplePace(DurationNs period, std::uint32_t cores)
      : period_(period), times_cost_(std::max(50u, 400u / std::max(1u, cores))), current_(period) {}
  bool due(TimeNs now) const { return now >= next_; }
  // A sample that began at `begin` took `cost` of a CPU.
  void done(TimeNs begin, DurationNs cost) {
    const DurationNs least = cost * times_cost_;
    current_ = least > period_ ? least : period_;
    next_ = begin + current_;
  }
  DurationNs current() const { return current_; }

 private:
  DurationNs period_;
  std::int64_t times_cost_;
  DurationNs current_;
  TimeNs next_{};
};

std::uint64_t read_steal_ns();
std::uint64_t ticks_to_ns(std::uint64_t ticks);

}  // namespace margay::node
