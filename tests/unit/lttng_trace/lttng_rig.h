// LTTng's own session daemon and relay daemon, of this test alone: home, sockets and ports are its own, and
// they end with this object. As root they run as nobody, for root's daemons cannot have a home of their own.
//
// Errors: false, with a line of GoogleTest's. Thread safety: none.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "recorder.h"

namespace margay::lttng::test {

class LttngRig {
 public:
  LttngRig() = default;
  ~LttngRig();
  LttngRig(const LttngRig&) = delete;
  LttngRig& operator=(const LttngRig&) = delete;

  // Whether LTTng's tools are installed.
  static bool is_here();
  bool start(bool with_relay_daemon);
  // lttng ARGUMENTS
  bool lttng(const std::vector<std::string>& arguments);
  // Starts a program (copied to where nobody may read it) that the session daemon sees; its pid. wait_for
  // gives its exit code, -1 where it was killed.
  pid_t start_program(std::vector<std::string> command);
  int wait_for(pid_t pid);

  std::string relay_url() const;  // for lttng create --set-url
  std::string live_url(const std::string& session) const;
  const std::string& path() const { return place_.path; }
  pid_t relay_daemon() const { return relayd_; }

 private:
  TemporaryFolder place_;
  int control_ = 0, data_ = 0, live_ = 0;  // ports
  pid_t sessiond_ = -1, relayd_ = -1;
  int programs_ = 0;
};

}  // namespace margay::lttng::test
