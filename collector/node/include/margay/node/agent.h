// The node agent without its socket: finds the segments of a run's processes, drains them into an Outbox,
// samples the processes, and says goodbye for those that have ended.
//
//   every period: scan() -> drain() -> sample() -> outbox().flush(...)
//
// Files: reads and, after an acknowledged goodbye, deletes RUN_DIR/rings/p*. Nothing else is touched.
// Thread safety: none. Bounds: kMostSources processes; the rest stay in their rings and are told of once.
#pragma once

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

namespace margay::node {

inline constexpr std::size_t kMostSources = 4096;
inline constexpr std::size_t kBatchRecords = 4096;
// Stands for the threads of a process that found no ring: all their records are dropped.
inline constexpr std::uint32_t kRinglessStream = probe::kRings;

struct AgentOptions {
  std::string rings;  // the directory
  std::string host;
  DurationNs period = milliseconds(20);
  DurationNs sample_period = milliseconds(50);
  DurationNs scan_period = milliseconds(100);  // of all processes, while ranks are not let on the CPU
  std::int64_t owner_pid = 0;                  // 0: nobody
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
  bool open(const std::string& name);
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
  std::set<std::string> unreadable_;
  std::optional<TimeNs> scanned_;  // the directory, as it was at that time (of its file system)
  TimeNs next_scan_{};
  std::vector<std::string> messages_;
  std::vector<EventRecord> records_;
  std::string columns_;  // of the batch that is being made
  ProcessWatch processes_;
  Budget budget_;
  bool full_ = false;
  std::optional<ProcessProbe> owner_;
  std::optional<TimeNs> finishing_;
  std::pair<std::size_t, std::size_t> left_{~std::size_t{0}, 0};  // bytes and sources, when that last changed
  TimeNs moved_{};
  std::optional<TimeNs> abandoned_;
};

}  // namespace margay::node
