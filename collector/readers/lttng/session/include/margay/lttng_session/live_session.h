// A live session: what is traced, into which buffers, and where a reader finds it.
//
// Promises: what a program loses because its buffers are full is counted (statistics(), and in the trace);
// nothing waits for a reader (discard mode: a program never blocks); the buffers of one user's programs take
// at most `most_memory`, and the trace on the relay daemon's disk at most about `most_disk`: then its oldest
// packets are overwritten, which a reader that is attached is told as discarded packets.
//
// One reader at a time; attached before the program starts, for what comes while none is attached is not told
// later.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "margay/base/result.h"
#include "margay/base/time.h"
#include "margay/lttng_session/daemons.h"

namespace margay::lttng {

struct EventPattern {
  std::string name;                  // "lttng_ust_pthread:*", "my_app:frame"
  std::vector<std::string> exclude;  // names or patterns that are not, of those
  std::string filter;                // LTTng's: "size > 100"; "": all
};

struct LiveOptions {
  std::string run;                   // the session is margay-RUN; letters, digits, "-_.:"
  std::vector<EventPattern> events;  // at least one
  std::vector<std::string> contexts = {"vpid", "vtid", "procname"};  // of context_names()
  // How often a reader gets what is there: 100 ms is 55 ms (half of events) to 132 ms (99 %) from event to
  // reader.
  DurationNs live_timer = milliseconds(100);
  // Closes sub-buffers that are not full on a timer of their own; 0: the live timer does it.
  DurationNs switch_timer{};
  // A ring on each CPU for each user whose programs are traced: `sub_buffers` of `sub_buffer_bytes`, both
  // powers of two (made such, upwards). The default is 2 MiB: 20 ms of a program's 2 M events/s of 48 bytes
  // on one CPU.
  std::uint64_t sub_buffer_bytes = 256 << 10;
  std::uint32_t sub_buffers = 8;
  // Of all CPUs together, for one user: sub-buffers are made smaller (not below 16 KiB) until they fit, also
  // into half of what is free in /dev/shm.
  std::uint64_t most_memory = 512ull << 20;
  std::uint64_t most_disk =
      2ull << 30;                     // of one user's programs, in the relay daemon's directory; 0: no bound
  DurationNs patience = seconds(10);  // for an answer of the session daemon
};

// What the options come to on this machine. Pure, but for `cpus`.
struct BufferPlan {
  std::uint64_t sub_buffer_bytes = 0;
  std::uint64_t sub_buffers = 0;
  std::uint64_t bytes_per_user = 0;  // shared memory
  std::uint64_t file_bytes = 0;      // 0: files grow without bound
  std::uint64_t files = 0;           // of one CPU; the oldest is overwritten
};
// `cpus` that the machine can have; `free_memory` in /dev/shm.
Result<BufferPlan> plan_buffers(const LiveOptions& options, std::uint64_t cpus, std::uint64_t free_memory);

struct Loss {
  std::string channel;
  std::uint64_t discarded_events = 0;  // buffers were full
  std::uint64_t lost_packets = 0;      // overwritten in the buffer; 0 in discard mode
};

struct SessionInfo {
  std::string name;
  std::string output;  // as LTTng says it: "tcp4://127.0.0.1:5342/ [data: 5343]", a directory
  bool live = false;
  DurationNs live_timer{};
  bool started = false;
};

// net://127.0.0.1:5344/host/HOSTNAME/SESSION, what Babeltrace's src.ctf.lttng-live is given.
std::string live_url(const Daemons& daemons, const std::string& session);
// The sessions that a session daemon has, whoever made them. kUnavailable, kTimeout.
Result<std::vector<SessionInfo>> list_sessions(const Daemons& daemons, DurationNs patience = seconds(10));
// What `contexts` may name.
std::vector<std::string> context_names();

// Thread safety: none, one thread at a time; two sessions may be used by two threads (their requests take
// turns). Owns the session in the session daemon, not the daemons.
class LiveSession {
 public:
  // Makes the session, its channel, contexts and events. Programs that are registered already are
  // instrumented at start(). Cost: 10 to 50 ms. Errors: kInvalidArgument (options), kLimit (no room for
  // buffers), kUnavailable and kTimeout (a daemon). Then no session is left.
  static Result<LiveSession> create(Daemons daemons, LiveOptions options);
  ~LiveSession();  // destroy()
  LiveSession(LiveSession&&) noexcept;
  LiveSession& operator=(LiveSession&&) noexcept;

  const std::string& name() const { return name_; }
  const BufferPlan& buffers() const { return plan_; }
  // Attach before start(), or at least before the program.
  std::string url() const { return live_url(daemons_, name_); }

  Status start();
  // No event after it; what is in buffers goes to the relay daemon, waited for up to `drain`.
  Status stop(DurationNs drain = seconds(2));
  // The session is gone from the session daemon; its trace stays with the relay daemon, and a reader comes to
  // its end.
  Status destroy();

  // Says which daemon is dead, if one is: session, consumer or relay. A session does not survive any of them.
  // Cost: a system call for each of them where their ids are known; else a connection to the relay daemon's
  // live port (at most 0.5 s). Call it once a second.
  Status alive() const;
  // The same once more, under a new name (margay-RUN-2): destroys what is left of the old one, creates,
  // starts if it was started. `daemons`: what runs now. What happened in between is lost and counted by
  // nobody: the caller says how long that was.
  Status again(Daemons daemons);

  // One entry a channel. kNotFound: somebody destroyed the session. Cost: a request, 1 ms.
  Result<std::vector<Loss>> statistics() const;

 private:
  LiveSession(Daemons daemons, LiveOptions options);
  Status make();
  void watch_consumers();

  Daemons daemons_;
  LiveOptions options_;
  BufferPlan plan_;
  std::string name_;
  int made_ = 0;  // how often
  bool exists_ = false;
  bool started_ = false;
  std::vector<pid_t> consumers_;
};

}  // namespace margay::lttng
