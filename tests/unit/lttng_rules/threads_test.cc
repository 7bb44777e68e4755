#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recorder.h"

namespace margay::lttng_rules::test {
namespace threads_test {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Threads, WhatIsOpenAtTheEndIsClosedAndCounted) {
  InOut t;
  t.event(t.in);
  t.event(t.in);
  t.interpreter.end_process(100, TimeNs(5));
  EXPECT_EQ(t.account().left_open, 2u);
  EXPECT_EQ(t.account().threads_ended, 1u);
  EXPECT_EQ(t.sink.live_threads(), 0u);
  t.interpreter.end_process(100, TimeNs(6));
  t.interpreter.end_process(4711, TimeNs(6));
  // The same numbers are others from then on.
  t.event(t.in);
  EXPECT_THAT(t.sink.take(), Contains("3 begin 100/101 ''"));
  t.interpreter.finish(TimeNs(9));
  EXPECT_EQ(t.account().left_open, 3u);
  t.expect_account_adds_up();
}

TEST(Threads, NamesAreThoseOfTheirEvents) {
  InOut t;
  t.procname = "app";
  t.event(t.in);
  t.procname = "worker";
  t.event(t.out);
  t.procname = "";  // not told
  t.event(t.in);
  EXPECT_THAT(t.sink.take(),
              ElementsAre("process 100 'app'", "1 begin 100/101 'app'", "1 enter 100/101 s",
                          "rename 100/101 'worker'", "2 leave 100/101 s", "3 enter 100/101 s"));
}

TEST(Threads, AProcessIsCalledAsItsMainThreadIfThatIsKnownInTime) {
  Trace t(std::string(kState) + "[[thread]]\nevent=\"is\"\ntid=\"tid\"\npid=\"pid\"\nname=\"name\"");
  const auto in = t.cls("in");
  const auto is = t.cls("is", {"tid", "pid", "name:t"}, true);
  t.event(is, {101, 100, "worker"});
  t.event(is, {100, 100, "app"});
  t.event(is, {102, 100, "other"});
  t.procname = "old name";  // the kernel knows better
  t.event(in);
  EXPECT_THAT(t.sink.take(),
              ElementsAre("process 100 'app'", "4 begin 100/101 'worker'", "4 enter 100/101 s"));
  EXPECT_EQ(t.account().used, 4u);
}

TEST(Threads, TheTracersOwnAreLeftOut) {
  Trace t(std::string("[threads]\nleave_out=\"*-ust\"\n") + kState +
          "[[process]]\nevent=\"lttng_ust_statedump:procname\"\nname=\"procname\"");
  const auto in = t.cls("in");
  const auto named = t.cls("lttng_ust_statedump:procname", {"procname:t"});
  t.procname = "app-ust";
  t.event(in);
  t.event(named, {"app"});
  EXPECT_THAT(t.sink.take(), IsEmpty());
  EXPECT_EQ(t.account().ignored, 1u);
  EXPECT_EQ(t.account().used, 1u);
  t.procname = "worker";
  t.event_of(100, 102, in);
  EXPECT_THAT(t.sink.take(),
              ElementsAre("process 100 'app'", "3 begin 100/102 'worker'", "3 enter 100/102 s"));
  // One that takes such a name later is over for the sink.
  t.procname = "worker-ust";
  t.event_of(100, 102, in);
  EXPECT_EQ(t.sink.live_threads(), 0u);
  EXPECT_EQ(t.account().left_open, 1u);
  t.expect_account_adds_up();
}

// exec(), or the same number for another process.
TEST(Threads, AProcessThatIsToldToHaveAnotherNameIsAnotherOne) {
  Trace t(std::string(kState) + "[[process]]\nevent=\"named\"\nname=\"n\"");
  const auto in = t.cls("in");
  const auto named = t.cls("named", {"n:t"});
  t.procname = "thread";
  t.event(in);
  t.event(named, {"sh"});  // what it was called until now was a guess
  t.event(named, {"sh"});
  t.sink.take();
  t.event(named, {"app"});
  t.event(in);
  EXPECT_THAT(t.sink.take(),
              ElementsAre("4 leave 100/101 s", "4 end 100/101", "4 end 100", "process 100 'app'",
                          "5 begin 100/101 'thread'", "5 enter 100/101 s"));
  EXPECT_EQ(t.account().left_open, 1u);
}

TEST(Threads, EndByAnEvent) {
  Trace t(std::string(kState) +
          "[[thread_end]]\nevent=\"exit\"\ntid=\"tid\"\n[[thread_end]]\nevent=\"own_exit\"");
  const auto in = t.cls("in");
  const auto exit = t.cls("exit", {"tid"});
  const auto own_exit = t.cls("own_exit");
  t.event_of(100, 101, in);
  t.event_of(100, 102, in);
  t.sink.take();
  t.event_of(1, 1, exit, {101});
  EXPECT_THAT(t.sink.take(), ElementsAre("3 leave 100/101 s", "3 end 100/101"));
  t.event_of(100, 102, own_exit);
  EXPECT_THAT(t.sink.take(), ElementsAre("4 leave 100/102 s", "4 end 100/102", "4 end 100"));
  t.event_of(1, 1, exit, {101});
  EXPECT_EQ(t.account().ignored, 1u);
  EXPECT_EQ(t.account().left_open, 2u);
  t.expect_account_adds_up();
}

TEST(Threads, BeyondTheBoundTheyAreLeftOutUnlessAnotherWasIdle) {
  Limits limits;
  limits.threads = 2;
  limits.idle = DurationNs(50);
  InOut t(limits);
  t.event_of(1, 1, t.in);
  t.event_of(1, 2, t.in);
  t.event_of(1, 3, t.in);
  EXPECT_EQ(t.account().left_out, 1u);
  t.event_of(1, 1, t.out);
  // One that has a state open is not forgotten, however long it sleeps.
  t.now += seconds(1).value;
  t.event_of(1, 3, t.in);
  EXPECT_EQ(t.account().left_out, 1u);
  EXPECT_EQ(t.account().threads_forgotten, 1u);
  EXPECT_EQ(t.account().left_open, 0u);
  t.now += seconds(1).value;
  t.event_of(1, 4, t.in);
  EXPECT_EQ(t.account().left_out, 2u);
  EXPECT_EQ(t.sink.live_threads(), 2u);
  t.expect_account_adds_up();
}

TEST(Threads, ProcessesBeyondTheBoundAreLeftOut) {
  Limits limits;
  limits.processes = 2;
  InOut t(limits);
  for (std::int64_t pid = 1; pid <= 3; ++pid) t.event_of(pid, pid, t.in);
  EXPECT_EQ(t.account().left_out, 1u);
  t.interpreter.end_process(1, TimeNs(t.now));
  t.event_of(3, 3, t.in);
  EXPECT_EQ(t.account().left_out, 1u);
  t.expect_account_adds_up();
}

// A program that has a hundred thousand short threads one after the other, of which nobody tells the end.
TEST(Threads, ComeAndGoByTheThousand) {
  Limits limits;
  limits.threads = 100;
  limits.idle = milliseconds(1);
  InOut t(limits);
  t.sink.quiet = true;
  for (std::int64_t tid = 1; tid <= 20'000; ++tid) {
    t.event_of(1, tid, t.in);
    t.event_of(1, tid, t.out);
    t.now += 20'000;  // 50 of them in what counts as idle
  }
  EXPECT_EQ(t.account().used, t.events);
  EXPECT_LE(t.sink.live_threads(), 100u);
  t.interpreter.finish(TimeNs(t.now));
  EXPECT_EQ(t.account().threads_begun, 20'000u);
  EXPECT_EQ(t.account().threads_ended, 20'000u);
}

}  // namespace threads_test
}  // namespace margay::lttng_rules::test
