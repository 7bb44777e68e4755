// Real session and relay daemons, a real program, a real reader.
#include <grp.h>

#include "job.h"
#include "process.h"

namespace margay::lttng {
namespace {
using namespace test;

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

// From the daemons' start to their end. "" is well.
std::string whole_life(const std::string& directory) {
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
  if (auto s = session->destroy(); !s) return s.error().message;
  if (reader.process().exit_code() != 0) return "the reader has not come to its end";
  (*daemons)->stop();
  if (running(d.sessiond) || running(d.relayd) || running(consumers[0])) return "a daemon is left";
  if (std::filesystem::exists(directory + "/d")) return "files are left";
  return "";
}

TEST(LttngSession, EventsReachAReader) {
  const Place place;
  EXPECT_EQ(whole_life(place.path), "");
}

TEST(LttngSession, EventsReachAReaderAsAnOrdinaryUser) {
  if (::getuid() != 0) GTEST_SKIP() << "EventsReachAReader was one";
  const Place place;
  constexpr uid_t kNobody = 65534;
  ASSERT_EQ(::chown(place.path.c_str(), kNobody, kNobody), 0);
  const std::string said = place.path + "/said";
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (::setgroups(0, nullptr) != 0 || ::setgid(kNobody) != 0 || ::setuid(kNobody) != 0) ::_exit(3);
    std::ofstream(said) << whole_life(place.path) << std::flush;
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(std::filesystem::exists(said));
  EXPECT_EQ(text_of(said), "");
}

TEST(LttngSession, RelayDaemonDiesAndIsMended) {
  const Place place;
  const auto daemons = daemons_in(place.path + "/d");
  ASSERT_NE(daemons, nullptr);
  auto session = LiveSession::create(daemons->daemons(), options_for("relay"));
  ASSERT_TRUE(session) << session.error().message;
  ASSERT_TRUE(session->start());
  ASSERT_TRUE(session->alive());
  // A program of before is traced again afterwards.
  const auto program =
      traced(daemons->daemons(), {MARGAY_LOCKS, "1000000", "10000"}, place.path + "/program");
  ::kill(daemons->daemons().relayd, SIGKILL);
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_TRUE(wait_until([&] { return !session->alive(); }));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
  EXPECT_THAT(session->alive().error().message, testing::HasSubstr("relay daemon"));
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

TEST(LttngSession, SessionDaemonDiesAndIsMended) {
  const Place place;
  const auto daemons = daemons_in(place.path + "/d");
  ASSERT_NE(daemons, nullptr);
  auto session = LiveSession::create(daemons->daemons(), options_for("session"));
  ASSERT_TRUE(session) << session.error().message;
  ASSERT_TRUE(session->start());
  ::kill(daemons->daemons().sessiond, SIGKILL);
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_TRUE(wait_until([&] { return !session->alive(); }));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
  EXPECT_THAT(session->alive().error().message, testing::HasSubstr("session daemon"));
  EXPECT_FALSE(session->statistics());
  const auto mended = daemons->mend();
  ASSERT_TRUE(mended) << mended.error().message;
  const auto again = session->again(daemons->daemons());
  ASSERT_TRUE(again) << again.error().message;
  Reader reader(*session, daemons->daemons(), place.path + "/events");
  ASSERT_TRUE(reader.attached());
  const auto program = traced(daemons->daemons(), {MARGAY_LOCKS, "100", "1000"}, place.path + "/program");
  EXPECT_EQ(program->exit_code(), 0);
  EXPECT_TRUE(wait_until([&] { return reader.locks() >= 100; })) << reader.text();
}

TEST(LttngSession, ConsumerDaemonDiesAndAllIsMadeAgain) {
  const Place place;
  const auto daemons = daemons_in(place.path + "/d");
  ASSERT_NE(daemons, nullptr);
  auto session = LiveSession::create(daemons->daemons(), options_for("consumer"));
  ASSERT_TRUE(session) << session.error().message;
  ASSERT_TRUE(session->start());
  const auto consumers = children_named(daemons->daemons().sessiond, "lttng-consumerd");
  ASSERT_EQ(consumers.size(), 1u);
  ::kill(consumers[0], SIGKILL);
  ASSERT_TRUE(wait_until([&] { return !session->alive(); }));
  EXPECT_THAT(session->alive().error().message, testing::HasSubstr("consumer daemon"));
}

TEST(LttngSession, TwoDoNotMeet) {
  const Place place;
  const auto one = daemons_in(place.path + "/1");
  const auto two = daemons_in(place.path + "/2");
  ASSERT_NE(one, nullptr);
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
  EXPECT_EQ(b.locks(), 70u);
  EXPECT_EQ(list_sessions(two->daemons())->size(), 0u);
}

TEST(LttngSession, FullBuffersAreCounted) {
  const Place place;
  const auto daemons = daemons_in(place.path + "/d");
  ASSERT_NE(daemons, nullptr);
  LiveOptions o = options_for("full");
  o.sub_buffer_bytes = 16 << 10;
  o.sub_buffers = 2;
  auto session = LiveSession::create(daemons->daemons(), o);
  ASSERT_TRUE(session) << session.error().message;
  ASSERT_TRUE(session->start());
  const auto program = traced(daemons->daemons(), {MARGAY_LOCKS, "300000"}, place.path + "/p");
  EXPECT_EQ(program->exit_code(), 0);
  EXPECT_TRUE(wait_until([&] {
    const auto loss = session->statistics();
    return loss && loss->size() == 1 && (*loss)[0].discarded_events > 0;
  }));
}

// What a reader that is behind does not get is told to it, and the disk is bounded.
TEST(LttngSession, SlowReaderIsToldWhatWasOverwritten) {
  const Place place;
  const auto daemons = daemons_in(place.path + "/d");
  ASSERT_NE(daemons, nullptr);
  LiveOptions o = options_for("disk");
  o.sub_buffer_bytes = 16 << 10;
  o.sub_buffers = 64;
  o.most_disk = 128 * (16 << 10) * static_cast<std::uint64_t>(::sysconf(_SC_NPROCESSORS_CONF));
  auto session = LiveSession::create(daemons->daemons(), o);
  ASSERT_TRUE(session) << session.error().message;
  ASSERT_TRUE(session->start());
  Reader reader(*session, daemons->daemons(), place.path + "/events");
  ASSERT_TRUE(reader.attached());
  const auto first = traced(daemons->daemons(), {MARGAY_LOCKS, "10", "100"}, place.path + "/p");
  EXPECT_EQ(first->exit_code(), 0);
  ASSERT_TRUE(wait_until([&] { return reader.locks() >= 10; }));
  ::kill(reader.process().pid(), SIGSTOP);
  std::uintmax_t most = 0;
  const auto flood = traced(daemons->daemons(), {MARGAY_LOCKS, "100000", "1"}, place.path + "/f");
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
  EXPECT_LT(reader.locks(), 100010u);
  EXPECT_LE(most, o.most_disk + (1 << 20));  // and indices, metadata
}

}  // namespace
}  // namespace margay::lttng
