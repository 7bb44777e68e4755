// Who runs instead: the processes that had the CPUs which a process of the job may run on, while it was ready
// to run and was not let. Read from /proc of all processes, when the agent has reason to.
//
// Two scans tell it: the CPU time that each process has used between them, and where it ran last. A process
// with one thread took the CPU where it was seen; one of several threads, all that it may run on. What the
// CPUs were busy for beyond all who were seen has ended since, or is hidden: another user's under hidepid,
// another container's, one of the host's. Times are as fine as the kernel's ticks (10 ms, as a rule).
//
// What is kept of a process that is not of the job: its pid and its command (15 bytes, as in /proc/PID/stat).
//
// Files under `proc` only are read (a made-up tree in tests); they are untrusted text. Errors: what cannot be
// read is not there. Thread safety: none. Cost: one small file of each process of the machine is read (10 us:
// 0.9 ms of the CPU for 100 processes, 13 ms for 1100), memory 56 bytes of each; at most kMostProcesses, the
// rest count as unseen. Who calls sees to it that it is not too often (SamplePace).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "margay/base/result.h"
#include "margay/base/time.h"
#include "margay/wire/ingest.pb.h"

namespace margay::node {

// CPUs of "0-3,8", as in /proc/PID/status. Errors: kCorrupt; more than kMostCpus is too many.
inline constexpr std::uint32_t kMostCpus = 8192;
Result<std::set<std::uint32_t>> parse_cpu_list(std::string_view text);

class TakerScan {
 public:
  static constexpr std::size_t kMostProcesses = 32768;
  static constexpr std::size_t kMostStarved = 64;  // in a scan
  static constexpr std::size_t kMostTold = 4;      // of each of these
  explicit TakerScan(std::string proc = "/proc") : proc_(std::move(proc)) {}
  // The job's ranks, by pid: their sources. `margay`: pids of the agent and of whoever started it.
  struct Job {
    std::map<std::int64_t, std::uint64_t> ranks;
    std::set<std::int64_t> margay;
  };
  // Of each pid of `starved` who had its CPUs since the scan before, the most first; nothing after the first
  // scan, or where that is longer ago than `most_apart`, and mostly of a time when nobody starved. Pids that
  // are gone are left out.
  std::map<std::int64_t, std::vector<wire::Taker>> scan(TimeNs now, const std::vector<std::int64_t>& starved,
                                                        const Job& job, DurationNs most_apart);
  std::size_t processes() const { return seen_.size(); }

 private:
  struct Process {
    std::int64_t pid = 0, parent = 0, threads = 0;
    std::uint64_t start_time = 0, ticks = 0;
    std::uint64_t used = 0;  // ticks since the scan before
    std::int32_t core = -1;
    bool operator<(const Process& o) const { return pid < o.pid; }
  };
  struct Busy {
    std::uint64_t busy = 0, steal = 0;  // ticks since boot
  };
  void read_processes();
  std::vector<Busy> read_busy() const;
  const std::set<std::uint32_t>& allowed(std::int64_t pid);
  std::string command(std::int64_t pid, std::uint64_t start_time) const;
  const Process* find(std::int64_t pid) const;
  wire::Taker::Kind kind_of(const Process& process, const std::string& name, const Job& job) const;
  bool of_job(const Process& process, const Job& job) const;
  std::vector<wire::Taker> takers_of(std::int64_t pid, const std::vector<Busy>& busy, DurationNs over,
                                     const Job& job);

  std::string proc_;
  std::vector<Process> seen_;  // by pid
  bool all_ = false;           // there were no more of them
  std::vector<Busy> busy_;
  TimeNs at_{};
  std::map<std::int64_t, std::set<std::uint32_t>> allowed_;  // of who was asked for in this scan
};

// When is it worth to ask: whether a process was ready to run, and not let, for longer than it usually is.
class Starvation {
 public:
  // Between two samples it was ready for `delay` of `time`.
  bool more_than_usual(DurationNs delay, DurationNs time);

 private:
  double usual_ = 0, samples_ = 0;
};

}  // namespace margay::node
