// Times of day, where the run's times are those of the wall clock: all over the window, and kept.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QMenuBar>
#include <QStatusBar>
#include <ctime>

#include "commands.h"
#include "phases.h"
#include "settings.h"
#include "shown.h"

namespace margay::viewer {
namespace clock_test {

using testing::HasSubstr;

constexpr std::int64_t kS = 1'000'000'000;

// Noon of that day in the time zone here, however that is.
std::int64_t noon() {
  std::tm day{};
  day.tm_year = 2026 - 1900, day.tm_mon = 10, day.tm_mday = 20, day.tm_hour = 12;
  day.tm_isdst = -1;
  return static_cast<std::int64_t>(std::mktime(&day)) * kS;
}

// The small picture, begun at noon; of a run as long as that.
struct AtNoon : Shown {
  AtNoon() : Shown(at(noon())) { take(run(4)); }
  ~AtNoon() { keep_switch(kClockSwitch, false); }
  static ViewPtr at(std::int64_t begin) {
    scene::SmallView view;
    for (auto& b : *view.build.raw().mutable_boundaries()) b += begin;
    view.build.raw().set_zero_ns(begin);
    return std::make_shared<const scene::ViewData>(view.data());
  }
  static wire::Report run(std::int64_t length) {
    wire::Report r = report(1);
    r.set_run_begin_ns(noon());
    r.set_watermark_ns(noon() + length * kS);
    r.mutable_alerts(0)->set_onset_ns(noon() + kS);
    return r;
  }
  QAction* action() {
    for (const QAction* entry : window.menuBar()->actions())
      for (QAction* a : entry->menu()->actions())
        if (a->text().contains("wall clock")) return a;
    return nullptr;
  }
  std::string notes() {
    for (const ElidedLabel* l : window.statusBar()->findChildren<ElidedLabel*>())
      if (l->text().contains(", p ")) return l->text().toStdString();
    return "";
  }
  std::string onset() {
    const AlertModel& alerts = window.alerts();
    return alerts.index(0, AlertModel::kOnset).data().toString().toStdString();
  }
  std::string told() { return overview().details(overview().shown().rects[0]).toStdString(); }
};

TEST(WallClock, IsToldAllOverTheWindowAndKept) {
  AtNoon s;
  EXPECT_EQ(s.window.time_field().text(), "0 s..4 s");
  const QImage before = s.overview().grab().toImage();
  QTest::keyClick(&s.overview(), Qt::Key_W);
  EXPECT_TRUE(s.action()->isChecked());
  EXPECT_TRUE(kept_switch(kClockSwitch, false));
  EXPECT_EQ(s.window.time_field().text(), "12:00:00..12:00:04");
  EXPECT_THAT(s.notes(), HasSubstr("12:00:00 to 12:00:04 (4 s)"));
  EXPECT_EQ(s.onset(), "12:00:01");
  EXPECT_THAT(s.told(), HasSubstr("12:00:0"));
  EXPECT_NE(s.overview().grab().toImage(), before) << "the axis";
  QTest::keyClick(&s.overview(), Qt::Key_Space);
  EXPECT_EQ(s.window.live_text(), "Held at 12:00:04");
  // The next window begins with it.
  {
    Window next(s.session, "r0");
    EXPECT_EQ(next.time_field().text(), "12:00:00..12:00:04");
  }
  QTest::keyClick(&s.overview(), Qt::Key_W);
  EXPECT_EQ(s.window.time_field().text(), "0 s..4 s");
  EXPECT_EQ(s.onset(), "1 s");
  EXPECT_THAT(s.told(), testing::Not(HasSubstr("12:00:0")));
  EXPECT_FALSE(kept_switch(kClockSwitch, true));
}

TEST(WallClock, TimesOfDayAreTypedWhateverIsShown) {
  AtNoon s;
  s.window.time_field().setFocus();
  s.window.time_field().selectAll();
  QTest::keyClicks(&s.window.time_field(), "12:00:01..12:00:03");
  QTest::keyClick(&s.window.time_field(), Qt::Key_Return);
  ASSERT_TRUE(s.session.subject().time);
  EXPECT_EQ(*s.session.subject().time, (scene::TimeRange{TimeNs(noon() + kS), TimeNs(noon() + 3 * kS)}));
}

TEST(WallClock, HasTheDayWhereTheRunIsLonger) {
  AtNoon s;
  s.take(AtNoon::run(2 * 86'400));
  QTest::keyClick(&s.overview(), Qt::Key_W);
  EXPECT_EQ(s.window.time_field().text(), "2026-11-20 12:00:00..2026-11-20 12:00:04");
  EXPECT_EQ(s.onset(), "2026-11-20 12:00:01");
}

TEST(WallClock, OfATraceThatHasNoneThereIsASentence) {
  Shown s;
  keep_switch(kClockSwitch, true);
  QTest::keyClick(&s.overview(), Qt::Key_W);
  EXPECT_THAT(s.window.statusBar()->currentMessage().toStdString(), HasSubstr("not those of the wall clock"));
  EXPECT_EQ(s.window.time_field().text(), "0 s..4 s");
  EXPECT_TRUE(kept_switch(kClockSwitch, false)) << "for a run that has one";
  keep_switch(kClockSwitch, false);
}

TEST(WallClock, TellsWhenPhasesBegin) {
  AtNoon s;
  wire::Report r = AtNoon::run(4);
  wire::PhaseSpan& phase = *r.add_phases();
  phase.set_name("A");
  phase.set_occurrence(1);
  phase.set_begin_ns(noon() + kS);
  phase.set_end_ns(noon() + 3 * kS);
  s.take(r);
  auto* page = s.window.views().findChild<PhasesView*>();
  ASSERT_NE(page, nullptr);
  s.window.views().setCurrentWidget(page);
  QCoreApplication::processEvents();
  const auto cell = [&](int column) {
    return page->stretches().model()->index(0, column).data().toString().toStdString();
  };
  EXPECT_EQ(cell(StretchModel::kBegin), "1.0 s") << "since the begin of the picture's run";
  s.session.set_by_clock(true);
  EXPECT_EQ(cell(StretchModel::kBegin), "12:00:01");
  EXPECT_EQ(cell(StretchModel::kEnd), "12:00:03");
  EXPECT_EQ(cell(StretchModel::kLasted), "2.0 s");
}

TEST(UnitOfTheAxis, IsChosenByTheMenuAKeyOrItsNameAndKept) {
  Shown s;
  const QImage before = s.overview().grab().toImage();
  QTest::keyClick(&s.window, Qt::Key_W, Qt::ShiftModifier);
  EXPECT_EQ(s.session.times().unit, scene::TimeUnit::kHours);
  EXPECT_THAT(s.window.statusBar()->currentMessage().toStdString(), HasSubstr("the time axis is in h"));
  EXPECT_NE(s.overview().grab().toImage(), before);
  EXPECT_EQ(kept_word(kUnitWord), "h");
  const Commands commands(s.session, *s.window.menuBar(), nullptr, {});
  const Commands::Found found = commands.find("unit of the time axis: ms");
  ASSERT_FALSE(found.shown.empty());
  found.shown[0].run();
  EXPECT_EQ(s.session.times().unit, scene::TimeUnit::kMilliseconds);
  QTest::keyClick(&s.window, Qt::Key_Z, Qt::ControlModifier);
  EXPECT_EQ(s.session.times().unit, scene::TimeUnit::kHours);
  {
    keep_word(kUnitWord, "ms");
    Window next(s.session, "r0");
    EXPECT_EQ(s.session.times().unit, scene::TimeUnit::kMilliseconds);
    keep_word(kUnitWord, "nonsense");
    Window other(s.session, "r0");
    EXPECT_EQ(s.session.times().unit, scene::TimeUnit::kAuto);
  }
  keep_word(kUnitWord, "auto");
}

}  // namespace clock_test
}  // namespace margay::viewer
