// `margay watch`: the live terminal view of one run.
//
// Receives the run's reports, draws at most ten frames a second and only when something changed, each in one
// write. On a terminal it takes the alternate screen and gives the terminal back on every way out: q, end,
// SIGINT, SIGTERM, SIGHUP, SIGQUIT, Ctrl-Z (and comes back with fg), and fatal signals. Where the output is
// not a terminal (or TERM is dumb) it prints a plain line at each phase or alert change instead, and ends
// with the run.
//
// Waits for a daemon that is not there, and goes on when one comes back. Nothing unbounded: reports are
// whole, only the newest is kept. Thread safety: one watch per process at a time (it owns the signal handlers
// and the terminal while it runs, and puts both back). Ownership: borrows the file descriptors.
#pragma once

#include <string>

#include "margay/terminal/render.h"
#include "margay/transport/rundir.h"

namespace margay::terminal {

struct WatchOptions {
  transport::RunDirectory dir;
  std::string connect,
      key;  // instead of `dir`: a daemon on another machine (its control endpoint), and the key file
  bool exit_at_end = false;  // leave when the final report comes, or the run directory goes
  int in = 0;                // file descriptors: keys, picture
  int out = 1;
  bool plain = false;  // lines even on a terminal
  View view;  // colour, unicode, depth to begin with; size and times are found out (view_for_terminal)
};

// What the environment says the terminal can do: NO_COLOR, COLORTERM, TERM, LC_ALL, LC_CTYPE, LANG.
View view_for_terminal();

// The exit code: 0 (quit, or the end of the run), 128 + signal, 1 where the terminal or the sockets fail (a
// sentence goes to stderr).
int watch(const WatchOptions& options);

}  // namespace margay::terminal
