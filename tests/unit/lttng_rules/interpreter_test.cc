#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recorder.h"

namespace margay::lttng_rules::test {
namespace interpreter_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kLock[] = R"(
[[state]]
enter = "req"
leave = "acq"
key = "m"
name = "mutex wait"
kind = "wait"
)";

TEST(Interpreter, APairOfEventsIsAState) {
  Trace t(kLock);
  t.procname = "app";
  const auto req = t.cls("req", {"m"});
  const auto acq = t.cls("acq", {"m", "status"});
  t.event(req, {5});
  t.event(acq, {5, 0});
  t.interpreter.finish(TimeNs(9));
  EXPECT_THAT(t.sink.take(),
              ElementsAre("process 100 'app'", "1 begin 100/101 'app'", "1 enter 100/101 mutex wait",
                          "2 leave 100/101 mutex wait", "9 end 100/101", "9 end 100"));
  EXPECT_EQ(t.sink.kind_of("mutex wait"), reader::NameKind::kWait);
  EXPECT_EQ(t.account().used, 2u);
  t.expect_account_adds_up();
}

TEST(Interpreter, KeysMustBeEqual) {
  Trace t(kLock);
  const auto req = t.cls("req", {"m"});
  const auto acq = t.cls("acq", {"m"});
  t.event(req, {5});
  t.event(acq, {6});
  EXPECT_EQ(t.account().leave_without_enter, 1u);
  EXPECT_EQ(t.sink.open_states(), 1u);
  t.event(acq, {5});
  EXPECT_EQ(t.sink.open_states(), 0u);
  t.expect_account_adds_up();
}

TEST(Interpreter, AStateThatIsOnceEndsWhereItIsEnteredAgain) {
  Trace t(std::string(kLock) + "once = true\n[[state]]\nenter=\"in\"\nleave=\"out\"\nname=\"other\"\n");
  const auto req = t.cls("req", {"m"});
  const auto acq = t.cls("acq", {"m"});
  const auto in = t.cls("in", {});
  t.event(req, {5});  // the tracer was switched on in its middle: no end
  t.event(in, {});
  t.event(req, {6});
  t.event(acq, {6});
  EXPECT_THAT(t.sink.take(),
              ElementsAre("process 100 ''", "1 begin 100/101 ''", "1 enter 100/101 mutex wait",
                          "2 enter 100/101 other", "3 leave 100/101 other", "3 leave 100/101 mutex wait",
                          "3 enter 100/101 mutex wait", "4 leave 100/101 mutex wait"));
  EXPECT_EQ(t.account().unbalanced, 2u);
  t.expect_account_adds_up();
}

TEST(Interpreter, AKeyMayHaveTwoNamesAndBeAText) {
  Trace t("[[state]]\nenter=\"in\"\nleave=\"out\"\nname=\"{what}\"\nkey=\"what\"\nleave_key=\"which\"");
  const auto in = t.cls("in", {"what:t"});
  const auto out = t.cls("out", {"which:t"});
  t.event(in, {"decode"});
  t.event(out, {"encode"});
  t.event(out, {"decode"});
  EXPECT_THAT(t.sink.take(), ElementsAre("process 100 ''", "1 begin 100/101 ''", "1 enter 100/101 decode",
                                         "3 leave 100/101 decode"));
}

TEST(Interpreter, WhatAStarStandsForMustBeEqual) {
  Trace t("[[state]]\nenter=\"in_*\"\nleave=\"out_*\"\nname=\"{1}\"");
  const auto in_read = t.cls("in_read");
  const auto out_write = t.cls("out_write");
  const auto out_read = t.cls("out_read");
  t.event(in_read);
  t.event(out_write);
  EXPECT_EQ(t.account().leave_without_enter, 1u);
  t.event(out_read);
  EXPECT_THAT(t.sink.take(), ElementsAre("process 100 ''", "1 begin 100/101 ''", "1 enter 100/101 read",
                                         "3 leave 100/101 read"));
}

TEST(Interpreter, InnerStatesEndWithTheOneAroundThem) {
  Trace t("[[state]]\nenter=\"in_*\"\nleave=\"out_*\"\nname=\"{1}\"");
  const auto in_a = t.cls("in_a");
  const auto in_b = t.cls("in_b");
  const auto out_a = t.cls("out_a");
  const auto out_b = t.cls("out_b");
  t.event(in_a);
  t.event(in_b);
  t.event(out_a);
  t.event(out_b);
  EXPECT_THAT(t.sink.take(), ElementsAre("process 100 ''", "1 begin 100/101 ''", "1 enter 100/101 a",
                                         "2 enter 100/101 b", "3 leave 100/101 b", "3 leave 100/101 a"));
  EXPECT_EQ(t.account().unbalanced, 1u);
  EXPECT_EQ(t.account().leave_without_enter, 1u);
  t.expect_account_adds_up();
}

TEST(Interpreter, EntersBeyondTheBoundAreCountedAndTheirLeavesSkipped) {
  Limits limits;
  limits.depth = 3;
  Trace t("[[state]]\nenter=\"in\"\nleave=\"out\"\nname=\"{n}\"\nkey=\"n\"", limits);
  const auto in = t.cls("in", {"n"});
  const auto out = t.cls("out", {"n"});
  for (std::int64_t n = 0; n < 5; ++n) t.event(in, {n});
  EXPECT_EQ(t.sink.open_states(), 3u);
  for (std::int64_t n = 4; n >= 0; --n) t.event(out, {n});
  EXPECT_EQ(t.sink.open_states(), 0u);
  EXPECT_EQ(t.account().too_deep, 4u);
  EXPECT_EQ(t.account().used, 6u);
  EXPECT_EQ(t.account().unbalanced, 0u);
  t.expect_account_adds_up();
}

TEST(Interpreter, MarksAndVariables) {
  Trace t(R"(
[[mark]]
event = "lib:*"
name = "{1}"
[[variable]]
event = "lib:malloc"
name = "size"
value = "n"
[[variable]]
event = "lib:malloc"
name = "share"
value = "r"
)");
  const auto malloc = t.cls("lib:malloc", {"n:u", "r:r"});
  const auto free = t.cls("lib:free");
  t.event(malloc, {64, 0.5});
  t.event(free);
  t.event(malloc, {-1, 0.5});  // unsigned
  EXPECT_THAT(t.sink.take(),
              ElementsAre("process 100 ''", "1 begin 100/101 ''", "1 mark 100/101 malloc",
                          "1 variable 100/101 size = 64", "1 variable 100/101 share = 0.5",
                          "2 mark 100/101 free", "3 mark 100/101 malloc",
                          "3 variable 100/101 size = 1.84467e+19", "3 variable 100/101 share = 0.5"));
  EXPECT_EQ(t.account().used, 3u);
  t.expect_account_adds_up();
}

TEST(Interpreter, OneEventMayEndAStateAndBeginTheNext) {
  Trace t(std::string("[[state]]\nenter=\"acq\"\nleave=\"unlock\"\nname=\"held\"\n") + kLock);
  const auto req = t.cls("req", {"m"});
  const auto acq = t.cls("acq", {"m"});
  const auto unlock = t.cls("unlock", {"m"});
  t.event(req, {1});
  t.event(acq, {1});
  t.event(unlock, {1});
  EXPECT_THAT(t.sink.take(),
              ElementsAre("process 100 ''", "1 begin 100/101 ''", "1 enter 100/101 mutex wait",
                          "2 leave 100/101 mutex wait", "2 enter 100/101 held", "3 leave 100/101 held"));
  EXPECT_EQ(t.account().used, 3u);
}

TEST(Interpreter, TheFirstRuleCountsAndIgnoreHidesWhatComesAfter) {
  Trace t(R"(
[[mark]]
event = "a"
name = "first"
[[ignore]]
event = ["a", "b"]
[[mark]]
event = "*"
name = "second"
)");
  const auto a = t.cls("a");
  const auto b = t.cls("b");
  const auto c = t.cls("c");
  for (const auto cls : {a, b, c}) t.event(cls);
  EXPECT_THAT(t.sink.take(), ElementsAre("process 100 ''", "1 begin 100/101 ''", "1 mark 100/101 first",
                                         "3 mark 100/101 second"));
  EXPECT_EQ(t.account().ignored, 1u);
}

TEST(Interpreter, DomainsAndProcesses) {
  Trace t(R"(
[[mark]]
event = "a"
name = "kernel"
domain = "kernel"
[[mark]]
event = "a"
name = "player"
process = "gst-*"
[[mark]]
event = "a"
name = "other"
process = "x*"
)");
  const auto kernel = t.cls("a", {}, true);
  const auto ust = t.cls("a");
  t.procname = "gst-launch";
  t.event(kernel);
  t.event(ust);
  t.procname = "xterm";
  t.event_of(200, 200, ust);
  t.procname = "bash";
  t.event_of(300, 300, ust);
  EXPECT_THAT(t.sink.take(),
              ElementsAre("process 100 'gst-launch'", "1 begin 100/101 'gst-launch'", "1 mark 100/101 kernel",
                          "2 mark 100/101 player", "process 200 'xterm'", "3 begin 200/200 'xterm'",
                          "3 mark 200/200 other"));
  EXPECT_EQ(t.account().ignored, 1u);
  t.expect_account_adds_up();
}

TEST(Interpreter, SaysWhichEventsNoRuleIsForAndWhichRulesNoEvent) {
  Trace t(std::string(kLock) + "[[mark]]\nevent=\"never\"\nname=\"n\"\n" +
          "[[mark]]\nevent=\"perhaps\"\nname=\"n\"\noptional=true");
  const auto req = t.cls("req", {"m"});
  const auto x = t.cls("x");
  const auto y = t.cls("y");
  const auto x_again = t.cls("x");  // of another trace
  for (const auto cls : {req}) t.event(cls, {1});
  for (const auto cls : {y, x, x_again}) t.event(cls);
  const auto unmatched = t.interpreter.unmatched();
  ASSERT_EQ(unmatched.size(), 2u);
  EXPECT_EQ(unmatched[0].name, "x");
  EXPECT_EQ(unmatched[0].events, 2u);
  EXPECT_EQ(unmatched[1].name, "y");
  EXPECT_THAT(t.interpreter.unused_rules(),
              ElementsAre("test.toml:2: state \"mutex wait\" (req .. acq), no event leaves it",
                          "test.toml:8: mark \"n\" (never)"));
  EXPECT_EQ(t.account().unmatched, 3u);
  t.expect_account_adds_up();
}

TEST(Interpreter, AMissingOrUnfitFieldIsAProblemAndTheEventsUnmatched) {
  Trace t(std::string(kLock) +
          "[[variable]]\nevent=\"v\"\nname=\"n\"\nvalue=\"x\"\n[[mark]]\nevent=\"w\"\nname=\"{symbol:x}\"");
  const auto req = t.cls("req", {"mutex", "n"});
  t.cls("req", {"mutex", "n"});
  t.cls("v", {"x:t"});
  t.cls("w", {"x:t"});
  t.cls("acq", {"m:o"});
  t.event(req, {1, 2});
  EXPECT_EQ(t.account().unmatched, 1u);
  EXPECT_THAT(
      t.interpreter.problems(),
      ElementsAre("test.toml:2: state \"mutex wait\" (req .. acq): req has no field 'm', it has mutex, n",
                  "test.toml:8: variable \"n\" (v): the field 'x' of v is not a number",
                  "test.toml:12: mark \"{symbol:x}\" (w): the field 'x' of w cannot be shown so",
                  "test.toml:2: state \"mutex wait\" (req .. acq): the field 'm' of acq is not an integer or "
                  "a text"));
}

TEST(Interpreter, ProblemsAreBounded) {
  Trace t(kLock);
  for (int i = 0; i < 200; ++i) t.cls("req", {"f" + std::to_string(i)});
  EXPECT_EQ(t.interpreter.problems().size(), Interpreter::kMostProblems);
}

TEST(Interpreter, AnEventOfNoClassIsUnmatched) {
  Trace t(kLock);
  t.event(77);
  EXPECT_EQ(t.account().unmatched, 1u);
  t.expect_account_adds_up();
}

TEST(Interpreter, AnEventOfNoThreadIsUnattributed) {
  Trace t(kLock);
  const auto req = t.cls("req", {"m"});
  t.event_of(-1, -1, req, {1});
  EXPECT_EQ(t.account().unattributed, 1u);
  EXPECT_THAT(t.sink.take(), IsEmpty());
}

TEST(Interpreter, ProgressCovers) {
  Trace t(kLock);
  t.interpreter.on_progress(TimeNs(7));
  EXPECT_THAT(t.sink.take(), ElementsAre("7 cover"));
}

}  // namespace interpreter_test
}  // namespace margay::lttng_rules::test
