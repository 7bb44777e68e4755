// A command for each alert: the JSON object on its stdin, MARGAY_ALERT_* in its environment, no shell
// between. One at a time. Exit code 0 says that it was taken. Its stderr is a pipe that blocks as usual and
// is read while it runs, however much it says; the last 300 bytes are repeated in the log when it fails.
//
// It runs in a process group of its own, with no descriptor of the daemon's. One that takes too long is sent
// SIGTERM with its group, and SIGKILL after kGrace; both by the id of a child that has not been waited for,
// which can be nobody else's. What it leaves in the background when it ends by itself is its own business.
//
// Thread safety: none. Cost: a posix_spawn, which copies no memory.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "margay/base/result.h"
#include "margay/sinks/sink.h"

namespace margay::sinks {

// MARGAY_ALERT_...: what a command is told beside the JSON. Pure. Each value is one line of 4 KiB at most.
std::vector<std::pair<std::string, std::string>> alert_environment(const Notice& notice);

class CommandSink final : public Sink {
 public:
  static constexpr DurationNs kGrace = seconds(1);

  // Errors: kInvalidArgument: no such program, or none that may be run.
  static Result<std::unique_ptr<CommandSink>> make(std::vector<std::string> arguments);
  ~CommandSink() override;
  const char* name() const override { return "command"; }
  std::string where() const override { return arguments_[0]; }
  void begin(const Notice& notice, TimeNs now) override;
  std::optional<Outcome> progress(TimeNs now) override;
  void cut(TimeNs now) override;

 private:
  explicit CommandSink(std::vector<std::string> arguments) : arguments_(std::move(arguments)) {}
  int spawn(const Notice& notice, int input, int errors);
  void read_errors();
  void signal_group(int signal) const;

  std::vector<std::string> arguments_;
  pid_t pid_ = -1;
  int errors_ = -1;   // our end of its stderr
  std::string said_;  // on it, the last of it
  std::string failed_to_start_;
  bool cut_ = false, killed_ = false, left_out_ = false;
  TimeNs cut_at_{};
};

}  // namespace margay::sinks
