// Watches processes that are sources: whether they live, what they and the machine do, and who runs instead
// of those that are not let on the CPU. It makes the samples that tell a stopped process from a preempted one
// from a waiting one.
//
// Looking takes at most a 400th of the time of the node's cores; so do samples, and the scan of all processes
// of the machine, which is done only while a watched one is ready to run and not let for longer than usual.
// Each keeps to its own share, of what it has of a CPU: where the CPU is taken samples are as many as ever.
//
// A process is there while /proc shows it. Where /proc does not (it is of another PID namespace, or hidden
// from us, or there is no descriptor left to look with), it is there while it holds its file locked; where
// nothing tells either, it is taken to be there: nobody is given up because he cannot be looked at. Of such a
// process there are no samples.
//
// Thread safety: none. Bounds: the caller's (one entry each add()); descriptors: Options. Errors: what cannot
// be read is not told.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <thread>

#include "margay/base/time.h"
#include "margay/node/namespaces.h"
#include "margay/node/placement.h"
#include "margay/node/sampler.h"
#include "margay/node/segment_reader.h"
#include "margay/node/takers.h"
#include "margay/wire/ingest.pb.h"

namespace margay::node {

class ProcessWatch {
 public:
  struct Options {
    std::string host;
    DurationNs period = milliseconds(20);         // between two looks
    DurationNs sample_period = milliseconds(50);  // between two samples that are sent
    DurationNs scan_period = milliseconds(100);   // of all processes, while watched ones are not let
    std::int64_t owner_pid = 0;                   // whoever started us; 0: nobody
    std::uint32_t cores = std::thread::hardware_concurrency();  // of this node
    std::string proc = "/proc";                                 // where the kernel tells of processes
    std::optional<std::size_t> descriptors{};  // that may be kept open; nothing: spare_descriptors()
  };
  // The file that a process has locked for as long as it lives (probe/segment.h). An empty path: it has none.
  struct LifeLine {
    std::string path;
    FileId file;
  };
  // What the last look showed. `looked`: when; the process had ended by then, if it is gone.
  struct Seen {
    TimeNs looked{};
    bool gone = false;
    std::optional<ProcStat> last;  // nothing before the first look
  };

  // `clock` outlives it.
  ProcessWatch(Options options, const Clock& clock);

  // `start_time`: ticks after boot; with another one the pid is of another process, which is gone.
  void add(std::uint64_t source, std::int64_t pid, std::uint64_t start_time);
  void add(std::uint64_t source, const ProcessName& name, LifeLine line);
  // From now on samples tell of it: its hello has been said.
  void introduce(std::uint64_t source);
  // A thread of it, which is not the first, is ready and not let: the next samples say who is.
  void starves(std::uint64_t source, bool does) {
    if (const auto it = processes_.find(source); it != processes_.end()) it->second.thread_starves = does;
  }
  bool knows(std::uint64_t source) const { return processes_.contains(source); }
  void remove(std::uint64_t source) { processes_.erase(source); }
  // REQUIRES: added, and not removed.
  const Seen& seen(std::uint64_t source) const { return processes_.at(source).seen; }

  // Where it is, as far as it is known what it is called here. REQUIRES: added, and not removed.
  Told placement(std::uint64_t source) const;

  // Looks, where a look is due; a sample, where one is due and there is something to tell.
  std::optional<wire::NodeSample> sample();

 private:
  struct Process {
    std::int64_t pid = 0;  // here; 0: not known
    ProcessName name;      // its own
    LifeLine line;
    std::optional<ProcessProbe> probe;  // while the pid is known
    int searches = 0;                   // for it, that may still be made
    Seen seen;
    bool introduced = false;
    bool told_gone = false;
    // Of the last sample.
    TimeNs sampled{};
    std::uint64_t run_delay_ns = 0;
    Starvation starvation;
    bool starved = false, thread_starves = false;
  };
  void look();
  Presence presence(Process& process, Looked& looked);
  void find_hidden(TimeNs now);
  void tell(wire::ProcessSample& sample, Process& process, TimeNs now);
  void tell_takers(wire::NodeSample& sample);

  Options options_;
  const Clock& clock_;
  SamplePace look_pace_, sample_pace_, scan_pace_;
  std::uint64_t namespace_;  // ours
  Descriptors descriptors_;
  std::map<std::uint64_t, Process> processes_;  // by source; they give their descriptors back
  TimeNs next_search_{};
  bool at_once_ = false;
  TakerScan takers_;
};

}  // namespace margay::node
