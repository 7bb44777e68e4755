// What /proc tells of the job's processes: it tells a stopped rank from a preempted one from a waiting one.
//
// The parsers are pure and take untrusted text. ProcessProbe keeps its files open, so that a look costs one
// read and a pid used again by another process is never taken for the first: reads then fail. Thread safety:
// none shared. Units: nanoseconds.
#pragma once

#include <algorithm>
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
  std::uint64_t minor_faults = 0;
  std::uint64_t major_faults = 0;
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

// The files of one process.
class ProcessProbe {
 public:
  ProcessProbe(std::int64_t pid, std::uint64_t start_time);
  ProcessProbe(ProcessProbe&& other) noexcept;
  ProcessProbe& operator=(ProcessProbe&&) = delete;
  ~ProcessProbe();
  // Nothing when the process is gone, is a zombie, or is another one.
  std::optional<ProcStat> look();
  // Of its first thread; zeros where it is gone, or where the kernel does not count.
  SchedStat scheduled();
  // 0 where it is gone, or the kernel does not say: to another user's process, or to nobody.
  std::uint64_t storage_bytes();

 private:
  std::uint64_t start_time_;
  int stat_ = -1;
  int schedstat_ = -1;
  int io_ = -1;
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
