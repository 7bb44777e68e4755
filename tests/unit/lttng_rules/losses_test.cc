#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recorder.h"

namespace margay::lttng_rules::test {
namespace losses_test {

using ::testing::ElementsAre;

lttng::Discarded loss(std::uint64_t events, std::int32_t cpu, std::int64_t end, bool exact = true) {
  return {events, exact, cpu, TimeNs(end - 1), TimeNs(end)};
}

TEST(Losses, EveryThreadMayBeConcerned_TheNumberIsToldOnce) {
  InOut t;
  t.cpu = 0;
  t.event_of(1, 1, t.in);
  t.cpu = 1;
  t.event_of(1, 2, t.in);
  t.sink.take();
  t.interpreter.on_discarded(loss(10, 1, 5));
  EXPECT_THAT(t.sink.take(), ElementsAre("5 lost 1/1 0", "5 lost 1/2 10"));
  EXPECT_EQ(t.account().discarded, 10u);
  EXPECT_EQ(t.account().forgotten_in_loss, 2u);
  EXPECT_EQ(t.sink.told_lost(), 10u);
}

TEST(Losses, ALeaveOfWhatWasOpenBeforeIsNoError) {
  InOut t;
  t.event(t.in);
  t.interpreter.on_discarded(loss(1, 0, 2));
  t.event(t.out);  // of the state before
  t.event(t.out);  // of one that was entered within the loss
  t.event(t.out);  // of nothing
  EXPECT_EQ(t.account().leave_after_loss, 2u);
  EXPECT_EQ(t.account().leave_without_enter, 1u);
  t.event(t.in);
  t.event(t.out);
  EXPECT_EQ(t.account().used, 3u);
  EXPECT_EQ(t.account().left_open, 0u);
  t.expect_account_adds_up();
}

TEST(Losses, AThreadThatIsNewAfterwardsMayHaveBeenInIt) {
  InOut t;
  t.interpreter.on_discarded(loss(3, 0, 2));
  EXPECT_EQ(t.account().discarded_unattributed, 3u);
  t.event(t.out);
  EXPECT_EQ(t.account().leave_after_loss, 1u);
  t.expect_account_adds_up();
}

TEST(Losses, OfAnUnknownNumber) {
  InOut t;
  t.event(t.in);
  t.sink.take();
  t.interpreter.on_discarded(loss(0, -1, 2, false));
  t.interpreter.on_discarded(loss(0, -1, 2, true));  // nothing was lost
  EXPECT_THAT(t.sink.take(), ElementsAre("2 lost 100/101 0"));
  for (int i = 0; i < 100; ++i) t.event(t.out);
  EXPECT_EQ(t.account().leave_after_loss, 100u);
  EXPECT_EQ(t.account().discarded_inexact, 1u);
  t.expect_account_adds_up();
}

TEST(Losses, WhatWasTooDeepIsForgottenAsWell) {
  Limits limits;
  limits.depth = 1;
  InOut t(limits);
  t.event(t.in);
  t.event(t.in);
  t.interpreter.on_discarded(loss(1, 0, 2));
  EXPECT_EQ(t.account().forgotten_in_loss, 2u);
  t.event(t.in);
  t.event(t.out);
  EXPECT_EQ(t.sink.open_states(), 0u);
  EXPECT_EQ(t.account().used, 3u);
  t.expect_account_adds_up();
}

TEST(Losses, EventsOfThreadsThatTheSinkHasNoRoomForAreLeftOut) {
  Trace t("[[state]]\nenter=\"in\"\nleave=\"out\"\nname=\"s\"\n[[mark]]\nevent=\"m\"\nname=\"m\"\n");
  t.sink.most_threads = 1;
  const auto in = t.cls("in"), out = t.cls("out"), mark = t.cls("m");
  for (const std::int64_t tid : {101, 102}) {
    t.event_of(100, tid, in);
    t.event_of(100, tid, mark);
    t.event_of(100, tid, out);
  }
  EXPECT_EQ(t.account().used, 3u);
  EXPECT_EQ(t.account().left_out, 3u);
  t.expect_account_adds_up();
  // What is lost is told of a thread that there is.
  lttng::Discarded lost;
  lost.events = 7;
  lost.cpu = 0;
  lost.end = TimeNs(100);
  t.interpreter.on_discarded(lost);
  EXPECT_EQ(t.sink.told_lost(), 7u);
  t.interpreter.finish(TimeNs(200));
}

}  // namespace losses_test
}  // namespace margay::lttng_rules::test
