// The way to one sink: what waits for it, in order; when it is tried, and tried again; what is given up.
//
// Order: what came first is sent first; the next one waits until it was taken or given up, so that an alert's
// firing is always before its resolved. An update takes the place of an older one that waits, and its time
// begins anew. A sink that fails is left alone for kFirstPause, twice as long each time up to kLongestPause,
// spread at random by a half to both sides, whatever waits. An alert is given up when the sink refuses it,
// when it has waited for `retry_for`, or when kMostWaiting newer ones wait behind it.
//
// Pure but for the sink: clock and randomness are handed in. Thread safety: none. Cost: a step is O(1).
#pragma once

#include <deque>
#include <functional>
#include <memory>

#include "margay/sinks/sink.h"

namespace margay::sinks {

class Channel {
 public:
  static constexpr std::size_t kMostWaiting = 256;
  static constexpr DurationNs kFirstPause = milliseconds(500);
  static constexpr DurationNs kLongestPause = seconds(60);

  // From 0 to 1.
  using Random = std::function<double()>;
  using Shared = std::shared_ptr<const Notice>;
  // What became of a notice.
  struct Fate {
    Shared notice;
    bool sent = false;
    std::string why;  // it was given up
  };

  Channel(std::unique_ptr<Sink> sink, DurationNs time_limit, DurationNs retry_for, Random random);

  void add(Shared notice, TimeNs now);
  // Sees how things stand and goes on; what has been sent or given up is told to `fate`.
  void step(TimeNs now, const std::function<void(const Fate&)>& fate);
  // When it wants its next step: `now` while something is under way, Sink::kNever if nothing is to be done.
  TimeNs next(TimeNs now) const;
  // Pauses end here, and no repeats are begun: the last chance for what waits. A sink that did not work
  // before has one: hopeless() then.
  void hurry();
  bool hopeless() const { return hopeless_; }
  // Gives up what is under way or waits.
  void end(TimeNs now, const std::function<void(const Fate&)>& fate);

  bool holds(const std::string& id, const std::string& step) const;  // waiting, or under way
  bool idle() const { return waiting_.empty() && !busy_; }
  std::size_t waiting() const { return waiting_.size(); }
  Sink& sink() { return *sink_; }
  const Sink& sink() const { return *sink_; }
  std::uint64_t sent() const { return sent_; }
  std::uint64_t failed() const { return failed_; }         // attempts
  std::uint64_t given_up() const { return given_up_; }     // notices
  const std::string& trouble() const { return trouble_; }  // why the last attempt failed; "": it did not

 private:
  struct Waiting {
    Shared notice;
    TimeNs since{};
    bool tried = false;
  };
  void finish(const Outcome& outcome, TimeNs now, const std::function<void(const Fate&)>& fate);
  void give_up(const std::string& why, const std::function<void(const Fate&)>& fate);

  std::unique_ptr<Sink> sink_;
  DurationNs time_limit_, retry_for_;
  Random random_;
  std::deque<Waiting> waiting_;  // the front is what is under way, if anything is
  std::deque<Fate> overflown_;   // to be told at the next step
  bool busy_ = false, repeating_ = false, cut_ = false, hurry_ = false, dead_ = false, hopeless_ = false;
  TimeNs began_{};
  TimeNs not_before_{std::numeric_limits<std::int64_t>::min()};
  DurationNs pause_ = kFirstPause;
  std::uint64_t sent_ = 0, failed_ = 0, given_up_ = 0;
  std::string trouble_;
};

}  // namespace margay::sinks
