// What is over makes room, and nothing is lost by it.
#include "rig.h"

namespace margay::ingest::test {
namespace forget_test {

// One short life of a rank, confirmed.
void live_and_end(Rig& rig, FakeSource& s, std::mt19937& random) {
  s.live(random, 20, rig.now);
  rig.receive(s.hello());
  rig.now = s.end() + milliseconds(1);
  rig.receive(s.batch(0, s.records.size()));
  rig.receive(s.goodbye(s.end()));
  rig.ingest.committed(rig.ingest.ack_point());
  for (auto& [id, source] : rig.ingest.sources()) source.dirty = false;
}

TEST(Forget, AnEndedSourceMakesRoomAndItsCountersStay) {
  Rig rig;
  std::mt19937 random(1);
  std::uint64_t produced = 0;
  for (std::uint64_t id = 1; id <= 3; ++id) {
    FakeSource s;
    s.id = id;
    s.attributes["pid"] = std::to_string(100 + id);
    live_and_end(rig, s, random);
    produced += s.records.size();
  }
  EXPECT_EQ(rig.ingest.sources().size(), 3u);
  rig.ingest.tick(rig.now);
  EXPECT_EQ(rig.ingest.sources().size(), 3u) << "its agent may not have heard yet";
  rig.now = rig.now + Rig::options().forget_after + seconds(2);
  rig.ingest.tick(rig.now);
  EXPECT_TRUE(rig.ingest.sources().empty());
  EXPECT_EQ(rig.ingest.counters().sources_forgotten, 3u);
  // The three were the same rank, one after the other.
  ASSERT_EQ(rig.ingest.leaves().size(), 1u);
  const Account a = rig.ingest.account(LeafIndex(0));
  EXPECT_EQ(a.produced, produced);
  EXPECT_EQ(a.modelled, produced);
  EXPECT_TRUE(a.balanced());
  const auto gone = rig.ingest.take_forgotten();
  EXPECT_EQ(gone.sources.size(), 3u);
  EXPECT_EQ(gone.former.at(LeafIndex(0)), a);
  EXPECT_TRUE(rig.ingest.take_forgotten().sources.empty());

  // The next program's rank goes on in the same leaf.
  FakeSource next;
  next.id = 9;
  live_and_end(rig, next, random);
  EXPECT_EQ(rig.ingest.leaves().size(), 1u);
  EXPECT_EQ(rig.ingest.account(LeafIndex(0)).produced, produced + next.records.size());
}

TEST(Forget, AnAgentThatHasNotHeardIsToldAgainAndNothingIsCountedTwice) {
  Rig rig;
  std::mt19937 random(2);
  FakeSource s;
  live_and_end(rig, s, random);
  rig.now = rig.now + Rig::options().forget_after + seconds(2);
  rig.ingest.tick(rig.now);
  ASSERT_TRUE(rig.ingest.sources().empty());
  static_cast<void>(rig.reply());
  for (const auto& m : {s.hello(), s.batch(0, s.records.size()), s.goodbye(s.end())}) {
    rig.receive(m);
    const auto reply = rig.reply();
    ASSERT_EQ(reply.acks_size(), 1);
    EXPECT_TRUE(reply.acks(0).goodbye());
    EXPECT_EQ(reply.need_hello_size(), 0);
    EXPECT_EQ(reply.acks(0).next(), m.batches_size() > 0 ? s.records.size() : 0);
  }
  EXPECT_EQ(rig.ingest.account(LeafIndex(0)).produced, s.records.size());
}

TEST(Forget, WhatIsNotConfirmedOrNotInACutIsKept) {
  Rig rig;
  std::mt19937 random(3);
  FakeSource s;
  live_and_end(rig, s, random);
  rig.ingest.sources().begin()->second.dirty = true;
  rig.now = rig.now + Rig::options().forget_after + seconds(2);
  rig.ingest.tick(rig.now);
  EXPECT_EQ(rig.ingest.sources().size(), 1u);
  rig.ingest.sources().begin()->second.dirty = false;
  rig.ingest.sources().begin()->second.goodbye_acked = false;
  rig.now = rig.now + seconds(2);
  rig.ingest.tick(rig.now);
  EXPECT_EQ(rig.ingest.sources().size(), 1u);
}

TEST(Forget, TenThousandThatSayHelloAndVanishLeaveRoomForARealOne) {
  Options o = Rig::options();
  o.limits.sources = 256;
  Rig rig(o);
  FakeSource real;
  real.add(MARGAY_ENTER, kSend, rig.now);
  real.add(MARGAY_LEAVE, kSend, rig.now + milliseconds(1));
  rig.receive(real.hello(), "real");
  rig.receive(real.batch(0, 1), "real");
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    FakeSource ghost;
    ghost.id = 1000 + i;
    rig.now = rig.now + milliseconds(5);
    rig.receive(ghost.hello(), "ghost" + std::to_string(i));
    rig.ingest.take_replies(rig.now);
    ASSERT_LE(rig.ingest.sources().size(), 256u);
  }
  EXPECT_EQ(rig.ingest.counters().refused_by_limit, 0u);
  EXPECT_GT(rig.ingest.counters().ghosts_forgotten, 9000u);
  EXPECT_GT(rig.ingest.counters().agents_forgotten, 8000u);
  // The one that was there is unharmed, and a new one is served.
  rig.receive(real.batch(1, 1), "real");
  EXPECT_EQ(rig.account().modelled, 2u);
  FakeSource late;
  late.id = 2;
  late.attributes["rank"] = "1";
  late.add(MARGAY_ENTER, kSend, rig.now);
  rig.now = rig.now + seconds(2);
  rig.receive(late.hello(), "late");
  EXPECT_EQ(rig.reply("late").instance(), 7u);
  rig.receive(late.batch(0, 1), "late");
  EXPECT_EQ(rig.account(2).modelled, 1u);
  // What remains of them goes, too.
  for (int i = 0; i < 70; ++i) rig.ingest.tick(rig.now = rig.now + seconds(1));
  EXPECT_EQ(rig.ingest.sources().size(), 2u);
}

TEST(Forget, AFullTableOfRealSourcesRefusesAndCounts) {
  Options o = Rig::options();
  o.limits.sources = 2;
  Rig rig(o);
  for (std::uint64_t id = 1; id <= 3; ++id) {
    FakeSource s;
    s.id = id;
    s.attributes["rank"] = std::to_string(id);
    s.add(MARGAY_ENTER, kSend, rig.now);
    rig.receive(s.hello());
    rig.receive(s.batch(0, 1));
    rig.now = rig.now + seconds(5);
  }
  EXPECT_EQ(rig.ingest.sources().size(), 2u);
  EXPECT_EQ(rig.ingest.counters().refused_by_limit, 1u);
}

TEST(Forget, LeavesAndStatesThatWouldTakeTooMuchMemoryAreRefused) {
  Options o = Rig::options();
  o.limits.cell_bytes = o.limits.column_bytes(4, 5) * o.limits.held_slices;
  Rig rig(o);
  for (std::uint64_t id = 1; id <= 6; ++id) {
    FakeSource s;
    s.id = id;
    s.attributes["rank"] = std::to_string(id);
    s.names.resize(3);
    s.add(MARGAY_ENTER, kSend, rig.now);
    rig.receive(s.hello());
    rig.receive(s.batch(0, 1));
  }
  EXPECT_EQ(rig.states.size(), 5u);
  EXPECT_EQ(rig.ingest.leaves().size(), 4u);
  EXPECT_GE(rig.ingest.counters().refused_by_limit, 2u);
}

}  // namespace forget_test
}  // namespace margay::ingest::test
