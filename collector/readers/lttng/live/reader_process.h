// A margay-lttng-reader that runs for us: started, told of other sessions, asked to hand over, ended.
//
// Thread safety: none. It does not outlive us: its input is a pipe of ours, and it ends where that is closed.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "margay/base/time.h"

namespace margay::lttng {

class ReaderProcess {
 public:
  explicit ReaderProcess(std::vector<std::string> arguments) : arguments_(std::move(arguments)) {}
  ~ReaderProcess() { close_pipes(); }
  ReaderProcess(const ReaderProcess&) = delete;
  ReaderProcess& operator=(const ReaderProcess&) = delete;

  // With this URL. False: no process could be made (errno).
  bool start(const std::string& url);
  // Another session: what it does from now on.
  void order(const std::string& url);
  // Whether it has said that it is attached, waited for at most so long.
  bool attached(int ms);
  bool running();
  // How it ended. REQUIRES: it does not run.
  bool ended_well() const { return ended_well_; }
  // It is to take what is left, say its goodbyes, and end.
  void ask_to_finish();
  // Waits for that, and ends it where it takes too long.
  void finish(const Clock& clock);

 private:
  void close_pipes();
  std::vector<std::string> arguments_;
  pid_t pid_ = -1;
  bool ended_well_ = false;
  int orders_ = -1, news_ = -1;
};

}  // namespace margay::lttng
