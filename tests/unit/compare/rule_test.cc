// --fail-if: what is written, and when it holds.
#include "margay/compare/rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace margay::compare {
namespace rule_test {

using testing::HasSubstr;

Changes measured() {
  Changes out;
  Change time;
  time.a = 100, time.b = 106, time.low = 4, time.high = 8, time.known = true;
  time.typical = 6, time.of = 100;
  out.overall.push_back(time);
  Change compute = time;
  compute.state = 0, compute.a = 50, compute.b = 51, compute.low = -1, compute.high = 3;
  compute.typical = 1, compute.of = 50;
  out.overall.push_back(compute);
  Change wait = time;
  wait.phase = 1, wait.state = 1, wait.a = 10, wait.b = 8, wait.low = -2.5, wait.high = -1.5;
  wait.typical = -2, wait.of = 10;
  out.overall.push_back(wait);
  Change some = wait;
  some.resources = {3};
  out.told.push_back(some);
  return out;
}
Verdict judged(const std::string& text) {
  const auto rule = parse_rule(text);
  EXPECT_TRUE(rule) << text;
  const auto judged = judge(*rule, measured(), {"run", "B"}, {"Compute", "MPI_Wait"});
  EXPECT_TRUE(judged) << text;
  return judged->verdict;
}

TEST(Rule, HoldsWhereTheWholeIntervalIsBeyond) {
  EXPECT_EQ(judged("time > +3%"), Verdict::kYes);
  EXPECT_EQ(judged("time > 3%"), Verdict::kYes);
  EXPECT_EQ(judged("time > 5%"), Verdict::kPerhaps);
  EXPECT_EQ(judged("time > 7%"), Verdict::kNo);
  EXPECT_EQ(judged("time > 3s"), Verdict::kYes);
  EXPECT_EQ(judged("time > 5500ms"), Verdict::kPerhaps);
  EXPECT_EQ(judged("time < 0%"), Verdict::kNo);
  EXPECT_EQ(judged("Compute > 1%"), Verdict::kPerhaps);
  EXPECT_EQ(judged("B: Wait < -10%"), Verdict::kYes);
  EXPECT_EQ(judged("B: MPI_Wait < -20%"), Verdict::kNo);
  EXPECT_EQ(judged("B:  MPI_Wait < -1s"), Verdict::kYes);
  EXPECT_EQ(judged("any > 1%"), Verdict::kNo);
  EXPECT_EQ(judged("any < -1%"), Verdict::kYes);
  EXPECT_EQ(judged("B: any < -1%"), Verdict::kYes);
}

TEST(Rule, WhatIsWrongIsSaid) {
  for (const auto& [text, word] :
       {std::pair("Compute 3%", "neither > nor <"), std::pair("> 3%", "no measure"),
        std::pair("Compute > 3", "neither a part"), std::pair("Compute > %", "neither a part"),
        std::pair("Compute > -", "neither a part"), std::pair("Compute > nan%", "neither a part")}) {
    const auto rule = parse_rule(text);
    ASSERT_FALSE(rule) << text;
    EXPECT_THAT(rule.error().message, HasSubstr(word));
  }
  for (const auto& [text, word] :
       {std::pair("C: time > 3%", "no phase C; there are B"),
        std::pair("Compte > 3%", "no state Compte; there are Compute, MPI_Wait")}) {
    const auto rule = parse_rule(text);
    ASSERT_TRUE(rule);
    const auto judged = judge(*rule, measured(), {"run", "B"}, {"Compute", "MPI_Wait"});
    ASSERT_FALSE(judged) << text;
    EXPECT_THAT(judged.error().message, HasSubstr(word));
  }
}

}  // namespace rule_test
}  // namespace margay::compare
