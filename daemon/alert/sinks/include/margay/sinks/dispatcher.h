// Alerts on their way out: one thread ("margay-alerts") for all sinks, so that a sink that is slow, dead or
// wrong costs the analysis nothing but a copy of the alert.
//
//   push() -- at most kMostIncoming --> margay-alerts: for each sink a Channel (channel.h) of its own
//
// Every (sink, alert, step) is sent once (alert::step), in the order it was pushed, or given up and counted;
// which were is kept in a file (delivery_log.h), so that a daemon that is started again sends what its
// predecessor had not, and nothing twice, but for what was on its way when that one was killed. What is
// pushed before start() is such a past: of it, alerts from before a sink was first used are left out unless
// they fire still.
//
// Thread safety: push() and start() from one thread, delivery() and stop() from any. Cost of a push: a copy
// and a lock that is never held while something is sent.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "margay/alert/picture_link.h"
#include "margay/sinks/sink.h"

namespace margay::sinks {

class Channel;
class DeliveryLog;

class Dispatcher {
 public:
  static constexpr std::size_t kMostIncoming = 1024;
  static constexpr DurationNs kPatienceAtEnd = seconds(3);
  static constexpr std::size_t kMostOpen = 4096;  // alerts whose begin is remembered

  enum class Weight { kInfo, kWarning, kError };  // of a sentence; what is given up is an error
  struct Options {
    std::string log_path;                 // of the delivery log
    DurationNs time_limit = seconds(10);  // of one attempt
    DurationNs retry_for = seconds(600);
    DurationNs wall_offset{};   // trace time less monotonic time
    alert::PicturePlace place;  // that links are to
    std::function<void(Weight, const std::string&)> say = [](Weight, const std::string&) {};  // to people
    std::function<double()> random;  // from 0 to 1; none: the machine's
  };
  struct DeliveryStatus {
    std::uint64_t sent = 0;
    std::uint64_t failed = 0;    // attempts
    std::uint64_t given_up = 0;  // alerts (of a step, for a sink)
    std::uint64_t waiting = 0;
    std::string trouble;  // what does not work now; "": nothing
    std::string lost;     // why the newest was given up
  };

  // `clock` must outlive it.
  Dispatcher(std::vector<std::unique_ptr<Sink>> sinks, Options options, const Clock& clock);
  ~Dispatcher();  // stops
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;

  void push(const alert::Alert& alert);
  void start();
  // Sends what waits, for kPatienceAtEnd at most (a sink that does not work has one attempt); then the rest
  // is given up. Nothing may be pushed afterwards.
  void stop();
  DeliveryStatus delivery() const;

 private:
  using Shared = std::shared_ptr<const Notice>;
  struct Way;  // a channel, and what is known of the past of its sink
  struct First {
    std::string node;
    DurationNs drift{};  // wall clock less trace time
  };

  Shared notice_of(const alert::Alert& alert);
  void take_past(Way& way, const Shared& notice);
  void take(Way& way, const Shared& notice);
  void run();
  void loop();
  void step(Way& way, TimeNs now, bool last);
  void publish();

  Options options_;
  const Clock& clock_;
  std::unique_ptr<DeliveryLog> log_;
  std::vector<std::unique_ptr<Way>> ways_;  // of the thread, once it runs
  std::uint64_t said_refused_ = 0;          // likewise
  std::map<std::string, First> first_;      // by id; of whoever pushes

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Shared> incoming_;  // guarded by mutex_, as all below
  bool stopping_ = false;
  std::uint64_t refused_ = 0;
  DeliveryStatus delivery_;
  bool started_ = false;  // of whoever pushes
  std::thread thread_;
};

}  // namespace margay::sinks
