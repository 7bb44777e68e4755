// What Streams keeps of a thread and of a process. Private to the folder.
#pragma once

#include "margay/reader/streams.h"

namespace margay::reader {

inline EventRecord plain(std::uint8_t kind, std::uint16_t state, TimeNs at, std::uint64_t bytes = 0) {
  return {at.value, bytes, MARGAY_NO_PEER, MARGAY_NO_TAG, 0, state, kind, 0};
}

struct Streams::Thread {
  ProcessId process;
  std::int64_t tid = -1;
  std::uint32_t stream = 0;
  std::string name;   // its own
  std::string shown;  // of the stream
  bool name_due = true;
  bool asked = false;   // what it is called now
  bool pooled = false;  // the stream has served others
  bool ended = false;
  TimeNs begun{};
  TimeNs last{};  // of its newest record
  struct Open {
    NameId name;
    std::uint16_t index;  // as it was recorded
    TimeNs since;
  };
  std::vector<Open> open;  // names of open states, outermost first
  std::vector<EventRecord> records;
  std::uint64_t first = 0;  // ordinal of records[0]
  std::uint64_t produced = 0, dropped = 0;
  std::uint64_t untold = 0;      // of the dropped: since the last record
  TimeNs beaten{};               // when its last promise was handed over
  std::optional<ThreadUse> use;  // as it was seen last, since its last word
  TimeNs looked{};               // when that was
  // As samples told it last, and when; what it has waited for a CPU, what it waits now included.
  std::optional<ThreadUse> told;
  TimeNs told_at{};
  std::uint64_t ready_ns = 0;
  std::optional<NameId> stands_in;  // open.back(): what the system says that it does, as it tells nothing
  Ledger::Thread* kept = nullptr;
  bool restored = false;  // what it did since its newest record has to be told to be unknown
};

struct Streams::Process {
  std::uint64_t source = 0;
  std::int64_t pid = 0;
  std::string program;
  Origin origin;
  std::vector<std::uint32_t> names;  // NameId values by index, from kOtherIndex + 1 on
  std::unordered_map<std::uint32_t, std::uint16_t> index;
  std::size_t names_told = 0;
  std::vector<std::uint32_t> threads;  // ThreadId values by stream
  std::vector<std::uint32_t> free;     // those whose thread has ended, and was short-lived
  std::uint32_t pooled = 0;
  TimeNs end{};
  bool ended = false, goodbye = false;
  Ledger::Process* kept = nullptr;
  std::unordered_map<std::int64_t, std::uint32_t> unclaimed;  // ThreadId values of restored threads by tid
};

}  // namespace margay::reader
