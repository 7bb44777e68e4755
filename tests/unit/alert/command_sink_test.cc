#include "command_sink.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include "sink_fixture.h"

namespace margay::sinks {
namespace command_sink_test {

using testing::HasSubstr;
using Kind = Outcome::Kind;

class Command : public InAFolder {
 protected:
  // A sink that runs this text in a shell; $1 is the folder.
  std::unique_ptr<CommandSink> shell(const std::string& text) {
    auto sink = CommandSink::make({"sh", "-c", text, "sh", folder_.path});
    EXPECT_TRUE(sink) << sink.error().message;
    return std::move(*sink);
  }
};

bool is_there(pid_t pid) {
  return ::kill(pid, 0) == 0;
}

TEST_F(Command, HasTheAlertOnItsInputAndInItsEnvironment) {
  auto sink = shell("cat >$1/in; env | grep ^MARGAY_ALERT_ | sort >$1/env; pwd >/dev/null");
  const auto n = a_notice("7", alert::Status::kResolved);
  ASSERT_EQ(send(*sink, *n).kind, Kind::kSent);
  EXPECT_EQ(content("in"), alert::to_json(n->alert) + "\n");
  const std::string env = content("env");
  for (const char* line :
       {"MARGAY_ALERT_ID=7\n", "MARGAY_ALERT_STATUS=resolved\n", "MARGAY_ALERT_KIND=perturbation\n",
        "MARGAY_ALERT_SEVERITY=warning\n", "MARGAY_ALERT_RUN=night\n", "MARGAY_ALERT_NODE=/h1\n",
        "MARGAY_ALERT_PHASE=B\n", "MARGAY_ALERT_LIKELY_CAUSE=/h1/rank3, /h1/rank4\n",
        "MARGAY_ALERT_COST_S=0.25\n", "MARGAY_ALERT_FALSE_ALARMS_PER_DAY=0.03\n",
        "MARGAY_ALERT_MESSAGE=rank3 on h1 has been stopped for 0.2 s\n",
        "MARGAY_ALERT_LINK=margay:///data/night.margay#t=1.2-4.4\n"})
    EXPECT_THAT(env, HasSubstr(line));
}

TEST_F(Command, HostileTextStaysOneValueAndNoShellReadsIt) {
  auto n = a_notice("x; touch /tmp/no");
  n->alert.message = "a\nMARGAY_ALERT_KIND=b $(exit 3) `exit 4` \xff" + std::string(100'000, 'x');
  for (const auto& [name, value] : alert_environment(*n)) {
    EXPECT_LE(value.size(), 4096u) << name;
    EXPECT_EQ(value.find('\n'), std::string::npos) << name;
  }
  auto sink = CommandSink::make({"/usr/bin/printenv", "MARGAY_ALERT_ID", "$MARGAY_ALERT_ID"});
  ASSERT_TRUE(sink);
  const Outcome o = send(**sink, *n);
  EXPECT_THAT(o.why, HasSubstr("exit code 1")) << "the second argument was not looked into";
}

TEST_F(Command, ALargeAlertIsReadWholeAndOneThatReadsNothingIsNoError) {
  auto n = a_notice("1");
  n->alert.message = std::string(3 << 20, 'x');
  EXPECT_EQ(send(*shell("wc -c >$1/size"), *n).kind, Kind::kSent);
  EXPECT_EQ(std::stoul(content("size")), alert::to_json(n->alert).size() + 1);
  EXPECT_EQ(send(*shell("exit 0"), *n).kind, Kind::kSent);
}

TEST_F(Command, AFailureIsToldWithItsLastWords) {
  Outcome o = send(*shell("echo out; echo 'no mail here' >&2; exit 3"), *a_notice("1"));
  EXPECT_EQ(o.kind, Kind::kRetry);
  EXPECT_EQ(o.why, "exit code 3: no mail here?");
  o = send(*shell("kill -9 $$"), *a_notice("1"));
  EXPECT_EQ(o.why, "was ended by signal 9");
  o = send(*shell("head -c 5000000 /dev/zero >&2; printf 'no route to host' >&2; exit 1"), *a_notice("1"));
  EXPECT_THAT(o.why, testing::StartsWith("exit code 1: ...???"));
  EXPECT_THAT(o.why, testing::EndsWith("???no route to host"));
  EXPECT_LT(o.why.size(), 400u);
}

// cat and most other programs end with an error where a write says EAGAIN.
TEST_F(Command, OneThatSaysALotOnItsStderrIsNoFailure) {
  for (const char* text :
       {"head -c 400000 /dev/zero | cat >&2", "dd if=/dev/zero bs=400000 count=1 >&2 status=none",
        "dd if=/dev/zero bs=4M count=5 iflag=fullblock status=none | cat >&2"}) {
    const Outcome o = send(*shell(std::string(text) + " && echo whole >>$1/done"), *a_notice("1"));
    EXPECT_EQ(o.kind, Kind::kSent) << text << ": " << o.why;
  }
  EXPECT_EQ(content("done"), "whole\nwhole\nwhole\n");
}

TEST_F(Command, WhatIsLateIsKilledWithAllThatItStarted) {
  // Neither hears SIGTERM.
  auto sink = shell(
      "trap '' TERM; sleep 600 & echo $! >$1/child; echo $$ >$1/self; echo ready >$1/ready; wait; "
      "sleep 600");
  const TimeNs now = SystemClock().monotonic();
  sink->begin(*a_notice("1"), now);
  ASSERT_TRUE(soon([&] { return content("ready") == "ready\n"; }));
  EXPECT_FALSE(sink->progress(now));
  sink->cut(now);
  EXPECT_FALSE(sink->progress(now + CommandSink::kGrace - milliseconds(1)));
  const pid_t self = std::stoi(content("self")), child = std::stoi(content("child"));
  EXPECT_TRUE(is_there(self));
  std::optional<Outcome> o;
  ASSERT_TRUE(soon([&] { return (o = sink->progress(now + CommandSink::kGrace)).has_value(); }));
  EXPECT_EQ(o->kind, Kind::kRetry);
  EXPECT_EQ(o->why, "took too long and was killed");
  EXPECT_FALSE(is_there(self));
  EXPECT_TRUE(soon([&] {
    // A zombie until somebody waits for it, where nobody does.
    std::ifstream in("/proc/" + std::to_string(child) + "/stat");
    std::string text;
    return !std::getline(in, text) || text.find(") Z") != std::string::npos;
  }));
}

TEST_F(Command, OneThatEndsAtSIGTERMIsNotWaitedFor) {
  auto sink = shell("echo ready >$1/ready; exec sleep 600");
  const TimeNs now = SystemClock().monotonic();
  sink->begin(*a_notice("1"), now);
  ASSERT_TRUE(soon([&] { return content("ready") == "ready\n"; }));
  sink->cut(now);
  std::optional<Outcome> o;
  ASSERT_TRUE(soon([&] { return (o = sink->progress(now)).has_value(); }));
  EXPECT_EQ(o->why, "took too long and was killed");
}

TEST_F(Command, NothingIsLeftBehindWhenTheSinkGoes) {
  pid_t self = 0;
  {
    auto sink = shell("echo $$ >$1/self; echo ready >$1/ready; exec sleep 600");
    sink->begin(*a_notice("1"), TimeNs(0));
    ASSERT_TRUE(soon([&] { return content("ready") == "ready\n"; }));
    self = std::stoi(content("self"));
  }
  EXPECT_FALSE(is_there(self));
}

TEST_F(Command, GetsNoDescriptorOfOursAndItsOwnSignals) {
  const int low = ::open("/dev/null", O_RDONLY);
  const int open = ::fcntl(low, F_DUPFD, 500);  // not close-on-exec; the shell opens none as high
  ::close(low);
  ASSERT_GT(open, 2);
  sigset_t set, before;
  sigfillset(&set);
  pthread_sigmask(SIG_BLOCK, &set, &before);
  const auto pipe = ::signal(SIGPIPE, SIG_IGN);
  auto sink = shell("ls /proc/self/fd >$1/fds; grep -E 'Sig(Blk|Ign)' /proc/self/status >$1/signals");
  EXPECT_EQ(send(*sink, *a_notice("1")).kind, Kind::kSent);
  ::signal(SIGPIPE, pipe);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::close(open);
  EXPECT_THAT(content("fds"), testing::StartsWith("0\n1\n2\n"));
  EXPECT_THAT(content("fds"), testing::Not(HasSubstr(std::to_string(open))));
  EXPECT_THAT(content("signals"), HasSubstr("SigBlk:\t0000000000000000"));
  // 32 and 33 are the C library's own.
  const std::string signals = content("signals");
  const auto ignored = std::stoull(signals.substr(signals.find("SigIgn:") + 7), nullptr, 16);
  EXPECT_EQ(ignored & ~(3ULL << 31), 0u) << signals;
}

TEST_F(Command, WhatIsNoProgramIsRefusedAtTheStart) {
  file("script", "#!/bin/sh\n", std::filesystem::perms::owner_read);
  for (const std::string& name : {path("missing"), path("script"), std::string("no-such-program-anywhere"),
                                  std::string("/tmp"), std::string()}) {
    const auto sink = CommandSink::make({name});
    ASSERT_FALSE(sink) << name;
    EXPECT_EQ(sink.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(sink.error().message, "'" + name + "' is no program that may be run");
  }
  EXPECT_FALSE(CommandSink::make({}));
}

TEST_F(Command, AProgramThatHasGoneIsAFailureThatIsTriedAgain) {
  const std::string script = file("script", "#!/bin/sh\nexit 0\n");
  auto sink = CommandSink::make({script});
  ASSERT_TRUE(sink);
  EXPECT_EQ(send(**sink, *a_notice("1")).kind, Kind::kSent);
  std::filesystem::remove(script);
  const Outcome o = send(**sink, *a_notice("1"));
  EXPECT_EQ(o.kind, Kind::kRetry);
  EXPECT_EQ(o.why, "cannot be started: No such file or directory");
}

}  // namespace command_sink_test
}  // namespace margay::sinks
