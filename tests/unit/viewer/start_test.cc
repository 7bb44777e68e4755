// The start page, and what leads from it to a window: the example, runs that begin, what cannot be opened.
// Replays are those of the real `margay`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QApplication>
#include <QClipboard>
#include <QDir>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <filesystem>

#include "../../support/runtime_place.h"
#include "damaged.h"
#include "margay/transport/rundir.h"
#include "viewer.h"
#include "what_if_dialog.h"

namespace margay::viewer {
namespace start_test {

using testing::HasSubstr;

constexpr int kPatience = 30'000;  // ms; a replay takes one or two seconds

Wanted wanted(const std::string& what, const std::string& connect = "", const std::string& key = "") {
  command::PictureOptions options;
  options.what = what;
  options.connect = connect;
  options.key = key;
  return *wanted_of(options);
}

QStringList shown(const QListWidget& list) {
  QStringList names;
  for (int i = 0; i < list.count(); ++i) names << list.item(i)->text();
  return names;
}

class Start : public testing::Test {
 protected:
  void SetUp() override { set_programs(MARGAY_BIN); }
  // Until the window has a picture.
  static bool seen(Viewer& viewer) {
    return QTest::qWaitFor([&] { return viewer.window() != nullptr && !viewer.session()->data().empty(); },
                           kPatience);
  }
  static bool told(Viewer& viewer) {
    return QTest::qWaitFor([&] { return !viewer.page().sentence().isEmpty(); }, kPatience);
  }
  const test::RuntimePlace place_;
  const QTemporaryDir folder_;
};

TEST_F(Start, WithNothingToAttachToThePageIsSeen) {
  Viewer viewer(wanted(""), folder_.path());
  viewer.start();
  EXPECT_TRUE(viewer.page().isVisible());
  EXPECT_EQ(viewer.page().sentence(), "") << "nothing is wrong";
  EXPECT_EQ(viewer.window(), nullptr);
  EXPECT_EQ(shown(viewer.page().runs()), QStringList("none yet"));
  EXPECT_EQ(shown(viewer.page().archives()), QStringList("none"));
  EXPECT_FALSE(viewer.page().offer().isVisible());
  // What there is not cannot be chosen.
  QSignalSpy chosen(&viewer.page(), &StartPage::chosen);
  emit viewer.page().runs().itemActivated(viewer.page().runs().item(0));
  EXPECT_EQ(chosen.count(), 0);
}

TEST_F(Start, WhatToTypeCanBeCopied) {
  StartPage page(folder_.path());
  auto* copy = page.findChild<QPushButton*>("copy1");
  ASSERT_NE(copy, nullptr);
  QTest::mouseClick(copy, Qt::LeftButton);
  EXPECT_EQ(QApplication::clipboard()->text(), "margay run -- mpirun -np 4 ./app");
}

TEST_F(Start, TheButtonOpensTheExample) {
  Viewer viewer(wanted(""), folder_.path());
  viewer.start();
  ASSERT_TRUE(viewer.page().example().isEnabled());
  QTest::mouseClick(&viewer.page().example(), Qt::LeftButton);
  ASSERT_TRUE(seen(viewer)) << viewer.page().sentence().toStdString();
  EXPECT_FALSE(viewer.page().isVisible());
  EXPECT_TRUE(viewer.window()->isVisible());
  EXPECT_EQ(viewer.window()->windowTitle(), "Margay: sixteen (the example)");
  EXPECT_EQ(viewer.session()->data().nodes.size(), 1U + 4 + 16);
  ASSERT_TRUE(QTest::qWaitFor([&] { return viewer.window()->alerts().rowCount() > 0; }, kPatience));
  EXPECT_THAT(viewer.window()->alerts().index(0, AlertModel::kSentence).data().toString().toStdString(),
              HasSubstr("rank6 on node1 has been stopped"));
}

TEST_F(Start, TheExampleByItsName) {
  Viewer viewer(wanted("example"), folder_.path());
  viewer.start();
  ASSERT_TRUE(seen(viewer)) << viewer.page().sentence().toStdString();
  // Back to the page, and to something else.
  auto* open = viewer.window()->findChild<QAction*>("open");
  ASSERT_NE(open, nullptr);
  open->trigger();
  EXPECT_TRUE(viewer.page().isVisible());
  EXPECT_TRUE(viewer.window()->isVisible());
  viewer.open({"/no/such.margay", {}, {}});
  ASSERT_TRUE(told(viewer));
  EXPECT_EQ(viewer.window(), nullptr);
}

// States of the alerts in the list, as far as they are said of one time only.
QStringList said_once(Viewer& viewer) {
  const AlertModel& alerts = viewer.window()->alerts();
  QStringList out;
  for (int row = 0; row < alerts.rowCount(); ++row)
    if (const QString said = alerts.index(row, AlertModel::kState).data().toString();
        said.contains(" only, "))
      out << said;
  return out;
}

TEST_F(Start, WhatIfIsAWindowOfItsOwnThatTellsWhatWasSaidLive) {
  Viewer viewer(wanted("example"), folder_.path());
  viewer.start();
  ASSERT_TRUE(seen(viewer)) << viewer.page().sentence().toStdString();
  viewer.window()->findChild<QAction*>("what_if")->trigger();
  auto* dialog = viewer.window()->findChild<WhatIfDialog*>();
  ASSERT_NE(dialog, nullptr);
  EXPECT_TRUE(dialog->settings().isEmpty());
  dialog->field("slice.duration")->setText("130ms");
  dialog->field("detect.every_level")->setText("detect.every_level=true");
  ASSERT_TRUE(QTest::qWaitForWindowExposed(dialog));
  QTest::keyClick(dialog->field("detect.p"), Qt::Key_Return);
  ASSERT_EQ(viewer.replays().size(), 1u);
  Viewer& more = *viewer.replays()[0];
  ASSERT_TRUE(seen(more)) << more.page().sentence().toStdString();
  EXPECT_EQ(more.window()->windowTitle(),
            "Margay: sixteen (the example), what if slice.duration=130ms, detect.every_level=true");
  EXPECT_TRUE(QTest::qWaitFor([&] { return said_once(more).contains("now only, resolved"); }, kPatience));
  EXPECT_FALSE(said_once(more).filter("live only").size()) << "the stop is said both times";
  // Of slices that are longer than the stop it is no whole one.
  ASSERT_TRUE(more.what_if({"slice.duration=2s"}));
  Viewer& longer = *more.replays()[0];
  ASSERT_TRUE(seen(longer)) << longer.page().sentence().toStdString();
  ASSERT_TRUE(
      QTest::qWaitFor([&] { return said_once(longer) == QStringList("live only, resolved"); }, kPatience));
  EXPECT_THAT(longer.window()->alerts().index(0, AlertModel::kSentence).data().toString().toStdString(),
              HasSubstr("rank6 on node1 has been stopped"));
  // What it rests on is read as that of any other.
  longer.session()->choose_alert(longer.window()->alerts().at(0).id);
  ASSERT_NE(longer.session()->alert(), nullptr);
  EXPECT_EQ(longer.session()->alert()->kind(), wire::Alert::PERTURBATION);
  // Live nothing was otherwise.
  EXPECT_TRUE(said_once(viewer).isEmpty());
}

TEST_F(Start, WhatIfSaysWhatIsWrongWithASetting) {
  Viewer viewer(wanted("example"), folder_.path());
  viewer.start();
  ASSERT_TRUE(seen(viewer)) << viewer.page().sentence().toStdString();
  ASSERT_TRUE(viewer.what_if({"detect.p=7"}));
  ASSERT_TRUE(told(*viewer.replays()[0]));
  EXPECT_THAT(viewer.replays()[0]->page().sentence().toStdString(),
              HasSubstr("--set detect.p=7: expected \"auto\" or a number from 0 to 1"));
}

TEST_F(Start, ReplaysWithOtherSettingsAreBounded) {
  Viewer viewer(wanted("example"), folder_.path());
  viewer.start();
  ASSERT_TRUE(seen(viewer)) << viewer.page().sentence().toStdString();
  for (std::size_t i = 0; i < Viewer::kMostReplays; ++i) ASSERT_TRUE(viewer.what_if({"detect.p=7"}));
  EXPECT_FALSE(viewer.what_if({"detect.p=7"}));
  viewer.replays()[0]->page().close();
  EXPECT_TRUE(viewer.what_if({"detect.p=7"}));
}

// Listed or not.
std::ptrdiff_t runs_there() {
  const auto own = transport::user_directory();
  return own ? std::distance(std::filesystem::directory_iterator(*own), {}) : -1;
}

TEST_F(Start, ReplaysEndWithTheViewerAndAreNotListed) {
  {
    Viewer viewer(wanted("example"), folder_.path());
    viewer.start();
    ASSERT_TRUE(seen(viewer));
    EXPECT_EQ(runs_there(), 1);
    EXPECT_EQ(runs_here(), QStringList()) << "one that a viewer made for itself";
    EXPECT_EQ(transport::list_runs().size(), 0U) << "nor does `margay status` take it for the newest run";
  }
  EXPECT_EQ(runs_there(), 0);
}

TEST_F(Start, ARunThatBeginsOffersItself) {
  Viewer viewer(wanted(""), folder_.path());
  viewer.start();
  ASSERT_FALSE(viewer.page().offer().isVisible());
  // A daemon that is not there yet: its directory is.
  const auto dir = transport::make_run_directory("20260101-night");
  ASSERT_TRUE(dir);
  ASSERT_TRUE(QTest::qWaitFor([&] { return viewer.page().offer().isVisible(); }, 5000));
  EXPECT_EQ(viewer.page().offer().text(), "20260101-night has started: watch it");
  EXPECT_EQ(shown(viewer.page().runs()), QStringList("20260101-night"));
  QSignalSpy chosen(&viewer.page(), &StartPage::chosen);
  QTest::mouseClick(&viewer.page().offer(), Qt::LeftButton);
  ASSERT_EQ(chosen.count(), 1);
  // It never comes: that is said, and the page is still there.
  ASSERT_TRUE(told(viewer));
  EXPECT_THAT(viewer.page().sentence().toStdString(), HasSubstr("20260101-night: "));
  EXPECT_TRUE(viewer.page().isVisible());
  transport::remove_run_directory(*dir);
  ASSERT_TRUE(QTest::qWaitFor([&] { return !viewer.page().offer().isVisible(); }, 5000));
  EXPECT_EQ(shown(viewer.page().runs()), QStringList("none yet"));
}

TEST_F(Start, ArchivesAreListedTheNewestFirstAndOpen) {
  const ArchiveCopy copy;
  const QString folder = QFileInfo(copy.path()).path();
  QDir(folder).mkpath("try/lammps/archive");
  QFile marker(folder + "/try/lammps/archive/MARGAY");
  ASSERT_TRUE(marker.open(QIODevice::WriteOnly));
  marker.close();
  Viewer viewer(wanted(""), folder);
  viewer.start();
  const QStringList names = shown(viewer.page().archives());
  EXPECT_THAT(names, testing::UnorderedElementsAre("copy.margay", "try/lammps/archive"));
  auto* item = viewer.page().archives().item(static_cast<int>(names.indexOf("copy.margay")));
  emit viewer.page().archives().itemActivated(item);
  ASSERT_TRUE(seen(viewer)) << viewer.page().sentence().toStdString();
  EXPECT_EQ(viewer.window()->windowTitle(), "Margay: sixteen (copy.margay)");
}

TEST_F(Start, WhatCannotBeOpenedIsASentenceOnThePage) {
  ArchiveCopy copy;
  copy.spoil("*.sst");
  QFile key(folder_.filePath("bad.key"));
  ASSERT_TRUE(key.open(QIODevice::WriteOnly));
  key.write("no key\n");
  key.setPermissions(QFile::ReadOwner | QFile::WriteOwner);
  key.close();
  const std::pair<Wanted, std::string> cases[] = {
      {wanted("/no/such.margay"),
       "/no/such.margay: there is no such archive, and '/no/such.margay' is not the name of a run"},
      {wanted(folder_.path().toStdString()), "is not a Margay archive"},
      {wanted(copy.path().toStdString()), "copy.margay"},
      {wanted("", "tcp://127.0.0.1:9", key.fileName().toStdString()), "bad.key"},
  };
  for (const auto& [what, sentence] : cases) {
    Viewer viewer(what, folder_.path());
    viewer.start();
    ASSERT_TRUE(told(viewer)) << sentence;
    EXPECT_THAT(viewer.page().sentence().toStdString(), HasSubstr(sentence));
    EXPECT_TRUE(viewer.page().isVisible());
    EXPECT_EQ(viewer.window(), nullptr);
  }
}

// MARGAY_PICTURES=DIR keeps it, to be looked at.
TEST_F(Start, ThePageFits) {
  for (const QSize size : {QSize(1280, 720), QSize(3840, 2160)}) {
    StartPage page(MARGAY_EXAMPLE);
    page.resize(size);
    page.say("/data/night.margay: damaged: MANIFEST-000005 is missing");
    page.show();
    QCoreApplication::processEvents();
    for (const QWidget* w : page.findChildren<QWidget*>()) {
      if (!w->isVisible() || w->window() != &page) continue;
      EXPECT_TRUE(page.rect().contains(QRect(w->mapTo(&page, QPoint(0, 0)), w->size())))
          << w->objectName().toStdString();
    }
    if (const QString pictures = qEnvironmentVariable("MARGAY_PICTURES"); !pictures.isEmpty())
      page.grab().save(QString("%1/start-%2.png").arg(pictures).arg(size.width()));
  }
}

}  // namespace start_test
}  // namespace margay::viewer

int main(int argc, char** argv) {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  const QTemporaryDir settings;  // nobody's own colours
  qputenv("XDG_CONFIG_HOME", settings.path().toUtf8());
  testing::InitGoogleTest(&argc, argv);
  const QApplication application(argc, argv);
  QApplication::setQuitOnLastWindowClosed(false);
  return RUN_ALL_TESTS();
}
