// What cannot be is said, before anything is started; and what the options come to.
#include <gmock/gmock.h>

#include "job.h"
#include "process.h"

namespace margay::lttng {
namespace refusals_test {
using namespace test;
using testing::HasSubstr;

Error refused(OwnDaemonsOptions options) {
  const auto started = OwnDaemons::start(std::move(options));
  EXPECT_FALSE(started);
  return started ? Error{} : started.error();
}

TEST(LttngRefusals, NoSessionDaemonInstalled) {
  const Place place;
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", place.path.c_str(), 1);
  OwnDaemonsOptions o;
  o.directory = place.path + "/d";
  const Error e = refused(o);
  ::setenv("PATH", path.c_str(), 1);
  EXPECT_EQ(e.code, ErrorCode::kNotFound);
  EXPECT_THAT(e.message, HasSubstr("lttng-sessiond: not found in PATH"));
  EXPECT_THAT(e.message, HasSubstr("lttng-tools"));
  EXPECT_FALSE(std::filesystem::exists(place.path + "/d"));
}

TEST(LttngRefusals, DaemonThatEndsAtOnceIsQuoted) {
  for (std::string OwnDaemonsOptions::*const daemon :
       {&OwnDaemonsOptions::sessiond, &OwnDaemonsOptions::relayd}) {
    const Place place;
    std::ofstream(place.path + "/bad") << "#!/bin/sh\necho 'Error: the moon is full'\nexit 1\n";
    ::chmod((place.path + "/bad").c_str(), 0755);
    OwnDaemonsOptions o;
    o.directory = place.path + "/d";
    o.*daemon = place.path + "/bad";
    SCOPED_TRACE(o.sessiond + " " + o.relayd);
    const Error e = refused(o);
    EXPECT_EQ(e.code, ErrorCode::kUnavailable);
    EXPECT_THAT(e.message, HasSubstr("Error: the moon is full"));
    EXPECT_FALSE(std::filesystem::exists(place.path + "/d"));
  }
}

TEST(LttngRefusals, SessionDaemonThatNeverAnswersIsEnded) {
  const Place place;
  std::ofstream(place.path + "/mute") << "#!/bin/sh\necho $$ >" << place.path << "/pid\nexec sleep 1000\n";
  ::chmod((place.path + "/mute").c_str(), 0755);
  OwnDaemonsOptions o;
  o.directory = place.path + "/d";
  o.sessiond = place.path + "/mute";
  o.patience = milliseconds(300);
  const Error e = refused(o);
  EXPECT_EQ(e.code, ErrorCode::kTimeout);
  const pid_t pid = std::atoi(text_of(place.path + "/pid").c_str());
  EXPECT_GT(pid, 0);
  EXPECT_FALSE(running(pid));
}

TEST(LttngRefusals, Directories) {
  const Place place;
  OwnDaemonsOptions o;
  o.directory = "relative";
  EXPECT_EQ(refused(o).code, ErrorCode::kInvalidArgument);
  o.directory = place.path + "/" + std::string(80, 'x');
  EXPECT_EQ(refused(o).code, ErrorCode::kInvalidArgument);
  o.directory = place.path + "/missing/d";
  EXPECT_EQ(refused(o).code, ErrorCode::kIo);
  std::ofstream(place.path + "/file") << "mine";
  o.directory = place.path;
  EXPECT_THAT(refused(o).message, HasSubstr("not empty"));
  EXPECT_EQ(text_of(place.path + "/file"), "mine");
  const std::string open = place.path + "/open";
  ::mkdir(open.c_str(), 0700);
  ::chmod(open.c_str(), 0777);
  o.directory = open;
  EXPECT_EQ(refused(o).code, ErrorCode::kInvalidArgument);
}

TEST(LttngRefusals, Sessions) {
  const auto code = [](const LiveOptions& o) {
    const auto made = LiveSession::create(Daemons{}, o);
    return made ? ErrorCode::kInternal : made.error().code;
  };
  LiveOptions o = options_for("run/with/slashes");
  EXPECT_EQ(code(o), ErrorCode::kInvalidArgument);
  o = options_for("r");
  o.events.clear();
  EXPECT_EQ(code(o), ErrorCode::kInvalidArgument);
  o = options_for("r");
  o.events[0].name = std::string(300, 'x');
  EXPECT_EQ(code(o), ErrorCode::kInvalidArgument);
  o = options_for("r");
  o.contexts = {"moon"};
  EXPECT_EQ(code(o), ErrorCode::kInvalidArgument);
  o = options_for("r");
  o.live_timer = DurationNs{};
  EXPECT_EQ(code(o), ErrorCode::kInvalidArgument);
  Daemons none;
  none.live_port = 0;
  EXPECT_EQ(LiveSession::create(none, options_for("r")).error().code, ErrorCode::kUnavailable);
}

TEST(LttngRefusals, NoSessionDaemonAnswers) {
  const Place place;
  Daemons d;
  d.home = place.path;
  d.own_mounts = false;
  if (::getuid() == 0) {
    d.own_mounts = true;
    Process gone({"true"}, {}, "/dev/null");
    EXPECT_EQ(gone.exit_code(), 0);
    d.sessiond = gone.pid();
  }
  const auto made = LiveSession::create(d, options_for("r"));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::kUnavailable) << made.error().message;
}

// The daemon is there, and hangs: the caller does not.
TEST(LttngRefusals, HangingSessionDaemon) {
  const Place place;
  OwnDaemonsOptions o;
  o.directory = place.path + "/d";
  o.grace = milliseconds(300);
  const auto daemons = OwnDaemons::start(o);
  ASSERT_TRUE(daemons) << daemons.error().message;
  const Daemons d = (*daemons)->daemons();
  ::kill(d.sessiond, SIGSTOP);
  ASSERT_TRUE(wait_until([&] {
    const std::filesystem::path tasks = "/proc/" + std::to_string(d.sessiond) + "/task";
    for (const auto& task : std::filesystem::directory_iterator(tasks))
      if (text_of(task.path() / "stat").find(") T ") == std::string::npos) return false;
    return true;
  }));
  const auto begin = std::chrono::steady_clock::now();
  const auto listed = list_sessions(d, milliseconds(200));
  ASSERT_FALSE(listed);
  EXPECT_EQ(listed.error().code, ErrorCode::kTimeout);
  // A program that starts now is not held up by more than was said.
  const auto program = traced(d, {MARGAY_LOCKS, "1"}, place.path + "/p");
  EXPECT_EQ(program->exit_code(), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(3));
  (*daemons)->stop();
  EXPECT_FALSE(running(d.sessiond));
}

TEST(LttngProgram, Environment) {
  Daemons d;
  d.home = "/somewhere";
  const auto e = program_environment(d, {"pthread", "functions", "pthread"});
  ASSERT_TRUE(e) << e.error().message;
  using Pair = std::pair<std::string, std::string>;
  EXPECT_THAT(e->variables, testing::ElementsAre(Pair("LTTNG_HOME", "/somewhere"),
                                                 Pair("LTTNG_UST_REGISTER_TIMEOUT", "500")));
  ASSERT_EQ(e->preload.size(), 2u);
  EXPECT_THAT(e->preload[0], testing::EndsWith("/liblttng-ust-pthread-wrapper.so.1"));
  EXPECT_THAT(e->preload[1], testing::EndsWith("/liblttng-ust-cyg-profile-fast.so.1"));
  EXPECT_EQ(e->ld_preload("/a.so:/b.so"), "/a.so:/b.so:" + e->preload[0] + ":" + e->preload[1]);
  EXPECT_EQ(e->ld_preload(e->preload[1]), e->preload[1] + ":" + e->preload[0]);
  d.home.clear();
  EXPECT_EQ(program_environment(d, {})->variables.size(), 1u);
  const auto bad = program_environment(d, {"moon"});
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(events_of_helper("libc"), "lttng_ust_libc:*");
}

TEST(LttngBuffers, Plan) {
  LiveOptions o;
  constexpr std::uint64_t kGiB = 1ull << 30;
  const auto usual = plan_buffers(o, 2, 8 * kGiB);
  ASSERT_TRUE(usual);
  EXPECT_EQ(usual->sub_buffer_bytes, 256u << 10);
  EXPECT_EQ(usual->sub_buffers, 8u);
  EXPECT_EQ(usual->bytes_per_user, 2 * 9 * (256u << 10));
  EXPECT_EQ(usual->file_bytes, kGiB / 8);
  EXPECT_EQ(usual->files, 8u);
  // 1,024 CPUs would be 2.25 GiB.
  const auto large = plan_buffers(o, 1024, 64 * kGiB);
  ASSERT_TRUE(large);
  EXPECT_EQ(large->sub_buffer_bytes, 32u << 10);
  // A container's 64 MiB of /dev/shm.
  const auto container = plan_buffers(o, 64, 64 << 20);
  ASSERT_TRUE(container);
  EXPECT_LE(container->bytes_per_user, 32u << 20);
  for (std::uint64_t cpus = 1; cpus <= 4096; cpus *= 2)
    for (std::uint64_t room = 1 << 20; room <= 64 * kGiB; room *= 2)
      if (const auto p = plan_buffers(o, cpus, room)) {
        EXPECT_LE(p->bytes_per_user, std::min(o.most_memory, room / 2));
        EXPECT_LE(p->file_bytes * p->files * cpus, o.most_disk);
        EXPECT_GE(p->file_bytes, p->sub_buffer_bytes);
        EXPECT_GE(p->files, 2u);
      } else {
        EXPECT_EQ(p.error().code, ErrorCode::kLimit);
      }
  o.sub_buffer_bytes = 100000;
  o.sub_buffers = 3;
  EXPECT_EQ(plan_buffers(o, 1, kGiB)->sub_buffer_bytes, 128u << 10);
  EXPECT_EQ(plan_buffers(o, 1, kGiB)->sub_buffers, 4u);
  o.most_disk = 0;
  EXPECT_EQ(plan_buffers(o, 1, kGiB)->files, 0u);
  o.sub_buffers = 0;
  EXPECT_EQ(plan_buffers(o, 1, kGiB).error().code, ErrorCode::kInvalidArgument);
}

}  // namespace refusals_test
}  // namespace margay::lttng
