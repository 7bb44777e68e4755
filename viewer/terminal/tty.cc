#include "tty.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

namespace margay::terminal {
namespace {

constexpr char kTake[] = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J\x1b[H";
constexpr char kGiveBack[] = "\x1b[?2026l\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l";

// What a handler may need; written before the handlers are armed.
std::atomic<bool> g_taken{false};
std::atomic<bool> g_end_asked{false};
std::atomic<int> g_pipe{-1};
int g_in = -1, g_out = -1;
termios g_old{};

static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free,
              "used in signal handlers");

void give_back_now() {
  if (!g_taken.exchange(false)) return;
  [[maybe_unused]] const ssize_t n = ::write(g_out, kGiveBack, sizeof kGiveBack - 1);
  // TCSANOW, not TCSAFLUSH: what the user typed ahead is the shell's.
  tcsetattr(g_in, TCSANOW, &g_old);
}

void on_signal(int signal) {
  const int saved = errno;
  if (signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT) g_end_asked = true;
  const char byte = static_cast<char>(signal);
  [[maybe_unused]] const ssize_t n = ::write(g_pipe, &byte, 1);  // full: as many as 64 Ki are waiting already
  errno = saved;
}

void on_fatal(int signal) {
  give_back_now();
  ::raise(signal);  // SA_RESETHAND: the default action, once this handler returns
}

}  // namespace

Status Terminal::take() {
  if (taken_) return {};
  if (tcgetattr(in_, &g_old) != 0)
    return fail(ErrorCode::kIo, std::string("the terminal cannot be read: ") + std::strerror(errno));
  termios raw = g_old;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | IEXTEN);  // ISIG stays: Ctrl-C and Ctrl-Z are signals
  raw.c_iflag &= ~static_cast<tcflag_t>(IXON | ICRNL | INLCR | BRKINT);
  raw.c_cc[VMIN] = 0;
  raw.c_cc[VTIME] = 0;
  g_in = in_;
  g_out = out_;
  g_taken = true;
  taken_ = true;
  if (tcsetattr(in_, TCSANOW, &raw) != 0) {
    g_taken = taken_ = false;
    return fail(ErrorCode::kIo, std::string("the terminal cannot be set: ") + std::strerror(errno));
  }
  if (!write_all(kTake)) {
    give_back();
    return fail(ErrorCode::kIo, "the terminal cannot be written");
  }
  return {};
}

void Terminal::give_back() {
  if (!taken_) return;
  taken_ = false;
  give_back_now();
}

Terminal::Size Terminal::size() const {
  winsize w{};
  if (ioctl(out_, TIOCGWINSZ, &w) == 0 && w.ws_col > 0 && w.ws_row > 0)
    return {std::min<int>(w.ws_col, 1000), std::min<int>(w.ws_row, 1000)};
  return {80, 24};
}

bool Terminal::write_all(const std::string& bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = ::write(out_, bytes.data() + done, bytes.size() - done);
    if (n > 0) {
      done += static_cast<std::size_t>(n);
    } else if (n < 0 && errno == EINTR) {
      if (g_end_asked) return false;  // a stopped terminal must not hold up the end
    } else if (n < 0 && errno == EAGAIN) {
      pollfd p{out_, POLLOUT, 0};
      if (poll(&p, 1, 1000) <= 0)
        return !g_end_asked && errno != EBADF;  // drop the frame; the next one is whole
    } else {
      return false;
    }
  }
  return true;
}

void Signals::handle(int signal, void (*handler)(int), int flags) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigfillset(&action.sa_mask);
  Old old{signal, {}};
  if (sigaction(signal, &action, &old.action) == 0) old_.push_back(old);
}

Status Signals::open() {
  if (pipe2(pipe_, O_NONBLOCK | O_CLOEXEC) != 0)
    return fail(ErrorCode::kIo, std::string("no pipe for signals: ") + std::strerror(errno));
  g_end_asked = false;
  g_pipe = pipe_[1];
  for (const int s : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP, SIGCONT}) handle(s, on_signal, 0);
  handle(SIGPIPE, SIG_IGN, 0);
  for (const int s : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
    handle(s, on_fatal, static_cast<int>(SA_RESETHAND));
  return {};
}

Signals::~Signals() {
  for (auto old = old_.rbegin(); old != old_.rend(); ++old) sigaction(old->signal, &old->action, nullptr);
  g_pipe = -1;
  for (const int fd : pipe_)
    if (fd >= 0) ::close(fd);
}

std::vector<int> Signals::take() {
  std::vector<int> out;
  char bytes[64];
  ssize_t n = 0;
  while ((n = ::read(pipe_[0], bytes, sizeof bytes)) > 0)
    for (ssize_t i = 0; i < n; ++i) out.push_back(static_cast<unsigned char>(bytes[i]));
  return out;
}

void Signals::suspend() {
  struct sigaction stop {};
  stop.sa_handler = SIG_DFL;
  struct sigaction ours {};
  sigaction(SIGTSTP, &stop, &ours);
  ::raise(SIGTSTP);  // stops here until SIGCONT
  sigaction(SIGTSTP, &ours, nullptr);
}

}  // namespace margay::terminal
