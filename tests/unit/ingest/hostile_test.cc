// Messages that are well-formed and mean harm: what they cost and what they leave behind is bounded.
#include <gmock/gmock.h>

#include "rig.h"

namespace margay::ingest::test {
namespace hostile_test {

struct Hostile : testing::Test {
  Rig rig;
  FakeSource source;
  Hostile() { rig.now = at(500); }
  std::uint64_t refused() const { return rig.ingest.counters().refused_by_limit; }
};

TEST_F(Hostile, AReplyAsksForAFewHellosHoweverManySourcesAreUnknown) {
  wire::ToCollector m = source.message();
  for (std::uint64_t id = 1; id <= 60'000; ++id) m.add_batches()->set_source(id);
  rig.receive(m);
  EXPECT_EQ(rig.ingest.counters().unknown_source, 60'000u);
  EXPECT_EQ(rig.reply().need_hello_size(), 256);
}

TEST_F(Hostile, AMessageOfTooManyPartsIsRefusedWhole) {
  rig.receive(source.hello());
  wire::ToCollector m = source.message();
  for (int i = 0; i < 65'537; ++i) m.add_batches()->set_source(1);
  rig.receive(m);
  EXPECT_EQ(refused(), 1u);
  EXPECT_TRUE(rig.ingest.leaves().empty());
  m.mutable_batches()->RemoveLast();
  rig.receive(m);
  EXPECT_EQ(refused(), 1u);
  EXPECT_EQ(rig.ingest.leaves().size(), 1u);
}

// Each would become an object of a hundred bytes and more. (Of what was parsed nothing is seen from outside
// but the counter: parsed, it would be of another version.)
TEST_F(Hostile, AMessageOfAMillionEmptyPartsIsRefusedBeforeItIsParsed) {
  std::string bytes;
  for (int i = 0; i < 1'000'000; ++i) bytes.append("\x5a\x00", 2);
  rig.ingest.receive(bytes, "agent", rig.now);
  EXPECT_EQ(refused(), 1u);
  std::string nested;  // names of a hello: 0x22, and the hello: 0x52
  for (int i = 0; i < 200'000; ++i) nested.append("\x22\x00", 2);
  wire::ToCollector m = source.message();
  ASSERT_TRUE(m.mutable_hello()->ParseFromString(nested));
  rig.ingest.receive(m.SerializeAsString(), "agent", rig.now);
  EXPECT_EQ(refused(), 2u);
}

// What sources say of themselves is kept, and so it is bounded, of all of them together.
TEST_F(Hostile, NamesAndAttributesOfAllTogetherAreBounded) {
  Options o = Rig::options();
  o.limits.text_bytes = 200'000;
  Rig small(o);
  small.now = at(500);
  for (std::uint64_t id = 1; id <= 100; ++id) {
    FakeSource s;
    s.id = id;
    for (int i = 0; i < 20; ++i) s.attributes["key" + std::to_string(i)] = std::string(200, 'v');
    s.names.resize(3);
    for (int i = 0; i < 30; ++i)
      s.names.emplace_back(std::to_string(id) + "." + std::to_string(i) + std::string(200, 'n'),
                           wire::FAMILY_OTHER);
    s.add(MARGAY_ENTER, kSend, small.now);
    small.receive(s.hello());
    small.receive(s.batch(0, 1));
    EXPECT_LE(small.ingest.text_bytes(), o.limits.text_bytes);
  }
  EXPECT_GT(small.ingest.counters().refused_by_limit, 0u);
  EXPECT_GT(small.ingest.text_bytes(), o.limits.text_bytes / 2);
  std::uint64_t held = 0;
  for (const auto& [id, s] : small.ingest.sources()) {
    held += text_bytes(s.attributes);
    for (const std::string& name : s.names) held += name.size() + Limits::kTextOverhead;
  }
  for (const model::Attributes& leaf : small.ingest.leaves()) held += text_bytes(leaf);
  EXPECT_EQ(held, small.ingest.text_bytes()) << "it is what is there";
  // Those that have gone make room.
  const std::uint64_t full = small.ingest.text_bytes();
  small.now = small.now + seconds(300);
  small.ingest.tick(small.now);
  EXPECT_LE(small.ingest.text_bytes(), full);
}

// 72 bytes of constant columns are 65536 records.
TEST_F(Hostile, RecordsOfAMessageAreBoundedAndTheRestIsSentAgain) {
  Options o = Rig::options();
  o.limits.records_per_message = 100;
  Rig small(o);
  small.now = at(500);
  source.records.assign(150, {});
  for (std::size_t i = 0; i < source.records.size(); ++i) {
    source.records[i].kind = i % 2 == 0 ? MARGAY_ENTER : MARGAY_LEAVE;
    source.records[i].state = kSend;
    source.records[i].time_ns = at(static_cast<std::int64_t>(i)).value;
  }
  small.receive(source.hello());
  wire::ToCollector m = source.batch(0, 60);
  *m.add_batches() = source.batch(60, 60).batches(0);
  *m.add_batches() = source.batch(120, 30).batches(0);
  small.receive(m);
  EXPECT_EQ(small.account().next, 60u);
  EXPECT_EQ(small.ingest.counters().refused_by_limit, 1u);
  small.receive(source.batch(60, 60));
  small.receive(source.batch(120, 30));
  EXPECT_EQ(small.account().modelled, 150u);
  EXPECT_TRUE(small.account().balanced());
}

TEST_F(Hostile, AKnownStateIsTakenWhenTheTableIsFullAndTheFirstNameIsNoWayRound) {
  Options o = Rig::options();
  o.limits.states = 5;
  Rig small(o);
  source.names = {{"Compute", 1}, {"MPI_Send", 2}, {"MPI_Recv", 2}, {"MPI_Bcast", 3}};
  small.receive(source.hello());
  EXPECT_EQ(small.states.size(), 5u);
  EXPECT_EQ(small.ingest.counters().refused_by_limit, 1u);
  FakeSource other;
  other.id = 2;
  other.names = {{"first", 0}, {"MPI_Recv", 2}, {"MPI_Send", 2}};
  small.receive(other.hello());
  EXPECT_EQ(small.states.size(), 5u);
  const auto& states = small.ingest.sources().at(SourceId(2)).states;
  EXPECT_EQ(states[0], kUnknown);
  EXPECT_EQ(small.states[states[1]].name, "MPI_Recv");
  EXPECT_EQ(small.states[states[2]].name, "MPI_Send");
}

// Each look through all leaves costs; when there is no room it is done a few times a message, not for each
// stream.
TEST_F(Hostile, LeavesAreLookedForInVainAFewTimesAMessage) {
  Options o = Rig::options();
  o.limits.leaves = 1;
  o.limits.streams_per_source = 1u << 20;
  Rig small(o);
  small.now = at(500);
  small.receive(source.hello());
  small.receive(source.batch(0, 0, at(400)));
  small.receive(source.goodbye(at(400)));
  FakeSource again;  // the same rank: its stream 0 takes the leaf over
  again.id = 2;
  small.receive(again.hello());
  wire::ToCollector m = again.message();
  for (std::uint32_t stream = 1; stream <= 5'000; ++stream)
    *m.add_batches() = again.batch(0, 0, at(450), stream).batches(0);
  *m.add_batches() = again.batch(0, 0, at(450), 0).batches(0);
  small.receive(m);
  EXPECT_EQ(small.ingest.counters().refused_by_limit, 5'001u);
  EXPECT_TRUE(small.ingest.sources().at(SourceId(2)).streams.empty());
  // The next message is looked at anew.
  small.receive(again.batch(0, 0, at(450)));
  EXPECT_EQ(small.ingest.sources().at(SourceId(2)).streams.size(), 1u);
  EXPECT_EQ(small.ingest.leaves().size(), 1u);
}

TEST_F(Hostile, SampledTimesDoNotOverflow) {
  rig.receive(source.hello());
  rig.receive(source.batch(0, 0, at(400)));
  for (int i = 0; i < 8; ++i) {
    wire::ToCollector m = source.message();
    m.mutable_node()->set_time_ns(i % 2 == 0 ? INT64_MIN : at(450).value);
    auto* p = m.mutable_node()->add_processes();
    p->set_source(1);
    p->set_state('T');
    p->set_cpu_ns(i % 2 == 0 ? 0 : UINT64_MAX);
    p->set_run_delay_ns(i % 2 == 0 ? 0 : UINT64_MAX);
    rig.receive(m);
  }
  const auto* column = rig.slicer.column(slice_of(trace(at(450)), kSlice));
  ASSERT_NE(column, nullptr);
  EXPECT_EQ(column->evidence(LeafIndex(0)).sampled_ns, INT64_MAX);
  EXPECT_EQ(column->evidence(LeafIndex(0)).cpu_ns, std::int64_t{4} << 60);
}

TEST_F(Hostile, ASampleOfMoreProcessesThanThereCanBeIsCutShort) {
  Options o = Rig::options();
  o.limits.sources = 4;
  o.limits.leaves = 4;
  Rig small(o);
  small.now = at(500);
  small.receive(source.hello());
  wire::ToCollector m = source.message();
  m.mutable_node()->set_time_ns(at(400).value);
  for (int i = 0; i < 20; ++i) m.mutable_node()->add_processes()->set_source(1);
  small.receive(m);
  EXPECT_EQ(small.ingest.counters().refused_by_limit, 1u);
}

// The archive refuses a block that ends before it begins, and with it every cut that holds it.
TEST_F(Hostile, ABlockOfRecordsWhoseTimeRunsBackwardsEndsAfterItBegins) {
  rig.ingest.keep_raw(1 << 20);
  source.add(MARGAY_ENTER, kSend, at(300));
  source.add(MARGAY_LEAVE, kSend, at(100));
  source.add(MARGAY_ENTER, kSend, TimeNs(INT64_MAX));
  source.add(MARGAY_ENTER, kSend, at(200));
  rig.receive(source.hello());
  rig.receive(source.batch(0, 4, at(400)));
  const auto blocks = rig.ingest.take_accepted();
  ASSERT_EQ(blocks.size(), 1u);
  EXPECT_EQ(blocks[0].begin, trace(at(100)));
  EXPECT_EQ(blocks[0].end, trace(rig.now) + seconds(1));
}

// Not a hostile message but an error of ours: it is not to come again, and again.
TEST_F(Hostile, AnErrorOfOursAmidABatchRejectsItsRecordsAndNothingElse) {
  source = two_calls();
  Options o = Rig::options();
  o.fault = [](const wire::EventBatch& b) {
    if (b.source() == 1 && b.first() == 1) throw std::runtime_error("a planted error");
  };
  Rig faulty(o);
  faulty.now = at(500);
  FakeSource other = two_calls();
  other.id = 2;
  other.attributes["rank"] = "1";
  faulty.receive(source.hello());
  faulty.receive(other.hello());
  faulty.receive(source.batch(0, 1));
  EXPECT_EQ(faulty.ingest.trouble(), "");
  wire::ToCollector m = source.batch(1, 2);
  *m.add_batches() = other.batch(0, 4).batches(0);  // of the same message
  faulty.receive(m);
  EXPECT_EQ(faulty.ingest.trouble(), "a planted error");
  faulty.receive(source.batch(3, 1));
  EXPECT_EQ(faulty.ingest.trouble(), "");
  EXPECT_EQ(faulty.ingest.counters().quarantined, 1u);
  EXPECT_EQ(faulty.account(1).rejected, 2u);
  EXPECT_EQ(faulty.account(1).modelled, 2u);
  EXPECT_EQ(faulty.account(1).next, 4u);
  EXPECT_TRUE(faulty.account(1).balanced());
  EXPECT_EQ(faulty.account(2).modelled, 4u);
  // Confirmed as it is: an agent does not send it again.
  faulty.ingest.committed(faulty.ingest.ack_point());
  EXPECT_EQ(faulty.reply().acks(0).next(), 4u);
  EXPECT_GT(total(faulty, kUnknown), 0);
}

}  // namespace hostile_test
}  // namespace margay::ingest::test
