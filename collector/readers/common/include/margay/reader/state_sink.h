// Where readers of other tools' events (GStreamer's log, LTTng's traces) put the states that they have made
// of them.
//
// A process has threads; a thread has nested states. A reader names things once and then speaks of them by
// number; numbers are the sink's, dense from 0, and never used again while the process lives.
//
// Times are host time (CLOCK_MONOTONIC). Those of one thread must not decrease: an earlier one is taken for
// the thread's newest. Between threads any order will do, within what cover() has not yet promised.
//
// Bounds are the sink's: it may answer kNoProcess or kNoThread, and then what is said of them is counted by
// it as left out. The reader need not look.
//
// Thread safety: none. Cost: O(1) a call, no allocation but for new names, threads and processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "margay/base/strong.h"
#include "margay/base/time.h"

namespace margay::reader {

using ProcessId = Strong<struct ProcessTag, std::uint32_t>;
using ThreadId = Strong<struct ThreadTag, std::uint32_t>;
using NameId = Strong<struct NameTag, std::uint32_t>;
inline constexpr ProcessId kNoProcess{~std::uint32_t{0}};
inline constexpr ThreadId kNoThread{~std::uint32_t{0}};

// The first four are states. kWait: for others, or for a time; kIdle: for something to do.
enum class NameKind : std::uint8_t { kState, kWait, kIo, kIdle, kMark, kVariable };
inline constexpr std::size_t kNameKinds = 6;

class StateSink {
 public:
  virtual ~StateSink() = default;

  // The process `pid` of this host; `command` as people know it. The same pid again is the same process until
  // end_process().
  virtual ProcessId process(std::int64_t pid, std::string_view command) = 0;
  // A thread of it that is seen for the first time; it exists from `at` on. "" for a thread without a name.
  virtual ThreadId begin_thread(ProcessId process, std::int64_t tid, std::string_view name, TimeNs at) = 0;
  virtual void rename_thread(ThreadId thread, std::string_view name) = 0;
  // What one name stands for is decided by the first call with it.
  virtual NameId name(std::string_view text, NameKind kind) = 0;

  virtual void enter(ThreadId thread, NameId state, TimeNs at) = 0;
  // REQUIRES: `state` is the innermost open one.
  virtual void leave(ThreadId thread, NameId state, TimeNs at) = 0;
  virtual void mark(ThreadId thread, NameId mark, TimeNs at) = 0;
  virtual void variable(ThreadId thread, NameId variable, double value, TimeNs at) = 0;
  // `events` of it were lost between its newest record and `at`: what it did is unknown until then. Open
  // states are forgotten; the reader enters again what it knows to be open.
  virtual void lost(ThreadId thread, std::uint64_t events, TimeNs at) = 0;
  virtual void end_thread(ThreadId thread, TimeNs at) = 0;
  virtual void end_process(ProcessId process, TimeNs at) = 0;

  // Every event before `until` has been told, of all threads of all processes.
  virtual void cover(TimeNs until) = 0;
};

}  // namespace margay::reader
