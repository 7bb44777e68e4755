// What a viewer hears of a daemon or a served replay, here or on another machine: the reports it publishes,
// and the answers to what it is asked. Used by the terminal's view and by the window.
//
// Nothing grows: only the newest report is kept, and a question that cannot be sent at once is not sent.
//
// Thread safety: none. REQUIRES: the clock outlives it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>
#include <zmq.hpp>

#include "margay/base/time.h"
#include "margay/transport/client_connection.h"
#include "margay/transport/rundir.h"
#include "margay/wire/control.pb.h"

namespace margay::feed {

using ReportPtr = std::shared_ptr<const wire::Report>;

// A daemon's sockets: in a run's directory here, or, if `connect` says so, at a control endpoint elsewhere,
// with a key file.
struct Source {
  transport::RunDirectory dir;
  std::string connect, key;
};

enum class Connection : std::uint8_t {
  kWaiting,  // nothing was received yet
  kLive,
  kGone,     // heard of before, and not for kGoneAfter
  kRunGone,  // and its run directory was removed: the run is over
};

inline constexpr DurationNs kAskAfter = seconds(1);   // silence after which the daemon is asked how it is
inline constexpr DurationNs kGoneAfter = seconds(3);  // silence, answers included, that is called gone

class Feed {
 public:
  using OnReport = std::function<void(const ReportPtr&)>;
  using OnReply = std::function<void(const wire::ControlReply&)>;

  Feed(const Clock& clock, Source source);

  // Errors: those of transport::ClientConnection::open().
  Status open();
  // Takes what has come, and asks how the daemon is if it has been silent. `on_report` sees each report in
  // the order of their coming, but no answer older than what was published since; `on_reply` each answer.
  // True if anything came. Waits for nothing.
  bool take(const OnReport& on_report, const OnReply& on_reply = {});
  // False if it cannot be sent now, and then it is not.
  bool send(const wire::ControlRequest& request);

  const ReportPtr& newest() const { return newest_; }  // null before the first
  Connection connection() const;
  // Its directory was removed. A run that has ended may be gone, too.
  bool run_is_gone() const;
  DurationNs silence() const { return clock_.monotonic() - heard_; }
  // What the daemon, or the way to it, had to say last; "" since a report has come.
  const std::string& notice() const { return notice_; }
  // A sentence while the daemon does not let us in, or "".
  const std::string& refused() const { return control_->refused(); }
  // To be polled for reading.
  std::vector<zmq::pollitem_t> poll_items();

 private:
  Status receive_from(const std::string& endpoint);
  void accept(wire::Report report, const OnReport& on_report);
  void ask();

  const Clock& clock_;
  Source source_;
  zmq::context_t context_{1};
  std::optional<transport::ClientConnection> reports_, control_;
  ReportPtr newest_;
  std::string notice_;
  bool began_ = false;
  TimeNs heard_{}, asked_{};
};

}  // namespace margay::feed
