// The threads and processes that are known, and how they are found.
//
// Places in the tables are numbers that are used again. Bounds: as given; memory in proportion to the most
// that were known at a time. Thread safety: none. Cost: O(1), but to forget: a search of at most 1024
// threads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bindings.h"
#include "flat_map.h"
#include "margay/base/time.h"
#include "margay/reader/state_sink.h"
#include "symbol_maps.h"

namespace margay::lttng_rules {

struct Frame {
  std::uint64_t key = 0;
  std::uint32_t slot = kNothing;
  reader::NameId name{};
};

struct Thread {
  enum class Where : std::uint8_t { kUnknown, kRunning, kBlocked, kRunnable };
  enum class Out : std::uint8_t {
    kNo,
    kOpen,
    kDeep
  };  // whether its innermost state is that it is switched out
  std::int64_t pid = -1;
  std::int64_t tid = -1;
  std::uint32_t process = kNothing;
  reader::ThreadId id = reader::kNoThread;
  std::uint32_t deep = 0;  // open states beyond the bound
  Where where = Where::kUnknown;
  Out out = Out::kNo;
  bool begun = false;            // the sink knows it
  bool left_out = false;         // by its name
  bool over = false;             // has ended; what the scheduler still says of it counts for nothing
  bool stand_in = false;         // its process is not known
  bool named_by_kernel = false;  // what user space keeps of its name may be old
  std::uint64_t excused = 0;     // leaves without enter that a loss explains
  TimeNs last{};
  std::string name;
  std::vector<Frame> stack;
};

struct Process {
  std::int64_t pid = -1;
  reader::ProcessId id = reader::kNoProcess;
  bool begun = false;
  bool is_known = false;      // a place that is in use
  bool told = false;          // its name, by a rule; else it is a guess
  std::uint32_t entries = 0;  // threads in the table
  std::uint32_t live = 0;     // of them, those that are not over
  std::uint32_t serial = 0;   // never used again; another one when the memory's map changes
  std::string name;
  std::vector<std::uint8_t> passes;  // by filter
  SymbolMap map;
};

class Threads {
 public:
  Threads(std::uint32_t most_threads, std::uint32_t most_processes)
      : most_threads_(most_threads), most_processes_(most_processes) {}

  std::uint32_t find(std::int64_t pid, std::int64_t tid) const {
    return by_ids_.find(static_cast<std::uint64_t>(pid), static_cast<std::uint64_t>(tid));
  }
  // The newest of this tid.
  std::uint32_t find_tid(std::int64_t tid) const { return by_tid_.find(static_cast<std::uint64_t>(tid), 0); }
  std::uint32_t find_process(std::int64_t pid) const {
    return by_pid_.find(static_cast<std::uint64_t>(pid), 0);
  }
  Thread& thread(std::uint32_t i) { return threads_[i]; }
  Process& process(std::uint32_t i) { return processes_[i]; }
  // Places, also those that are free: tid and is_known say.
  std::uint32_t places() const { return static_cast<std::uint32_t>(threads_.size()); }
  std::uint32_t process_places() const { return static_cast<std::uint32_t>(processes_.size()); }

  bool is_full() const { return by_ids_.size() >= most_threads_; }
  bool processes_are_full() const { return by_pid_.size() >= most_processes_; }

  // REQUIRES: not full, and not known. References to threads and processes are invalid afterwards.
  std::uint32_t add(std::int64_t pid, std::int64_t tid, std::uint32_t process);
  std::uint32_t add_process(std::int64_t pid);
  void remove(std::uint32_t thread);
  // REQUIRES: it has no entries.
  void remove_process(std::uint32_t process);
  std::uint32_t new_serial() { return ++serial_; }

  // A thread that was idle since before `since` and has nothing open; kNone if none is found. Goes on where
  // it ended the last time.
  std::uint32_t idle_since(TimeNs since);
  // A process without threads.
  std::uint32_t empty_process();

 private:
  const std::uint32_t most_threads_;
  const std::uint32_t most_processes_;
  std::vector<Thread> threads_;
  std::vector<Process> processes_;
  std::vector<std::uint32_t> free_threads_;
  std::vector<std::uint32_t> free_processes_;
  FlatMap by_ids_;
  FlatMap by_tid_;
  FlatMap by_pid_;
  std::uint32_t hand_ = 0;
  std::uint32_t process_hand_ = 0;
  std::uint32_t serial_ = 0;
};

}  // namespace margay::lttng_rules
