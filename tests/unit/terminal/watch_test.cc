// The watch loop on a real pseudo-terminal, with a publisher in the test's own process: it shows the run, and
// gives the terminal back on every way out.
#include "margay/terminal/watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <utmp.h>

#include <chrono>
#include <csignal>
#include <cstdlib>

#include "../../support/runtime_place.h"
#include "margay/transport/transport.h"
#include "margay/wire/control.pb.h"
#include "synthetic_report.h"

namespace margay::terminal {
namespace watch_test {

using testing::HasSubstr;
using transport::Socket;

constexpr char kGivenBack[] = "\x1b[?1049l";

class Watch : public testing::Test {
 protected:
  void SetUp() override {
    auto dir = transport::make_run_directory("w");
    ASSERT_TRUE(dir);
    dir_ = *dir;
  }
  void TearDown() override {
    if (child_ > 0) {
      kill(child_, SIGKILL);
      waitpid(child_, nullptr, 0);
    }
    if (master_ >= 0) close(master_);
  }

  // Starts watch() in a child on a pseudo-terminal of 80 x 24 (before any ZeroMQ thread exists here).
  void start(bool exit_at_end = false, bool plain = false) {
    winsize size{24, 80, 0, 0};
    int terminal = -1;
    ASSERT_EQ(openpty(&master_, &terminal, nullptr, nullptr, &size), 0);
    tcgetattr(master_, &before_);  // now, for the child changes it at once
    child_ = fork();
    ASSERT_GE(child_, 0);
    if (child_ == 0) {
      close(master_);
      if (login_tty(terminal) != 0) _exit(3);
      setenv("TERM", "xterm-256color", 1);
      WatchOptions options;
      options.dir = dir_;
      options.exit_at_end = exit_at_end;
      options.plain = plain;
      _exit(watch(options));
    }
    close(terminal);
    context_.emplace(1);
    auto reports = Socket::bind(*context_, zmq::socket_type::pub, dir_.reports_endpoint());
    auto control = Socket::bind(*context_, zmq::socket_type::router, dir_.control_endpoint());
    ASSERT_TRUE(reports && control);
    reports_.emplace(std::move(*reports));
    control_.emplace(std::move(*control));
  }

  // Plays the daemon and reads the screen until `text` was seen after `from`, or 20 s have passed.
  bool until(const std::string& text, const wire::Report& report, std::size_t from = 0) {
    return play(report, [&] { return screen_.find(text, from) != std::string::npos; });
  }
  // The child's wait status, or -1.
  int end(const wire::Report& report) {
    int status = -1;
    const bool ended = play(report, [&] { return waitpid(child_, &status, WNOHANG) == child_; });
    if (ended) child_ = -1;
    read_some();
    return ended ? status : -1;
  }
  // The wait status of a child that is killed while it shows a run, and gives the terminal back.
  int killed_by(int signal) {
    const auto report = support::synthetic_report({}, 28);
    start();
    EXPECT_TRUE(until("rank3", report)) << screen_;
    kill(child_, signal);
    const int status = end(report);
    EXPECT_THAT(screen_, HasSubstr(kGivenBack));
    EXPECT_TRUE(terminal_is_as_before());
    return status;
  }
  bool terminal_is_as_before() {
    termios now{};
    return tcgetattr(master_, &now) == 0 && now.c_lflag == before_.c_lflag && now.c_iflag == before_.c_iflag;
  }

  template <class Done>
  bool play(const wire::Report& report, Done done) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (std::chrono::steady_clock::now() < limit) {
      read_some();
      if (done()) return true;
      if (publishes_) reports_->try_send(report);
      while (const auto frame = control_->try_receive()) {
        wire::ControlReply reply;
        *reply.mutable_report() = report;
        control_->try_send(reply, frame->from);
      }
      pollfd p{master_, POLLIN, 0};
      ::poll(&p, 1, 20);
    }
    return false;
  }
  void read_some() {
    pollfd p{master_, POLLIN, 0};
    char bytes[4096];
    while (::poll(&p, 1, 0) > 0) {
      const ssize_t n = ::read(master_, bytes, sizeof bytes);
      if (n <= 0) break;
      screen_.append(bytes, static_cast<std::size_t>(n));
    }
  }

  const test::RuntimePlace place_;
  std::string screen_;
  transport::RunDirectory dir_;
  std::optional<zmq::context_t> context_;
  bool publishes_ = true;
  std::optional<Socket> reports_, control_;
  pid_t child_ = -1;
  int master_ = -1;
  termios before_{};
};

TEST_F(Watch, ShowsTheRunResizesAndQuits) {
  const auto report = support::synthetic_report({}, 28);
  start();
  ASSERT_TRUE(until("rank3", report)) << screen_;
  EXPECT_FALSE(terminal_is_as_before());
  const std::size_t mark = screen_.size();
  winsize size{10, 44, 0, 0};
  ASSERT_EQ(ioctl(master_, TIOCSWINSZ, &size), 0);
  ASSERT_TRUE(until("\x1b[10;1H", report, mark)) << screen_.substr(mark);
  ASSERT_EQ(write(master_, "hq", 2), 2);
  const int status = end(report);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_THAT(screen_, HasSubstr(kGivenBack));
  EXPECT_TRUE(terminal_is_as_before());
}

TEST_F(Watch, AsksWhereNothingIsPublished) {
  const auto report = support::synthetic_report({}, 28);
  start();
  publishes_ = false;
  EXPECT_TRUE(until("rank3", report)) << screen_;
}

TEST_F(Watch, GivesTheTerminalBackOnSignals) {
  const int status = killed_by(SIGTERM);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 128 + SIGTERM);
}

TEST_F(Watch, GivesTheTerminalBackWhenItCrashes) {
  const int status = killed_by(SIGABRT);
  EXPECT_FALSE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST_F(Watch, SaysFinishedAndStaysUntilQuit) {
  support::SyntheticRun run;
  run.end_s = 30;
  start();
  ASSERT_TRUE(until("finished", support::synthetic_report(run, 31))) << screen_;
  EXPECT_EQ(waitpid(child_, nullptr, WNOHANG), 0);
  ASSERT_EQ(write(master_, "q", 1), 1);
  EXPECT_EQ(end(support::synthetic_report(run, 31)), 0);
}

TEST_F(Watch, LeavesAtTheEndWhenAsked) {
  support::SyntheticRun run;
  run.end_s = 30;
  start(/*exit_at_end=*/true);
  ASSERT_TRUE(until("rank3", support::synthetic_report(run, 28))) << screen_;
  EXPECT_EQ(end(support::synthetic_report(run, 31)), 0);
  EXPECT_TRUE(terminal_is_as_before());
}

TEST_F(Watch, PlainLinesWhereThereIsNoScreen) {
  support::SyntheticRun run;
  run.end_s = 30;
  start(false, /*plain=*/true);
  ASSERT_TRUE(until("FIRING: rank3 on node1", support::synthetic_report(run, 28))) << screen_;
  EXPECT_EQ(end(support::synthetic_report(run, 31)), 0);
  EXPECT_THAT(screen_, HasSubstr("margay: the run is over"));
  EXPECT_EQ(screen_.find('\x1b'), std::string::npos);
}

}  // namespace watch_test
}  // namespace margay::terminal
