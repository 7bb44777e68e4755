#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "margay/lttng_rules/rule_set.h"
#include "recorder.h"

namespace margay::lttng_rules {
namespace parse_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string error_of(const std::string& text) {
  const auto rules = RuleSet::parse(text, "my.toml");
  EXPECT_FALSE(rules.has_value()) << text;
  return rules ? "" : rules.error().message;
}

TEST(Parse, EveryKindOfRule) {
  const RuleSet rules = test::rules_of(R"(
description = "all"
[threads]
leave_out = ["*-ust", "helper"]
[[ignore]]
event = "a:*"
[[state]]
enter = ["p:req", "p:req2"]
leave = "p:acq"
name = "wait {m}"
kind = "wait"
key = "m"
leave_key = "mutex"
process = "gst-*"
domain = "ust"
[[mark]]
event = "p:mark"
name = "mark"
[[variable]]
event = "p:v"
name = "v"
value = "x"
[[switch]]
event = "sched_switch"
on_cpu = ""
[[wakeup]]
event = "sched_wakeup"
[[thread]]
event = "fork"
tid = "child_tid"
[[thread_end]]
event = "exit"
[[process]]
event = "exec"
name = "filename"
[[library]]
event = "load"
)");
  ASSERT_EQ(rules.rules().size(), 10u);
  EXPECT_THAT(rules.left_out_threads(), ElementsAre("*-ust", "helper"));
  const Rule& state = rules.rules()[1];
  EXPECT_EQ(state.kind, RuleKind::kState);
  EXPECT_THAT(state.events, ElementsAre("p:req", "p:req2"));
  EXPECT_THAT(state.leaves, ElementsAre("p:acq"));
  EXPECT_EQ(state.name_kind, reader::NameKind::kWait);
  EXPECT_EQ(state.domain, Domain::kUst);
  EXPECT_EQ(state.process, "gst-*");
  EXPECT_EQ(state.value("leave_key"), "mutex");
  EXPECT_EQ(state.shown(), "test.toml:7: state \"wait {m}\" (p:req .. p:acq)");
  EXPECT_EQ(rules.rules()[4].value("on_cpu"), "");
  EXPECT_EQ(rules.rules()[4].value("blocked"), "Blocked");
  EXPECT_EQ(rules.rules()[9].value("base"), "baddr");
}

TEST(Parse, ErrorsTellFileLineKeyAndWhatWasExpected) {
  EXPECT_EQ(
      error_of("[[state]]\nenter = \"a\"\nleave = \"b\"\nnmae = \"c\""),
      "my.toml:4: [[state]]: unknown key 'nmae'; it may have enter, leave, name, kind, key, leave_key, once, "
      "process, domain, optional");
  EXPECT_EQ(error_of("[[mark]]\nevent = 7\nname = \"x\""),
            "my.toml:2: [[mark]] event: expected a pattern such as \"syscall_entry_*\" or "
            "\"syscall_entry_(read|write)\", or a list of 1 to 64, of 1 to 512 bytes each, got 7");
  EXPECT_EQ(
      error_of("\n[[variable]]\nevent = \"a\"\nname = \"x\""),
      "my.toml:2: [[variable]]: the key 'value' is missing: expected the name of a field, such as \"size\"");
  EXPECT_THAT(error_of("[[state]]\nenter = \"a\"\nleave = \"b\"\nname = \"x\"\nkind = \"sleep\""),
              "my.toml:5: [[state]] kind: expected \"state\", \"wait\", \"io\" or \"idle\", got \"sleep\"");
  EXPECT_THAT(error_of("[[states]]\nenter = \"a\""),
              StartsWith("my.toml:1: unknown kind of rule 'states'; there are"));
  EXPECT_THAT(error_of("[mark]\nevent = \"a\""), HasSubstr("expected a list of rules, each below [[mark]]"));
  EXPECT_THAT(error_of("x = [\n"), StartsWith("my.toml:"));
  EXPECT_THAT(error_of("[threads]\nleave = \"a\""), StartsWith("my.toml:2: [threads]: unknown key 'leave'"));
  EXPECT_THAT(error_of("[[ignore]]\nevent = []"), HasSubstr("expected a pattern"));
  EXPECT_THAT(error_of("[[ignore]]\nevent = \"a(b\""), HasSubstr("expected a pattern"));
}

TEST(Parse, NamesThatNoEventCouldFill) {
  const auto mark = [](const std::string& name) {
    return error_of("[[mark]]\nevent = \"a*\"\nname = \"" + name + "\"");
  };
  EXPECT_EQ(mark("{2}"), "my.toml:1: name: {2} needs as many '*' or groups in \"a*\"");
  EXPECT_THAT(mark("{"), HasSubstr("a '{' without '}'"));
  EXPECT_THAT(mark("a}"), HasSubstr("a '}' without '{'"));
  EXPECT_THAT(mark("{sym:x}"), HasSubstr("before a colon is 'symbol' or 'hex'"));
  EXPECT_THAT(mark("{a b}"), HasSubstr("is no placeholder"));
}

TEST(Parse, PairsThatAreNone) {
  EXPECT_THAT(error_of("[[state]]\nenter = \"a\"\nleave = \"a\"\nname = \"x\""), HasSubstr("another event"));
  EXPECT_THAT(error_of("[[state]]\nenter = \"a\"\nleave = \"b\"\nname = \"x\"\nleave_key = \"k\""),
              HasSubstr("expected 'key' beside it"));
}

// What a file says is shown, and no byte of it obeyed by a terminal.
TEST(Parse, HostileText) {
  EXPECT_THAT(error_of("[[mark]]\n\"\\u001b[2J\" = 1"), HasSubstr("unknown key '?[2J'"));
  EXPECT_EQ(RuleSet::parse(std::string(RuleSet::kLargestText + 1, '\n'), "big").error().code,
            ErrorCode::kLimit);
  std::string many;
  for (std::size_t i = 0; i <= RuleSet::kMostRules; ++i) many += "[[ignore]]\nevent=\"a\"\n";
  EXPECT_EQ(RuleSet::parse(many, "many").error().code, ErrorCode::kLimit);
}

TEST(Parse, AddKeepsEachRuleOnce) {
  RuleSet rules = test::rules_of("[[ignore]]\nevent = \"a\"");
  ASSERT_TRUE(
      rules.add(test::rules_of("\n\n[[ignore]]\nevent = \"a\"\n[[ignore]]\nevent = \"b\"")).has_value());
  EXPECT_EQ(rules.rules().size(), 2u);
}

TEST(Parse, EventPatternsAreWhatToAskFor) {
  const RuleSet rules = test::rules_of(R"toml(
[[state]]
enter = "sys_(a|b)"
leave = "sys_x"
name = "{1}"
domain = "kernel"
[[mark]]
event = "u?*"
name = "m"
domain = "ust"
[[ignore]]
event = "noise"
)toml");
  EXPECT_THAT(rules.event_patterns(Domain::kKernel), ElementsAre("sys_a", "sys_b", "sys_x"));
  EXPECT_THAT(rules.event_patterns(Domain::kUst), ElementsAre("u**"));
}

TEST(Parse, LoadsAFile) {
  const auto rules = RuleSet::load(MARGAY_SHIPPED_RULES "/pthread.toml");
  ASSERT_TRUE(rules.has_value()) << rules.error().message;
  EXPECT_EQ(RuleSet::load(MARGAY_SHIPPED_RULES "/none.toml").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(RuleSet::load(MARGAY_SHIPPED_RULES).error().code, ErrorCode::kIo);
}

}  // namespace parse_test
}  // namespace margay::lttng_rules
