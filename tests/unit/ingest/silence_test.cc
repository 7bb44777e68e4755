// Live, silent, lost, back again; clocks of other machines over a simulated network.
#include <deque>
#include <functional>

#include "margay/node/outbox.h"
#include "rig.h"

namespace margay::ingest::test {
namespace silence_test {

TEST(Silence, StepsFromLiveToLostAndBackAmendWhatWasDrawnOut) {
  Rig rig;
  FakeSource s;
  s.add(MARGAY_ENTER, kSend, kRunBegin + milliseconds(50));
  s.add(MARGAY_LEAVE, kSend, kRunBegin + milliseconds(5030));
  s.add(MARGAY_ENTER, kRecv, kRunBegin + milliseconds(5070));
  rig.receive_at(at(100), {s.hello(), s.batch(0, 1, at(100))});
  const auto& source = rig.ingest.sources().at(SourceId(1));
  const Options o = Rig::options();
  const auto condition = [&] { return source.condition(rig.now, o.silent_after, o.lost_after); };
  EXPECT_EQ(condition(), Condition::kLive);
  const auto pass = [&](DurationNs d) {
    for (const TimeNs until = rig.now + d; rig.now < until;) {
      rig.now = rig.now + milliseconds(50);
      rig.ingest.tick(rig.now);
      rig.slicer.close_through(rig.ingest.watermark(rig.now));
    }
  };
  pass(milliseconds(900));
  EXPECT_EQ(condition(), Condition::kLive);
  pass(milliseconds(200));
  EXPECT_EQ(condition(), Condition::kSilent);
  EXPECT_EQ(rig.ingest.counters().sources_silenced, 1u);
  pass(seconds(4));
  // The slices went on without it, its state drawn out, and say so.
  const SliceIndex at = slice_of(trace(kRunBegin + milliseconds(3000)), kSlice);
  ASSERT_NE(rig.slicer.column(at), nullptr);
  EXPECT_TRUE(rig.slicer.column(at)->provisional);
  const LeafIndex leaf(0);
  EXPECT_EQ(rig.slicer.column(at)->duration_ns(leaf)[source.states[kSend].value], kSlice.value);
  EXPECT_EQ(rig.slicer.column(at)->evidence(leaf).silent_since, trace(kRunBegin + milliseconds(100)));
  // Heard again within the slices that are held: they become what they should have been.
  rig.receive(s.batch(1, 2, rig.now));
  pass(milliseconds(50));
  EXPECT_EQ(condition(), Condition::kLive);
  EXPECT_EQ(rig.ingest.counters().sources_returned, 1u);
  EXPECT_FALSE(rig.slicer.column(at)->provisional);
  EXPECT_EQ(rig.account().modelled, 3u);
  const SliceIndex back = slice_of(trace(kRunBegin + milliseconds(5050)), kSlice);
  EXPECT_EQ(rig.slicer.column(back)->duration_ns(leaf)[source.states[kSend].value], 30'000'000);
  EXPECT_EQ(rig.slicer.column(back)->duration_ns(leaf)[kCompute.value], 40'000'000);
  pass(seconds(11));
  EXPECT_EQ(condition(), Condition::kLost);
}

TEST(Silence, AfterAnAbsenceOfThisProcessNobodyIsCalledSilent) {
  Rig rig;
  FakeSource s;
  s.add(MARGAY_ENTER, kSend, kRunBegin);
  rig.receive(s.hello());
  rig.receive(s.batch(0, 1));
  rig.now = rig.now + seconds(5);  // stopped, and continued
  rig.ingest.catch_up(rig.now + seconds(5));
  rig.ingest.tick(rig.now);
  EXPECT_EQ(rig.ingest.counters().sources_silenced, 0u);
  rig.now = rig.now + seconds(6);
  rig.ingest.tick(rig.now);
  EXPECT_EQ(rig.ingest.counters().sources_silenced, 1u);
}

// Holds no more than 64 slices beyond the oldest open one.
const slicer::Options kLittleRoom{kSlice, 64, 64, {}, 1u << 20, 64};

// After an absence an agent sends hours at once. What is later than what can be held waits with it, is asked
// for as slices close, and is taken once and in order, whatever its batches are.
TEST(Ahead, WhatIsLaterThanCanBeHeldWaitsWithItsAgent) {
  Rig rig(Rig::options(), kLittleRoom);
  rig.ingest.keep_raw(1u << 20);
  FakeSource s;
  s.add(MARGAY_ENTER, kSend, kRunBegin + milliseconds(50));
  s.add(MARGAY_LEAVE, kSend, kRunBegin + seconds(5));
  s.add(MARGAY_ENTER, kRecv, kRunBegin + seconds(20));
  s.add(MARGAY_LEAVE, kRecv, kRunBegin + seconds(3600));
  s.add(MARGAY_ENTER, kSend, kRunBegin + seconds(3601));
  rig.now = kRunBegin + seconds(3602);
  const auto asked = [&] {
    bool hello = false;
    for (const auto& [to, reply] : rig.ingest.take_replies(rig.now))
      hello = hello || reply.need_hello_size() > 0;
    return hello;
  };
  rig.receive(s.hello());
  rig.receive(s.batch(0, 4));
  EXPECT_EQ(rig.account().next, 2u);
  rig.receive(s.batch(4, 1, rig.now));
  rig.receive(s.goodbye(rig.now));
  EXPECT_EQ(rig.account().next, 2u);
  EXPECT_EQ(rig.ingest.counters().gaps_pending, 1u) << "the goodbye; no batch is missing";
  EXPECT_FALSE(rig.ingest.all_ended());
  EXPECT_LE(rig.slicer.held(), 65u);
  static_cast<void>(asked());
  std::vector<std::uint64_t> raw;
  std::size_t most_held = 0, rounds = 0;
  while (!rig.ingest.all_ended() && ++rounds < 10'000) {
    rig.now = rig.now + milliseconds(20);
    rig.ingest.tick(rig.now);
    if (asked()) {
      rig.receive(s.batch(0, 4));
      rig.receive(s.batch(4, 1, rig.now));
      rig.receive(s.goodbye(rig.now));
    }
    for (const AcceptedBatch& b : rig.ingest.take_accepted())
      for (std::uint32_t i = 0; i < b.count; ++i) raw.push_back(b.first + i);
    const TimeNs until =
        std::min(rig.ingest.watermark(rig.now), slice_begin(rig.slicer.next_open() + 32, kSlice));
    rig.ingest.fill_promises(until);
    static_cast<void>(rig.slicer.close_through(until));
    most_held = std::max(most_held, rig.slicer.held());
  }
  EXPECT_TRUE(rig.ingest.all_ended());
  EXPECT_EQ(rig.account().modelled, 5u);
  EXPECT_EQ(rig.account().late_dropped + rig.account().wire_lost + rig.account().rejected, 0u);
  EXPECT_EQ(rig.ingest.counters().gaps_given_up, 0u);
  EXPECT_GT(rig.ingest.counters().room_waits, 2u);
  EXPECT_LE(most_held, 64u + 65u);
  EXPECT_EQ(raw, (std::vector<std::uint64_t>{0, 1, 2, 3, 4}));
}

// Whoever had what waits is gone: it is lost, and counted, as ever.
TEST(Ahead, WhatWaitedWithAnAgentThatIsGoneIsLostAndCounted) {
  Rig rig(Rig::options(), kLittleRoom);
  FakeSource s;
  s.add(MARGAY_ENTER, kSend, kRunBegin + milliseconds(50));
  s.add(MARGAY_LEAVE, kSend, kRunBegin + seconds(100));
  s.add(MARGAY_ENTER, kRecv, kRunBegin + seconds(101));
  rig.receive_at(kRunBegin + seconds(102), {s.hello(), s.batch(0, 2)});
  s.epoch = 1;
  rig.receive(s.hello());
  rig.receive(s.batch(2, 1, rig.now));
  EXPECT_EQ(rig.account().wire_lost, 1u);
  EXPECT_EQ(rig.account().next, 2u) << "and the next one waits";
  EXPECT_LE(rig.slicer.held(), 65u);
}

TEST(Gap, AHeartbeatOfTheNextAgentSaysWhatIsOpen) {
  Rig rig;
  FakeSource s;
  for (int i = 0; i < 10; ++i)
    s.add(i % 2 == 0 ? MARGAY_ENTER : MARGAY_LEAVE, kSend, kRunBegin + milliseconds(10 * (i + 1)));
  s.epoch = 1;
  rig.receive(s.hello());
  rig.receive(s.batch(0, 3));
  // The agent dies with records 3 to 9; its successor finds the ring empty and the thread in MPI_Recv.
  s.epoch = 2;
  rig.now = kRunBegin + milliseconds(250);
  auto beat = s.batch(10, 0, kRunBegin + milliseconds(200));
  beat.mutable_batches(0)->set_open_state(kRecv + 1);
  rig.receive(s.hello());
  rig.receive(beat);
  EXPECT_EQ(rig.account().wire_lost, 7u);
  EXPECT_TRUE(rig.account().balanced());
  EXPECT_EQ(rig.slicer.current(LeafIndex(0)), rig.ingest.sources().at(SourceId(1)).states[kRecv]);
  // Without it, the state would be unknown until the next call.
  const auto& leaf = rig.slicer.leaf_state(LeafIndex(0));
  EXPECT_EQ(leaf.stack.back().since, trace(kRunBegin + milliseconds(200)));
}

// Machines whose clocks have an offset and drift, each with a node agent's outbox, and a network that takes
// its time, differently each way. Everything is simulated; `t` is the collector's host time.
struct Machine {
  FakeSource source;
  node::Outbox outbox;
  DurationNs offset;  // of its clock, against the collector's
  double drift;       // parts of one
  std::uint64_t put = 0;
  TimeNs host(TimeNs t) const {
    return t + offset +
           DurationNs(static_cast<std::int64_t>(static_cast<double>((t - kRunBegin).value) * drift));
  }
};

TEST(Clocks, SourcesOfSeveralMachinesComeOutOnOneClock) {
  constexpr unsigned kSeed = 77;
  std::mt19937 random(kSeed);
  SCOPED_TRACE(kSeed);
  Rig rig;
  std::vector<Machine> machines;
  const std::pair<DurationNs, double> clocks[] = {
      {seconds(3600), 100e-6}, {seconds(-3), -50e-6}, {DurationNs(0), 300e-6}, {seconds(1'000'000), 0}};
  constexpr int kSteps = 60'000;  // of 1 ms
  for (std::size_t i = 0; i < std::size(clocks); ++i) {
    node::OutboxOptions o;
    o.run = "r";
    o.agent = i + 1;
    machines.push_back({{}, node::Outbox(o), clocks[i].first, clocks[i].second});
    Machine& m = machines.back();
    m.source.id = i + 1;
    m.source.attributes["boot_id"] = "boot" + std::to_string(i);
    m.source.attributes["host"] = "n" + std::to_string(i);
    m.source.attributes["rank"] = std::to_string(i);
    // All change state together, every 100 ms of true time.
    for (int k = 1; k < kSteps / 100; ++k)
      m.source.add(k % 2 == 1 ? MARGAY_ENTER : MARGAY_LEAVE, kSend,
                   m.host(kRunBegin + milliseconds(100 * k)));
    auto hello = m.source.hello();
    // Its wall clock is 40 s off.
    hello.mutable_hello()->mutable_clock()->set_monotonic_ns(m.host(kRunBegin).value);
    hello.mutable_hello()->mutable_clock()->set_realtime_ns((trace(kRunBegin) + seconds(40)).value);
    m.outbox.put_hello(hello.hello());
  }
  struct Flight {
    TimeNs due;
    std::function<void()> arrive;
  };
  std::multimap<TimeNs, std::function<void()>> network;
  const auto delay = [&](bool there) {
    return DurationNs(static_cast<std::int64_t>(30'000 + (there ? 60'000 : 0) + random() % 100'000 +
                                                (random() % 50 == 0 ? 20'000'000 : 0)));
  };
  for (int step = 0; step < kSteps; ++step) {
    rig.now = kRunBegin + milliseconds(step);
    while (!network.empty() && network.begin()->first <= rig.now) {
      const auto arrive = std::move(network.begin()->second);
      const TimeNs due = network.begin()->first;
      network.erase(network.begin());
      const TimeNs keep = std::exchange(rig.now, due);
      arrive();
      rig.now = keep;
    }
    for (std::size_t i = 0; i < machines.size(); ++i) {
      Machine& m = machines[i];
      while (m.put < m.source.records.size() && m.source.records[m.put].time_ns <= m.host(rig.now).value) {
        m.outbox.put_batch(m.source.batch(m.put, 1, TimeNs(m.source.records[m.put].time_ns)).batches(0));
        ++m.put;
      }
      if (step % 20 == 0) {
        auto beat = m.source.batch(m.put, 0, m.host(rig.now));
        beat.mutable_batches(0)->set_produced(m.put);
        beat.mutable_batches(0)->set_recorded(m.put);
        m.outbox.put_heartbeat(beat.batches(0));
      }
      m.outbox.flush(m.host(rig.now), [&](const wire::ToCollector& message) {
        network.emplace(rig.now + delay(true),
                        [&rig, message, i] { rig.receive(message, "a" + std::to_string(i)); });
        return true;
      });
    }
    rig.ingest.tick(rig.now);
    if (step % 100 == 0) rig.ingest.committed(rig.ingest.ack_point());
    for (auto& [agent, message] : rig.ingest.take_replies(rig.now)) {
      Machine* m = &machines[static_cast<std::size_t>(agent[1] - '0')];
      network.emplace(rig.now + delay(false), [&rig, m, message = message] {
        m->outbox.on_reply_untrusted(message, m->host(rig.now));
      });
    }
    rig.slicer.close_through(rig.ingest.watermark(rig.now));
  }
  for (std::size_t i = 0; i < machines.size(); ++i) {
    SCOPED_TRACE(testing::Message() << "machine " << i);
    const Account& a = rig.account(i + 1);
    EXPECT_EQ(a.modelled, machines[i].put);
    EXPECT_EQ(a.rejected + a.late_dropped + a.wire_lost, 0u);
    const Source& s = rig.ingest.sources().at(SourceId(i + 1));
    EXPECT_LT(s.clock_error, DurationNs(200'000));
    const LeafIndex leaf = s.streams.at(0).leaf;
    // After the drift is known, each slice is wholly in one state but for what the network leaves unknown:
    // 0.1 ms.
    std::int64_t worst = 0;
    int seen = 0;
    for (int k = 200; k < kSteps / 100 - 10; ++k) {
      const auto* c = rig.slicer.column(slice_of(trace(kRunBegin + milliseconds(100 * k + 50)), kSlice));
      if (c == nullptr) continue;
      ++seen;
      const StateId state = k % 2 == 1 ? s.states[kSend] : kCompute;
      worst = std::max(worst, std::abs(kSlice.value - c->duration_ns(leaf)[state.value]));
    }
    EXPECT_GT(seen, 40);
    EXPECT_LT(worst, 200'000) << "ns of a slice are in the wrong state";
    EXPECT_EQ(rig.ingest.counters().clock_backwards, 0u);
    EXPECT_EQ(rig.ingest.counters().clock_steps, 0u);
  }
  EXPECT_GT(rig.ingest.counters().clock_waits, 0u) << "what came before the clock was known was put off";
}

TEST(Clocks, AnswersNobodyAskedForAreRefused) {
  Rig rig;
  FakeSource s;
  s.attributes["boot_id"] = "elsewhere";
  s.add(MARGAY_ENTER, kSend, kRunBegin);
  rig.receive(s.hello());
  rig.ingest.tick(rig.now);
  const auto asked = rig.reply();
  ASSERT_TRUE(asked.has_ask());
  const auto echo = [&](std::int64_t asked_ns, std::int64_t received, std::int64_t answered) {
    auto m = s.message();
    m.mutable_echo()->set_asked_ns(asked_ns);
    m.mutable_echo()->set_received_ns(received);
    m.mutable_echo()->set_answered_ns(answered);
    rig.now = rig.now + milliseconds(1);
    rig.receive(m);
  };
  const std::int64_t t = asked.ask().asked_ns();
  echo(t + 1, 100, 200);
  echo(t, 200, 100);
  echo(t, -5, 100);
  echo(INT64_MIN, 100, 200);
  echo(INT64_MAX, 100, 200);
  echo(t, INT64_MAX - 1, INT64_MAX);
  echo(t, 100, 100 + 3'600'000'000'000);
  EXPECT_EQ(rig.ingest.counters().clock_refused, 7u);
  echo(t, 1'000'000, 1'000'100);
  EXPECT_EQ(rig.ingest.counters().clock_refused, 7u);
  EXPECT_TRUE(rig.ingest.sources().at(SourceId(1)).clock->known());
  echo(t, 1'000'000, 1'000'100);  // once
  EXPECT_EQ(rig.ingest.counters().clock_refused, 8u);
}

// Whether the word on them comes in time or not: no cell says what the rank did while its records were
// dropped.
TEST(Silence, WhileRecordsAreDroppedBehindTheLastOneItsStateIsNotDrawnOut) {
  Rig rig;
  const FakeSource s = two_calls();
  rig.now = at(1000);
  rig.receive(s.hello());
  const auto batch = [&](std::size_t first, std::size_t count, std::uint64_t untold) {
    wire::ToCollector m = s.batch(first, count, at(420));
    m.mutable_batches(0)->set_dropped(70);
    m.mutable_batches(0)->set_produced(74);
    m.mutable_batches(0)->set_untold(untold);
    rig.receive(m);
  };
  batch(0, 2, 0);
  batch(4, 0, 70);  // what lies before it is still missing
  EXPECT_EQ(rig.slicer.current(LeafIndex(0)), kCompute);
  batch(2, 2, 70);
  EXPECT_EQ(rig.slicer.current(LeafIndex(0)), kUnknown);
  for (int ms = 1'500; ms <= 20'000; ms += 500) {
    rig.now = at(ms);
    batch(4, 0, 70);
    rig.ingest.tick(rig.now);
    static_cast<void>(rig.slicer.close_through(rig.ingest.watermark(rig.now)));
  }
  const DurationNs closed = slice_begin(rig.slicer.next_open(), kSlice) - trace(at(0));
  EXPECT_GT(closed, seconds(15));
  EXPECT_EQ(total(rig, kUnknown), (closed - milliseconds(420)).value);
  EXPECT_EQ(total(rig, kCompute), milliseconds(220).value) << "30 to 250 ms";
}

}  // namespace silence_test
}  // namespace margay::ingest::test
