// Real session and relay daemons, a real program, a real reader.
#include <gmock/gmock.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>

#include <optional>

#include "job.h"
#include "process.h"

namespace margay::lttng {
namespace session_test {
using namespace test;
using testing::HasSubstr;
using testing::Not;

std::unique_ptr<OwnDaemons> daemons_in(const std::string& directory) {
  OwnDaemonsOptions o;
  o.directory = directory;
  auto started = OwnDaemons::start(std::move(o));
  if (!started) {
    ADD_FAILURE() << started.error().message;
    return nullptr;
  }
  return std::move(*started);
}

// As one who finds this session daemon: with a relay daemon of his own he makes a second session.
std::string beside(const std::string& directory, const Daemons& d) {
  const auto others = find_running();
  if (!others) return others.error().message;
  if (others->sessiond != d.sessiond) return "another session daemon is found";
  OwnDaemonsOptions o;
  o.directory = directory;
  o.running = *others;
  auto more = OwnDaemons::start(std::move(o));
  if (!more) return more.error().message;
  auto second = LiveSession::create((*more)->daemons(), options_for("second"));
  if (!second) return second.error().message;
  if (auto s = second->start(); !s) return s.error().message;
  if (auto s = second->alive(); !s) return s.error().message;
  const auto both = list_sessions(d);
  if (!both || both->size() != 2) return "no second session";
  if (auto s = second->destroy(); !s) return s.error().message;
  (*more)->stop();
  if (!running(d.sessiond)) return "a session daemon of others was ended";
  return std::filesystem::exists(directory) ? "files of the relay daemon are left" : "";
}

// From the daemons' start to their end. "" is well. `found`: find_running() gives this session daemon.
std::string whole_life(const std::string& directory, bool found) {
  OwnDaemonsOptions o;
  o.directory = directory + "/d";
  auto daemons = OwnDaemons::start(std::move(o));
  if (!daemons) return daemons.error().message;
  const Daemons d = (*daemons)->daemons();
  auto session = LiveSession::create(d, options_for("life"));
  if (!session) return session.error().message;
  if (auto s = session->start(); !s) return s.error().message;
  Reader reader(*session, d, directory + "/events");
  if (!reader.attached()) return "the reader is not attached: " + reader.text();
  const auto program = traced(d, {MARGAY_LOCKS, "500", "100"}, directory + "/program");
  if (program == nullptr || program->exit_code() != 0) return "the program failed";
  if (text_of(directory + "/program") != "done\n") return "said: " + text_of(directory + "/program");
  if (!wait_until([&] { return reader.locks() >= 500; }))
    return "the reader has " + std::to_string(reader.locks()) + " of 500 unlocks";
  for (const char* context : {"vpid = ", "vtid = ", "procname = \"locks\""})
    if (reader.text().find(context) == std::string::npos) return std::string("no ") + context;
  if (auto s = session->alive(); !s) return s.error().message;
  const auto loss = session->statistics();
  if (!loss) return loss.error().message;
  if (loss->size() != 1 || (*loss)[0].discarded_events != 0 || (*loss)[0].lost_packets != 0)
    return "events were lost";
  const auto sessions = list_sessions(d);
  if (!sessions) return sessions.error().message;
  if (sessions->size() != 1 || (*sessions)[0].name != "margay-life" || !(*sessions)[0].live ||
      !(*sessions)[0].started || (*sessions)[0].live_timer != milliseconds(100))
    return "the list of sessions is wrong";
  const auto consumers = children_named(d.sessiond, "lttng-consumerd");
  if (consumers.empty()) return "no consumer daemon";
  if (found)
    if (std::string s = beside(directory + "/r", d); !s.empty()) return s;
  if (auto s = session->destroy(); !s) return s.error().message;
  if (reader.process().exit_code() != 0) return "the reader has not come to its end";
  (*daemons)->stop();
  if (running(d.sessiond) || running(d.relayd) || running(consumers[0])) return "a daemon is left";
  if (std::filesystem::exists(directory + "/d")) return "files are left";
  return "";
}

class LttngSession : public testing::Test {
 protected:
  // Daemons, and a session that is started.
  void start(const LiveOptions& options) {
    daemons = daemons_in(place.path + "/d");
    ASSERT_NE(daemons, nullptr);
    auto created = LiveSession::create(daemons->daemons(), options);
    ASSERT_TRUE(created) << created.error().message;
    session.emplace(std::move(*created));
    ASSERT_TRUE(session->start());
  }
  void kill_and_expect(pid_t daemon, const char* blamed) {
    ::kill(daemon, SIGKILL);
    const auto begin = std::chrono::steady_clock::now();
    ASSERT_TRUE(wait_until([&] { return !session->alive(); }));
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
    EXPECT_THAT(session->alive().error().message, HasSubstr(blamed));
  }
  // The daemons are mended, the session is made again, and a program's events reach a reader.
  void expect_mended(std::chrono::milliseconds limit) {
    const auto mended = daemons->mend();
    ASSERT_TRUE(mended) << mended.error().message;
    const auto again = session->again(daemons->daemons());
    ASSERT_TRUE(again) << again.error().message;
    Reader reader(*session, daemons->daemons(), place.path + "/events");
    ASSERT_TRUE(reader.attached());
    const auto program = traced(daemons->daemons(), {MARGAY_LOCKS, "100", "1000"}, place.path + "/program");
    EXPECT_EQ(program->exit_code(), 0);
    EXPECT_TRUE(wait_until([&] { return reader.locks() >= 100; }, limit)) << reader.text();
  }

  const Place place;
  std::unique_ptr<OwnDaemons> daemons;
  std::optional<LiveSession> session;
};

TEST_F(LttngSession, EventsReachAReader) {
  EXPECT_EQ(whole_life(place.path, ::getuid() != 0), "");
}

// `life` in a child that is changed by `change` first (which says whether it could).
void live_as(const std::string& directory, const std::function<bool()>& change,
             const std::function<std::string(const std::string&)>& life) {
  const std::string said = directory + "/said";
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (!change()) ::_exit(3);
    std::ofstream(said) << life(directory) << std::flush;
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 3) GTEST_SKIP() << "not to be had here";
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(std::filesystem::exists(said));
  EXPECT_EQ(text_of(said), "");
}

// As in a container: what would be the system's session daemon then, in a /var/run/lttng of this test's own.
TEST_F(LttngSession, EventsReachAReaderAsRootThatMayNotMount) {
  if (::getuid() != 0) GTEST_SKIP() << "of root";
  live_as(
      place.path,
      [] {
        ::mkdir("/var/run/lttng", 0755);
        if (::unshare(CLONE_NEWNS) != 0 || ::mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
            ::mount("none", "/var/run/lttng", "tmpfs", 0, "mode=755") != 0)
          return false;
        __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
        __user_cap_data_struct data[2] = {};
        if (::syscall(SYS_capget, &header, data) != 0) return false;
        data[0].effective &= ~(1u << CAP_SYS_ADMIN);
        data[0].permitted &= ~(1u << CAP_SYS_ADMIN);
        return ::syscall(SYS_capset, &header, data) == 0;
      },
      [](const std::string& directory) { return whole_life(directory, true); });
}

constexpr uid_t kNobody = 65534;
bool become_nobody() {
  return ::setgroups(0, nullptr) == 0 && ::setgid(kNobody) == 0 && ::setuid(kNobody) == 0;
}

// A program that runs through the death of its session daemon registers with the next.
std::string through_a_death(const std::string& directory) {
  OwnDaemonsOptions o;
  o.directory = directory + "/d";
  auto daemons = OwnDaemons::start(std::move(o));
  if (!daemons) return daemons.error().message;
  auto session = LiveSession::create((*daemons)->daemons(), options_for("through"));
  if (!session) return session.error().message;
  if (auto s = session->start(); !s) return s.error().message;
  const auto program = traced((*daemons)->daemons(), {MARGAY_LOCKS, "1000000", "10000"}, directory + "/p");
  ::kill((*daemons)->daemons().sessiond, SIGKILL);
  if (!wait_until([&] { return !session->alive() && !(*daemons)->alive(); })) return "its death is not seen";
  if (auto s = (*daemons)->mend(); !s) return s.error().message;
  if (auto s = session->again((*daemons)->daemons()); !s) return s.error().message;
  Reader reader(*session, (*daemons)->daemons(), directory + "/events");
  if (!wait_until([&] { return reader.locks() >= 10; })) return "no events: " + reader.text();
  return "";
}

TEST_F(LttngSession, EventsReachAReaderAsAnOrdinaryUser) {
  if (::getuid() != 0) GTEST_SKIP() << "EventsReachAReader was one";
  ASSERT_EQ(::chown(place.path.c_str(), kNobody, kNobody), 0);
  live_as(place.path, become_nobody,
          [](const std::string& directory) { return whole_life(directory, true); });
}

TEST_F(LttngSession, ProgramOfAnOrdinaryUserRegistersAgain) {
  if (::getuid() != 0) GTEST_SKIP() << "run as root, it becomes one";
  ASSERT_EQ(::chown(place.path.c_str(), kNobody, kNobody), 0);
  live_as(place.path, become_nobody, through_a_death);
}

// Whoever started them was killed: they end, and their consumer daemon.
TEST_F(LttngSession, NoDaemonIsLeftByAKilledProcess) {
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  const pid_t owner = ::fork();
  if (owner == 0) {
    start(options_for("killed"));
    if (HasFatalFailure()) ::_exit(1);
    const pid_t sessiond = daemons->daemons().sessiond;
    const auto consumers = children_named(sessiond, "lttng-consumerd");
    const pid_t pids[3] = {sessiond, daemons->daemons().relayd, consumers.empty() ? -1 : consumers[0]};
    [[maybe_unused]] const ssize_t n = ::write(pipe[1], pids, sizeof pids);
    for (;;) ::pause();
  }
  pid_t pids[3] = {-1, -1, -1};
  ASSERT_EQ(::read(pipe[0], pids, sizeof pids), static_cast<ssize_t>(sizeof pids));
  for (const pid_t pid : pids) EXPECT_TRUE(running(pid));
  ::kill(owner, SIGKILL);
  ::waitpid(owner, nullptr, 0);
  EXPECT_TRUE(ended({pids[0], pids[1], pids[2]}, seconds(20)));
  ::close(pipe[0]);
  ::close(pipe[1]);
}

TEST_F(LttngSession, RelayDaemonDiesAndIsMended) {
  start(options_for("relay"));
  if (HasFatalFailure()) return;
  ASSERT_TRUE(session->alive());
  // A program of before is traced again afterwards.
  const auto program =
      traced(daemons->daemons(), {MARGAY_LOCKS, "1000000", "10000"}, place.path + "/program");
  ASSERT_NO_FATAL_FAILURE(kill_and_expect(daemons->daemons().relayd, "relay daemon"));
  EXPECT_FALSE(daemons->alive());
  ASSERT_TRUE(daemons->mend());
  EXPECT_TRUE(daemons->alive());
  const auto again = session->again(daemons->daemons());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(session->name(), "margay-relay-2");
  EXPECT_TRUE(session->alive());
  Reader reader(*session, daemons->daemons(), place.path + "/events");
  ASSERT_TRUE(reader.attached());
  EXPECT_TRUE(wait_until([&] { return reader.locks() >= 10; })) << reader.text();
  const auto sessions = list_sessions(daemons->daemons());
  ASSERT_TRUE(sessions);
  EXPECT_EQ(sessions->size(), 1u);
}

TEST_F(LttngSession, SessionDaemonDiesAndIsMended) {
  start(options_for("session"));
  if (HasFatalFailure()) return;
  ASSERT_NO_FATAL_FAILURE(kill_and_expect(daemons->daemons().sessiond, "session daemon"));
  EXPECT_FALSE(session->statistics());
  expect_mended(std::chrono::seconds(30));
}

TEST_F(LttngSession, ConsumerDaemonDiesAndAllIsMadeAgain) {
  start(options_for("consumer"));
  if (HasFatalFailure()) return;
  const auto consumers = children_named(daemons->daemons().sessiond, "lttng-consumerd");
  ASSERT_EQ(consumers.size(), 1u);
  ::kill(consumers[0], SIGKILL);
  ASSERT_TRUE(wait_until([&] { return !session->alive() && !daemons->alive(); }));
  EXPECT_THAT(session->alive().error().message, HasSubstr("consumer daemon"));
  expect_mended(std::chrono::seconds(5));
}

TEST_F(LttngSession, TwoDoNotMeet) {
  // Without a mount of each daemon's own, liblttng-ctl goes on asking the one that this process asked first.
  if (::getuid() != 0) GTEST_SKIP() << "takes root: two daemons of one user in one process";
  const auto one = daemons_in(place.path + "/1");
  ASSERT_NE(one, nullptr);
  if (::getuid() == 0 && !one->daemons().own_mounts)
    GTEST_SKIP() << "root may not mount here: there is one place";
  const auto two = daemons_in(place.path + "/2");
  ASSERT_NE(two, nullptr);
  auto first = LiveSession::create(one->daemons(), options_for("same"));
  auto second = LiveSession::create(two->daemons(), options_for("same"));
  ASSERT_TRUE(first) << first.error().message;
  ASSERT_TRUE(second) << second.error().message;
  ASSERT_TRUE(first->start());
  ASSERT_TRUE(second->start());
  Reader a(*first, one->daemons(), place.path + "/a"), b(*second, two->daemons(), place.path + "/b");
  ASSERT_TRUE(a.attached() && b.attached());
  const auto program = traced(one->daemons(), {MARGAY_LOCKS, "100", "100"}, place.path + "/p");
  const auto other = traced(two->daemons(), {MARGAY_LOCKS, "70", "100"}, place.path + "/o");
  EXPECT_EQ(program->exit_code(), 0);
  EXPECT_EQ(other->exit_code(), 0);
  one->stop();
  EXPECT_TRUE(second->alive());
  EXPECT_TRUE(second->stop());
  EXPECT_TRUE(second->destroy());
  EXPECT_EQ(b.process().exit_code(), 0);
  EXPECT_GE(b.locks(), 70u);  // and those of the C library
  EXPECT_THAT(b.text(), HasSubstr("vpid = " + std::to_string(other->pid()) + ","));
  EXPECT_THAT(b.text(), Not(HasSubstr("vpid = " + std::to_string(program->pid()) + ",")));
  EXPECT_THAT(a.text(), Not(HasSubstr("vpid = " + std::to_string(other->pid()) + ",")));
  EXPECT_EQ(list_sessions(two->daemons())->size(), 0u);
}

TEST_F(LttngSession, FullBuffersAreCounted) {
  LiveOptions o = options_for("full");
  o.sub_buffer_bytes = 16 << 10;
  o.sub_buffers = 2;
  start(o);
  if (HasFatalFailure()) return;
  const auto program = traced(daemons->daemons(), {MARGAY_LOCKS, "300000"}, place.path + "/p");
  EXPECT_EQ(program->exit_code(), 0);
  EXPECT_TRUE(wait_until([&] {
    const auto loss = session->statistics();
    return loss && loss->size() == 1 && (*loss)[0].discarded_events > 0;
  }));
}

// What a reader that is behind does not get is told to it, and the disk is bounded.
TEST_F(LttngSession, SlowReaderIsToldWhatWasOverwritten) {
  LiveOptions o = options_for("disk");
  o.sub_buffer_bytes = 16 << 10;
  o.sub_buffers = 64;
  o.most_disk = 32 * (16 << 10) * static_cast<std::uint64_t>(::sysconf(_SC_NPROCESSORS_CONF));
  start(o);
  if (HasFatalFailure()) return;
  Reader reader(*session, daemons->daemons(), place.path + "/events");
  ASSERT_TRUE(reader.attached());
  const auto first = traced(daemons->daemons(), {MARGAY_LOCKS, "10", "100"}, place.path + "/p");
  EXPECT_EQ(first->exit_code(), 0);
  ASSERT_TRUE(wait_until([&] { return reader.locks() >= 10; }));
  ::kill(reader.process().pid(), SIGSTOP);
  std::uintmax_t most = 0;
  const auto flood = traced(daemons->daemons(), {MARGAY_LOCKS, "12000", "1"}, place.path + "/f");
  const auto bytes = [&] {
    std::uintmax_t sum = 0;
    std::error_code ec;
    for (const auto& f : std::filesystem::recursive_directory_iterator(place.path + "/d/traces", ec))
      if (f.is_regular_file(ec)) sum += f.file_size(ec);
    most = std::max(most, sum);
  };
  EXPECT_TRUE(wait_until([&] {
    bytes();
    return flood->over();
  }));
  ASSERT_TRUE(session->stop(seconds(20)));
  bytes();
  ::kill(reader.process().pid(), SIGCONT);
  ASSERT_TRUE(session->destroy());
  EXPECT_EQ(reader.process().exit_code(), 0);
  EXPECT_THAT(reader.text(), testing::ContainsRegex("Tracer discarded [0-9]+ packet"));
  EXPECT_LT(reader.locks(), 12010u);
  EXPECT_LE(most, o.most_disk + (1 << 20));  // and indices, metadata
}

}  // namespace session_test
}  // namespace margay::lttng
