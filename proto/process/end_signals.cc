#include "margay/process/end_signals.h"

#include <csignal>

namespace margay::process {
namespace {

volatile std::sig_atomic_t g_asked = 0;

}  // namespace

void take_end_signals(bool interrupt) {
  struct sigaction action {};
  action.sa_handler = [](int) { g_asked = 1; };
  sigaction(SIGTERM, &action, nullptr);
  if (interrupt)
    sigaction(SIGINT, &action, nullptr);
  else
    std::signal(SIGINT, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
  sigset_t term;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  pthread_sigmask(SIG_UNBLOCK, &term, nullptr);
}

bool asked_to_end() {
  return g_asked != 0;
}

}  // namespace margay::process
