// Streams of anything, in any order: each event is in exactly one bin, and the sink is told what its contract
// allows (the recorder checks that).
#include <gtest/gtest.h>

#include <random>

#include "recorder.h"

namespace margay::lttng_rules::test {
namespace random_test {

constexpr char kRules[] = R"(
[threads]
leave_out = "*-ust"
[[state]]
enter = "in_*"
leave = "out_*"
name = "{1}"
[[state]]
enter = "lock"
leave = "got"
key = "m"
name = "lock {m}"
process = "p*"
[[state]]
enter = "got"
leave = "unlock"
key = "m"
name = "held"
[[mark]]
event = "in_b"
name = "mark {procname}"
[[variable]]
event = "got"
name = "v"
value = "m"
[[ignore]]
event = "noise"
[[thread_end]]
event = "exit"
tid = "tid"
[[process]]
event = "exec"
name = "name"
[[library]]
event = "load"
)";

struct Random {
  explicit Random(unsigned seed) : rng(seed), trace(make_rules(), make_limits()) {
    for (const char* name : {"in_a", "in_b", "out_a", "out_b", "noise", "nothing"})
      plain.push_back(trace.cls(name));
    plain.push_back(trace.cls("in_k", {}, true));
    plain.push_back(trace.cls("out_k", {}, true));
    for (const char* name : {"lock", "got", "unlock"}) locks.push_back(trace.cls(name, {"m"}));
    exit = trace.cls("exit", {"tid"});
    exec = trace.cls("exec", {"name:t"});
    load = trace.cls("load", {"baddr", "memsz", "path:t"});
    sched_switch =
        trace.cls("sched_switch", {"prev_comm:t", "prev_tid", "prev_state", "next_comm:t", "next_tid"}, true);
    wakeup = trace.cls("sched_wakeup", {"tid"}, true);
    fork = trace.cls("sched_process_fork", {"child_tid", "child_pid", "child_comm:t"}, true);
    trace.sink.quiet = true;
  }
  static RuleSet make_rules() {
    RuleSet rules = rules_of(kRules);
    EXPECT_TRUE(rules.add(*RuleSet::shipped("sched")).has_value());
    return rules;
  }
  static Limits make_limits() {
    Limits limits;
    limits.depth = 4;
    limits.threads = 12;
    limits.processes = 5;
    limits.names = 6;
    limits.idle = DurationNs(30);
    return limits;
  }
  std::int64_t below(unsigned n) { return static_cast<std::int64_t>(rng() % n); }
  std::string comm() { return std::vector<std::string>{"", "p", "q", "p-ust"}[rng() % 4]; }

  void context() {
    trace.vpid = rng() % 8 == 0 ? -1 : 1 + below(7);
    trace.vtid = rng() % 8 == 0 ? -1 : below(20);
    trace.procname = rng() % 4 == 0 ? comm() : "";
    trace.cpu = static_cast<std::int32_t>(below(4)) - 1;
    trace.now += rng() % 50 == 0 ? 200'000'000 : 0;
  }
  void step() {
    context();
    switch (rng() % 24) {
      case 0:
        return trace.event(exit, {below(20)});
      case 1:
        return trace.event(exec, {comm()});
      case 2:
        return trace.event(load, {below(100), below(3), "lib"});
      case 3:
      case 4:
      case 5:
        return trace.event(sched_switch, {comm(), below(20), std::int64_t{1} << below(7), comm(), below(20)});
      case 6:
        return trace.event(wakeup, {below(20)});
      case 7:
        return trace.event(fork, {below(20), 1 + below(7), comm()});
      case 8:
        return rng() % 8 == 0   ? lose()
               : rng() % 8 == 0 ? trace.interpreter.end_process(below(8), TimeNs(trace.now))
                                : void();
      case 9:
      case 10:
      case 11:
      case 12:
        return trace.event(locks[rng() % locks.size()], {below(3)});
      default:
        return trace.event(plain[rng() % plain.size()]);
    }
  }
  void lose() {
    const auto n = static_cast<std::uint64_t>(below(5));
    lost += n;
    trace.interpreter.on_discarded(
        {n, rng() % 2 == 0, static_cast<std::int32_t>(below(4)) - 1, TimeNs(trace.now), TimeNs(trace.now)});
  }

  std::mt19937 rng;
  Trace trace;
  std::vector<std::uint32_t> plain, locks;
  std::uint32_t exit, exec, load, sched_switch, wakeup, fork;
  std::uint64_t lost = 0;
};

TEST(RandomStreams, EveryEventIsInExactlyOneBin) {
  const unsigned first = std::random_device{}();
  for (unsigned seed = first; seed != first + 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random r(seed);
    for (int i = 0; i < 3000 && !::testing::Test::HasFailure(); ++i) {
      r.step();
      if (i % 100 == 0) r.trace.expect_account_adds_up();
    }
    r.trace.interpreter.finish(TimeNs(r.trace.now));
    r.trace.expect_account_adds_up();
    const Account a = r.trace.account();
    EXPECT_EQ(a.threads_begun, a.threads_ended);
    EXPECT_EQ(r.trace.sink.live_threads(), 0u);
    EXPECT_EQ(a.discarded, r.lost);
    EXPECT_EQ(a.discarded, a.discarded_unattributed + r.trace.sink.told_lost());
    if (::testing::Test::HasFailure()) return;
  }
}

// So that the test above is of something.
TEST(RandomStreams, EveryBinIsUsed) {
  Account sum;
  for (unsigned seed = 1; seed <= 10; ++seed) {
    Random r(seed);
    for (int i = 0; i < 3000; ++i) r.step();
    const Account a = r.trace.account();
    sum.used += a.used;
    sum.ignored += a.ignored;
    sum.unmatched += a.unmatched;
    sum.unattributed += a.unattributed;
    sum.too_deep += a.too_deep;
    sum.leave_without_enter += a.leave_without_enter;
    sum.leave_after_loss += a.leave_after_loss;
    sum.left_out += a.left_out;
    sum.unbalanced += a.unbalanced;
    sum.left_open += a.left_open;
    sum.names_left_out += a.names_left_out;
    sum.threads_forgotten += a.threads_forgotten;
  }
  for (const std::uint64_t bin : {sum.used, sum.ignored, sum.unmatched, sum.unattributed, sum.too_deep,
                                  sum.leave_without_enter, sum.leave_after_loss, sum.left_out, sum.unbalanced,
                                  sum.left_open, sum.names_left_out, sum.threads_forgotten})
    EXPECT_GT(bin, 0u);
}

}  // namespace random_test
}  // namespace margay::lttng_rules::test
