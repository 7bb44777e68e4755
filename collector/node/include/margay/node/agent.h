// The node agent without its socket: finds the segments of a run's processes, drains them into an Outbox,
// samples the processes, and says goodbye for those that have ended.
//
//   every period: scan() -> drain() -> sample() -> outbox().flush(...)
//
// Files: reads and, once its process has ended and the goodbye is acknowledged, deletes RUN_DIR/rings/p*;
// keeps RUN_DIR/unwatched. Nothing else is touched.
//
// A process that cannot be looked at (there are too many, no descriptor is left, its segment makes no sense)
// is counted for as long as that is so (unwatched.h), and tried again each second where that may change.
//
// Thread safety: none. Bounds: AgentOptions::most_sources processes at a time, kMostNames files are
// remembered. File descriptors: one for the directory, one for RUN_DIR/unwatched, up to three a process where
// there are enough.
#pragma once

#include <dirent.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "margay/base/time.h"
#include "margay/node/budget.h"
#include "margay/node/outbox.h"
#include "margay/node/process_watch.h"
#include "margay/node/segment_reader.h"
#include "margay/node/unwatched.h"

namespace margay::node {

inline constexpr std::size_t kMostSources = 4096;
inline constexpr std::size_t kMostNames = 65536;  // of files that are not watched
inline constexpr std::size_t kBatchRecords = 4096;
// Stands for the threads of a process that found no ring: all their records are dropped.
inline constexpr std::uint32_t kRinglessStream = probe::kRings;

struct AgentOptions {
  std::string rings;      // the directory
  std::string unwatched;  // the file of what is not watched; "": none
  std::string host;
  DurationNs period = milliseconds(20);
  DurationNs sample_period = milliseconds(50);
  DurationNs scan_period = milliseconds(100);  // of all processes, while ranks are not let on the CPU
  std::int64_t owner_pid = 0;                  // 0: nobody
  std::size_t most_sources = kMostSources;
  std::string proc = "/proc";  // where the kernel tells of processes
  std::optional<std::size_t>
      descriptors;          // that may be kept open for processes; nothing: spare_descriptors()
  std::uint32_t cores = 1;  // of this node: for the budget (budget.h), and how often to look (SamplePace)
  OutboxOptions outbox;
};

class Agent {
 public:
  // `clock` outlives the agent.
  Agent(AgentOptions options, const Clock& clock);
  ~Agent();

  void scan();
  void drain();
  void sample();
  // The run is over: from now on every source gets its goodbye.
  void finish();
  // Everything is said and acknowledged, or nobody is left to hear it.
  bool done();

  Outbox& outbox() { return outbox_; }
  std::size_t sources() const { return sources_.size(); }
  // Sentences for a person, since the last call.
  std::vector<std::string> take_messages();

 private:
  struct Source;
  struct CloseDirectory {
    void operator()(DIR* dir) const { closedir(dir); }
  };
  bool open(const std::string& name);
  bool half_made(const std::string& name, const std::string& path);
  void leave_out(const std::string& name, wire::Unwatched::Reason reason, const std::string& sentence);
  void count_unwatched();
  void give_up(Source& source, const std::string& why);
  bool ready(Source& source);
  void say_hello(Source& source);
  void drain(Source& source);
  // False when the outbox is full before the ring was empty. `last`: it will not be asked again.
  bool drain_ring(Source& source, std::uint32_t index, bool last);
  void keep_budget();
  void say_goodbye(Source& source, wire::Goodbye::Reason reason);
  void let_go_of_acknowledged();

  AgentOptions options_;
  const Clock& clock_;
  Outbox outbox_;
  std::map<std::string, std::unique_ptr<Source>> sources_;  // by file name
  std::string turn_;                                        // whose ring is drained first in the next round
  std::unique_ptr<DIR, CloseDirectory>
      directory_;  // kept open: it is to be read also when no descriptor is left
  std::map<std::string, wire::Unwatched::Reason> left_out_;  // by file name
  std::map<std::string, TimeNs> half_made_;                  // since when
  std::set<std::string> closed_;    // whose goodbye is acknowledged, and whose process may live
  std::set<std::uint64_t> let_go_;  // sources, likewise or ended
  std::uint64_t unnamed_ = 0;       // left out, beyond kMostNames
  bool short_of_ = false;           // of descriptors, in this pass
  bool accounted_ = false;
  Unwatched unwatched_;
  std::set<wire::Unwatched::Reason> told_;  // to a person, once each
  std::uint64_t namespace_;                 // of PIDs, ours
  std::optional<TimeNs> scanned_;           // the directory, as it was at that time (of its file system)
  TimeNs next_scan_{};
  std::vector<std::string> messages_;
  std::vector<EventRecord> records_;
  std::string columns_;  // of the batch that is being made
  ProcessWatch processes_;
  Budget budget_;
  std::optional<ProcessProbe> owner_;
  std::optional<TimeNs> finishing_;
  std::pair<std::size_t, std::size_t> left_{~std::size_t{0}, 0};  // bytes and sources, when that last changed
  TimeNs moved_{};
  std::optional<TimeNs> abandoned_;
};

}  // namespace margay::node
