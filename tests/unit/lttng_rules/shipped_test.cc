// The sets that are part of Margay, on what LTTng 2.13 writes (names and fields are of a real trace).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "recorder.h"

namespace margay::lttng_rules::test {
namespace shipped_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

RuleSet with_base(const std::string& name) {
  RuleSet rules = *RuleSet::shipped("base");
  EXPECT_TRUE(rules.add(*RuleSet::shipped(name)).has_value());
  return rules;
}

TEST(Shipped, AreTheFilesAndCanBeRead) {
  EXPECT_THAT(RuleSet::shipped_names(),
              ElementsAre("base", "pthread", "libc", "functions", "syscalls", "sched", "margay"));
  RuleSet all;
  for (const std::string& name : RuleSet::shipped_names()) {
    std::ifstream in(MARGAY_SHIPPED_RULES "/" + name + ".toml");
    std::stringstream text;
    text << in.rdbuf();
    EXPECT_EQ(RuleSet::shipped_text(name), text.str()) << name;
    const auto rules = RuleSet::shipped(name);
    ASSERT_TRUE(rules.has_value()) << rules.error().message;
    EXPECT_TRUE(all.add(*rules).has_value());
  }
  EXPECT_EQ(
      RuleSet::shipped("pthreads").error().message,
      "no rule set is called 'pthreads'; there are base, pthread, libc, functions, syscalls, sched, margay");
}

TEST(Shipped, Pthread) {
  Trace t(with_base("pthread"));
  const auto req = t.cls("lttng_ust_pthread:pthread_mutex_lock_req", {"mutex:u"});
  const auto acq = t.cls("lttng_ust_pthread:pthread_mutex_lock_acq", {"mutex:u", "status"});
  const auto trylock = t.cls("lttng_ust_pthread:pthread_mutex_trylock", {"mutex:u", "status"});
  const auto unlock = t.cls("lttng_ust_pthread:pthread_mutex_unlock", {"mutex:u", "status"});
  const auto named = t.cls("lttng_ust_statedump:procname", {"procname:t"});
  const auto start = t.cls("lttng_ust_statedump:start");
  t.procname = "player-ust";
  t.event(start);
  t.event(named, {"player"});
  t.procname = "queue:src";
  t.event_of(100, 102, req, {9});
  t.event_of(100, 102, acq, {9, 0});
  t.event_of(100, 102, unlock, {9, 0});
  t.event_of(100, 102, trylock, {9, 0});
  EXPECT_THAT(t.sink.take(), ElementsAre("process 100 'player'", "3 begin 100/102 'queue:src'",
                                         "3 enter 100/102 mutex wait", "4 leave 100/102 mutex wait"));
  EXPECT_EQ(t.account().unmatched, 0u);
  EXPECT_THAT(t.interpreter.problems(), IsEmpty());
  t.expect_account_adds_up();
}

TEST(Shipped, Libc) {
  Trace t(with_base("libc"));
  const auto malloc = t.cls("lttng_ust_libc:malloc", {"size:u", "ptr:u"});
  const auto free = t.cls("lttng_ust_libc:free", {"ptr:u"});
  t.event(malloc, {10, 1});
  t.event(free, {1});
  EXPECT_THAT(t.sink.take(), ElementsAre("process 100 ''", "1 begin 100/101 ''", "1 mark 100/101 malloc",
                                         "2 mark 100/101 free"));
}

TEST(Shipped, Functions) {
  Trace t(with_base("functions"));
  const auto entry = t.cls("lttng_ust_cyg_profile:func_entry", {"addr:u", "call_site:u"});
  const auto exit = t.cls("lttng_ust_cyg_profile:func_exit", {"addr:u", "call_site:u"});
  const auto fast_entry = t.cls("lttng_ust_cyg_profile_fast:func_entry", {"addr:u"});
  const auto fast_exit = t.cls("lttng_ust_cyg_profile_fast:func_exit");
  const auto info = t.cls("lttng_ust_statedump:bin_info",
                          {"baddr:u", "memsz:u", "path:t", "is_pic:u", "has_build_id:u", "has_debug_link:u"});
  t.event(info, {0x1000, 0x100, "/bin/app", 1, 1, 0});
  t.event(entry, {0x1000, 1});
  t.event(entry, {0x1010, 1});
  t.event(fast_entry, {0x1020});
  t.event(fast_exit);
  t.event(exit, {0x1010, 1});
  t.event(exit, {0x1000, 1});
  EXPECT_THAT(t.sink.take(), ElementsAre("process 100 ''", "2 begin 100/101 ''", "2 enter 100/101 /bin/app#0",
                                         "3 enter 100/101 /bin/app#1", "4 enter 100/101 /bin/app#2",
                                         "5 leave 100/101 /bin/app#2", "6 leave 100/101 /bin/app#1",
                                         "7 leave 100/101 /bin/app#0"));
  EXPECT_EQ(t.account().used, 7u);
  EXPECT_THAT(t.interpreter.problems(), IsEmpty());
}

TEST(Shipped, Syscalls) {
  Trace t(*RuleSet::shipped("syscalls"));
  const auto futex = t.cls("syscall_entry_futex", {"uaddr:u"}, true);
  const auto futex_exit = t.cls("syscall_exit_futex", {"ret"}, true);
  const auto mmap = t.cls("syscall_entry_mmap", {"addr:u"}, true);
  const auto mmap_exit = t.cls("syscall_exit_mmap", {"ret"}, true);
  t.event(futex, {1});
  t.event(futex_exit, {0});
  t.event(mmap, {1});
  t.event(mmap_exit, {0});
  EXPECT_EQ(t.account().used, 4u);
  EXPECT_EQ(t.sink.open_states(), 0u);
  EXPECT_EQ(t.sink.kind_of("futex"), reader::NameKind::kWait);
  EXPECT_EQ(t.sink.kind_of("mmap"), reader::NameKind::kState);
}

TEST(Shipped, Margay) {
  Trace t(with_base("margay"));
  const auto enter = t.cls("margay:enter", {"state:t"});
  const auto leave = t.cls("margay:leave", {"state:t"});
  const auto mark = t.cls("margay:mark", {"name:t"});
  const auto value = t.cls("margay:value", {"name:t", "value:r"});
  t.event(enter, {"decode"});
  t.event(mark, {"frame"});
  t.event(value, {"queue", 3.5});
  t.event(leave, {"decode"});
  EXPECT_THAT(t.sink.take(), ElementsAre("process 100 ''", "1 begin 100/101 ''", "1 enter 100/101 decode",
                                         "2 mark 100/101 frame", "3 variable 100/101 queue = 3.5",
                                         "4 leave 100/101 decode"));
}

}  // namespace shipped_test
}  // namespace margay::lttng_rules::test
