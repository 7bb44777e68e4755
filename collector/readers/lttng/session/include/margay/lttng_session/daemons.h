// LTTng's daemons: those of Margay's own, and those that run already.
//
// A session daemon (lttng-sessiond) is where traced programs register; it starts a consumer daemon, which
// reads their buffers. A relay daemon (lttng-relayd) takes what the consumer daemon reads, over TCP, keeps it
// on disk, and serves live readers. OwnDaemons starts one of each, which nobody else sees: sockets below a
// directory of its own, free ports of 127.0.0.1. Two of them on one machine, or one beside the system's, do
// not meet.
//
// How they are kept apart: an ordinary user's session daemon has all its sockets below $LTTNG_HOME/.lttng.
// Root's has them in /var/run/lttng, whatever LTTNG_HOME says, and refuses to start where another runs; so
// for root both daemons get a mount namespace in which /var/run/lttng is `directory`/run. Where root may not
// make one (a container without CAP_SYS_ADMIN) they are started in /var/run/lttng itself, if no other is
// there.
//
// Traced programs find the daemon by LTTNG_HOME in either case (program.h).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "margay/base/result.h"
#include "margay/base/time.h"

namespace margay::lttng {

// Which daemons to talk to. A value: whoever has it does not own them.
struct Daemons {
  std::string
      home;  // LTTNG_HOME of those that are to find the session daemon; "": the system's, no LTTNG_HOME
  bool own_mounts = false;  // the session daemon's /var/run/lttng is another than ours (root)
  pid_t sessiond = -1;      // -1: not known
  pid_t relayd = -1;        // -1: not known, or on another machine
  std::string relay_host = "127.0.0.1";
  std::uint16_t control_port = 5342;  // where the session and consumer daemon send to
  std::uint16_t data_port = 5343;
  std::uint16_t live_port = 5344;  // where readers connect; 0: there is no relay daemon
};

struct OwnDaemonsOptions {
  // Made where it is not there (its parent has to be); empty else. At most 75 bytes, for the names of sockets
  // below it are bounded by the system. REQUIRES: absolute; on no place that others may write.
  std::string directory;
  // Where the relay daemon keeps what it was sent; stays there. "": `directory`/traces, and stop() removes
  // it.
  std::string traces;
  std::string sessiond = "lttng-sessiond";  // looked for in PATH
  std::string relayd = "lttng-relayd";
  std::optional<Daemons> running;     // this session daemon is used: only a relay daemon is started
  DurationNs patience = seconds(10);  // for each to come up
  DurationNs grace = seconds(3);      // for each to end after SIGTERM, then SIGKILL
};

// Thread safety: none, one thread at a time. The daemons end (SIGTERM) when the thread that started them
// ends, or its process, in whatever way: REQUIRES that start() and mend() are called on a thread that lives
// as long as they are to. LTTNG_HOME of this process is set while ordinary users' requests are made (ask.h),
// so that REQUIRES that no other thread reads the environment at that moment: make the first request early.
class OwnDaemons {
 public:
  // Returns when both answer. Cost: 20 to 100 ms, two processes; at most `patience` for each.
  // Errors: kInvalidArgument (directory), kNotFound (a program is not installed), kUnavailable (one ended,
  // with the last line it said), kTimeout (one does not answer). Then nothing is left.
  static Result<std::unique_ptr<OwnDaemons>> start(OwnDaemonsOptions options);
  ~OwnDaemons();  // stop()
  OwnDaemons(const OwnDaemons&) = delete;
  OwnDaemons& operator=(const OwnDaemons&) = delete;

  // For a supervisor to watch, and for LiveSession. Changes with mend().
  const Daemons& daemons() const { return daemons_; }
  // Names the daemon that ended, the consumer daemon included. Cost: some ten files of /proc.
  Status alive() const;
  // Starts those again that ended; what their sessions were is gone, and ports may be others. A relay daemon
  // alone is started anew: sessions are to be made again (LiveSession::again), traced programs stay
  // registered. A session daemon is started anew also where its consumer daemon ended, which it does not
  // replace: an ordinary user's programs register with it by themselves within 5 s; root's do not, only those
  // that start from now on. Cost and errors: as start(), and up to `grace`.
  Status mend();
  // Ends both by their ids, and removes what they left below `directory`. Cost: 0.1 s where they are well, at
  // most twice `grace` and a little. What is not theirs stays: the empty /run/lttng (root), and
  // /dev/shm/lttng-ust-wait-8*, one page a user, which all of LTTng shares.
  void stop();

 private:
  explicit OwnDaemons(OwnDaemonsOptions options) : options_(std::move(options)) {}
  Status prepare();
  Status start_sessiond();
  Status wait_for_sessiond(pid_t pid, const std::string& log);
  Status start_relayd();
  Result<bool> start_relayd_once();
  Status launch_in_place(const std::string& program, std::vector<std::string> arguments,
                         const std::string& log, pid_t* pid);
  bool consumer_ended() const;
  void end_sessiond();
  std::string at(const std::string& name) const { return options_.directory + "/" + name; }

  OwnDaemonsOptions options_;
  Daemons daemons_;
  pid_t sessiond_ = -1, relayd_ = -1;  // those that are ours to end
  std::string mounts_;                 // the session daemon's mount namespace
  bool made_directory_ = false, prepared_ = false;
};

// The daemons that this user reaches without more: root's in /var/run/lttng, for root and the group
// `tracing`; else the user's own ($LTTNG_HOME or $HOME). `relayd` is -1, and live_port 0, where none listens
// on LTTng's usual ports of this machine: then OwnDaemons starts one (`running`). kUnavailable: no session
// daemon answers. All sessions of a session daemon see all programs that register with it: somebody else's as
// well.
Result<Daemons> find_running(DurationNs patience = seconds(3));

}  // namespace margay::lttng
