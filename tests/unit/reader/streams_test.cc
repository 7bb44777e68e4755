// What a reader tells, through streams, outbox and wire, arrives in a real ingest's cells.
#include "margay/reader/streams.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "../ingest/rig.h"

namespace margay::reader {
namespace streams_test {

using ingest::test::kRunBegin;
using ingest::test::kSlice;
using ingest::test::Rig;
using ingest::test::trace;

constexpr TimeNs at_ms(std::int64_t ms) {
  return kRunBegin + milliseconds(ms);
}

struct StreamsTest : testing::Test {
  ManualClock clock;
  node::OutboxOptions outbox_options;
  std::unique_ptr<node::Outbox> outbox;
  std::unique_ptr<node::ProcessWatch> watch;
  std::unique_ptr<Streams> streams;
  Rig rig;
  std::uint64_t began = 1;  // all processes, in ticks

  void make(Streams::Options options = {.kind = "test"}, std::size_t memory = 64 << 20) {
    clock.mono = kRunBegin;
    outbox_options.run = "r";
    if (outbox_options.agent == 0) outbox_options.agent = 9;
    outbox_options.memory_bytes = memory;
    outbox = std::make_unique<node::Outbox>(outbox_options);
    watch = std::make_unique<node::ProcessWatch>(node::ProcessWatch::Options{.host = "n1"}, clock);
    // The pids are nobody's: their processes count as gone, which only gone() tells.
    streams = std::make_unique<Streams>(options, *outbox, *watch, clock, [this](std::int64_t) {
      return Origin{"n1", "boot", began};
    });
  }
  // The collector hears what was told so far; what it has taken it also confirms.
  void deliver(TimeNs now, bool confirm = true) {
    clock.mono = rig.now = now;
    streams->flush();
    outbox->flush(now, [&](const wire::ToCollector& m) {
      rig.receive(m);
      return true;
    });
    static_cast<void>(outbox->take_reconnect());
    if (!confirm) return;
    rig.ingest.committed(rig.ingest.ack_point());
    outbox->on_reply_untrusted(rig.reply(), now);
  }
  StateId state(const std::string& name) {
    for (std::uint16_t i = 0; i < rig.states.size(); ++i)
      if (rig.states[StateId(i)].name == name) return StateId(i);
    ADD_FAILURE() << "no state " << name;
    return kUnknown;
  }
  // All up to `covered` is delivered at `now`, and slices are closed through `closed`.
  void pass(TimeNs covered, TimeNs now, TimeNs closed) {
    streams->cover(covered);
    deliver(now);
    static_cast<void>(rig.slicer.close_through(trace(closed)));
  }
  std::int64_t duration(std::uint32_t leaf, const std::string& name, std::int64_t slice) {
    const auto* c = rig.slicer.column(slice_of(trace(at_ms(slice * 100)), kSlice));
    return c == nullptr ? -1 : c->duration_ns(LeafIndex(leaf))[state(name).value];
  }
  ingest::Account total() {
    ingest::Account all;
    for (const auto& a : rig.ingest.accounts()) all += a;
    return all;
  }
  const std::string& attribute(std::uint32_t leaf, const std::string& key) {
    return rig.ingest.leaves()[leaf].at(key);
  }
};

TEST_F(StreamsTest, StatesOfThreadsBecomeCells) {
  make();
  const auto p = streams->process(100, "player");
  const auto t = streams->begin_thread(p, 1, "main", at_ms(0));
  const auto u = streams->begin_thread(p, 2, "queue0:src", at_ms(0));
  const auto decode = streams->name("decode", NameKind::kState),
             wait = streams->name("wait", NameKind::kWait);
  streams->enter(t, decode, at_ms(0));
  streams->enter(u, wait, at_ms(0));
  streams->enter(t, wait, at_ms(30));
  streams->leave(t, wait, at_ms(50));
  streams->leave(u, wait, at_ms(120));
  streams->leave(t, decode, at_ms(150));
  pass(at_ms(300), at_ms(320), at_ms(300));
  EXPECT_EQ(duration(0, "decode", 0), 80'000'000);
  EXPECT_EQ(duration(0, "wait", 0), 20'000'000);
  EXPECT_EQ(duration(0, "decode", 1), 50'000'000);
  EXPECT_EQ(duration(0, "Compute", 1), 50'000'000);
  EXPECT_EQ(duration(1, "wait", 1), 20'000'000);
  EXPECT_EQ(attribute(0, "process"), "player:100");
  EXPECT_EQ(attribute(0, "thread"), "main");
  EXPECT_EQ(attribute(1, "thread"), "queue0:src");
  EXPECT_EQ(total().produced, 6u);
  EXPECT_EQ(total().modelled, 6u);
  EXPECT_EQ(rig.ingest.watermark(rig.now), trace(at_ms(300)) - Rig::options().lateness);
}

TEST_F(StreamsTest, AThreadThatTellsNothingAndSleepsIsAsleepUntilItSpeaksOrRuns) {
  std::map<std::int64_t, ThreadUse> system{{1, {true, 500}}, {2, {false, 700}}, {3, {true, 900}}};
  make({.kind = "test", .use = [&](std::int64_t pid, std::int64_t tid) -> std::optional<ThreadUse> {
          EXPECT_EQ(pid, 100);
          const auto it = system.find(tid);
          return it == system.end() ? std::nullopt : std::optional(it->second);
        }});
  const auto p = streams->process(100, "app");
  const auto sleeper = streams->begin_thread(p, 1, "main", at_ms(0));
  const auto runner = streams->begin_thread(p, 2, "runner", at_ms(0));
  const auto waiter = streams->begin_thread(p, 3, "waiter", at_ms(0));
  const auto gone = streams->begin_thread(p, 4, "gone", at_ms(0));
  const auto lock = streams->name("lock", NameKind::kWait);
  for (const auto t : {sleeper, runner, gone}) {
    streams->enter(t, lock, at_ms(0));
    streams->leave(t, lock, at_ms(1));
  }
  streams->enter(waiter, lock, at_ms(0));  // it sleeps, and is known to wait
  for (std::int64_t ms = 100; ms <= 2000; ms += 100) {
    pass(at_ms(ms), at_ms(ms + 10), at_ms(ms - 50));
  }
  EXPECT_EQ(duration(0, "(asleep)", 9), 0) << "not known before";
  EXPECT_EQ(duration(0, "(asleep)", 15), 100'000'000);
  EXPECT_EQ(rig.states[state("(asleep)")].family, model::StateFamily::kIdle);
  EXPECT_EQ(duration(1, "Compute", 15), 100'000'000);
  EXPECT_EQ(duration(2, "lock", 15), 100'000'000);
  EXPECT_EQ(duration(3, "Compute", 15), 100'000'000) << "the system does not know it";
  system[1].cpu_ns += 5;
  for (std::int64_t ms = 2100; ms <= 2500; ms += 100) {
    pass(at_ms(ms), at_ms(ms + 10), at_ms(ms - 50));
  }
  EXPECT_EQ(duration(0, "(asleep)", 18), 100'000'000);
  EXPECT_EQ(duration(0, "(asleep)", 22), 0) << "it has run";
  streams->enter(sleeper, lock, at_ms(2550));
  streams->leave(sleeper, lock, at_ms(2560));
  streams->end_process(p, at_ms(2600));
  streams->cover(at_ms(2700));
  deliver(at_ms(2700));
  EXPECT_EQ(total().produced, total().modelled);
  EXPECT_EQ(streams->counts().left_out, 0u);
}

TEST_F(StreamsTest, AThreadThatIsGivenNoCpuWaitsForOneUntilItRuns) {
  // Ready at every look: 1 never runs, 2 runs all the time, 3 has a tenth of a CPU, 4 two thirds of one.
  std::map<std::int64_t, ThreadUse> system;
  for (std::int64_t tid = 1; tid <= 4; ++tid) system[tid].ready = true;
  make({.kind = "test", .use = [&](std::int64_t, std::int64_t tid) { return std::optional(system[tid]); }});
  const auto p = streams->process(100, "app");
  const auto lock = streams->name("lock", NameKind::kWait);
  std::vector<ThreadId> threads;
  for (std::int64_t tid = 1; tid <= 4; ++tid) {
    threads.push_back(streams->begin_thread(p, tid, "t", at_ms(0)));
    streams->enter(threads.back(), lock, at_ms(0));
    streams->leave(threads.back(), lock, at_ms(1));
  }
  const auto until = [&](std::int64_t from, std::int64_t to, bool starved) {
    for (std::int64_t ms = from; ms <= to; ms += 100) {
      const auto got = [&](std::int64_t tid, std::uint64_t cpu) {
        system[tid].cpu_ns += cpu * 1'000'000;
        system[tid].ready_ns += (100 - cpu) * 1'000'000;
      };
      if (!starved) got(1, 100);
      got(2, 100);
      got(3, 10);
      got(4, 66);
      pass(at_ms(ms), at_ms(ms + 10), at_ms(ms - 50));
    }
  };
  until(100, 1000, true);
  EXPECT_EQ(duration(0, "Compute", 1), 100'000'000) << "not known before";
  for (const std::uint32_t leaf : {0u, 2u}) EXPECT_EQ(duration(leaf, "(no CPU)", 7), 100'000'000) << leaf;
  for (const std::uint32_t leaf : {1u, 3u}) EXPECT_EQ(duration(leaf, "Compute", 7), 100'000'000) << leaf;
  EXPECT_EQ(rig.states[state("(no CPU)")].family, model::StateFamily::kOther);
  until(1100, 1600, false);
  EXPECT_EQ(duration(0, "Compute", 13), 100'000'000) << "it runs";
  streams->enter(threads[2], lock, at_ms(1650));
  streams->leave(threads[2], lock, at_ms(1660));
  streams->end_process(p, at_ms(1700));
  streams->cover(at_ms(1800));
  deliver(at_ms(1800));
  EXPECT_EQ(total().produced, total().modelled);
}

// What a sample says of a thread: a wait that goes on is in it, though the system counts it only when it is
// over.
TEST_F(StreamsTest, SamplesTellOfEachThreadWhatItHadOfTheCpu) {
  began = origin_of(getpid()).start_time;
  ThreadUse use{false, 5'000'000, true, 7'000'000};
  make({.kind = "test", .use = [&](std::int64_t, std::int64_t) { return std::optional(use); }});
  const auto p = streams->process(getpid(), "app");
  streams->enter(streams->begin_thread(p, 1, "t", at_ms(0)), streams->name("a", NameKind::kState), at_ms(1));
  std::vector<wire::ThreadSample> told;
  const auto look = [&](std::int64_t ms) {
    clock.mono = rig.now = at_ms(ms);
    streams->cover(at_ms(ms));
    streams->flush();
    outbox->flush(rig.now, [&](const wire::ToCollector& m) {
      for (const auto& process : m.node().processes())
        for (const auto& t : process.threads()) told.push_back(t);
      return true;
    });
  };
  look(100);  // its hello: a sample comes after it
  look(300);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].stream(), 0u);
  EXPECT_EQ(told[0].state(), 'R');
  EXPECT_EQ(told[0].cpu_ns(), 5'000'000u);
  look(500);
  look(700);
  ASSERT_EQ(told.size(), 3u);
  EXPECT_EQ(told[2].run_delay_ns() - told[0].run_delay_ns(), 400'000'000u) << "it has not run since";
  use.cpu_ns += 1'000'000;
  use.ready_ns += 399'000'000;  // now it is counted
  look(900);
  ASSERT_EQ(told.size(), 4u);
  EXPECT_EQ(told[3].run_delay_ns(), told[2].run_delay_ns()) << "and not a second time";
}

TEST_F(StreamsTest, WhatFindsNoRoomIsCountedAndUnknownUntilThereIsRoom) {
  make({.kind = "test", .records = 4});
  const auto t = streams->begin_thread(streams->process(100, "p"), 1, "main", at_ms(0));
  const auto outer = streams->name("outer", NameKind::kState),
             inner = streams->name("inner", NameKind::kState);
  streams->enter(t, outer, at_ms(0));
  for (int i = 1; i <= 5; ++i) {
    streams->enter(t, inner, at_ms(i * 10));
    streams->leave(t, inner, at_ms(i * 10 + 5));
  }
  EXPECT_EQ(streams->counts().dropped, 7u);
  deliver(at_ms(60));
  EXPECT_EQ(total().probe_dropped, 7u);
  streams->enter(t, inner, at_ms(200));
  streams->leave(t, inner, at_ms(250));
  deliver(at_ms(260));
  streams->leave(t, outer, at_ms(300));
  pass(at_ms(400), at_ms(400), at_ms(400));
  EXPECT_EQ(duration(0, "Unknown", 1), 100'000'000);
  EXPECT_EQ(duration(0, "inner", 2), 50'000'000);
  EXPECT_EQ(duration(0, "outer", 2), 50'000'000);
  const ingest::Account all = total();
  EXPECT_TRUE(all.balanced());
  EXPECT_EQ(all.produced, streams->counts().produced);
  EXPECT_EQ(all.probe_dropped, 7u);
}

TEST_F(StreamsTest, LostEventsAreAGapAndForgetWhatWasOpen) {
  make();
  const auto t = streams->begin_thread(streams->process(100, "p"), 1, "main", at_ms(0));
  const auto a = streams->name("a", NameKind::kState);
  streams->enter(t, a, at_ms(0));
  streams->lost(t, 12, at_ms(100));
  streams->enter(t, a, at_ms(150));
  streams->lost(t, 0, at_ms(200));  // counted with another thread
  pass(at_ms(300), at_ms(300), at_ms(300));
  EXPECT_EQ(duration(0, "Unknown", 0), 100'000'000);
  EXPECT_EQ(duration(0, "Compute", 1), 50'000'000);
  EXPECT_EQ(duration(0, "Unknown", 1), 50'000'000);
  EXPECT_EQ(duration(0, "Compute", 2), 100'000'000);
  EXPECT_EQ(total().probe_dropped, 12u);
  EXPECT_EQ(streams->counts().lost_events, 12u);
  EXPECT_TRUE(total().balanced());
}

TEST_F(StreamsTest, ThousandsOfShortLivedThreadsShareTheStreamsOfAFew) {
  make();
  const auto p = streams->process(100, "p");
  const auto work = streams->name("work", NameKind::kState);
  const auto main = streams->begin_thread(p, 1, "main", at_ms(0));
  streams->enter(main, work, at_ms(0));
  for (int i = 0; i < 3000; ++i) {  // two at a time, 1 ms each
    const auto x = streams->begin_thread(p, 10 + i, "worker", at_ms(i));
    const auto y = streams->begin_thread(p, 10'000 + i, "worker", at_ms(i));
    streams->enter(x, work, at_ms(i));
    streams->enter(y, work, at_ms(i));
    streams->end_thread(x, at_ms(i + 1));
    streams->end_thread(y, at_ms(i + 1));
    if (i % 100 == 99) {
      streams->cover(at_ms(i));
      deliver(at_ms(i + 2));
    }
  }
  pass(at_ms(3100), at_ms(3100), at_ms(3000));
  ASSERT_EQ(rig.ingest.leaves().size(), 3u);
  EXPECT_EQ(attribute(0, "thread"), "main");
  EXPECT_EQ(attribute(1, "thread").substr(0, 14), "(short-lived) ");
  for (const std::int64_t slice : {0, 7, 29})
    EXPECT_EQ(duration(1, "work", slice) + duration(2, "work", slice), 200'000'000) << slice;
  EXPECT_EQ(total().produced, 1u + 6000 * 4);
  EXPECT_EQ(total().modelled, total().produced);
}

TEST_F(StreamsTest, AProcessThatHasEndedIsSaidGoodbyeAndForgotten) {
  make();
  const auto p = streams->process(100, "p");
  const auto t = streams->begin_thread(p, 1, "main", at_ms(0));
  streams->enter(t, streams->name("a", NameKind::kState), at_ms(0));
  deliver(at_ms(20));
  streams->end_process(p, at_ms(50));
  EXPECT_FALSE(streams->done());
  deliver(at_ms(60));
  EXPECT_TRUE(rig.ingest.all_ended());
  deliver(at_ms(80));
  EXPECT_TRUE(streams->done());
  EXPECT_EQ(outbox->bytes(), 0u);
  EXPECT_TRUE(total().balanced());
  // The same number again is another process.
  EXPECT_NE(streams->process(100, "p"), p);
}

TEST_F(StreamsTest, BeyondTheBoundsIsCounted) {
  make({.kind = "test", .processes = 1, .threads = 1, .names = 1});
  const auto p = streams->process(100, "p");
  EXPECT_EQ(streams->process(101, "q"), kNoProcess);
  const auto t = streams->begin_thread(p, 1, "main", at_ms(0));
  EXPECT_EQ(streams->begin_thread(p, 2, "other", at_ms(0)), kNoThread);
  EXPECT_EQ(streams->begin_thread(kNoProcess, 2, "other", at_ms(0)), kNoThread);
  static_cast<void>(streams->name("a", NameKind::kState));
  const auto b = streams->name("b", NameKind::kState);
  streams->enter(t, b, at_ms(0));
  streams->enter(kNoThread, b, at_ms(0));
  streams->leave(t, b, at_ms(100));
  EXPECT_EQ(streams->counts().left_out, 4u);
  EXPECT_EQ(streams->counts().names_left_out, 1u);
  pass(at_ms(200), at_ms(200), at_ms(100));
  EXPECT_EQ(duration(0, "(other states)", 0), 100'000'000);
}

TEST_F(StreamsTest, ARenamedThreadIsSeenUnderItsName) {
  make();
  const auto t = streams->begin_thread(streams->process(100, "p"), 1, "", at_ms(0));
  const auto a = streams->name("a", NameKind::kState);
  streams->enter(t, a, at_ms(0));
  deliver(at_ms(20));
  EXPECT_EQ(attribute(0, "thread"), "0");
  streams->rename_thread(t, "queue\xff:src");
  streams->leave(t, a, at_ms(30));
  deliver(at_ms(40));
  EXPECT_EQ(attribute(0, "thread"), "queue?:src");
}

TEST_F(StreamsTest, AThreadThatCalledItselfAfterItsFirstEventIsSeenUnderThatName) {
  std::string now = "queue0:src";
  int asked = 0;
  make({.kind = "test", .thread_name = [&](std::int64_t pid, std::int64_t tid) {
          EXPECT_EQ(pid, 100);
          EXPECT_EQ(tid, 7);
          ++asked;
          return now;
        }});
  const auto p = streams->process(100, "p");
  const auto t = streams->begin_thread(p, 7, "pool", at_ms(0));
  const auto a = streams->name("a", NameKind::kState);
  streams->enter(t, a, at_ms(0));
  deliver(at_ms(20));
  EXPECT_EQ(attribute(0, "thread"), "queue0:src");
  streams->leave(t, a, at_ms(30));
  deliver(at_ms(40));
  EXPECT_EQ(asked, 1);
  now = "";  // gone already: what the trace says stays
  streams->enter(streams->begin_thread(streams->process(100, "p"), 7, "other", at_ms(50)), a, at_ms(50));
  deliver(at_ms(60));
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(attribute(1, "thread"), "other");
}

TEST_F(StreamsTest, AmongThousandsOfStatesThoseThatMatterHaveNames) {
  make({.kind = "test", .names = 8});
  const auto t = streams->begin_thread(streams->process(100, "p"), 1, "main", at_ms(0));
  TimeNs at = at_ms(0);
  for (int i = 0; i < 1000; ++i) {  // 10 us in each of a thousand
    const auto n = streams->name("start" + std::to_string(i), NameKind::kState);
    streams->enter(t, n, at);
    at = at + DurationNs(10'000);
    streams->leave(t, n, at);
  }
  const auto decode = streams->name("decode", NameKind::kState);
  for (int i = 0; i < 30; ++i) {  // 1 ms in this, again and again
    streams->enter(t, decode, at);
    at = at + milliseconds(1);
    streams->leave(t, decode, at);
  }
  pass(at_ms(200), at_ms(200), at_ms(100));
  EXPECT_EQ(duration(0, "start0", 0), 10'000);
  EXPECT_EQ(duration(0, "decode", 0), 25'000'000);
  EXPECT_EQ(duration(0, "(other states)", 0), 998 * 10'000 + 5'000'000);
  EXPECT_EQ(streams->counts().names_left_out, 998u);
}

// Nothing is confirmed, and the memory is full: the program goes on, records are dropped; what was kept is
// sent to the next collector.
TEST_F(StreamsTest, ACollectorThatDoesNotConfirmCostsNoMemory) {
  make({.kind = "test"}, 64 << 10);
  const auto t = streams->begin_thread(streams->process(100, "p"), 1, "main", at_ms(0));
  const auto a = streams->name("a", NameKind::kState);
  std::mt19937 random(7);
  TimeNs at = at_ms(0);
  for (int i = 0; i < 200'000; ++i) {
    at = at + DurationNs(1 + static_cast<std::int64_t>(random() % 100'000));
    streams->enter(t, a, at);
    streams->leave(t, a, at);
    if (i % 100 == 0) deliver(at, false);
  }
  EXPECT_LT(outbox->bytes(), 256u << 10);
  EXPECT_GT(streams->counts().dropped, 0u);
  rig.now = at;
  rig.ingest.committed(rig.ingest.ack_point());
  outbox->on_reply_untrusted(rig.reply(), at);
  deliver(at + milliseconds(20));
  streams->finish();
  deliver(at + milliseconds(40));
  deliver(at + milliseconds(60));
  EXPECT_TRUE(streams->done());
  EXPECT_TRUE(total().balanced());
  EXPECT_EQ(total().produced, streams->counts().produced);
  EXPECT_EQ(total().probe_dropped, streams->counts().dropped);
}

TEST_F(StreamsTest, AReaderThatTakesOverIsTheSameSourceAndCountsWhatNeverCame) {
  const std::string path = testing::TempDir() + "ledger_" + std::to_string(getpid());
  std::filesystem::remove(path);
  auto first = Ledger::open(path);
  ASSERT_TRUE(first) << first.error().message;
  make({.kind = "test", .ledger = first->get()});
  const auto p = streams->process(100, "app");
  const auto t = streams->begin_thread(p, 7, "main", at_ms(0));
  static_cast<void>(streams->begin_thread(p, 8, "silent", at_ms(0)));
  const auto lock = streams->name("lock", NameKind::kWait), read = streams->name("read", NameKind::kIo);
  const auto visit = [&](ThreadId thread, NameId state, std::int64_t ms) {
    streams->enter(thread, state, at_ms(ms));
    streams->leave(thread, state, at_ms(ms + 1));
  };
  visit(ThreadId(1), read, 1);
  for (int i = 0; i < 10; ++i) visit(t, lock, 10 * i);
  streams->cover(at_ms(100));
  deliver(at_ms(110));
  EXPECT_EQ(total().modelled, 22u);
  visit(t, lock, 110);
  visit(t, lock, 120);
  streams->flush();     // handed over, and never sent
  visit(t, lock, 130);  // not even that
  streams.reset();
  first->reset();

  auto second = Ledger::open(path);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ((*second)->epoch(), 2u);
  outbox_options.agent = 10;
  make({.kind = "test", .ledger = second->get()});
  EXPECT_EQ(streams->name("read", NameKind::kState), read) << "names go on";
  const auto again = streams->process(100, "app");
  const auto main = streams->begin_thread(again, 7, "main", at_ms(300));
  const auto fresh = streams->begin_thread(again, 9, "fresh", at_ms(300));
  visit(main, read, 300);
  visit(main, lock, 310);
  visit(fresh, lock, 320);
  streams->cover(at_ms(400));
  deliver(at_ms(410));
  deliver(at_ms(420));
  ASSERT_EQ(rig.ingest.leaves().size(), 3u) << "no leaf twice";
  EXPECT_EQ(rig.ingest.sources().size(), 1u);
  EXPECT_EQ(attribute(2, "thread"), "fresh");
  EXPECT_EQ(total().wire_lost, 4u) << "what was handed over";
  // Two that tell of the gap, of each of the two threads.
  EXPECT_EQ(total().modelled, 22u + 6 + 4);
  EXPECT_EQ(total().produced, total().modelled + total().wire_lost);
  streams->end_process(again, at_ms(500));
  streams->cover(at_ms(600));
  deliver(at_ms(610));
  deliver(at_ms(620));
  static_cast<void>(rig.slicer.close_through(trace(at_ms(500))));
  EXPECT_EQ(duration(0, "Unknown", 2), 100'000'000) << "what it did while nobody read";
  EXPECT_EQ(duration(1, "Unknown", 2), 100'000'000);
  EXPECT_EQ(duration(0, "read", 3), 1'000'000);
  EXPECT_EQ(duration(0, "lock", 3), 1'000'000);
  EXPECT_TRUE(streams->done());
  EXPECT_TRUE(std::none_of((*second)->processes().begin(), (*second)->processes().end(),
                           [](const Ledger::Process& e) { return e.source != 0; }));
  std::filesystem::remove(path);
}

TEST_F(StreamsTest, WhoTakesOverEndsProcessesWhoseNumberIsAnothersNow) {
  const std::string path = testing::TempDir() + "ledger_pid_" + std::to_string(getpid());
  std::filesystem::remove(path);
  const auto died = [&](std::uint64_t start_time) {
    auto ledger = Ledger::open(path);
    Ledger::Process& p = *(*ledger)->free_process();
    p.pid = 100;
    p.start_time = start_time;
    p.program = "app";
    p.source = 40 + start_time;
  };
  died(7);  // one that has ended, and the one that has its number now (make() says that 1 is there)
  died(1);
  auto ledger = Ledger::open(path);
  make({.kind = "test", .ledger = ledger->get()});
  const auto p = streams->process(100, "app");
  const auto t = streams->begin_thread(p, 1, "main", at_ms(0));
  streams->enter(t, streams->name("s", NameKind::kState), at_ms(0));
  streams->cover(at_ms(100));
  deliver(at_ms(110));
  deliver(at_ms(120));
  ASSERT_EQ(rig.ingest.sources().size(), 2u);
  EXPECT_TRUE(rig.ingest.sources().at(SourceId(47)).ended);
  EXPECT_FALSE(rig.ingest.sources().at(SourceId(41)).ended);
  EXPECT_EQ(rig.ingest.leaves().size(), 1u);
  std::filesystem::remove(path);
}

TEST(LedgerTest, WhatIsNoLedgerIsMadeOne) {
  const std::string path = testing::TempDir() + "no_ledger_" + std::to_string(getpid());
  std::ofstream(path) << "something else";
  auto opened = Ledger::open(path);
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ((*opened)->epoch(), 1u);
  EXPECT_EQ((*opened)->processes()[0].source, 0u);
  for (std::size_t i = 0; i < Ledger::kProcesses; ++i) (*opened)->free_process()->source = 1;
  EXPECT_EQ((*opened)->free_process(), nullptr);
  std::filesystem::remove(path);
  EXPECT_FALSE(Ledger::open(testing::TempDir()).has_value()) << "a directory";
}

}  // namespace streams_test
}  // namespace margay::reader
