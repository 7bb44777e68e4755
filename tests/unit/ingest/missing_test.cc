// Records that are missing: pending, asked for, filled, given up; the account after each.
#include <gmock/gmock.h>

#include "rig.h"

namespace margay::ingest::test {
namespace missing_test {

using testing::ElementsAre;

TEST(Missing, GapIsPendingThenFilled) {
  Rig rig;
  const FakeSource s = two_calls();
  rig.receive_at(at(500), {s.hello(), s.batch(0, 1), s.batch(2, 2)});
  EXPECT_EQ(rig.account().next, 1u);
  EXPECT_EQ(rig.ingest.counters().gaps_pending, 1u);
  EXPECT_THAT(rig.reply().need_hello(), ElementsAre(1u));
  rig.receive(s.batch(1, 1));
  rig.receive(s.batch(2, 2, at(500)));
  EXPECT_EQ(rig.account().next, 4u);
  EXPECT_EQ(rig.account().wire_lost, 0u);
  EXPECT_TRUE(rig.account().balanced());
  EXPECT_EQ(rig.cells(LeafIndex(0), trace(at(500))),
            reference_cells(s.reference(rig), trace(kRunBegin), trace(at(500)), kSlice));
}

TEST(Missing, GapGivenUpAfterANewEpochIsUnknownUpToTheNextRecord) {
  Rig rig;
  FakeSource s = two_calls();
  rig.receive_at(at(500), {s.hello(), s.batch(0, 1)});
  s.epoch = 1;
  rig.receive(s.hello());
  rig.receive(s.batch(2, 2, at(450)));
  EXPECT_EQ(rig.account().wire_lost, 1u);
  EXPECT_EQ(rig.account().modelled, 3u);
  EXPECT_EQ(rig.account().next, 4u);
  EXPECT_TRUE(rig.account().balanced());
  EXPECT_EQ(lost(rig), 1u);
  // In the call from 10 ms on, but for how long nobody knows; from 250 ms on all is known again.
  EXPECT_EQ(total(rig, kUnknown), milliseconds(240).value);
  EXPECT_EQ(total(rig, rig.ingest.sources().at(SourceId(1)).states[kRecv]), milliseconds(170).value);
}

// The first batch was lost on the way, and the collector killed before it came again: its agent still has it.
TEST(Missing, AHoleBeforeAllThatIsKnownOfAStreamIsNoLossToTheNextCollector) {
  auto rig = std::make_unique<Rig>();
  const FakeSource s = two_calls();
  rig->now = at(500);
  rig->receive(s.hello());
  rig->receive(s.batch(2, 2));
  EXPECT_EQ(rig->account().next, 0u);
  rig = std::make_unique<Rig>(*rig, at(600));  // from a cut of that moment
  rig->receive(s.hello());
  rig->receive(s.batch(2, 2));
  EXPECT_EQ(rig->account().wire_lost, 0u);
  rig->receive(s.batch(0, 2));
  rig->receive(s.batch(2, 2));
  EXPECT_EQ(rig->account().modelled, 4u);
  EXPECT_TRUE(rig->account().balanced());
}

// Neither the request for it nor what is sent again need arrive: while other streams move, the agent does not
// send it again by itself.
TEST(Missing, WhatIsMissingIsAskedForUntilItCame) {
  Rig rig;
  const FakeSource s = two_calls();
  rig.receive_at(at(500), {s.hello(), s.batch(0, 1), s.batch(2, 2)});
  const auto asked = [&] {
    rig.receive(s.batch(4, 0));  // a heartbeat
    rig.ingest.tick(rig.now);
    return rig.reply().need_hello_size() == 1;
  };
  EXPECT_TRUE(asked()) << "at once";
  rig.now = rig.now + milliseconds(300);
  EXPECT_FALSE(asked()) << "it is on its way";
  for (int again = 0; again < 3; ++again) {
    rig.now = rig.now + milliseconds(500);
    EXPECT_TRUE(asked());
  }
  rig.receive(s.batch(1, 3));
  rig.now = rig.now + seconds(1);
  EXPECT_FALSE(asked());
  EXPECT_EQ(rig.account().modelled, 4u);
  EXPECT_EQ(rig.account().wire_lost, 0u);
}

TEST(Missing, GapGivenUpAfterWaiting) {
  Rig rig;
  const FakeSource s = two_calls();
  rig.receive_at(at(500), {s.hello(), s.batch(0, 1), s.batch(2, 2)});
  rig.now = rig.now + seconds(9);
  rig.receive(s.batch(2, 2));
  EXPECT_EQ(rig.account().next, 1u);
  rig.now = rig.now + seconds(2);
  rig.receive(s.batch(2, 2));
  EXPECT_EQ(rig.account().wire_lost, 1u);
  EXPECT_EQ(rig.ingest.counters().gaps_given_up, 1u);
  EXPECT_TRUE(rig.account().balanced());
  EXPECT_EQ(total(rig, kUnknown), milliseconds(240).value);
}

}  // namespace missing_test
}  // namespace margay::ingest::test
