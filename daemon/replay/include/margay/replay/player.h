// A replay that is watched: publishes reports as a daemon does, to the same viewers, and does what they ask
// for: play at a speed, pause, step, jump.
//
// It paces a replay through its listener: `before` waits until the next message may be taken, `after`
// publishes. A jump back needs the replay to begin anew: `before` says so by ending it (rewind()). Thread
// safety: none. Every wait is short, and looks at `stop`.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "margay/analysis/analyst.h"
#include "margay/serve/view_service.h"
#include "margay/transport/rundir.h"
#include "margay/transport/transport.h"
#include "said_live.h"

namespace margay::daemon {

class Player {
 public:
  struct Options {
    double speed = 0;  // times real time; 0: as fast as it goes
    bool serve = false;
    transport::RunDirectory directory;  // with `serve`
    TimeNs begin{}, end{};              // of what is replayed
    // With `serve`: what questions about a stretch (VIEW) are answered from, all of it, wherever the replay
    // is; null: they are refused. Must outlive the player.
    const store::Archive* archive = nullptr;
    // Of a replay with other settings, to be told beside what it says: those settings, and what was said
    // live.
    struct Otherwise {
      std::vector<std::string> settings;  // "detect.p = 0.05"
      SaidLive live;
    };
    std::optional<Otherwise> otherwise{};
  };
  // `stop` may be set from a signal handler. Errors: of binding the endpoints.
  static Result<std::unique_ptr<Player>> open(const Options& options, const Clock& clock,
                                              const std::atomic<bool>& stop);

  // What the replay says, for whom compares it with what was said live.
  void said(const alert::Alert& alert);
  // With other settings than live: what was said by then beside what was said live; else nothing.
  std::optional<wire::WhatIf> beside(TimeNs watermark) const;
  const SaidLive* said_live() const { return otherwise_ ? &otherwise_->live : nullptr; }
  // Waits until it is time; false: the replay is to end (stop, or rewind()).
  bool before(TimeNs watermark);
  void after(const Analyst& analyst);
  // All has been shown. Serves viewers until a jump back (true: begin anew) or the end (false).
  bool at_end(const Analyst& analyst);
  // True once: the replay has to begin anew to get to where it was told to go.
  bool rewind();

 private:
  Player(const Options& options, const Clock& clock, const std::atomic<bool>& stop)
      : options_(options), clock_(clock), stop_(stop), speed_(options.speed), otherwise_(options.otherwise) {}
  void serve();
  void answer(const transport::Socket::Frame& frame);
  void send_view(ViewReply&& view);
  void publish(const Analyst& analyst);
  void pace_anew() { pace_from_.reset(); }

  const Options options_;
  const Clock& clock_;
  const std::atomic<bool>& stop_;
  zmq::context_t context_{1};
  std::optional<transport::Socket> reports_, control_;
  std::unique_ptr<ViewService> views_;
  double speed_;
  std::optional<Options::Otherwise> otherwise_;
  bool paused_ = false;
  bool changed_ = false;  // it was told to play or to pause, and nobody else knows yet
  bool at_end_ = false;
  bool finished_ = false;  // a viewer ended it
  std::uint32_t steps_ = 0;
  std::optional<TimeNs> target_;  // of a jump
  bool rewind_ = false;
  TimeNs now_{};  // trace time reached
  struct Pace {
    TimeNs host{}, trace{};
  };
  std::optional<Pace> pace_from_;
  std::uint64_t sequence_ = 0;
  TimeNs next_report_{};
  const Analyst* shown_ = nullptr;  // of the replay that is going on
  wire::Report newest_;
};

}  // namespace margay::daemon
