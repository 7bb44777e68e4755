#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recorder.h"

namespace margay::lttng_rules::test {
namespace switches_test {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::int64_t kRunnable = 0;
constexpr std::int64_t kInterruptible = 1;
constexpr std::int64_t kUninterruptible = 2;
constexpr std::int64_t kZombie = 32;

struct Kernel : Trace {
  Kernel() : Trace(merged()) {
    sched_switch = cls(
        "sched_switch",
        {"prev_comm:t", "prev_tid", "prev_prio", "prev_state", "next_comm:t", "next_tid", "next_prio"}, true);
    wakeup = cls("sched_wakeup", {"comm:t", "tid", "prio", "target_cpu"}, true);
    fork = cls("sched_process_fork", {"parent_tid", "child_comm:t", "child_tid", "child_pid"}, true);
    exit = cls("sched_process_exit", {"comm:t", "tid", "prio"}, true);
    read_entry = cls("syscall_entry_read", {"fd:u"}, true);
    read_exit = cls("syscall_exit_read", {"ret"}, true);
    vpid = vtid = -1;  // no contexts
  }
  static RuleSet merged() {
    RuleSet rules = *RuleSet::shipped("sched");
    EXPECT_TRUE(rules.add(*RuleSet::shipped("syscalls")).has_value());
    return rules;
  }
  void switches(std::int64_t prev, std::int64_t state, std::int64_t next) {
    const auto comm = [](std::int64_t tid) {
      return tid == 0 ? std::string("swapper") : "t" + std::to_string(tid);
    };
    event(sched_switch, {comm(prev), prev, 20, state, comm(next), next, 20});
  }
  std::uint32_t sched_switch, wakeup, fork, exit, read_entry, read_exit;
};

TEST(Switches, AThreadIsOnACpuOrWaitsForOneOrIsBlocked) {
  Kernel k;
  k.switches(0, kRunnable, 7);
  k.switches(7, kRunnable, 0);
  k.switches(0, kRunnable, 7);
  k.switches(7, kInterruptible, 0);
  k.event(k.wakeup, {"t7", 7, 20, 0});
  k.switches(0, kRunnable, 7);
  EXPECT_THAT(k.sink.take(),
              ElementsAre("process 7 't7'", "1 begin 7/7 't7'", "1 enter 7/7 On CPU", "2 leave 7/7 On CPU",
                          "2 enter 7/7 Runnable", "3 leave 7/7 Runnable", "3 enter 7/7 On CPU",
                          "4 leave 7/7 On CPU", "4 enter 7/7 Blocked", "5 leave 7/7 Blocked",
                          "5 enter 7/7 Runnable", "6 leave 7/7 Runnable", "6 enter 7/7 On CPU"));
  EXPECT_EQ(k.account().used, k.events);
  EXPECT_EQ(k.sink.kind_of("Blocked"), reader::NameKind::kWait);
  EXPECT_EQ(k.sink.kind_of("On CPU"), reader::NameKind::kState);
  k.expect_account_adds_up();
}

// Events without a context are of whom the scheduler put there; being blocked is inside of the system call.
TEST(Switches, EventsAreOfTheThreadOfTheirCpu) {
  Kernel k;
  k.event(k.fork, {1, "worker", 7, 5});
  k.event(k.read_entry, {0});
  EXPECT_EQ(k.account().unattributed, 1u);
  k.switches(0, kRunnable, 7);
  k.event(k.read_entry, {0});
  k.switches(7, kUninterruptible, 0);
  k.cpu = 1;
  k.switches(0, kRunnable, 7);
  k.event(k.read_exit, {0});
  EXPECT_THAT(k.sink.take(),
              ElementsAre("process 5 'worker'", "3 begin 5/7 't7'", "3 enter 5/7 On CPU", "4 enter 5/7 read",
                          "5 enter 5/7 Uninterruptible", "6 leave 5/7 Uninterruptible", "7 leave 5/7 read"));
  EXPECT_EQ(k.sink.kind_of("read"), reader::NameKind::kIo);
  k.expect_account_adds_up();
}

TEST(Switches, AThreadThatExitsIsOver) {
  Kernel k;
  k.event(k.fork, {1, "t7", 7, 5});
  k.switches(0, kRunnable, 7);
  k.event(k.exit, {"t7", 7, 20});
  // It may block while it is cleaned up; that is no new thread.
  k.switches(7, kUninterruptible, 0);
  k.switches(0, kRunnable, 7);
  k.switches(7, kZombie, 0);
  EXPECT_THAT(k.sink.take(), ElementsAre("process 5 't7'", "2 begin 5/7 't7'", "2 enter 5/7 On CPU",
                                         "3 leave 5/7 On CPU", "3 end 5/7", "3 end 5"));
  EXPECT_EQ(k.account().left_open, 0u);
  // The number is used again.
  k.event(k.fork, {1, "t7", 7, 6});
  k.switches(0, kRunnable, 7);
  EXPECT_THAT(k.sink.take(), ElementsAre("process 6 't7'", "8 begin 6/7 't7'", "8 enter 6/7 On CPU"));
  k.expect_account_adds_up();
}

TEST(Switches, WhoseSwitchInIsMissingRunsByItsNextEvent) {
  Kernel k;
  k.switches(0, kRunnable, 7);
  k.switches(7, kInterruptible, 8);
  k.cpu = 1;
  k.vpid = k.vtid = 7;
  k.event(k.read_entry, {0});
  EXPECT_EQ(k.account().unbalanced, 1u);
  EXPECT_THAT(k.sink.take(), Contains("3 leave 7/7 Blocked"));
}

TEST(Switches, AThreadWhoseProcessIsLearntLaterIsMoved) {
  Kernel k;
  k.switches(0, kRunnable, 7);
  k.sink.take();
  k.vpid = 5;
  k.vtid = 7;
  k.event(k.read_entry, {0});
  EXPECT_THAT(k.sink.take(), ElementsAre("2 leave 7/7 On CPU", "2 end 7/7", "2 end 7", "process 5 ''",
                                         "2 begin 5/7 ''", "2 enter 5/7 read"));
  EXPECT_EQ(k.account().left_open, 0u);
}

TEST(Switches, AreCountedWhereTheyAreTooDeep) {
  Limits limits;
  limits.depth = 1;
  Trace t(*RuleSet::shipped("sched"), limits);
  const auto sched_switch =
      t.cls("sched_switch", {"prev_comm:t", "prev_tid", "prev_state", "next_comm:t", "next_tid"}, true);
  const auto event = [&t, sched_switch](std::int64_t prev, std::int64_t state, std::int64_t next) {
    t.event(sched_switch, {"a", prev, state, "a", next});
  };
  for (int i = 0; i < 3; ++i) {
    event(0, 0, 7);
    event(7, 1, 0);
  }
  t.interpreter.finish(TimeNs(t.now));
  EXPECT_EQ(t.account().used, 6u);
  EXPECT_EQ(t.account().left_open, 0u);
}

TEST(Switches, OfTheIdleTaskAreIgnored) {
  Kernel k;
  k.switches(0, kRunnable, 0);
  EXPECT_EQ(k.account().ignored, 1u);
  EXPECT_THAT(k.sink.take(), IsEmpty());
  k.event(k.wakeup, {"t9", 9, 20, 0});  // not known
  EXPECT_EQ(k.account().ignored, 2u);
}

TEST(Switches, AfterALossNobodyIsKnownToBeOnTheCpu) {
  Kernel k;
  k.switches(0, kRunnable, 7);
  k.interpreter.on_discarded({4, true, 0, TimeNs(1), TimeNs(1)});
  k.event(k.read_entry, {0});
  EXPECT_EQ(k.account().unattributed, 1u);
  k.switches(7, kInterruptible, 0);
  EXPECT_EQ(k.sink.open_states(), 1u);
  EXPECT_EQ(k.account().unbalanced, 0u);
  k.expect_account_adds_up();
}

}  // namespace switches_test
}  // namespace margay::lttng_rules::test
