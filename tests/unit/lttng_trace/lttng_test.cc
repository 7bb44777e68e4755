// Real traces: LTTng's own daemons, a program with its tracepoint, recorded and live.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <iostream>
#include <thread>

#include "lttng_rig.h"

namespace margay::lttng::test {
namespace lttng_test {

using testing::HasSubstr;
using Seconds = std::chrono::duration<double>;
using Steady = std::chrono::steady_clock;

#define NEEDS_LTTNG() \
  if (!LttngRig::is_here()) GTEST_SKIP() << "lttng-tools is not installed"

void enable(LttngRig& rig, const std::string& session) {
  ASSERT_TRUE(rig.lttng({"enable-channel", "-u", "-s", session, "--buffers-uid", "c"}));
  ASSERT_TRUE(rig.lttng({"enable-event", "-u", "-s", session, "-c", "c", "lttng_ust_tracef:*"}));
  ASSERT_TRUE(rig.lttng(
      {"add-context", "-u", "-s", session, "-c", "c", "-t", "vpid", "-t", "vtid", "-t", "procname"}));
  ASSERT_TRUE(rig.lttng({"start", session}));
}

// Calls run_once until `until`, the end, an error, or too long; what came last.
template <typename Until>
Result<Step> run_until(TraceReader& reader, double seconds, Until until) {
  const auto begin = Steady::now();
  Result<Step> step = Step::kAgain;
  while (!until() && Seconds(Steady::now() - begin).count() < seconds) {
    step = reader.run_once(100);
    if (!step || *step == Step::kEnd) break;
    if (*step == Step::kAgain) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return step;
}

// A live session "s" that is on, with a relay daemon of its own, and a reader of it.
void begin_live(LttngRig& rig, Recorder& seen, std::unique_ptr<TraceReader>& reader) {
  ASSERT_TRUE(rig.start(true));
  ASSERT_TRUE(rig.lttng({"create", "s", "--live=20000", "--set-url=" + rig.relay_url()}));
  ASSERT_NO_FATAL_FAILURE(enable(rig, "s"));
  auto opened = TraceReader::open_live(rig.live_url("s"), seen);
  ASSERT_TRUE(opened) << opened.error().message;
  reader = std::move(*opened);
}

TEST(Lttng, Recorded) {
  NEEDS_LTTNG();
  LttngRig rig;
  ASSERT_TRUE(rig.start(false));
  ASSERT_TRUE(rig.lttng({"create", "s", "--output=" + rig.path() + "/out"}));
  ASSERT_NO_FATAL_FAILURE(enable(rig, "s"));
  const SystemClock clock;
  const TimeNs before = clock.monotonic();
  const pid_t pid = rig.start_program({MARGAY_TICKER, "5000", "0", "3"});
  ASSERT_EQ(rig.wait_for(pid), 0);
  const TimeNs after = clock.monotonic();
  ASSERT_TRUE(rig.lttng({"destroy", "s"}));
  Recorder seen;
  auto reader = TraceReader::open_directory(rig.path() + "/out", seen);
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_EQ(read_all(**reader), "");
  EXPECT_TRUE(seen.in_order);
  EXPECT_EQ(seen.events.size() + (*reader)->counts().discarded_events, 15'000U);
  ASSERT_GT(seen.events.size(), 1'000U);
  for (const Seen& e : seen.events) {
    ASSERT_EQ(e.name, "lttng_ust_tracef:event");
    ASSERT_EQ(e.vpid, pid);
    ASSERT_EQ(e.procname, "program-1");
    ASSERT_GE(e.cpu, 0);
    ASSERT_GE(e.at, before.value);
    ASSERT_LE(e.at, after.value);
  }
  EXPECT_TRUE((*reader)->clock().monotonic);
  const std::int64_t offset = (clock.realtime() - clock.monotonic()).value;
  EXPECT_NEAR(static_cast<double>((*reader)->offset().value - offset), 0, 1e9);
  EXPECT_EQ((*reader)->counts().damaged_streams, 0U);
}

TEST(Lttng, LiveFromBeginToEnd) {
  NEEDS_LTTNG();
  LttngRig rig;
  ASSERT_TRUE(rig.start(true));
  Recorder seen;
  auto reader = TraceReader::open_live(rig.live_url("s"), seen);
  ASSERT_TRUE(reader) << reader.error().message;
  // The session is not there yet.
  for (int i = 0; i < 3; ++i) {
    const auto step = (*reader)->run_once(100);
    ASSERT_TRUE(step) << step.error().message;
    EXPECT_EQ(*step, Step::kAgain);
  }
  EXPECT_FALSE((*reader)->attached());
  ASSERT_TRUE(rig.lttng({"create", "s", "--live=20000", "--set-url=" + rig.relay_url()}));
  ASSERT_NO_FATAL_FAILURE(enable(rig, "s"));
  auto step = run_until(**reader, 10, [&] { return (*reader)->attached(); });
  ASSERT_TRUE(step) << step.error().message;
  ASSERT_TRUE((*reader)->attached()) << "the session is there, but no program";

  std::vector<double> late;
  const SystemClock clock;
  seen.look = [&](const Event& e) {
    late.push_back(static_cast<double>((clock.monotonic() - e.at).value) / 1e6);
  };
  const pid_t pid = rig.start_program({MARGAY_TICKER, "500", "1000"});
  step = run_until(**reader, 20, [&] { return seen.events.size() >= 500; });
  ASSERT_TRUE(step) << step.error().message;
  ASSERT_EQ(rig.wait_for(pid), 0);
  ASSERT_EQ(seen.events.size(), 500U);
  EXPECT_TRUE(seen.in_order);
  for (std::size_t i = 0; i < 500; ++i) ASSERT_EQ(seen.events[i].vpid, pid);
  EXPECT_FALSE(seen.progress.empty());
  std::sort(late.begin(), late.end());
  std::cout << "[          ] live timer 20 ms: p50 " << late[250] << " ms, p99 " << late[495] << " ms late\n";

  // Nothing happens: progress goes on.
  const std::int64_t last = seen.progress.back();
  step = run_until(**reader, 10, [&] { return seen.progress.back() > last + 100'000'000; });
  ASSERT_TRUE(step) << step.error().message;
  EXPECT_GT(seen.progress.back(), last + 100'000'000);

  ASSERT_TRUE(rig.lttng({"destroy", "s"}));
  const auto begin = Steady::now();
  step = run_until(**reader, 20, [] { return false; });
  ASSERT_TRUE(step) << step.error().message;
  EXPECT_EQ(*step, Step::kEnd);
  std::cout << "[          ] the end is noticed after " << Seconds(Steady::now() - begin).count() << " s\n";
  EXPECT_EQ((*reader)->counts().events, 500U);
  EXPECT_EQ((*reader)->counts().moved, 0U);
}

TEST(Lttng, RelayDaemonThatDiesIsAnError) {
  NEEDS_LTTNG();
  LttngRig rig;
  Recorder seen;
  std::unique_ptr<TraceReader> reader;
  ASSERT_NO_FATAL_FAILURE(begin_live(rig, seen, reader));
  const pid_t pid = rig.start_program({MARGAY_TICKER, "100000", "1000"});
  auto step = run_until(*reader, 10, [&] { return seen.events.size() >= 50; });
  ASSERT_GE(seen.events.size(), 50U) << (step ? "" : step.error().message);
  kill(rig.relay_daemon(), SIGKILL);
  step = run_until(*reader, 10, [] { return false; });
  ASSERT_FALSE(step);
  EXPECT_EQ(step.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(step.error().message, HasSubstr("127.0.0.1"));
  std::cout << "[          ] " << step.error().message << "\n";
  EXPECT_EQ(reader->run_once(1).error().message, step.error().message) << "and so it stays";
  kill(pid, SIGKILL);
  rig.wait_for(pid);
  // Nobody listens there.
  auto other = TraceReader::open_live(rig.live_url("s"), seen);
  ASSERT_TRUE(other);
  step = (*other)->run_once(1);
  ASSERT_FALSE(step);
  EXPECT_EQ(step.error().code, ErrorCode::kUnavailable);
  std::cout << "[          ] " << step.error().message << "\n";
}

// A relay daemon that is stopped, not dead.
TEST(Lttng, StopEndsTheWaitForARelayDaemon) {
  NEEDS_LTTNG();
  LttngRig rig;
  Recorder seen;
  std::unique_ptr<TraceReader> reader;
  ASSERT_NO_FATAL_FAILURE(begin_live(rig, seen, reader));
  auto step = run_until(*reader, 10, [&] { return reader->attached(); });
  ASSERT_TRUE(reader->attached());
  struct sigaction nothing {};
  struct sigaction before {};
  nothing.sa_handler = [](int) {};
  ASSERT_EQ(sigaction(SIGUSR1, &nothing, &before), 0);
  kill(rig.relay_daemon(), SIGSTOP);
  std::atomic<bool> over{false};
  std::thread other([&] {
    step = run_until(*reader, 20, [] { return false; });
    over = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_FALSE(over);
  reader->stop();
  for (int i = 0; i < 100 && !over; ++i) {
    pthread_kill(other.native_handle(), SIGUSR1);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_TRUE(over);
  kill(rig.relay_daemon(), SIGCONT);
  other.join();
  sigaction(SIGUSR1, &before, nullptr);
  ASSERT_TRUE(step) << step.error().message;
  EXPECT_EQ(*step, Step::kEnd);
}

}  // namespace lttng_test
}  // namespace margay::lttng::test
