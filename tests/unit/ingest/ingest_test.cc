// Messages by hand: each rule of the protocol, and the account after it.
#include <gmock/gmock.h>

#include "rig.h"

namespace margay::ingest::test {
namespace ingest_test {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Ingest, ColumnsThatDoNotDecodeAreRejectedAndUnknown) {
  Rig rig;
  const FakeSource s = two_calls();
  rig.receive_at(at(500), {s.hello(), s.batch(0, 2)});
  auto bad = s.batch(2, 1);
  bad.mutable_batches(0)->mutable_columns()->resize(5);
  rig.receive(bad);
  rig.receive(s.batch(3, 1));
  EXPECT_EQ(rig.account().rejected, 1u);
  EXPECT_EQ(rig.account().modelled, 3u);
  EXPECT_EQ(rig.ingest.counters().bad_batches, 1u);
  EXPECT_TRUE(rig.account().balanced());
  EXPECT_EQ(total(rig, kUnknown), milliseconds(390).value);  // from the last that is known, at 30 ms
}

TEST(Ingest, RecordsThatMakeNoSenseAreRejected) {
  Rig rig;
  FakeSource s = two_calls();
  s.add(MARGAY_ENTER, 99, at(430));
  s.add(0, kSend, at(431));
  s.add(7, kSend, at(432));
  s.add(MARGAY_ENTER, kSend, TimeNs(0));
  s.add(MARGAY_ENTER, kSend, TimeNs(-5));
  s.add(MARGAY_ENTER, kSend, at(500) + seconds(20));
  s.add(MARGAY_ENTER, kSend, TimeNs(INT64_MAX));
  rig.receive_at(at(500), {s.hello(), s.batch(0, s.records.size(), at(440))});
  EXPECT_EQ(rig.account().next, 0u) << "a hello may still come that has a name for the first of them";
  rig.now = rig.now + seconds(11);
  rig.receive(s.batch(0, s.records.size(), at(440)));
  EXPECT_EQ(rig.account().rejected, 7u);
  EXPECT_EQ(rig.account().modelled, 4u);
  EXPECT_TRUE(rig.account().balanced());
  EXPECT_EQ(rig.slicer.current(LeafIndex(0)), kCompute);
}

// A hello with new names is lost (its collector was killed before it was committed); what uses them comes
// first.
TEST(Ingest, WhatUsesANameThatNoHelloHasToldWaitsForIt) {
  Rig rig;
  FakeSource s = two_calls();
  const auto name = static_cast<std::uint16_t>(s.names.size());
  rig.now = at(500);
  rig.receive(s.hello());
  s.names.push_back({"MPI_Isend", wire::FAMILY_POINT_TO_POINT});
  s.add(MARGAY_ENTER, name, at(430));
  s.add(MARGAY_LEAVE, name, at(470));
  rig.receive(s.batch(0, 4));
  rig.receive(s.batch(4, 2));
  EXPECT_EQ(rig.account().next, 4u);
  EXPECT_EQ(rig.ingest.counters().unknown_source, 1u);
  EXPECT_THAT(rig.reply().need_hello(), ElementsAre(1u));
  rig.receive(s.hello());
  rig.receive(s.batch(4, 2));
  EXPECT_EQ(rig.account().modelled, 6u);
  EXPECT_EQ(rig.account().rejected, 0u);
  EXPECT_EQ(total(rig, rig.ingest.sources().at(SourceId(1)).states[name]), milliseconds(40).value);
}

// Whatever times a sender claims, nothing is drawn out beyond what can have happened: not in a gap, not by
// bytes that do not decode, not by a goodbye, not by a sample.
TEST(Ingest, TimesFromOutsideAreBounded) {
  for (const std::int64_t time : {INT64_MAX, INT64_MIN, std::int64_t{1} << 62}) {
    Rig rig;
    FakeSource s = two_calls();
    rig.receive_at(at(500), {s.hello(), s.batch(0, 1)});
    auto bad = s.batch(1, 1, TimeNs(time));
    bad.mutable_batches(0)->set_columns("x");
    rig.receive(bad);
    s.epoch = 1;
    rig.receive(s.hello());
    auto gap = s.batch(3, 0, TimeNs(time));
    rig.receive(gap);
    wire::ToCollector sample = s.message();
    sample.mutable_node()->set_time_ns(time);
    sample.mutable_node()->add_processes()->set_source(1);
    rig.receive(sample);
    EXPECT_LE(rig.ingest.sources().at(SourceId(1)).process.at, trace(at(1500)));
    rig.receive(s.goodbye(TimeNs(time)));
    rig.now = rig.now + seconds(11);
    rig.receive(s.goodbye(TimeNs(time)));
    EXPECT_TRUE(rig.ingest.all_ended());
    EXPECT_TRUE(rig.account().balanced());
    EXPECT_EQ(rig.slicer.column(slice_of(trace(rig.now), kSlice) + 20), nullptr);
  }
  // A clock of another host, as far away as can be.
  Rig rig;
  FakeSource s = two_calls();
  s.attributes["boot_id"] = "elsewhere";
  auto hello = s.hello();
  hello.mutable_hello()->mutable_clock()->set_realtime_ns(INT64_MAX);
  hello.mutable_hello()->mutable_clock()->set_monotonic_ns(INT64_MIN);
  rig.receive(hello);
  rig.now = rig.now + seconds(6);  // its clock was asked, and has not answered
  rig.receive(s.batch(0, 4));
  EXPECT_EQ(rig.account().rejected, 4u);
  EXPECT_TRUE(rig.account().balanced());
}

TEST(Ingest, HelloTwiceAndAGrowingNameTable) {
  Rig rig;
  FakeSource s = two_calls();
  rig.receive_at(at(500), {s.hello(), s.batch(0, 4)});
  const std::size_t states = rig.states.size();
  rig.receive(s.hello());
  EXPECT_EQ(rig.states.size(), states);
  s.names.emplace_back("MPI_Wait", wire::FAMILY_WAIT);
  s.add(MARGAY_ENTER, 5, at(430));
  rig.receive(s.hello());
  EXPECT_EQ(rig.states.size(), states + 1);
  rig.receive(s.batch(4, 1));
  EXPECT_EQ(rig.states[rig.slicer.current(LeafIndex(0))].name, "MPI_Wait");
  EXPECT_EQ(rig.account().rejected, 0u);
  // A table that shrinks changes nothing.
  s.names.resize(1);
  rig.receive(s.hello());
  EXPECT_EQ(rig.ingest.sources().at(SourceId(1)).states.size(), 6u);
}

TEST(Ingest, LimitsHold) {
  Options o = Rig::options();
  o.limits = {2, 2, 3, 5, 4};
  Rig rig(o);
  rig.now = at(500);
  FakeSource s = two_calls();
  for (std::uint64_t id = 1; id <= 3; ++id) {
    s.id = id;
    s.attributes["rank"] = std::to_string(id);
    rig.receive(s.hello());
  }
  EXPECT_EQ(rig.ingest.sources().size(), 2u);
  EXPECT_EQ(rig.states.size(), 5u);  // MPI_Finalize finds no room
  EXPECT_EQ(rig.ingest.sources().at(SourceId(1)).states.size(), 4u);
  EXPECT_EQ(rig.ingest.sources().at(SourceId(1)).states[kFinalize], kUnknown);
  s.id = 1;
  for (std::uint32_t stream = 0; stream < 3; ++stream) rig.receive(s.batch(0, 1, {}, stream));
  s.id = 2;
  for (std::uint32_t stream = 0; stream < 3; ++stream) rig.receive(s.batch(0, 1, {}, stream));
  EXPECT_EQ(rig.ingest.sources().at(SourceId(1)).streams.size(), 2u);
  EXPECT_EQ(rig.ingest.leaves().size(), 3u);
  EXPECT_GT(rig.ingest.counters().refused_by_limit, 0u);
  // Batches of the source that was refused ask for its hello, and cost nothing else.
  s.id = 3;
  rig.receive(s.batch(0, 1));
  EXPECT_EQ(rig.ingest.counters().unknown_source, 1u);
  // Agents.
  for (int i = 0; i < 2000; ++i) rig.receive(s.message(), "agent" + std::to_string(i));
  EXPECT_LE(rig.ingest.take_replies(rig.now).size(), 1024u);
}

TEST(Ingest, LongNamesAreCutBetweenCharacters) {
  Rig rig;
  FakeSource s = two_calls();
  std::string name(255, 'x');
  name += "\xc3\xa9";  // its first byte is the 256th
  s.attributes["host"] = name;
  rig.now = at(500);
  rig.receive(s.hello());
  EXPECT_EQ(rig.ingest.sources().at(SourceId(1)).attributes.at("host"), std::string(255, 'x'));
}

TEST(Ingest, GoodbyeBeforeTheDataWaitsForIt) {
  Rig rig;
  const FakeSource s = two_calls();
  rig.receive_at(at(500), {s.hello(), s.goodbye(at(420))});
  EXPECT_FALSE(rig.ingest.all_ended());
  EXPECT_FALSE(rig.ingest.goodbyes_came()) << "nothing that a cut could confirm";
  rig.receive(s.batch(0, 4));
  for (int said = 0; said < 2; ++said) {  // whoever says it again has not heard
    rig.receive(s.goodbye(at(420)));
    EXPECT_TRUE(rig.ingest.take_goodbyes());
    EXPECT_FALSE(rig.ingest.goodbyes_came());
  }
  EXPECT_TRUE(rig.ingest.all_ended());
  EXPECT_EQ(rig.account().modelled, 4u);
  EXPECT_EQ(rig.account().wire_lost, 0u);
  EXPECT_TRUE(rig.account().balanced());
  EXPECT_EQ(rig.slicer.current(LeafIndex(0)), kAbsent);
}

// A ring that had no room again before the end: no record tells of what was dropped last.
TEST(Ingest, WhatWasDroppedLastIsUnknownToTheEnd) {
  Rig rig;
  const FakeSource s = two_calls();
  rig.receive_at(at(1000), {s.hello(), s.batch(0, 4, at(500))});
  wire::ToCollector goodbye = s.goodbye(at(900));
  wire::StreamTotal* t = goodbye.mutable_goodbye()->mutable_streams(0);
  t->set_produced(4 + 70);
  t->set_dropped(70);
  t->set_untold(70);
  rig.receive(goodbye);
  rig.receive(goodbye);  // told once
  EXPECT_TRUE(rig.ingest.all_ended());
  EXPECT_EQ(rig.account().probe_dropped, 70u);
  EXPECT_EQ(lost(rig), 70u);
  EXPECT_TRUE(rig.account().balanced());
  EXPECT_EQ(total(rig, kUnknown), milliseconds(480).value) << "from the last record on";
}

TEST(Ingest, GoodbyeOfDataThatNeverComesIsGivenUp) {
  Rig rig;
  const FakeSource s = two_calls();
  rig.receive_at(at(500), {s.hello(), s.batch(0, 2), s.goodbye(at(420))});
  rig.now = rig.now + seconds(11);
  rig.receive(s.goodbye(at(420)));
  EXPECT_TRUE(rig.ingest.all_ended());
  EXPECT_EQ(rig.account().wire_lost, 2u);
  EXPECT_EQ(rig.account().in_flight(), 0u);
  EXPECT_TRUE(rig.account().balanced());
  EXPECT_EQ(total(rig, kUnknown), milliseconds(390).value);
}

TEST(Ingest, ARepeatedGoodbyeIsAcknowledgedAgain) {
  Rig rig;
  const FakeSource s = two_calls();
  rig.receive_at(at(500), {s.hello(), s.batch(0, 4), s.goodbye(at(420))});
  rig.ingest.take_replies(rig.now);
  rig.ingest.committed(rig.ingest.ack_point());
  auto reply = rig.reply();
  ASSERT_EQ(reply.acks_size(), 1);
  EXPECT_EQ(reply.acks(0).next(), 4u);
  EXPECT_TRUE(reply.acks(0).goodbye());
  EXPECT_TRUE(rig.ingest.ack_point().empty());
  rig.receive(s.goodbye(at(420)));
  rig.ingest.committed(rig.ingest.ack_point());
  reply = rig.reply();
  ASSERT_EQ(reply.acks_size(), 1);
  EXPECT_TRUE(reply.acks(0).goodbye());
}

TEST(Ingest, GoodbyeOfASourceWithoutStreamsIsAcknowledged) {
  Rig rig;
  const FakeSource s;
  rig.receive(s.hello());
  rig.receive(s.goodbye(at(1), false));
  EXPECT_TRUE(rig.ingest.all_ended());
  rig.ingest.committed(rig.ingest.ack_point());
  const auto reply = rig.reply();
  ASSERT_EQ(reply.acks_size(), 1);
  EXPECT_EQ(reply.acks(0).next(), 0u);
  EXPECT_TRUE(reply.acks(0).goodbye());
}

TEST(Ingest, NothingIsAcknowledgedBeforeItIsCommitted) {
  Rig rig;
  const FakeSource s = two_calls();
  rig.receive_at(at(500), {s.hello(), s.batch(0, 2)});
  const AckPoint cut = rig.ingest.ack_point();
  rig.receive(s.batch(2, 2));
  EXPECT_EQ(rig.reply().acks_size(), 0);
  rig.ingest.committed(cut);
  EXPECT_EQ(rig.reply().acks(0).next(), 2u);
}

TEST(Ingest, HeartbeatsMoveTheWatermarkAndASilentSourceHoldsItForAWhileOnly) {
  Rig rig;
  FakeSource s;  // all that it has recorded has come
  s.add(MARGAY_ENTER, kSend, at(10));
  s.add(MARGAY_LEAVE, kSend, at(30));
  rig.receive_at(at(100), {s.hello(), s.batch(0, 2, at(90))});
  const DurationNs lateness = Rig::options().lateness;
  EXPECT_EQ(rig.ingest.watermark(at(100)), trace(at(90)) - lateness);
  rig.receive(s.batch(2, 0, at(99)));
  EXPECT_EQ(rig.ingest.watermark(at(100)), trace(at(99)) - lateness);
  EXPECT_EQ(rig.ingest.watermark(at(250)), trace(at(99)) - lateness);
  EXPECT_EQ(rig.ingest.watermark(at(1000)), trace(at(800)) - lateness);  // silence_hold is 200 ms
}

TEST(Ingest, RecordsOnTheirWayAreWaitedForAsLongAsTheirSourceIsHeard) {
  Rig rig;
  const FakeSource s = two_calls();
  rig.now = at(100);
  rig.receive(s.hello());
  rig.receive(s.batch(0, 2, at(90)));  // and says that it has recorded four
  const DurationNs lateness = Rig::options().lateness;
  rig.ingest.tick(at(1000));
  EXPECT_EQ(rig.ingest.watermark(at(1000)), trace(at(90)) - lateness);
  // Heard all the time, it may be behind for ten seconds.
  for (int ms = 1000; ms <= 12'000; ms += 500) {
    rig.now = at(ms);
    rig.receive(s.batch(2, 0, at(90)));
    rig.ingest.tick(rig.now);
  }
  EXPECT_EQ(rig.ingest.watermark(at(10'050)), trace(at(90)) - lateness);
  EXPECT_EQ(rig.ingest.watermark(at(12'000)), trace(at(2000)) - lateness);
  // The rest has come.
  rig.receive(s.batch(2, 2, at(11'990)));
  EXPECT_EQ(rig.ingest.watermark(at(12'000)), trace(at(11'990)) - lateness);
  EXPECT_EQ(rig.account().late_dropped, 0u);
  // Nobody waits for what a source that is silent has recorded.
  Rig other;
  other.now = at(100);
  other.receive(s.hello());
  other.receive(s.batch(0, 2, at(90)));
  other.ingest.tick(at(1500));
  EXPECT_EQ(other.ingest.watermark(at(1500)), trace(at(1300)) - lateness);  // silence_hold is 200 ms
}

TEST(Ingest, WhereRecordsWereDroppedIsWaitedForAfterTheLastRecord) {
  Rig rig;
  FakeSource s;
  s.add(MARGAY_ENTER, kSend, at(10));
  s.add(MARGAY_LEAVE, kSend, at(30));
  s.add(MARGAY_GAP, 0, at(50), 5);
  s.add(MARGAY_STACK, 0, at(50));
  rig.now = at(9'000);  // overloaded: nine seconds late
  rig.receive(s.hello());
  const auto batch = [&](std::uint64_t first, std::uint32_t count, std::uint64_t dropped) {
    wire::ToCollector m = s.batch(first, count, at(30));
    m.mutable_batches(0)->set_dropped(dropped);
    rig.receive(m);
  };
  batch(0, 2, 7);
  const DurationNs lateness = Rig::options().lateness;
  rig.ingest.tick(at(9'400));
  // Without the wait all slices up to now would close before the goodbye could say what is unknown.
  EXPECT_EQ(rig.ingest.watermark(at(9'400)), trace(at(30)) - lateness);
  rig.now = at(9'900);
  batch(2, 2, 7);  // five of seven are told: two were dropped after that
  EXPECT_EQ(rig.ingest.watermark(at(9'950)), trace(at(30)) - lateness);
  EXPECT_EQ(rig.ingest.watermark(at(11'800)), trace(at(1'800)) - lateness) << "behind_hold is 10 s";
  for (int ms = 10'400; ms <= 12'400; ms += 500) {  // heard, but nothing moves any more: it computes
    rig.now = at(ms);
    batch(4, 0, 7);
    rig.ingest.tick(rig.now);
  }
  EXPECT_EQ(rig.ingest.watermark(at(12'400)), trace(at(12'200)) - lateness) << "untold_hold is 2 s";
  // What threads without a ring drop is told by the goodbye alone; nobody waits for that.
  Rig other;
  other.now = at(100);
  other.receive(s.hello());
  wire::ToCollector m = s.batch(0, 0, at(90));
  m.mutable_batches(0)->set_recorded(0);
  m.mutable_batches(0)->set_dropped(7);
  other.receive(m);
  EXPECT_EQ(other.ingest.watermark(at(500)), trace(at(300)) - lateness);
}

TEST(Ingest, AStoppedProcessDoesNotHoldTheWatermark) {
  Rig rig;
  const FakeSource s = two_calls();
  rig.receive_at(at(100), {s.hello(), s.batch(0, 2, at(90))});
  const auto sample = [&](TimeNs t, char state) {
    wire::ToCollector m = s.message();
    m.mutable_node()->set_time_ns(t.value);
    auto* p = m.mutable_node()->add_processes();
    p->set_source(1);
    p->set_state(static_cast<std::uint32_t>(state));
    rig.now = t;
    rig.receive(m);
  };
  sample(at(110), 'R');
  sample(at(160), 'T');
  EXPECT_EQ(rig.ingest.watermark(at(170)), trace(at(160)) - Rig::options().lateness);
  EXPECT_EQ(rig.ingest.sources().at(SourceId(1)).process.stopped_since, trace(at(110)));
  sample(at(210), 'S');
  EXPECT_EQ(rig.ingest.watermark(at(220)), trace(at(90)) - Rig::options().lateness);
}

TEST(Ingest, WrongRunOrVersionIsRefusedWithASentence) {
  Rig rig;
  const FakeSource s;
  auto m = s.hello();
  m.set_run("other");
  rig.receive(m);
  EXPECT_THAT(rig.reply().refused(), HasSubstr("'r', not 'other'"));
  m = s.hello();
  m.set_version(99);
  rig.receive(m);
  EXPECT_THAT(rig.reply().refused(), HasSubstr("version 1, not 99"));
  // A long name is cut between characters, so that the answer is a valid message.
  m = s.hello();
  std::string name = "x";
  while (name.size() < 400) name += "\xC3\xA9";
  m.set_run(name);
  rig.receive(m);
  wire::ToAgent parsed;
  ASSERT_TRUE(parsed.ParseFromString(rig.reply().SerializeAsString()));
  EXPECT_THAT(parsed.refused(), HasSubstr("not 'x\xC3\xA9"));
  EXPECT_TRUE(rig.ingest.sources().empty());
}

TEST(Ingest, FinalizeEndsTheLeafAndTheNextProgramOfTheJobReusesIt) {
  Rig rig;
  FakeSource first = two_calls();
  first.add(MARGAY_ENTER, kFinalize, at(430));
  first.add(MARGAY_LEAVE, kFinalize, at(440));
  rig.receive_at(at(500), {first.hello(), first.batch(0, 6)});
  EXPECT_EQ(rig.slicer.current(LeafIndex(0)), kAbsent);
  rig.receive(first.goodbye(at(450)));
  FakeSource second;
  second.id = 2;
  second.attributes["pid"] = "200";
  second.add(MARGAY_ENTER, kSend, at(510));
  rig.receive_at(at(600), {second.hello(), second.batch(0, 1)});
  EXPECT_EQ(rig.ingest.leaves().size(), 1u);
  EXPECT_EQ(rig.ingest.account(LeafIndex(0)).modelled, 7u);
  // A rank of another number is another leaf.
  FakeSource third = second;
  third.id = 3;
  third.attributes["rank"] = "1";
  rig.receive(third.hello());
  rig.receive(third.batch(0, 1));
  EXPECT_EQ(rig.ingest.leaves().size(), 2u);

  // After a restart every account is still with its leaf.
  const Rig again(rig, at(700));
  EXPECT_EQ(again.ingest.account(LeafIndex(0)).modelled, 7u);
  EXPECT_EQ(again.ingest.account(LeafIndex(1)).modelled, 1u);
}

TEST(Ingest, FormerSourcesOfALeafOtherThanTheFirstKeepItAfterARestart) {
  Rig rig;
  rig.now = at(500);
  for (std::uint64_t id = 1; id <= 4; ++id) {  // two programs of two ranks
    FakeSource s;
    s.id = id;
    s.attributes["rank"] = std::to_string(id % 2);
    for (std::uint64_t i = 0; i < id; ++i)
      s.add(i % 2 == 0 ? MARGAY_ENTER : MARGAY_LEAVE, kSend,
            at(10 + 10 * static_cast<std::int64_t>(id * 4 + i)));
    rig.receive(s.hello());
    rig.receive(s.batch(0, id));
    rig.receive(s.goodbye(s.end()));
  }
  ASSERT_EQ(rig.ingest.leaves().size(), 2u);
  const Rig again(rig, at(600));
  for (const std::uint32_t leaf : {0u, 1u})
    EXPECT_EQ(again.ingest.account(LeafIndex(leaf)), rig.ingest.account(LeafIndex(leaf)));
}

TEST(Ingest, RegionsAreWhatHalfOfTheLeavesAreIn) {
  Rig rig;
  rig.now = at(500);
  FakeSource s = two_calls();
  s.records.clear();
  s.add(MARGAY_REGION_ENTER, kSolve, at(10));
  s.add(MARGAY_REGION_LEAVE, kSolve, at(20));
  rig.receive(s.hello());
  rig.receive(s.batch(0, 1));
  EXPECT_EQ(rig.ingest.region(), "solve");
  rig.receive(s.batch(1, 1));
  EXPECT_EQ(rig.ingest.region(), "");
  EXPECT_EQ(rig.account().modelled, 2u);
  EXPECT_TRUE(rig.account().balanced());

  // The archive does not keep names of regions: the hello that follows a restart brings them back.
  Rig again(rig, at(600));
  s.add(MARGAY_REGION_ENTER, kSolve, at(510));
  again.receive(s.hello());
  again.receive(s.batch(2, 1));
  EXPECT_EQ(again.ingest.region(), "solve");
}

// An open slice that nothing touched is not in the archive; the run goes on all the same.
TEST(Ingest, RestartWithAHoleInTheOpenSlices) {
  slicer::Slicer s({kSlice, 256, 64});
  std::vector<model::SliceColumn> columns;
  for (const std::int64_t k : {10, 11, 14}) columns.emplace_back(LevelIndex(0), SliceIndex(k), 1, 3);
  EXPECT_TRUE(s.restore(columns, SliceIndex(11), {slicer::LeafState{}}));
  EXPECT_NE(s.column(SliceIndex(13)), nullptr);
  slicer::Slicer late({kSlice, 256, 64});
  EXPECT_TRUE(late.restore({columns[2]}, SliceIndex(11), {slicer::LeafState{}}));
  EXPECT_NE(late.column(SliceIndex(11)), nullptr);
  slicer::Slicer closed({kSlice, 256, 64});
  // Closed slices that never got into the archive: what is before them cannot be amended any more.
  EXPECT_TRUE(closed.restore(columns, SliceIndex(14), {slicer::LeafState{}}));
  EXPECT_EQ(closed.column(SliceIndex(11)), nullptr);
  EXPECT_NE(closed.column(SliceIndex(14)), nullptr);
  slicer::Slicer twice({kSlice, 256, 64});
  EXPECT_FALSE(twice.restore({columns[1], columns[1]}, SliceIndex(14), {slicer::LeafState{}}));
}

}  // namespace ingest_test
}  // namespace margay::ingest::test
