// The terminal taken and given back, and signals as bytes in a pipe.
//
// Both objects own process-wide state (termios, signal actions) while they live and put it back when
// destroyed; one of each per process. Fatal signals give the terminal back from the handler itself, with
// async-signal-safe calls only.
#pragma once

#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include "margay/base/result.h"

namespace margay::terminal {

// Raw input, alternate screen, no cursor, no automatic wrap.
class Terminal {
 public:
  Terminal(int in, int out) : in_(in), out_(out) {}
  ~Terminal() { give_back(); }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  Status take();
  void give_back();  // idempotent
  bool taken() const { return taken_; }

  struct Size {
    int width, height;
  };
  Size size() const;  // 80 x 24 where the terminal does not tell

  // Writes all of it; false when the terminal has gone or a signal to end has come meanwhile.
  bool write_all(const std::string& bytes);

 private:
  int in_, out_;
  bool taken_ = false;
};

// SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP, SIGCONT into a pipe; SIGPIPE is ignored; SIGSEGV,
// SIGBUS, SIGFPE, SIGILL and SIGABRT give the terminal back and then do what they did.
class Signals {
 public:
  Signals() = default;
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  Status open();
  int readable() const { return pipe_[0]; }
  std::vector<int> take();  // the signals that came, in order
  // Stops the process as Ctrl-Z would without us; comes back when it is continued.
  void suspend();

 private:
  struct Old {
    int signal;
    struct sigaction action;
  };
  void handle(int signal, void (*handler)(int), int flags);
  int pipe_[2] = {-1, -1};
  std::vector<Old> old_;
};

}  // namespace margay::terminal
