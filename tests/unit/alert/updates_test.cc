// When an alert that fires is said again.
#include "margay/alert/updates.h"

#include <gtest/gtest.h>

#include "../../support/temporary_folder.h"
#include "margay/alert/jsonl_sink.h"

#include <fstream>

namespace margay::alert {
namespace updates_test {

struct UpdatesTest : testing::Test {
  Updates updates{{seconds(30), seconds(300)}};
  Alert a;
  UpdatesTest() {
    a.id = "1";
    a.level = milliseconds(100);
    a.onset = TimeNs() + seconds(1000);
    a.detected = a.onset + milliseconds(200);
    a.resources = {"/h/r1"};
    a.affected = {"/h/r1"};
    a.score_bits = 2;
    updates.said(a);
  }
  // What is said at `t` after the onset.
  std::vector<Alert> at(DurationNs t) {
    a.score_bits = static_cast<double>(std::min<std::int64_t>(256, t.value / a.level.value));
    std::vector<Alert> out;
    updates.look(a, a.onset + t, out);
    return out;
  }
};

TEST_F(UpdatesTest, WhatGoesOnAsItWasIsNotSaidAgain) {
  for (int s = 1; s < 299; ++s) EXPECT_TRUE(at(seconds(s)).empty()) << s;
}

TEST_F(UpdatesTest, WhoHasTheCpuIsSaidOnceItIsKnown) {
  EXPECT_TRUE(at(seconds(31)).empty());
  a.takers = {{"/h/r1", "other", "python3", 4242, 1, 0.5}};
  const auto said = at(seconds(32));
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0].takers, a.takers);
  a.takers[0].pid = 4243;
  a.takers[0].share = 0.7;
  EXPECT_TRUE(at(seconds(63)).empty()) << "that changes all the while";
}

TEST_F(UpdatesTest, WhoHasTheCpuIsSaidAtOnce) {
  EXPECT_TRUE(at(milliseconds(300)).empty());
  a.takers = {{"/h/r1", "other", "python3", 4242, 1, 0.5}};
  EXPECT_EQ(at(milliseconds(400)).size(), 1u);
  a.takers[0].pid = 4243;
  EXPECT_TRUE(at(milliseconds(500)).empty());
}

TEST_F(UpdatesTest, WhoIsBlamedOrAffectedIsSaidNoMoreOftenThanEachHalfMinute) {
  a.affected = {"/h"};
  EXPECT_TRUE(at(seconds(29)).empty());
  auto said = at(seconds(31));
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0].updates, 1u);
  EXPECT_EQ(said[0].updated, a.onset + seconds(31));
  EXPECT_EQ(said[0].status, Status::kFiring);
  EXPECT_EQ(step(said[0]), "firing#1");
  EXPECT_EQ(update_of(said[0]), "1");
  a.resources = {"/h/r2", "/h/r1"};
  EXPECT_TRUE(at(seconds(60)).empty());
  EXPECT_EQ(at(seconds(61)).size(), 1u);
  a.resources = {"/h/r1", "/h/r2"};
  EXPECT_TRUE(at(seconds(120)).empty()) << "the order is nothing";
  a.status = Status::kResolved;
  updates.said(a);
  EXPECT_EQ(a.updates, 2u);
  EXPECT_EQ(a.updated, a.onset + seconds(61));
  EXPECT_EQ(step(a), "resolved");
  EXPECT_TRUE(at(seconds(200)).empty()) << "it is over";
}

TEST_F(UpdatesTest, AScoreThatGrowsWithTheTimeIsNoChangeOneThatDoublesIs) {
  std::vector<Alert> out;
  a.score_bits = 1.9 * 256;
  updates.look(a, a.onset + seconds(40), out);
  EXPECT_TRUE(out.empty());
  a.score_bits = 2.1 * 256;
  updates.look(a, a.onset + seconds(40), out);
  EXPECT_EQ(out.size(), 1u);
}

TEST_F(UpdatesTest, WhatFiresForLongIsPersistentOnce) {
  EXPECT_TRUE(at(seconds(299)).empty());
  const auto said = at(seconds(300));
  ASSERT_EQ(said.size(), 1u);
  EXPECT_TRUE(said[0].persistent);
  EXPECT_TRUE(at(seconds(900)).empty());
}

TEST_F(UpdatesTest, NeverMeansNever) {
  Updates none{{DurationNs(0), seconds(1)}};
  none.said(a);
  a.resources = {"/other"};
  std::vector<Alert> out;
  none.look(a, a.onset + seconds(1000), out);
  EXPECT_TRUE(out.empty());
}

TEST_F(UpdatesTest, MoreThanCanBeFollowedAreSaidTwiceOnly) {
  for (std::size_t i = 0; i < 2 * Updates::kMostFollowed; ++i) {
    Alert other = a;
    other.id = std::to_string(1'000'000 + i);
    updates.said(other);
  }
  std::vector<Alert> out;
  a.resources = {"/other"};
  updates.look(a, a.onset + seconds(100), out);
  EXPECT_TRUE(out.empty());
}

TEST(JsonlSinkTest, EachUpdateIsWrittenOnceAlsoAfterARestart) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "alerts.jsonl";
  Alert a;
  a.id = "1";
  for (int start = 0; start < 2; ++start) {
    auto sink = JsonlSink::open(path);
    ASSERT_TRUE(sink);
    for (a.updates = 0; a.updates < 3; ++a.updates) EXPECT_EQ(sink->write(a), start == 0) << a.updates;
  }
  auto sink = JsonlSink::open(path);
  EXPECT_TRUE(sink->write(a)) << "one more";
  std::ifstream in(path);
  int lines = 0;
  for (std::string line; std::getline(in, line);) ++lines;
  EXPECT_EQ(lines, 4);
}

}  // namespace updates_test
}  // namespace margay::alert
