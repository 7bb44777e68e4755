// A source belongs to who introduced it. Whoever else speaks in its name, and whatever they say, changes
// nothing of it: not its cells, not its account, not what its agent is told.
#include <gmock/gmock.h>

#include <cstdlib>
#include <limits>

#include "rig.h"

namespace margay::ingest::test {
namespace owner_test {

const std::string kVictim = owner_of_key("node7"), kOther = owner_of_key("node8");

wire::ToCollector from_afar(FakeSource& s) {
  s.attributes["boot_id"] = "boot of n1";
  return s.hello();
}

// 28 bytes, as they were sent: a heartbeat with the greatest epoch there is.
TEST(Owner, OneMessageOfAnotherKeySilencesNobody) {
  Rig rig;
  const FakeSource s = two_calls();
  rig.now = at(500);
  rig.receive(s.hello(), "agent", kVictim);
  rig.receive(s.batch(0, 2), "agent", kVictim);
  wire::ToCollector m;
  m.set_version(wire::kWireVersion);
  m.set_run("r");
  m.add_batches()->set_source(1);
  m.mutable_batches(0)->set_epoch(UINT32_MAX);
  rig.receive(m, "evil", kOther);
  EXPECT_EQ(rig.ingest.counters().not_theirs, 1u);
  EXPECT_EQ(rig.reply("evil").not_yours(0), 1u);
  const auto impostors = rig.ingest.take_impostors();
  ASSERT_EQ(impostors.size(), 1u);
  EXPECT_EQ(impostors[0].owner, "key node8");
  EXPECT_EQ(impostors[0].belongs_to, "key node7");
  rig.receive(s.batch(2, 2), "agent", kVictim);
  EXPECT_EQ(rig.account().modelled, 4u);
  EXPECT_EQ(rig.ingest.sources().at(SourceId(1)).agent, "agent");
  rig.receive(s.batch(4, 0, at(500)), "agent", kVictim);
  EXPECT_EQ(rig.cells(LeafIndex(0), trace(at(500))),
            reference_cells(s.reference(rig), trace(kRunBegin), trace(at(500)), kSlice));
}

// What an agent says of epochs, its own included, decides nothing: they are counted by hellos of new agents.
TEST(Owner, EpochsAreCountedHereAndNoMessageCanSetThem) {
  Rig rig;
  FakeSource s = two_calls();
  rig.now = at(500);
  wire::ToCollector hello = s.hello();
  hello.mutable_hello()->set_epoch(UINT32_MAX);
  rig.receive(hello);
  EXPECT_EQ(rig.ingest.sources().at(SourceId(1)).epoch, 1u);
  rig.receive(s.batch(0, 1));
  EXPECT_EQ(rig.account().next, 1u);
  rig.ingest.committed(rig.ingest.ack_point());
  EXPECT_EQ(rig.reply().acks(0).epoch(), 0u) << "as the speaker numbered it last";
  rig.receive(hello);
  EXPECT_EQ(rig.ingest.sources().at(SourceId(1)).epoch, 1u) << "the same agent";
  s.epoch = 3;  // another agent, whose number for itself is less
  rig.receive(s.hello());
  EXPECT_EQ(rig.ingest.sources().at(SourceId(1)).epoch, 2u);
  rig.receive(s.batch(2, 2, at(450)));
  EXPECT_EQ(rig.account().wire_lost, 1u);
  EXPECT_EQ(rig.account().next, 4u);
  EXPECT_TRUE(rig.account().balanced());
}

// A message of the agent that was replaced comes late: it is taken for the newer one, until that speaks
// again.
TEST(Owner, AnAgentThatWasReplacedIsNotHeardAndOneThatIsThereAsksItselfBackIn) {
  Rig rig;
  FakeSource old = two_calls(), next = old;
  next.epoch = 1;
  rig.now = at(500);
  rig.receive(old.hello(), "old");
  rig.receive(old.batch(0, 1), "old");
  rig.receive(next.hello(), "next");
  rig.receive(next.batch(1, 1), "next");
  rig.receive(old.batch(2, 1), "old");
  EXPECT_EQ(rig.account().next, 2u);
  EXPECT_EQ(rig.ingest.sources().at(SourceId(1)).agent, "next");
  rig.receive(old.hello(), "old");
  rig.receive(next.batch(2, 2), "next");
  EXPECT_EQ(rig.account().next, 2u);
  EXPECT_EQ(rig.reply("next").need_hello(0), 1u);
  rig.receive(next.hello(), "next");
  rig.receive(next.batch(2, 2), "next");
  EXPECT_EQ(rig.account().modelled, 4u);
  EXPECT_TRUE(rig.account().balanced());
}

TEST(Owner, ARestartedDaemonKnowsWhoseTheSourceIs) {
  Rig rig;
  FakeSource s = two_calls();
  rig.now = at(500);
  rig.receive(s.hello(), "agent", kVictim);
  rig.receive(s.batch(0, 2), "agent", kVictim);
  Rig again(rig, at(600));
  FakeSource evil = s;
  evil.epoch = 77;
  again.receive(evil.hello(), "evil", kOther);
  again.receive(evil.batch(4, 0, at(550)), "evil", kOther);
  again.receive(evil.goodbye(at(500)), "evil", kOther);
  EXPECT_EQ(again.ingest.counters().not_theirs, 3u);
  // The same agent, on the same run of its ring: what was on its way is no loss.
  again.receive(s.hello(), "agent", kVictim);
  EXPECT_EQ(again.ingest.sources().at(SourceId(1)).epoch, 1u);
  again.receive(s.batch(3, 1), "agent", kVictim);
  EXPECT_EQ(again.account().next, 2u);
  again.receive(s.batch(2, 2), "agent", kVictim);
  EXPECT_EQ(again.account().modelled, 4u);
  EXPECT_EQ(again.account().wire_lost, 0u);
}

TEST(Owner, OfAnArchiveThatDoesNotTellTheFirstWhoComesIsTheOwner) {
  Rig rig;
  const FakeSource s = two_calls();
  rig.now = at(500);
  rig.receive(s.hello(), "agent", "");
  ASSERT_EQ(rig.ingest.sources().at(SourceId(1)).owner, "");
  rig.receive(s.batch(0, 2), "agent", kVictim);
  rig.receive(s.batch(2, 2), "evil", kOther);
  EXPECT_EQ(rig.ingest.sources().at(SourceId(1)).owner, kVictim);
  EXPECT_EQ(rig.account().next, 2u);
}

TEST(Owner, AHostsClockIsMovedByItsOwnKeyAlone) {
  Rig rig;
  FakeSource s = two_calls(), evil = two_calls();
  evil.id = 2;
  const auto hello = [&](FakeSource& source, const std::string& agent, const std::string& owner) {
    wire::ToCollector m = from_afar(source);
    m.mutable_hello()->mutable_clock()->set_monotonic_ns(rig.now.value);
    m.mutable_hello()->mutable_clock()->set_realtime_ns(trace(rig.now).value);
    rig.receive(m, agent, owner);
  };
  hello(s, "agent", kVictim);
  hello(evil, "evil", kOther);
  rig.ingest.tick(rig.now);
  const auto asked = rig.ingest.take_replies(rig.now);
  EXPECT_EQ(asked.size(), 2u);
  for (const auto& [agent, message] : asked) {
    ASSERT_TRUE(message.has_ask()) << agent;
    const TimeNs told = agent == "evil" ? rig.now + seconds(3600) : rig.now;
    wire::ToCollector m = s.message();
    m.mutable_echo()->set_asked_ns(message.ask().asked_ns());
    m.mutable_echo()->set_received_ns(told.value);
    m.mutable_echo()->set_answered_ns(told.value);
    rig.receive(m, agent, agent == "evil" ? kOther : kVictim);
  }
  EXPECT_EQ(rig.ingest.sources().at(SourceId(1)).clock->offset_at(rig.now), kOffset);
  EXPECT_EQ(rig.ingest.sources().at(SourceId(2)).clock->offset_at(rig.now + seconds(3600)),
            kOffset - seconds(3600));
}

TEST(Owner, CountersThatCannotBeAreRefused) {
  Rig rig;
  const FakeSource s = two_calls();
  rig.now = at(500);
  rig.receive(s.hello());
  using Set = void (wire::EventBatch::*)(std::uint64_t);
  for (const Set set :
       {&wire::EventBatch::set_first, &wire::EventBatch::set_produced, &wire::EventBatch::set_dropped,
        &wire::EventBatch::set_recorded, &wire::EventBatch::set_untold, &wire::EventBatch::set_summed}) {
    wire::ToCollector m = s.batch(0, 0, at(400));
    (m.mutable_batches(0)->*set)(UINT64_MAX);
    rig.receive(m);
    rig.now = rig.now + seconds(11);
    rig.receive(m);
  }
  EXPECT_EQ(rig.ingest.counters().claims_refused, 12u);
  wire::ToCollector bye = s.goodbye(at(420));
  bye.mutable_goodbye()->mutable_streams(0)->set_recorded(UINT64_MAX);
  rig.receive(bye);
  EXPECT_EQ(rig.ingest.counters().claims_refused, 13u);
  rig.receive(s.batch(0, 4));
  rig.receive(s.goodbye(at(420)));
  EXPECT_EQ(rig.account().modelled, 4u);
  EXPECT_TRUE(rig.account().balanced());
  EXPECT_TRUE(rig.ingest.all_ended());
}

// One key fills what there is room for; another one's few still find theirs.
TEST(Owner, NoKeyCrowdsOutTheOthers) {
  Options o = Rig::options();
  o.limits.sources = 64;
  o.limits.leaves = 64;
  o.limits.states = 64;
  Rig rig(o);
  rig.now = at(500);
  for (std::uint64_t id = 100; id < 300; ++id) {
    FakeSource s = two_calls();
    s.id = id;
    s.attributes["rank"] = std::to_string(id);
    s.names.push_back({"name " + std::to_string(id), wire::FAMILY_OTHER});
    rig.receive(s.hello(), "evil", kOther);
    rig.receive(s.batch(0, 4), "evil", kOther);
  }
  EXPECT_EQ(rig.ingest.sources().size(), 48u);
  EXPECT_EQ(rig.ingest.leaves().size(), 48u);
  EXPECT_EQ(rig.states.size(), 48u);
  EXPECT_GT(rig.ingest.counters().refused_by_limit, 0u);
  for (std::uint64_t id = 1; id <= 4; ++id) {
    FakeSource s = two_calls();
    s.id = id;
    s.names.push_back({"mine " + std::to_string(id), wire::FAMILY_OTHER});
    rig.receive(s.hello(), "agent", kVictim);
    rig.receive(s.batch(0, 4), "agent", kVictim);
    EXPECT_EQ(rig.account(id).modelled, 4u);
    EXPECT_NE(rig.ingest.sources().at(SourceId(id)).states.back(), kUnknown);
  }
  // On this machine one may have all of it.
  FakeSource s = two_calls();
  for (std::uint64_t id = 1000; id < 1012; ++id) {
    s.id = id;
    rig.receive(s.hello());
    EXPECT_TRUE(rig.ingest.sources().contains(SourceId(id)));
  }
}

// ---- any messages

struct Adversary {
  std::mt19937 random;
  std::uint64_t extreme() {
    static constexpr std::uint64_t kValues[] = {0,
                                                1,
                                                2,
                                                3,
                                                1u << 16,
                                                UINT32_MAX,
                                                std::uint64_t{1} << 47,
                                                std::uint64_t{1} << 48,
                                                INT64_MAX,
                                                std::uint64_t{1} << 63,
                                                UINT64_MAX - 1,
                                                UINT64_MAX};
    return random() % 4 == 0 ? random() : kValues[random() % std::size(kValues)];
  }
  std::uint64_t source() {
    constexpr std::uint64_t kSources[] = {1, 2, 1, 2, 66, 67};  // two victims, and its own
    return kSources[random() % std::size(kSources)];
  }
  std::string word() {
    static const char* const kWords[] = {"host",         "rank",  "pid",  "boot_id",    "thread",
                                         "n1",           "0",     "boot", "boot of n1", "MPI_Send",
                                         "MPI_Finalize", "solve", ""};
    return random() % 3 == 0 ? "w" + std::to_string(random() % 2000) : kWords[random() % std::size(kWords)];
  }
  wire::ToCollector message(TimeNs now) {
    wire::ToCollector m;
    m.set_version(wire::kWireVersion);
    m.set_run("r");
    m.set_agent(random() % 2 == 0 ? 9 : extreme());  // the victim's
    const auto time = [&] {
      return random() % 2 == 0 ? now.value - static_cast<std::int64_t>(random() % 1'000'000'000)
                               : static_cast<std::int64_t>(extreme());
    };
    if (random() % 3 == 0) {
      auto* h = m.mutable_hello();
      h->set_source(source());
      h->set_epoch(static_cast<std::uint32_t>(extreme()));
      if (random() % 2 == 0)
        for (const auto& [k, v] : FakeSource().attributes) (*h->mutable_attributes())[k] = v;
      for (unsigned i = random() % 4; i > 0; --i) (*h->mutable_attributes())[word()] = word();
      for (unsigned i = random() % 40; i > 0; --i) {
        h->add_names()->set_name(word());
        h->mutable_names(h->names_size() - 1)->set_family(random() % 14);
      }
      h->mutable_clock()->set_monotonic_ns(time());
      h->mutable_clock()->set_realtime_ns(time());
    }
    for (unsigned i = random() % 4; i > 0; --i) {
      auto* b = m.add_batches();
      b->set_source(source());
      b->set_epoch(static_cast<std::uint32_t>(extreme()));
      b->set_stream(random() % 3);
      b->set_first(random() % 2 == 0 ? random() % 60 : extreme());
      std::vector<EventRecord> records(random() % 5);
      for (EventRecord& r : records) {
        r.time_ns = time();
        r.kind = static_cast<std::uint8_t>(random() % 20);
        r.state = static_cast<std::uint16_t>(random() % 8);
        r.bytes = extreme();
      }
      b->set_count(random() % 3 == 0 ? static_cast<std::uint32_t>(extreme())
                                     : static_cast<std::uint32_t>(records.size()));
      if (!records.empty()) wire::encode_columns(records, *b->mutable_columns());
      b->set_covered_until_ns(time());
      b->set_produced(extreme());
      b->set_dropped(extreme());
      b->set_recorded(extreme());
      b->set_untold(extreme());
      b->set_summed(extreme());
      b->set_summing(random() % 2 == 0);
      b->set_open_state(random() % 8);
      b->set_clock_error_ns(static_cast<std::uint32_t>(extreme()));
      b->set_thread(word());
    }
    if (random() % 3 == 0) {
      m.mutable_node()->set_time_ns(time());
      for (unsigned i = random() % 4; i > 0; --i) {
        auto* p = m.mutable_node()->add_processes();
        p->set_source(source());
        p->set_state("RSDTtZX"[random() % 7]);
        p->set_cpu_ns(extreme());
        p->set_run_delay_ns(extreme());
        p->set_main_cpu_ns(extreme());
        auto* t = p->add_takers();
        t->set_kind(wire::Taker::RANK);
        t->set_source(source());
        t->set_over_ns(extreme());
        p->add_threads()->set_cpu_ns(extreme());
      }
    }
    if (random() % 4 == 0) {
      auto* g = m.mutable_goodbye();
      g->set_source(source());
      g->set_epoch(static_cast<std::uint32_t>(extreme()));
      g->set_end_ns(time());
      for (unsigned i = random() % 3; i > 0; --i) {
        auto* t = g->add_streams();
        t->set_stream(random() % 3);
        t->set_produced(extreme());
        t->set_dropped(extreme());
        t->set_recorded(extreme());
        t->set_untold(extreme());
      }
    }
    if (random() % 4 == 0) {
      m.mutable_echo()->set_asked_ns(random() % 2 == 0 ? now.value : time());
      m.mutable_echo()->set_received_ns(time());
      m.mutable_echo()->set_answered_ns(time());
    }
    return m;
  }
};

// A rig with two victims: one on this host, one on another, whose clock is asked for.
struct Beside {
  Rig rig;
  std::map<std::string, std::string> told;  // by agent: all replies, one behind the other, without questions
  std::vector<wire::ToAgent> asks;
  void replies() {
    for (auto& [agent, message] : rig.ingest.take_replies(rig.now)) {
      if (agent == "evil") continue;
      if (message.has_ask()) {
        wire::ToCollector m = FakeSource().message();
        m.mutable_echo()->set_asked_ns(message.ask().asked_ns());
        m.mutable_echo()->set_received_ns(rig.now.value);
        m.mutable_echo()->set_answered_ns(rig.now.value);
        rig.receive(m, agent, kVictim);
        message.clear_ask();
      }
      told[agent] += message.SerializeAsString() + '|';
    }
  }
  using Cells = std::map<std::pair<std::int64_t, std::string>, std::vector<std::int64_t>>;
  // Of slices that end by then.
  Cells cells(LeafIndex leaf, TimeNs end = trace(at(60'000))) const {
    Cells out;
    for (SliceIndex s = slice_of(trace(kRunBegin), kSlice); slice_end(s, kSlice) <= end; ++s) {
      const auto* c = rig.slicer.column(s);
      if (c == nullptr || leaf.value >= c->leaves()) continue;
      for (std::uint16_t x = 0; x < c->states(); ++x)
        if (c->duration_ns(leaf)[x] != 0 || c->visits(leaf)[x] != 0)
          out[{s.value, rig.states[StateId(x)].name}] = {c->duration_ns(leaf)[x], c->longest_ns(leaf)[x],
                                                         c->visits(leaf)[x]};
      const model::NodeEvidence& e = c->evidence(leaf);
      out[{s.value, "evidence"}] = {e.sampled_ns, e.cpu_ns, e.run_delay_ns, e.stopped_ns, e.process_state};
    }
    return out;
  }
};

TEST(Owner, WhateverAnotherKeySaysTheVictimsCellsAndAccountsAreAsWithoutIt) {
  const char* const given = std::getenv("MARGAY_SEED");
  const unsigned seed = given != nullptr ? static_cast<unsigned>(std::atoi(given)) : std::random_device{}();
  SCOPED_TRACE("MARGAY_SEED=" + std::to_string(seed));
  for (unsigned round = 0; round < 20; ++round) {
    std::mt19937 random(seed + round);
    FakeSource victims[2];
    victims[1].id = 2;
    victims[1].attributes["boot_id"] = "boot of n1";
    victims[1].attributes["rank"] = "1";
    for (FakeSource& v : victims) v.live(random, 60, at(10), milliseconds(15));
    Beside alone, beside;
    Adversary evil{std::mt19937(seed + round)};
    const auto both = [&](const wire::ToCollector& m) {
      for (Beside* b : {&alone, &beside}) b->rig.receive(m, "agent", kVictim);
    };
    bool known = false;  // both victims: who comes first owns a source
    const auto attack = [&] {
      if (!known) return;
      for (unsigned i = random() % 6; i > 0; --i)
        beside.rig.receive(evil.message(beside.rig.now), "evil", kOther);
    };
    std::size_t sent[2] = {0, 0};
    for (int step = 0; step < 60; ++step) {
      for (Beside* b : {&alone, &beside}) {
        b->rig.now = at(30 * (step + 1));
        b->rig.ingest.tick(b->rig.now);
      }
      attack();
      for (int v = 0; v < 2; ++v) {
        FakeSource& victim = victims[v];
        if (step == 0 || step == 20) {
          // The first time without its last name: what is told late finds its place, too.
          wire::ToCollector hello = victim.hello();
          if (step == 0) hello.mutable_hello()->mutable_names()->RemoveLast();
          hello.mutable_hello()->mutable_clock()->set_monotonic_ns(alone.rig.now.value);
          hello.mutable_hello()->mutable_clock()->set_realtime_ns(trace(alone.rig.now).value);
          both(hello);
          known = known || v == 1;
          attack();
        }
        std::size_t n = 0;
        while (sent[v] + n < victim.records.size() &&
               victim.records[sent[v] + n].time_ns < alone.rig.now.value)
          ++n;
        both(victim.batch(sent[v], n, alone.rig.now - milliseconds(1)));
        if (step >= 2) sent[v] += n;  // the other machine's clock is known by then
        wire::ToCollector sample = victim.message();
        sample.mutable_node()->set_time_ns(alone.rig.now.value);
        auto* p = sample.mutable_node()->add_processes();
        p->set_source(victim.id);
        p->set_state('R');
        p->set_cpu_ns(static_cast<std::uint64_t>(step) * 20'000'000 + 1);
        both(sample);
        attack();
      }
      for (Beside* b : {&alone, &beside}) {
        b->rig.ingest.committed(b->rig.ingest.ack_point());
        b->replies();
      }
    }
    for (const FakeSource& v : victims) both(v.goodbye(v.end()));
    attack();
    for (int v = 0; v < 2; ++v) {
      const SourceId id(victims[v].id);
      const Source &a = alone.rig.ingest.sources().at(id), &b = beside.rig.ingest.sources().at(id);
      EXPECT_EQ(a.streams.at(0).account, b.streams.at(0).account);
      EXPECT_EQ(b.streams.at(0).account.modelled, victims[v].records.size());
      EXPECT_TRUE(b.streams.at(0).account.balanced());
      EXPECT_EQ(alone.cells(a.streams.at(0).leaf), beside.cells(b.streams.at(0).leaf));
      EXPECT_EQ(a.streams.size(), b.streams.size());
      EXPECT_EQ(a.attributes, b.attributes);
      EXPECT_EQ(a.end, b.end);
      EXPECT_EQ(a.epoch, b.epoch);
      EXPECT_EQ(a.agent, b.agent);
    }
    EXPECT_EQ(alone.told, beside.told);
    // Long after, when they are forgotten: nobody else goes on in their place.
    LeafIndex leaves[2] = {beside.rig.ingest.sources().at(SourceId(1)).streams.at(0).leaf,
                           beside.rig.ingest.sources().at(SourceId(2)).streams.at(0).leaf};
    // After their end time may go on in which they are absent.
    const auto until = [&](int v) { return trace(victims[v].end()); };
    const Beside::Cells before[2] = {beside.cells(leaves[0], until(0)), beside.cells(leaves[1], until(1))};
    beside.rig.ingest.committed(beside.rig.ingest.ack_point());
    for (auto& [id, source] : beside.rig.ingest.sources()) source.dirty = false;
    beside.rig.now = beside.rig.now + seconds(62);
    beside.rig.ingest.tick(beside.rig.now);
    ASSERT_FALSE(beside.rig.ingest.sources().contains(SourceId(1)));
    for (int i = 0; i < 50; ++i) attack();
    for (int v = 0; v < 2; ++v) {
      EXPECT_EQ(beside.rig.ingest.account(leaves[v]).modelled, victims[v].records.size());
      EXPECT_EQ(beside.cells(leaves[v], until(v)), before[v]);
    }
    EXPECT_GT(beside.rig.ingest.counters().not_theirs, 0u);
    if (HasFailure()) break;
  }
}

}  // namespace owner_test
}  // namespace margay::ingest::test
