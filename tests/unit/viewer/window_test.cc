// The window round its views: keys, what it says of itself, how it fits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QClipboard>
#include <QHeaderView>
#include <QMenuBar>
#include <QPointer>
#include <QPushButton>
#include <QScrollBar>
#include <QSettings>
#include <QStandardPaths>
#include <QStatusBar>
#include <map>

#include "keys_dialog.h"
#include "paint.h"
#include "settings.h"
#include "shown.h"
#include "viewer.h"

namespace margay::viewer {
namespace window_test {

using testing::HasSubstr;

std::vector<QAction*> all_actions(Window& window) {
  std::vector<QAction*> out;
  for (const QAction* entry : window.menuBar()->actions())
    for (QAction* a : entry->menu()->actions())
      if (!a->isSeparator()) out.push_back(a);
  return out;
}

TEST(Keys, EachBelongsToOneActionAndEachActionIsThereOnce) {
  Shown s;
  std::map<QString, QString> keys;
  std::map<QString, int> texts;
  for (const QAction* a : all_actions(s.window)) {
    EXPECT_EQ(texts[a->text().remove('&')]++, 0) << a->text().toStdString();
    for (const QKeySequence& k : a->shortcuts()) {
      const auto [other, is_new] = keys.emplace(k.toString(), a->text());
      EXPECT_TRUE(is_new) << k.toString().toStdString() << ": " << a->text().toStdString() << ", "
                          << other->second.toStdString();
    }
  }
  EXPECT_GT(keys.size(), 30u);
  // Letters of one menu.
  for (const QAction* entry : s.window.menuBar()->actions()) {
    std::map<QChar, QString> letters;
    for (const QAction* a : entry->menu()->actions()) {
      const auto at = a->text().indexOf('&');
      if (at < 0 || at + 1 >= a->text().size()) continue;
      const auto [other, is_new] = letters.emplace(a->text()[at + 1].toLower(), a->text());
      EXPECT_TRUE(is_new) << a->text().toStdString() << ", " << other->second.toStdString();
    }
  }
}

// What is looked at as a line of text, which opens the same again.
TEST(WindowLink, IsOfWhatIsLookedAtAndOpensItAgain) {
  Shown s;
  QAction* copy = nullptr;
  for (QAction* a : all_actions(s.window))
    if (a->shortcut() == QKeySequence("Ctrl+L")) copy = a;
  ASSERT_NE(copy, nullptr);
  EXPECT_FALSE(copy->isEnabled()) << "of what?";
  EXPECT_EQ(s.window.link(), "");
  s.window.set_place("night", "");
  EXPECT_EQ(s.window.link(), "margay://night") << "it follows the run";
  scene::Subject looked;
  looked.time = scene::TimeRange{TimeNs(1'500'000'000), TimeNs(3'000'000'000)};
  looked.node = "/a";
  looked.p = 0.1;
  looked.measure = "bytes";
  looked.states = {"MPI_Send"};
  s.session.go(looked);
  copy->trigger();
  const std::string link = QApplication::clipboard()->text().toStdString();
  EXPECT_EQ(link, "margay://night#t=1.5-3&n=/a&p=0.1&o=bytes&s=MPI_Send");
  command::PictureOptions options;
  options.what = link;
  const auto wanted = wanted_of(options);
  ASSERT_TRUE(wanted) << wanted.error().message;
  EXPECT_EQ(wanted->wish.what, "night");
  const auto again = subject_of(*wanted, false, s.session);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, looked);
  options.what = "margay://night#q=1";
  EXPECT_FALSE(wanted_of(options));
}

// While nobody has chosen an alert, the key leads to the uppermost, the newest.
TEST(WindowAlerts, TheKeyGoesToTheNewestWhereNoneIsChosen) {
  Shown s;
  QTest::keyClick(&s.overview(), Qt::Key_G);
  EXPECT_EQ(s.window.statusBar()->currentMessage(), "there is no alert");
  s.take(report(3));
  QTest::keyClick(&s.overview(), Qt::Key_G);
  EXPECT_EQ(s.window.alert_list().currentIndex().row(), 0);
  ASSERT_TRUE(s.session.selection());
  EXPECT_EQ(s.session.data().boundaries[s.session.selection()->first], TimeNs(3'000'000'000));
}

TEST(Keys, TheListHasThemAll) {
  Shown s;
  const QString list = s.window.keys();
  for (const QAction* a : all_actions(s.window)) {
    EXPECT_TRUE(list.contains(a->text().remove('&').remove("...").toHtmlEscaped()))
        << a->text().toStdString();
    for (const QKeySequence& k : a->shortcuts())
      EXPECT_TRUE(list.contains(k.toString(QKeySequence::NativeText).toHtmlEscaped()));
  }
  EXPECT_TRUE(list.contains("double click"));
  QTest::keyClick(&s.overview(), Qt::Key_F1);
  const QPointer<KeysDialog> dialog = s.window.findChild<KeysDialog*>();
  ASSERT_NE(dialog, nullptr);
  EXPECT_TRUE(dialog->isVisible());
  QTest::mouseClick(dialog->findChild<QPushButton*>(), Qt::LeftButton);
  EXPECT_TRUE(!dialog || !dialog->isVisible());
}

TEST(Keys, AFieldAndAListKeepTheirs) {
  Shown s;
  auto* p = qobject_cast<QLineEdit*>(s.window.quality().parentWidget()->findChild<QLineEdit*>());
  ASSERT_NE(p, nullptr);
  p->setFocus();
  p->clear();
  QTest::keyClicks(p, "0.25");
  QTest::keyClick(p, Qt::Key_Return);
  EXPECT_EQ(s.session.subject().p, 0.25);
  s.window.alerts().set(alerts_of(report(3)), scene::Times());
  QTableView& alerts = s.window.alert_list();
  alerts.setFocus();
  alerts.setCurrentIndex(alerts.model()->index(0, 0));
  QTest::keyClick(&alerts, Qt::Key_Down);
  EXPECT_EQ(alerts.currentIndex().row(), 1);
  EXPECT_FALSE(s.session.selection());
  QTest::keyClick(&alerts, Qt::Key_Return);
  ASSERT_TRUE(s.session.selection()) << "Return goes to the alert";
  // The tabulator leaves a list.
  QTest::keyClick(&alerts, Qt::Key_Tab);
  EXPECT_FALSE(alerts.hasFocus());
}

TEST(Keys, TheTabulatorGoesFromPartToPart) {
  Shown s;
  s.overview().setFocus();
  std::vector<const QWidget*> way;
  for (int i = 0; i < 6; ++i) {
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab);
    way.push_back(QApplication::focusWidget());
  }
  EXPECT_EQ(way[0], &s.window.quality());
  EXPECT_EQ(way[1]->accessibleName().left(2), "p:");
  EXPECT_EQ(way[4], &s.window.states().table());
  EXPECT_EQ(way[5], &s.window.alert_list());
}

TEST(Keys, ArrowsStepThroughTheCurveThatHasTheFocus) {
  auto data = std::make_shared<scene::ViewData>(scene::SmallView().data());
  data->curve = {{0, 0, 0, 8}, {0.3, 4, 1, 4}, {0.8, 8, 6, 1}};
  Shown s(data);
  s.window.quality().setFocus();
  ASSERT_EQ(s.session.steps().current, 1);
  QTest::keyClick(&s.window.quality(), Qt::Key_Right);
  ASSERT_TRUE(s.session.subject().p);
  EXPECT_GT(*s.session.subject().p, 0.8);
  QTest::keyClick(&s.window.quality(), Qt::Key_Home);
  EXPECT_LT(*s.session.subject().p, 0.3);
}

TEST(Keys, WalkThroughPartsAndGoInto) {
  Shown s;
  QTest::keyClick(&s.overview(), Qt::Key_Right, Qt::ShiftModifier);
  ASSERT_TRUE(s.session.selection());
  EXPECT_EQ(s.session.data().nodes[s.session.selection()->node].path, "/a/r0");
  EXPECT_EQ(s.session.selection()->last, 2u);
  QTest::keyClick(&s.overview(), Qt::Key_Right, Qt::ShiftModifier);
  EXPECT_EQ(s.session.data().nodes[s.session.selection()->node].path, "/a");
  EXPECT_EQ(s.session.selection()->first, 2u);
  QTest::keyClick(&s.overview(), Qt::Key_Return);
  EXPECT_EQ(s.session.subject().node, "/a");
  ASSERT_TRUE(s.session.subject().time);
  EXPECT_EQ(s.session.subject().time->from, s.session.data().boundaries[2]);
  QTest::keyClick(&s.overview(), Qt::Key_Left, Qt::ShiftModifier);
  EXPECT_EQ(s.session.selection()->first, 0u);
  QTest::keyClick(&s.overview(), Qt::Key_Escape);
  EXPECT_FALSE(s.session.selection());
}

TEST(Live, TheButtonSaysWhetherThePictureGoesOn) {
  Shown s;
  EXPECT_EQ(s.window.live_text(), "Live");
  QTest::keyClick(&s.overview(), Qt::Key_Space);
  EXPECT_EQ(s.window.live_text(), "Held at 4 s");
  QTest::keyClick(&s.overview(), Qt::Key_Space);
  EXPECT_EQ(s.window.live_text(), "Live");
  // A stretch that was chosen stands still as well; the button goes on with the run.
  s.drag(0.25, 0.75);
  EXPECT_EQ(s.window.live_text(), "Held at 4 s");
  QTest::keyClick(&s.overview(), Qt::Key_Space);
  EXPECT_EQ(s.window.live_text(), "Live");
  EXPECT_FALSE(s.session.subject().time);
  wire::Report r = report(0);
  r.set_final(true);
  s.take(r);
  EXPECT_EQ(s.window.live_text(), "Ended");
}

TEST(Live, ASelectionStaysWithItsTimeAndNode) {
  Shown s;
  QTest::mouseClick(&s.overview(), Qt::LeftButton, {}, s.at(0.75, 0.125));
  const auto before = s.session.selection();
  ASSERT_TRUE(before);
  s.session.show(small());
  EXPECT_EQ(s.session.selection(), before);
  // A second later: the same stretch is one slice further to the left.
  scene::SmallView later;
  for (auto& b : *later.build.raw().mutable_boundaries()) b += 1'000'000'000;
  s.session.show(std::make_shared<const scene::ViewData>(later.data()));
  ASSERT_TRUE(s.session.selection());
  EXPECT_EQ(s.session.selection()->first, 1u);
  EXPECT_EQ(s.session.selection()->last, 3u);
  // Of other nodes, or another time, nothing is selected.
  s.session.show(cluster());
  EXPECT_FALSE(s.session.selection());
}

TEST(Levels, AreThoseOfTheRunAndOfWhatFollowsIt) {
  Shown s;
  auto* level = s.window.findChild<QToolBar*>()->findChild<QComboBox*>();
  ASSERT_NE(level, nullptr);
  EXPECT_FALSE(level->isVisible()) << "nothing to choose from yet";
  wire::Report r = report(0);
  for (const std::int64_t ns : {1'000'000'000LL, 10'000'000'000LL}) r.add_levels()->set_slice_ns(ns);
  s.take(r);
  QCoreApplication::processEvents();
  ASSERT_EQ(level->count(), 3);
  EXPECT_TRUE(level->isVisible());
  EXPECT_EQ(level->itemText(0), "100 ms");
  EXPECT_EQ(level->itemText(2), "10 s");
  level->setFocus();
  QTest::keyClick(level, Qt::Key_Down);
  EXPECT_EQ(s.session.subject().level, DurationNs(1'000'000'000));
  s.session.back();
  EXPECT_EQ(level->currentIndex(), 0);
  s.drag(0.25, 0.75);
  EXPECT_FALSE(level->isEnabled());
}

TEST(Views, HaveATabAndANumberEachAndTheOverviewIsTheFirst) {
  Shown s;
  ASSERT_EQ(s.window.views().count(), 8);
  EXPECT_EQ(s.window.views().current(), &s.overview());
  for (int page = s.window.views().count() - 1; page >= 0; --page) {
    QTest::keyClick(&s.window, Qt::Key(Qt::Key_1 + page));
    EXPECT_EQ(s.window.views().currentIndex(), page);
    EXPECT_TRUE(s.window.views().isAncestorOf(QApplication::focusWidget()));
  }
}

TEST(Pie, IsAllThereIs) {
  const auto data = small();
  const scene::Palette palette(scene::Theme::kLight);
  const auto pie = pie_of(scene::statistics(*data, {0, 0, 4}), *data, palette);
  double sum = 0;
  for (const PiePart& p : pie) sum += p.share;
  EXPECT_NEAR(sum, 1, 1e-9);
  ASSERT_GE(pie.size(), 4u);
  EXPECT_EQ(pie[0].look, palette.look("Compute", wire::FAMILY_COMPUTE));
  EXPECT_NEAR(pie[0].share, 0.3, 1e-6) << "0.6 of half of the resources";
  EXPECT_EQ(pie.back().look, palette.unknown());
  EXPECT_TRUE(pie_of({}, *data, palette).empty());
  Shown s;
  EXPECT_EQ(s.window.states().pie().parts().size(), pie.size());
  // The first part begins at the top and goes to the right.
  const QImage image = s.window.states().pie().grab().toImage();
  EXPECT_EQ(image.pixelColor(image.width() * 5 / 8, image.height() / 4), colour_of(pie[0].look.colour));
}

TEST(States, AllColumnsAreReadableWithoutScrolling) {
  Shown s(cluster());
  QTableView& table = s.window.states().table();
  EXPECT_FALSE(table.horizontalScrollBar()->isVisible());
  int width = 0;
  for (int c = 0; c < StatisticsModel::kColumns; ++c) {
    width += table.columnWidth(c);
    if (c <= StatisticsModel::kName) continue;
    EXPECT_GE(table.columnWidth(c), static_cast<QAbstractItemView&>(table).sizeHintForColumn(c)) << c;
    EXPECT_GE(table.columnWidth(c), table.horizontalHeader()->sectionSizeHint(c)) << c;
  }
  EXPECT_LE(width, table.viewport()->width());
  EXPECT_GE(table.columnWidth(StatisticsModel::kName), 90);
}

// MARGAY_PICTURES=DIR keeps them, to be looked at.
TEST(Window, ShowsEverythingAtBothSizes) {
  const QString folder = qEnvironmentVariable("MARGAY_PICTURES");
  for (const bool large : {false, true})
    for (const QSize size : {QSize(1280, 720), QSize(3840, 2160)})
      for (const auto theme : {scene::Theme::kLight, scene::Theme::kDark}) {
        Shown s(large ? cluster() : small());
        s.session.set_theme(theme);
        s.take(report(3));
        s.window.resize(size);
        QTest::mouseClick(&s.overview(), Qt::LeftButton, {}, s.at(0.75, 0.125));
        if (large) s.check("state3", false);
        if (theme == scene::Theme::kDark) s.window.banner().say("Alert: rank 1 computes 4.0 x longer");
        QCoreApplication::processEvents();
        const QImage image = s.window.grab().toImage();
        EXPECT_EQ(image.size(), size * s.window.devicePixelRatio()) << "nothing needs more room";
        EXPECT_GT(s.overview().width(), size.width() / 2) << "the picture has most of the room";
        EXPECT_GT(s.overview().height(), size.height() / 2);
        const QColor corner = image.pixelColor(2, image.height() - 3);
        EXPECT_EQ(corner.lightnessF() < 0.5, theme == scene::Theme::kDark) << "also what is no picture";
        if (!folder.isEmpty())
          image.save(QString("%1/window-%2-%3-%4.png")
                         .arg(folder, large ? "cluster" : "small")
                         .arg(size.width())
                         .arg(theme == scene::Theme::kDark ? "dark" : "light"));
      }
}

TEST(Window, LongSentencesDoNotWidenIt) {
  Shown s;
  auto data = std::make_shared<scene::ViewData>(scene::SmallView().data());
  for (int i = 0; i < 20; ++i)
    data->notes.push_back("a note that tells at some length what is not exact here");
  s.session.show(data);
  wire::Report r = report(0);
  r.mutable_health()->set_state(wire::Health::DEGRADED);
  r.mutable_health()->set_verdict(std::string(2000, 'x'));
  s.take(r);
  s.session.set_states({std::string(100, 'y'), std::string(100, 'z')});
  s.session.search(std::string(200, 'w'));
  QCoreApplication::processEvents();
  EXPECT_EQ(s.window.width(), 1280);
  EXPECT_LE(s.window.minimumSizeHint().width(), 1280);
  EXPECT_THAT(s.window.status().toStdString(), HasSubstr("xxx"));
}

// Rows of a thousand resources that share pixels: the more is drawn together, the fewer rectangles.
// However one goes on from there.
TEST(Slices, AreAsManyAsWereAskedForUntilSomebodyAsksForOthers) {
  Shown s;
  auto* slices = s.window.findChild<QSpinBox*>();
  ASSERT_NE(slices, nullptr);
  EXPECT_EQ(slices->text(), "auto");
  slices->setFocus();
  slices->selectAll();
  QTest::keyClicks(slices, "1000");
  QTest::keyClick(slices, Qt::Key_Return);
  EXPECT_EQ(s.session.subject().slices, 1000u);
  EXPECT_EQ(scene::question_of(s.session.asked_for(), 1, false).slices(), 1000u);
  s.drag(0.25, 0.75);
  s.session.into(s.session.data().nodes[0].end > 1 ? 1 : 0);
  s.session.set_states({"MPI_Wait"});
  s.session.follow();
  EXPECT_EQ(s.session.subject().slices, 1000u);
  EXPECT_EQ(slices->value(), 1000);
  slices->setValue(0);
  EXPECT_EQ(s.session.subject().slices, 0u);
}

TEST(Threshold, IsSteppedAndKept) {
  const auto rectangles = [](Shown& s) {
    s.overview().grab();
    return s.overview().shown().rects.size();
  };
  std::size_t usual = 0;
  {
    Shown s(cluster());
    ASSERT_EQ(s.session.threshold(), scene::kUsualThreshold);
    usual = rectangles(s);
    QTest::keyClick(&s.overview(), Qt::Key_BracketRight);
    QTest::keyClick(&s.overview(), Qt::Key_BracketRight);
    EXPECT_EQ(s.session.threshold(), 6);
    EXPECT_LT(rectangles(s), usual);
    EXPECT_THAT(s.window.statusBar()->currentMessage().toStdString(),
                testing::HasSubstr("smaller than 6 pixels"));
  }
  Shown s(cluster());
  EXPECT_EQ(s.session.threshold(), 6) << "the next window begins with it";
  QTest::keyClick(&s.overview(), Qt::Key_BracketLeft);
  QTest::keyClick(&s.overview(), Qt::Key_BracketLeft);
  EXPECT_EQ(rectangles(s), usual);
  for (int i = 0; i < 5; ++i) QTest::keyClick(&s.overview(), Qt::Key_BracketLeft);
  EXPECT_EQ(s.session.threshold(), scene::kLeastThreshold);
  for (const char* nonsense : {"x", "-1", "0", "1e9", "nan"}) {
    QSettings(QStandardPaths::writableLocation(QStandardPaths::GenericConfigLocation) + "/margay/viewer.ini",
              QSettings::IniFormat)
        .setValue("threshold", nonsense);
    const Shown other;
    EXPECT_EQ(other.session.threshold(), scene::kUsualThreshold) << nonsense;
  }
  keep_number("threshold", scene::kUsualThreshold);
}

}  // namespace window_test
}  // namespace margay::viewer
