// Who is told of an alert that begins to fire, how often, and where.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QElapsedTimer>
#include <QSignalSpy>

#include "notifier.h"
#include "shown.h"

namespace margay::viewer {
namespace notifier_test {

using testing::HasSubstr;

// Alerts of these ids, all firing.
wire::Report firing(const std::vector<std::string>& ids) {
  wire::Report r = report(0);
  for (const std::string& id : ids) {
    auto& a = *r.add_alerts();
    a.set_id(id);
    a.set_kind(wire::Alert::PERTURBATION);
    a.set_onset_ns(1);
    a.add_resources("/a/r1");
    a.set_message("about " + id);
  }
  return r;
}

void take(Notifier& notifier, const wire::Report& r) {
  notifier.take(r, alerts_of(r));
}

TEST(Notifier, TellsOfWhatBeginsAfterTheStartOnly) {
  Notifier notifier(nullptr, 0);
  notifier.set_on(true);
  QSignalSpy told(&notifier, &Notifier::tell);
  take(notifier, firing({"old"}));
  take(notifier, firing({"old"}));
  EXPECT_EQ(told.count(), 0);
  take(notifier, firing({"old", "new"}));
  ASSERT_EQ(told.count(), 1);
  EXPECT_EQ(told[0][0].toString(), "about new");
  EXPECT_EQ(told[0][1].toString(), "new");
  take(notifier, firing({"old", "new"}));
  EXPECT_EQ(told.count(), 1);
}

TEST(Notifier, IsOffUnlessWantedAndTellsNothingLateThen) {
  Notifier notifier(nullptr, 0);
  QSignalSpy told(&notifier, &Notifier::tell);
  take(notifier, firing({}));
  take(notifier, firing({"a"}));
  notifier.set_on(true);
  take(notifier, firing({"a"}));
  EXPECT_EQ(told.count(), 0);
  take(notifier, firing({"a", "b"}));
  EXPECT_EQ(told.count(), 1);
}

TEST(Notifier, AtMostOneInAWhileAndTheRestTogether) {
  constexpr int kPause = 300;
  Notifier notifier(nullptr, kPause);
  notifier.set_on(true);
  QSignalSpy told(&notifier, &Notifier::tell);
  take(notifier, firing({}));
  QElapsedTimer timer;
  timer.start();
  std::vector<std::string> ids;
  for (int i = 0; i < 50; ++i) {
    ids.push_back("a" + std::to_string(i));
    take(notifier, firing(ids));
  }
  ASSERT_EQ(told.count(), 1);
  ASSERT_TRUE(told.wait(10 * kPause));
  EXPECT_GE(timer.elapsed(), kPause * 9 / 10);
  ASSERT_EQ(told.count(), 2);
  EXPECT_EQ(told[1][0].toString(), "49 alerts, the newest: about a49");
  EXPECT_EQ(Notifier::kPeriod, 10'000);
}

TEST(Notifier, ForgetsWhatWaitsWhenItIsSwitchedOff) {
  Notifier notifier(nullptr, 50);
  notifier.set_on(true);
  QSignalSpy told(&notifier, &Notifier::tell);
  take(notifier, firing({}));
  take(notifier, firing({"a"}));
  take(notifier, firing({"a", "b"}));
  notifier.set_on(false);
  EXPECT_FALSE(told.wait(200));
  EXPECT_EQ(told.count(), 1);
}

TEST(Notifier, NothingOfAReplayNorWhatSomebodyHandled) {
  Notifier notifier(nullptr, 0);
  notifier.set_on(true);
  QSignalSpy told(&notifier, &Notifier::tell);
  take(notifier, firing({}));
  wire::Report r = firing({"a", "b"});
  r.mutable_alerts(0)->mutable_handled()->set_acknowledged(true);
  r.mutable_alerts(1)->mutable_handled()->set_silence("s1");
  take(notifier, r);
  EXPECT_EQ(told.count(), 0);
  wire::Report replay = firing({"c"});
  replay.mutable_replay()->set_speed(1);
  take(notifier, replay);
  EXPECT_EQ(told.count(), 0);
  // Of another run the first report is a start again.
  wire::Report other = firing({"d"});
  other.set_run("r1");
  take(notifier, other);
  EXPECT_EQ(told.count(), 0);
}

// There is no tray on the offscreen platform: a bar in the window.
TEST(Notifier, ABarInTheWindowWhereTheDesktopShowsNone) {
  Shown s;
  EXPECT_FALSE(s.window.notifier().on()) << "off by default";
  s.window.notifier().set_on(true);
  s.take(firing({}));
  EXPECT_TRUE(s.window.banner().isHidden());
  s.take(firing({"a"}));
  EXPECT_FALSE(s.window.banner().isHidden());
  EXPECT_THAT(s.window.banner().text().toStdString(), HasSubstr("about a"));
  emit s.window.banner().asked();
  ASSERT_TRUE(s.session.selection()) << "the alert is gone to";
  EXPECT_EQ(s.session.data().nodes[s.session.selection()->node].path, "/a/r1");
}

TEST(Notifier, TheSwitchIsKept) {
  const auto entry = [](Window& window) -> QAction* {
    for (QAction* a : window.findChildren<QAction*>())
      if (a->text().contains("new ones")) return a;
    return nullptr;
  };
  {
    Shown s;
    ASSERT_NE(entry(s.window), nullptr);
    EXPECT_FALSE(entry(s.window)->isChecked());
    entry(s.window)->trigger();
    EXPECT_TRUE(s.window.notifier().on());
  }
  Shown s;
  EXPECT_TRUE(s.window.notifier().on());
  EXPECT_TRUE(entry(s.window)->isChecked());
  entry(s.window)->trigger();
  EXPECT_FALSE(kept_switch("notify", true));
}

}  // namespace notifier_test
}  // namespace margay::viewer
