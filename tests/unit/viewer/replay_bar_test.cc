// Controls of a replay: when they are there, and what they ask for.
#include "replay_bar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shown.h"

namespace margay::viewer {
namespace replay_bar_test {

using Kind = wire::ControlRequest;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t kSecond = 1'000'000'000;

// Of the small picture's 4 s, at 1 s.
wire::Report replay(bool paused, bool at_end = false) {
  wire::Report r = report(0);
  r.set_watermark_ns(kSecond);
  r.mutable_replay()->set_paused(paused);
  r.mutable_replay()->set_at_end(at_end);
  r.mutable_replay()->set_end_ns(4 * kSecond);
  return r;
}

struct Replayed : testing::Test {
  Replayed() {
    QObject::connect(&shown.session, &Session::requested_something, &shown.window,
                     [this] { asked.push_back(*shown.session.requested()); });
  }
  ReplayBar& bar() { return shown.window.replay_bar(); }
  std::vector<Kind::Kind> kinds() const {
    std::vector<Kind::Kind> out;
    for (const Kind& r : asked) out.push_back(r.kind());
    return out;
  }
  Shown shown;
  std::vector<Kind> asked;
};

TEST_F(Replayed, OnlyAReplayHasThem) {
  shown.take(report(0));
  EXPECT_FALSE(bar().isVisible());
  for (const Qt::Key key : {Qt::Key_P, Qt::Key_J}) QTest::keyClick(&shown.window, key);
  EXPECT_TRUE(asked.empty());
  shown.take(replay(true));
  EXPECT_TRUE(bar().isVisible());
  EXPECT_THAT(bar().state().toStdString(), HasSubstr("paused at 1 s"));
  shown.take(replay(false));
  EXPECT_THAT(bar().state().toStdString(), HasSubstr("playing, at 1 s"));
}

// Not the archive's newest slices, which are those of its end.
TEST_F(Replayed, WhatIsFollowedIsWhatWasPlayed) {
  shown.session.follow();
  wire::Report r = replay(false);
  r.set_watermark_ns(3 * kSecond);
  shown.take(r);
  EXPECT_EQ(shown.session.asked_for().time, (scene::TimeRange{TimeNs(0), TimeNs(3 * kSecond)}));
  r.set_watermark_ns(30 * kSecond);
  shown.take(r);
  EXPECT_EQ(shown.session.asked_for().time, (scene::TimeRange{TimeNs(4'400'000'000), TimeNs(30 * kSecond)}))
      << "256 slices of 100 ms";
  EXPECT_FALSE(shown.session.subject().time) << "it goes on";
  shown.take(replay(false, true));
  EXPECT_FALSE(shown.session.asked_for().time) << "at the end they are the newest";
}

TEST_F(Replayed, PlaysPausesAndSteps) {
  shown.take(replay(true));
  QTest::keyClick(&shown.window, Qt::Key_P);
  ASSERT_THAT(kinds(), ElementsAre(Kind::PLAY));
  EXPECT_EQ(asked[0].speed(), 1);
  shown.take(replay(false));
  QTest::keyClick(&shown.window, Qt::Key_P);
  QTest::keyClick(&shown.window, Qt::Key_J, Qt::ShiftModifier);
  ASSERT_THAT(kinds(), ElementsAre(Kind::PLAY, Kind::PAUSE, Kind::STEP));
  EXPECT_EQ(asked[2].steps(), 1u);
}

TEST_F(Replayed, FromItsEndItPlaysFromTheBegin) {
  shown.take(replay(false, true));
  EXPECT_THAT(bar().state().toStdString(), HasSubstr("at the end"));
  QTest::keyClick(&shown.window, Qt::Key_P);
  EXPECT_THAT(kinds(), ElementsAre(Kind::JUMP, Kind::PLAY));
  EXPECT_EQ(asked[0].jump_ns(), 0);
}

TEST_F(Replayed, AnotherSpeedIsAskedForWhileItPlays) {
  shown.take(replay(true));
  bar().speed().setCurrentIndex(bar().speed().count() - 1);
  emit bar().speed().activated(bar().speed().currentIndex());
  EXPECT_TRUE(asked.empty()) << "it pauses";
  shown.take(replay(false));
  emit bar().speed().activated(bar().speed().currentIndex());
  ASSERT_THAT(kinds(), ElementsAre(Kind::PLAY));
  EXPECT_LT(asked[0].speed(), 0) << "as fast as it goes";
}

TEST_F(Replayed, JumpsToATimeOrSaysWhatIsWrongWithIt) {
  shown.take(replay(true));
  shown.session.select(Session::Selection{0, 2, 3});
  EXPECT_EQ(bar().here(), "2 s");
  EXPECT_EQ(bar().jump(bar().here()), "");
  EXPECT_EQ(bar().jump("1.5..2"), "");
  ASSERT_THAT(kinds(), ElementsAre(Kind::JUMP, Kind::JUMP));
  EXPECT_EQ(asked[0].jump_ns(), 2 * kSecond);
  EXPECT_EQ(asked[1].jump_ns(), 3 * kSecond / 2);
  for (const char* wrong : {"", "soon", "100"}) EXPECT_NE(bar().jump(wrong), "") << wrong;
  EXPECT_EQ(asked.size(), 2u);
}

}  // namespace replay_bar_test
}  // namespace margay::viewer
