// What samples of processes say of their leaves' slices.
#include <gtest/gtest.h>

#include "rig.h"

namespace margay::ingest::test {
namespace sample_test {

// The agent's sample of source 1's process.
wire::ToCollector sample_of(const FakeSource& s, TimeNs taken, char state) {
  wire::ToCollector m = s.message();
  m.mutable_node()->set_time_ns(taken.value);
  auto* p = m.mutable_node()->add_processes();
  p->set_source(1);
  p->set_state(static_cast<std::uint32_t>(state));
  return m;
}

// What a process neither had nor waited for the CPU it slept: in D, if that is how it was last seen to sleep.
TEST(Ingest, TimeInStorageIsWhatIsLeftOfTheTimeBetweenSamples) {
  Rig rig;
  const FakeSource s = two_calls();
  rig.receive_at(at(100), {s.hello(), s.batch(0, 2, at(90))});
  std::uint64_t cpu = 7'000'000'000, delay = 500'000'000, bytes = 1 << 20;
  struct Seen {
    std::int64_t blocked_ms, bytes;
    bool operator==(const Seen&) const = default;
  };
  TimeNs last = at(100);
  // A sample at the end of the slice [t - 100 ms, t): of so many ms on the CPU and ready to run.
  const auto sample = [&](std::int64_t t, char state, std::uint64_t cpu_ms, std::uint64_t delay_ms,
                          std::uint64_t more_bytes, bool told = true) -> Seen {
    last = at(t) - DurationNs(1);
    wire::ToCollector m = sample_of(s, last, state);
    auto* p = m.mutable_node()->mutable_processes(0);
    cpu += cpu_ms * 1'000'000;
    delay += delay_ms * 1'000'000;
    bytes += more_bytes;
    p->set_run_delay_ns(delay);
    if (told) p->set_main_cpu_ns(cpu);
    if (told) p->set_storage_bytes(bytes);
    rig.now = at(t);
    rig.receive(m);
    const auto& e = rig.slicer.column(slice_of(trace(last), kSlice))->evidence(LeafIndex(0));
    return {e.blocked_ns / 1'000'000, e.storage_bytes};
  };
  EXPECT_EQ(sample(200, 'R', 50, 20, 10), (Seen{0, 0})) << "the first sample has nothing to compare with";
  EXPECT_EQ(sample(300, 'R', 50, 20, 4096), (Seen{0, 4096})) << "it was not seen to sleep";
  EXPECT_EQ(sample(400, 'D', 50, 20, 0), (Seen{30, 0}));
  EXPECT_EQ(sample(500, 'R', 20, 20, 8192), (Seen{60, 8192})) << "as when it was last seen to sleep";
  EXPECT_EQ(sample(600, 'S', 20, 20, 0), (Seen{0, 0})) << "that is of its own will";
  EXPECT_EQ(sample(700, 'D', 0, 0, 0), (Seen{100, 0})) << "it waits for the CPU, which is counted later";
  EXPECT_EQ(sample(800, 'R', 50, 80, 0), (Seen{0, 0})) << "and here";
  EXPECT_EQ(sample(900, 'R', 50, 0, 0), (Seen{20, 0})) << "30 ms were told before";
  EXPECT_EQ(sample(1000, 'T', 0, 0, 0), (Seen{0, 0})) << "stopped, not blocked";
  EXPECT_EQ(sample(1100, 'R', 50, 0, 0), (Seen{0, 0})) << "it was stopped for a part of that";
  EXPECT_EQ(sample(1200, 'R', 50, 0, 0), (Seen{50, 0}));
  // An agent that knows nothing of it, and one that does after it.
  EXPECT_EQ(sample(1300, 'R', 0, 0, 0, false), (Seen{0, 0}));
  EXPECT_EQ(sample(1400, 'R', 0, 0, 4096), (Seen{0, 0}));
  EXPECT_EQ(sample(1500, 'R', 30, 0, 512), (Seen{70, 512}));
}

// Where threads are told, each leaf has its own thread's CPU, and none that of the process.
TEST(Ingest, ThreadsThatAreStreamsHaveTheirOwnCpu) {
  Rig rig;
  const FakeSource s = two_calls();
  rig.receive_at(at(100), {s.hello(), s.batch(0, 2, at(90)), s.batch(0, 2, at(90), 1)});
  std::uint64_t cpu = 0, delay = 0;
  TimeNs last{};
  const auto sample = [&](std::int64_t t, char process, std::vector<std::uint32_t> threads) {
    last = at(t) - DurationNs(1);
    wire::ToCollector m = sample_of(s, last, process);
    auto* p = m.mutable_node()->mutable_processes(0);
    p->set_run_delay_ns(static_cast<std::uint64_t>(t) * 1'000'000);
    cpu += 10'000'000;
    delay += 90'000'000;
    for (const std::uint32_t stream : threads) {
      auto* told = p->add_threads();
      told->set_stream(stream);
      told->set_state('R');
      told->set_cpu_ns(cpu);
      told->set_run_delay_ns(delay);
    }
    rig.now = at(t);
    rig.receive(m);
  };
  const auto evidence = [&](std::uint32_t leaf) {
    const auto* column = rig.slicer.column(slice_of(trace(last), kSlice));
    return column == nullptr ? model::NodeEvidence() : column->evidence(LeafIndex(leaf));
  };
  sample(200, 'S', {1, 77});  // there is no stream 77
  EXPECT_EQ(evidence(1).sampled_ns, 0) << "nothing to compare with";
  sample(300, 'S', {1});
  EXPECT_EQ(evidence(1).process_state, 'R');
  EXPECT_EQ(evidence(1).sampled_ns, 100'000'000);
  EXPECT_EQ(evidence(1).cpu_ns, 10'000'000);
  EXPECT_EQ(evidence(1).run_delay_ns, 90'000'000);
  EXPECT_EQ(evidence(0).run_delay_ns, 0) << "what the process waited is not the thread's";
  sample(400, 'S', {});
  EXPECT_EQ(evidence(0).run_delay_ns, 0) << "nor when none is told";
  EXPECT_EQ(evidence(1).sampled_ns, 0);
  sample(500, 'T', {0, 1});
  for (const std::uint32_t leaf : {0u, 1u}) {
    EXPECT_EQ(evidence(leaf).process_state, 'T') << "all its threads stop";
    EXPECT_EQ(evidence(leaf).stopped_ns, 100'000'000);
  }
  sample(600, 'S', {0, 1});
  for (const std::uint32_t leaf : {0u, 1u}) EXPECT_EQ(evidence(leaf).process_state, 'R');
}

TEST(Ingest, WhoHadTheCpuIsPutBesideTheLeaf) {
  Rig rig;
  const FakeSource s = two_calls();
  rig.receive_at(at(100), {s.hello(), s.batch(0, 2, at(90))});
  wire::ToCollector m = s.message();
  m.mutable_node()->set_time_ns(at(200).value - 1);
  auto* p = m.mutable_node()->add_processes();
  p->set_source(1);
  p->set_state('R');
  const auto add = [&](wire::Taker::Kind kind, std::int64_t pid, const std::string& name) -> wire::Taker& {
    wire::Taker* t = p->add_takers();
    t->set_kind(kind);
    t->set_pid(pid);
    t->set_name(name);
    t->set_cpu(1);
    t->set_cpu_ns(90'000'000);
    t->set_over_ns(100'000'000);
    return *t;
  };
  add(wire::Taker::OTHER, 4242, "python3");
  add(wire::Taker::OTHER, -7, "a\nb\x1b[31m and more than a command has");
  add(wire::Taker::RANK, 77, "lmp").set_source(1);
  add(wire::Taker::RANK, 78, "lmp").set_source(99);  // nobody knows it
  add(wire::Taker::OTHER, 5, "no time").set_over_ns(0);
  add(wire::Taker::UNSEEN, 0, "").set_cpu_ns(~std::uint64_t{0});
  rig.now = at(200);
  rig.receive(m);
  const auto& takers = rig.slicer.column(slice_of(trace(at(200) - DurationNs(1)), kSlice))->takers;
  using model::Taker;
  ASSERT_EQ(takers.size(), 5u);
  EXPECT_EQ(takers[0], (Taker{LeafIndex(0), Taker::Kind::kOther, 4242, Taker::kNobody, 1, 90'000'000,
                              100'000'000, "python3"}));
  EXPECT_EQ(takers[1].name, "a?b?[31m and mo");
  EXPECT_EQ(takers[1].pid, 0);
  EXPECT_EQ(takers[2].rank, 0u);
  EXPECT_EQ(takers[3].kind, Taker::Kind::kJob);
  EXPECT_EQ(takers[4].cpu_ns, std::int64_t{1} << 60);
  // No more of a process than can matter.
  m.mutable_node()->set_time_ns(at(300).value - 1);
  for (int i = 0; i < 100; ++i) add(wire::Taker::OTHER, 1000 + i, "many");
  rig.now = at(300);
  rig.receive(m);
  EXPECT_LE(rig.slicer.column(slice_of(trace(at(300) - DurationNs(1)), kSlice))->takers.size(), 8u);
}

TEST(Ingest, AccountsOfReadersAddUp) {
  Rig rig;
  const auto tell = [&](std::uint64_t reader, std::uint64_t seen, std::uint64_t unmatched) {
    wire::ToCollector m = two_calls().hello();
    m.clear_hello();
    m.set_agent(reader);
    m.mutable_account()->set_seen(seen);
    m.mutable_account()->set_unmatched(unmatched);
    rig.receive(m);
  };
  tell(1, 100, 3);
  tell(1, 100, 3);  // again, for another instance
  tell(1, 120, 4);
  tell(1, 90, 2);  // an older one that comes late
  EXPECT_EQ(rig.ingest.counters().readers.seen, 120u);
  EXPECT_EQ(rig.ingest.counters().readers.unmatched, 4u);
  tell(2, 10, 1);  // one that took over
  EXPECT_EQ(rig.ingest.counters().readers.seen, 130u);
  EXPECT_EQ(rig.ingest.counters().readers.unmatched, 5u);
  for (std::uint64_t r = 3; r < 1000; ++r) tell(r, 1, 0);
  EXPECT_EQ(rig.ingest.counters().readers.seen, 130u + 254u) << "no more are kept";
  EXPECT_EQ(rig.ingest.counters().refused_by_limit, 1000u - 3 - 254);
}

}  // namespace sample_test
}  // namespace margay::ingest::test
