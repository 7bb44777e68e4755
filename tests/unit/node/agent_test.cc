// The agent against segments made here: first the class, then the program, with a collector that is killed.
#include "margay/node/agent.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "agent_rig.h"
#include "margay/transport/transport.h"

extern "C" const char* __tsan_default_suppressions();  // tests/support/tsan_zmq.cc

namespace margay::node {
namespace agent_test {

// Visits to state 1 that ended, in records of their own and in sums.
std::uint64_t visits_of(const std::vector<EventRecord>& records) {
  std::uint64_t n = 0;
  for (const EventRecord& r : records)
    n += r.state != 1 ? 0 : r.kind == MARGAY_LEAVE ? 1 : r.kind == MARGAY_SUM ? r.comm : 0;
  return n;
}

TEST_F(AgentTest, WhoCallsTooOftenSumsAndGoesBackAndNoCallIsLost) {
  collector.slices.emplace();
  collector.slices->set_slice_ns(milliseconds(10).value);
  collector.slices->set_budget(1e-4);  // 1400 events a second
  auto w = segment.writer(0);
  std::uint64_t made = 0;
  const auto some = [&](int n) {
    calls(w, n);
    made += static_cast<std::uint64_t>(n);
  };
  rounds_until([&] {
    some(100);
    return segment.header->rings[0].sums.summed.load() > 100'000;
  });
  const FakeCollector::Stream& stream = collector.streams.at({id(), 0});
  EXPECT_TRUE(stream.last.summing());
  // It calls no more: what it has summed is taken from it, and it is covered again.
  const std::int64_t now = mono();
  rounds_until([&] { return stream.covered > now; });
  EXPECT_EQ(visits_of(stream.committed), made);
  EXPECT_EQ(stream.last.summed(), segment.header->rings[0].sums.summed.load());
  rounds_until([&] { return segment.header->rings[0].control.sum.load() == 0; });
  const std::uint64_t summed = segment.header->rings[0].sums.summed.load();
  some(3);
  EXPECT_EQ(segment.header->rings[0].sums.summed.load(), summed);
  rounds_until([&] { return visits_of(stream.committed) == made; });
  EXPECT_FALSE(stream.last.summing());
  EXPECT_EQ(collector.holes + collector.broken_promises + collector.repeats, 0u);
}

TEST_F(AgentTest, WhatAKilledProcessHadSummedComesBeforeItsGoodbye) {
  collector.slices.emplace();
  collector.slices->set_slice_ns(seconds(60).value);
  collector.slices->set_budget(1e-4);
  auto w = segment.writer(0);
  std::uint64_t made = 0;
  rounds_until([&] {
    calls(w, 100);
    made += 100;
    return segment.header->rings[0].sums.held.load() > 1000;
  });
  rank.end();
  rounds_until([&] { return !collector.goodbyes.empty(); });
  const FakeCollector::Stream& stream = collector.streams.at({id(), 0});
  EXPECT_EQ(visits_of(stream.committed), made);
  const wire::Goodbye& goodbye = collector.goodbyes.begin()->second;
  ASSERT_EQ(goodbye.streams_size(), 1);
  EXPECT_EQ(goodbye.streams(0).recorded(), stream.committed.size());
  EXPECT_EQ(goodbye.streams(0).produced(), stream.committed.size());
  EXPECT_EQ(goodbye.streams(0).dropped(), 0u);
}

// Where every call is wanted rings overflow as they always did.
TEST_F(AgentTest, NobodySumsWhereItIsNotWanted) {
  collector.slices.emplace();
  collector.slices->set_slice_ns(milliseconds(10).value);
  auto w = segment.writer(0);
  const TimeNs begin = clock.monotonic();
  rounds_until([&] {
    calls(w, 5000);
    return clock.monotonic() - begin > milliseconds(500);
  });
  EXPECT_EQ(segment.header->rings[0].sums.summed.load(), 0u);
}

// A full ring's last records are dropped, and no GAP follows that would tell.
TEST_F(AgentTest, WhatWasDroppedLastIsToldWithTheGoodbye) {
  segment.header->rings[0].control.capacity = 64;
  auto w = segment.writer(0);
  calls(w, 32);
  round();
  const FakeCollector::Stream& stream = collector.streams.at({id(), 0});
  rounds_until([&] { return stream.covered > stream.committed.back().time_ns; });
  calls(w, 40);
  ASSERT_EQ(segment.header->rings[0].control.lost, 16u);
  rounds_until([&] { return stream.committed.size() == 128; });
  round();
  const std::int64_t last = stream.committed.back().time_ns;
  EXPECT_EQ(stream.covered, last) << "nothing is promised behind what was dropped";
  EXPECT_EQ(stream.last.untold(), 16u);
  rank.end();
  rounds_until([&] { return !collector.goodbyes.empty(); });
  const wire::Goodbye& goodbye = collector.goodbyes.begin()->second;
  ASSERT_EQ(goodbye.streams_size(), 1);
  EXPECT_EQ(goodbye.streams(0).untold(), 16u);
  EXPECT_EQ(goodbye.streams(0).dropped(), 16u);
  EXPECT_GT(goodbye.end_ns(), last) << "it lived on, without a record";
}

TEST_F(AgentTest, WhatIsBeingDroppedIsToldUntilAGapTells) {
  segment.header->rings[0].control.capacity = 64;
  auto w = segment.writer(0);
  round();
  calls(w, 40);
  round();
  const FakeCollector::Stream& stream = collector.streams.at({id(), 0});
  EXPECT_EQ(stream.committed.size(), 64u);
  EXPECT_EQ(stream.last.untold(), 16u) << "with the records";
  round();
  EXPECT_EQ(stream.last.count(), 0u);
  EXPECT_EQ(stream.last.untold(), 16u) << "and after them";
  calls(w, 1);
  rounds_until([&] { return stream.committed.size() == 68; });
  EXPECT_EQ(stream.committed[64].kind, MARGAY_GAP);
  EXPECT_EQ(stream.last.untold(), 0u);
}

// The directory is read again when it has changed; where that cannot be seen, a second later.
TEST_F(AgentTest, AProcessThatComesLaterIsFound) {
  ManualClock time;
  time.mono = clock.monotonic();
  AgentOptions o;
  o.rings = dir.rings();
  Agent one(o, time);
  const auto changed_an_hour_ago = [&] {
    timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    static const timespec then{now.tv_sec - 3600, 0};
    const timespec times[] = {then, then};
    ASSERT_EQ(utimensat(AT_FDCWD, o.rings.c_str(), times, 0), 0);
  };
  changed_an_hour_ago();
  one.scan();
  EXPECT_EQ(one.sources(), 1u);
  const FakeSegment second(dir.rings(), rank.pid, rank.start_time + 1);
  one.scan();
  EXPECT_EQ(one.sources(), 2u);
  changed_an_hour_ago();
  one.scan();
  const FakeSegment third(dir.rings(), rank.pid, rank.start_time + 2);
  changed_an_hour_ago();
  one.scan();
  EXPECT_EQ(one.sources(), 2u) << "nothing seems to have changed";
  time.mono = time.mono + seconds(1);
  one.scan();
  EXPECT_EQ(one.sources(), 3u);
}

// It lives on when the run is over, and was looked at long before it dropped them.
TEST_F(AgentTest, WhatALiveProcessDroppedLastIsUnknownUntilItsGoodbye) {
  ManualClock time;
  time.mono = clock.monotonic();
  AgentOptions o;
  o.rings = dir.rings();
  o.period = seconds(1000);
  Agent one(o, time);
  segment.header->rings[0].control.capacity = 64;
  auto w = segment.writer(0);
  const auto go = [&] {
    one.scan();
    one.sample();
    one.drain();
    one.outbox().flush(time.monotonic(), [&](const wire::ToCollector& m) { return collector.take(m), true; });
    one.outbox().on_reply_untrusted(collector.commit(), time.monotonic());
  };
  go();
  calls(w, 40);
  one.finish();
  time.mono = clock.monotonic() + seconds(1);
  go();
  ASSERT_EQ(collector.goodbyes.size(), 1u);
  EXPECT_EQ(collector.goodbyes.begin()->second.streams(0).untold(), 16u);
  EXPECT_EQ(collector.goodbyes.begin()->second.end_ns(), time.mono.value);
}

// At the end the agent waits for a collector as long as that takes something, and not for ever.
TEST_F(AgentTest, TheEndWaitsForProgress) {
  ManualClock time;
  time.mono = clock.monotonic();
  AgentOptions o;
  o.rings = dir.rings();
  o.outbox.window_bytes = 1;  // a batch at a time
  Agent slow(o, time);
  auto w = segment.writer(0);
  calls(w, 10 * static_cast<int>(kBatchRecords) / 2);
  rank.end();
  const auto go = [&](bool commit) {
    slow.scan();
    slow.sample();
    slow.drain();
    slow.outbox().flush(time.monotonic(),
                        [&](const wire::ToCollector& m) { return collector.take(m), true; });
    if (commit) slow.outbox().on_reply_untrusted(collector.commit(), time.monotonic());
  };
  go(false);
  slow.finish();
  for (int i = 0; i < 8; ++i) {  // 16 s, a batch every 2 s
    go(true);
    ASSERT_FALSE(slow.done()) << i;
    time.mono = time.mono + seconds(2);
  }
  for (int i = 0; i < 2; ++i) {
    go(false);
    EXPECT_FALSE(slow.done()) << i;
    time.mono = time.mono + seconds(2);
  }
  go(false);
  EXPECT_TRUE(slow.done());
}

TEST_F(AgentTest, FromTheRingToTheCollectorAndGone) {
  auto w = segment.writer(0);
  auto second = segment.writer(2);
  calls(w, 5000);
  calls(second, 3);
  round();
  ASSERT_EQ(collector.hellos.size(), 1u);
  const auto& attributes = collector.hellos.begin()->second.attributes();
  EXPECT_EQ(attributes.at("rank"), "3");
  EXPECT_EQ(attributes.at("host"), "node7");
  EXPECT_EQ(attributes.at("slurm_job"), "4711");
  EXPECT_EQ(attributes.at("pid"), std::to_string(rank.pid));
  EXPECT_EQ(attributes.at("command"), "./app -n 3");
  EXPECT_EQ(attributes.at("mpi"), "MPICH");
  EXPECT_EQ((collector.streams[{id(), 0}].committed.size()), 10'000u);
  EXPECT_EQ((collector.streams[{id(), 2}].committed.size()), 6u);
  const std::int64_t covered = collector.streams[{id(), 0}].covered;
  round();
  EXPECT_GT((collector.streams[{id(), 0}].covered), covered);  // heartbeats move it on
  rounds_until([&] { return !collector.samples.empty(); });
  EXPECT_EQ(collector.samples.back().processes(0).source(), id());
  segment.header->names_used = 3;
  std::strcpy(segment.header->names[2], "solve");
  w.write(record_of(MARGAY_REGION_ENTER, 2), nullptr, 0,
          mono);  // the collector asserts that it knows the name
  round();
  EXPECT_EQ(collector.hellos.begin()->second.names(2).name(), "solve");
  calls(w, 10);
  rank.end();
  rounds_until([&] { return agent->sources() == 0; });
  EXPECT_EQ(collector.goodbyes.at(id()).reason(), wire::Goodbye::KILLED);
  EXPECT_EQ(collector.goodbyes.at(id()).streams(0).recorded(), 10'021u);
  EXPECT_EQ(agent->sources(), 0u);
  EXPECT_FALSE(std::filesystem::exists(segment.path));
  EXPECT_EQ(collector.broken_promises, 0u);
  EXPECT_EQ(collector.samples.back().processes(0).state(), 0u);
}

TEST_F(AgentTest, AStoppedRankIsSeenAndStillCovered) {
  auto w = segment.writer(0);
  w.write(record_of(MARGAY_ENTER, 1), nullptr, 0, mono);
  rounds_until([&] { return !collector.samples.empty(); });
  kill(rank.pid, SIGSTOP);
  int status;
  waitpid(rank.pid, &status, WUNTRACED);
  rounds_until([&] { return collector.samples.back().processes(0).state() == unsigned{'T'}; });
  const std::int64_t covered = collector.streams[{id(), 0}].covered;
  round();
  EXPECT_GT((collector.streams[{id(), 0}].covered), covered);
}

TEST_F(AgentTest, ReasonsOfGoodbye) {
  auto w = segment.writer(0);
  calls(w, 1);
  segment.header->flags |= probe::kFinalized | probe::kExiting;
  round();
  EXPECT_TRUE(collector.goodbyes.empty());  // finalized, but there
  rank.end();
  rounds_until([&] { return agent->sources() == 0; });
  EXPECT_EQ(collector.goodbyes.begin()->second.reason(), wire::Goodbye::FINALIZED);
}

TEST_F(AgentTest, ANewAgentIsANewEpochAndAnExactGap) {
  auto w = segment.writer(0);
  calls(w, 10);
  round();
  calls(w, 7);
  agent->drain();  // drained, never sent: lost with this agent
  SetUp();
  calls(w, 1);
  round();
  const auto& stream = collector.streams[{id(), 0}];
  EXPECT_EQ(collector.hellos.at(id()).epoch(), 2u);
  EXPECT_EQ(stream.committed.size(), 20u);
  EXPECT_EQ(collector.holes, 1u);  // [20, 34) is missing and known to be
}

TEST_F(AgentTest, HostileSegmentsAreGivenUpAlone) {
  auto w = segment.writer(0);
  calls(w, 5);
  round();
  Stand other;
  FakeSegment bad(dir.rings(), other.pid, other.start_time);
  bad.writer(1);
  bad.header->rings[1].control.head = 1u << 30;
  FakeSegment wrong(dir.rings(), 999'999, 5);
  wrong.header->layout = 77;
  round();
  EXPECT_EQ(agent->take_messages().size(), 2u);
  round();
  EXPECT_TRUE(agent->take_messages().empty());
  EXPECT_EQ(collector.goodbyes.begin()->second.reason(), wire::Goodbye::INCOMPLETE);
  EXPECT_EQ(collector.unwatched(wire::Unwatched::GIVEN_UP), 1u);
  EXPECT_EQ(collector.unwatched(wire::Unwatched::UNREADABLE), 1u);
  calls(w, 5);
  round();
  EXPECT_EQ(agent->sources(), 1u);
  EXPECT_TRUE(std::filesystem::exists(bad.path)) << "its process lives";
}

TEST_F(AgentTest, ATornSegmentIsGivenUp) {
  auto w = segment.writer(0);
  calls(w, 5);
  round();
  std::filesystem::resize_file(segment.path, 100);
  rounds_until([&] { return agent->sources() == 0; });
  EXPECT_EQ(collector.goodbyes.begin()->second.reason(), wire::Goodbye::INCOMPLETE);
  EXPECT_EQ(collector.unwatched(wire::Unwatched::GIVEN_UP), 1u);
}

// Before anything is known of it.
TEST_F(AgentTest, ASegmentThatIsTornAtOnceIsGivenUpWithoutAWord) {
  agent->scan();
  std::filesystem::resize_file(segment.path, 0);
  rounds_until([&] { return agent->sources() == 0; });
  EXPECT_TRUE(collector.hellos.empty());
  EXPECT_EQ(collector.unwatched(wire::Unwatched::GIVEN_UP), 1u);
}

TEST_F(AgentTest, BeyondItsMemoryItLeavesRecordsInTheRing) {
  AgentOptions o;
  o.rings = dir.rings();
  o.outbox.memory_bytes = 100'000;
  agent = std::make_unique<Agent>(o, clock);
  auto w = segment.writer(0);
  calls(w, 60'000);
  agent->scan();
  agent->drain();
  EXPECT_LT(agent->outbox().bytes(), 300'000u);
  EXPECT_LT(segment.header->rings[0].control.tail.load(), 60'000u);
  for (int i = 0; i < 60; ++i) round();
  EXPECT_EQ((collector.streams[{id(), 0}].committed.size()), 120'000u);
}

// Two ranks, each with more than the memory holds: neither waits for the other's end.
TEST_F(AgentTest, BeyondItsMemoryTheyTakeTurns) {
  Stand other;
  FakeSegment second(dir.rings(), other.pid, other.start_time);
  AgentOptions o;
  o.rings = dir.rings();
  o.outbox.memory_bytes = 5'000;
  agent = std::make_unique<Agent>(o, clock);
  auto w = segment.writer(0), x = second.writer(0);
  std::map<const FakeSegment*, std::uint64_t> tail;
  int turns_of_both = 0;
  for (int i = 0; i < 20; ++i) {
    calls(w, 20'000);  // what does not fit is dropped
    calls(x, 20'000);
    std::set<const FakeSegment*> drained;
    for (int two = 0; two < 2; ++two) {
      round();
      for (const FakeSegment* s : {&segment, &second})
        if (const auto now = s->header->rings[0].control.tail.load(); std::exchange(tail[s], now) != now)
          drained.insert(s);
    }
    turns_of_both += drained.size() == 2;
  }
  EXPECT_EQ(turns_of_both, 20);
}

// The program itself over a socket, with a collector that is killed (loses what it had not committed) and
// comes back.
TEST(AgentProgram, AgainstACollectorThatComesLateAndIsRestarted) {
  const std::uint64_t seed = 45;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 rng(seed);
  ScratchDirectory dir;
  Stand rank;
  FakeSegment segment(dir.rings(), rank.pid, rank.start_time);
  auto w = segment.writer(0);
  calls(w, 20'000);
#if defined(__SANITIZE_THREAD__)
  {
    std::ofstream(dir.path + "/tsan.supp") << __tsan_default_suppressions();
    setenv("TSAN_OPTIONS", ("suppressions=" + dir.path + "/tsan.supp").c_str(), 1);
  }
#endif
  pid_t child = fork();
  if (child == 0) {
    execl(MARGAY_NODE_PROGRAM, "margay-node", "--run-dir", dir.path.c_str(), "--run", "r1", "--period", "5ms",
          static_cast<char*>(nullptr));
    _exit(127);
  }
  unsetenv("TSAN_OPTIONS");
  // Whatever happens here, it does not outlive the test.
  const std::unique_ptr<pid_t, void (*)(pid_t*)> guard(&child, [](pid_t* p) {
    if (*p <= 0) return;
    kill(*p, SIGKILL);
    waitpid(*p, nullptr, 0);
  });
  FakeCollector collector;
  const SystemClock clock;
  const TimeNs begin = clock.monotonic();
  bool ended = false;
  bool goodbye_confirmed = false;
  int lives = 0;
  for (; !ended && lives < 200; ++lives) {
    zmq::context_t context(1);
    auto socket =
        transport::Socket::bind(context, zmq::socket_type::router, "ipc://" + dir.path + "/ingest.ipc");
    ASSERT_TRUE(socket) << socket.error().message;
    const auto life = milliseconds(lives < 4 ? 150 : 60'000);
    std::string from;  // the agent's address in this life
    const TimeNs born = clock.monotonic();
    while (clock.monotonic() - born < life && !ended) {
      transport::Socket* const one = &*socket;
      transport::wait_readable({&one, 1}, std::chrono::milliseconds(5));
      while (const auto frame = socket->try_receive()) {
        wire::ToCollector m;
        ASSERT_TRUE(m.ParseFromString(frame->body));
        EXPECT_EQ(m.run(), "r1");
        from = frame->from;
        if (rng() % 10 != 0) collector.take(m);  // else lost
      }
      if (lives < 4 && rank.pid != 0) calls(w, 20);
      if (lives == 4) rank.end();
      // The end is told only after the goodbye has been confirmed: how long an agent waits for that is not
      // the matter of this test.
      collector.finish = goodbye_confirmed;
      if (!from.empty() && rng() % 2 == 0) {
        const bool commit = rng() % 2 == 0;
        const bool sent = socket->try_send(commit ? collector.commit() : collector.reply(), from);
        goodbye_confirmed = goodbye_confirmed || (commit && sent && !collector.goodbyes.empty());
      }
      int status;
      if (waitpid(child, &status, WNOHANG) == child) {
        ended = true;
        child = 0;
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
      }
      ASSERT_LT((clock.monotonic() - begin).value, seconds(60).value);
    }
    if (!ended) collector.restart();
  }
  collector.commit();
  ASSERT_FALSE(collector.streams.empty());
  const auto& stream = collector.streams.begin()->second;
  EXPECT_EQ(stream.committed.size(), segment.header->rings[0].control.head.load());
  EXPECT_EQ(collector.broken_promises, 0u);
  EXPECT_FALSE(std::filesystem::exists(segment.path));
  std::printf("%zu records committed over %d lives of the collector, %llu repeats ignored, %llu holes\n",
              stream.committed.size(), lives, static_cast<unsigned long long>(collector.repeats),
              static_cast<unsigned long long>(collector.holes));
}

TEST(AgentProgram, EndsOnSigtermAndRefusesASecondAgent) {
  ScratchDirectory dir;
  const int quiet = open("/dev/null", O_WRONLY | O_CLOEXEC);
  const auto start = [&] {
    const pid_t p = fork();
    if (p == 0) {
      if (dup2(quiet, STDERR_FILENO) < 0) _exit(126);
      execl(MARGAY_NODE_PROGRAM, "margay-node", "--run-dir", dir.path.c_str(), "--run", "r1",
            static_cast<char*>(nullptr));
      _exit(127);
    }
    return p;
  };
  const pid_t first = start();
  const TimeNs begin = SystemClock().monotonic();
  while (!std::filesystem::exists(dir.rings() + "/.agent")) {
    ASSERT_LT((SystemClock().monotonic() - begin).value, seconds(20).value);
    std::this_thread::yield();
  }
  const pid_t second = start();
  int status;
  // Whichever came second to the lock ends with an error at once.
  const pid_t loser = waitpid(-1, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 1);
  const pid_t winner = loser == first ? second : first;
  kill(winner, SIGTERM);
  ASSERT_EQ(waitpid(winner, &status, 0), winner);
  EXPECT_TRUE(!WIFEXITED(status) || WEXITSTATUS(status) == 0);
  close(quiet);
}

}  // namespace agent_test
}  // namespace margay::node
