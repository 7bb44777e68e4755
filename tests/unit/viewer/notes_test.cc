// Bookmarks and filters that are kept beside a run, flags, measuring, and looks that are undone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QApplication>
#include <QClipboard>
#include <QDir>
#include <QInputDialog>
#include <QMenuBar>
#include <QSignalSpy>
#include <QStatusBar>
#include <QTemporaryDir>

#include "command_palette.h"
#include "filter_menu.h"
#include "shown.h"

namespace margay::viewer {
namespace notes_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

command::RunNotes::Bookmark bookmark(const char* from, const char* to, const char* note) {
  command::RunNotes::Bookmark b;
  b.of.from = from, b.of.to = to;
  b.note = note;
  return b;
}

struct Noted : ShownOfRun {
  using ShownOfRun::ShownOfRun;
  std::string said() { return window.statusBar()->currentMessage().toStdString(); }
  QStringList texts(QMenu* menu) {
    QStringList out;
    for (const QAction* a : menu->actions()) out << a->text();
    return out;
  }
  BookmarkMenu* menu() { return window.findChild<BookmarkMenu*>(); }
};

TEST(KeptNotes, AreThoseOfTheRunWhereverItsArchiveLies) {
  const QTemporaryDir folder;
  KeptNotes notes(folder.path());
  EXPECT_FALSE(notes.add(bookmark("1", "2", "no run yet")));
  notes.set_run("../../night run", 17);
  EXPECT_EQ(notes.path(), folder.path() + "/.._.._night_run-17") << "never out of its folder";
  EXPECT_TRUE(notes.add(bookmark("1", "2", "here")));
  EXPECT_TRUE(notes.add(bookmark("3", "4", "there\nand a second line")));
  notes.set_run("another", 17);
  EXPECT_THAT(notes.notes().bookmarks, IsEmpty());
  KeptNotes again(folder.path());
  again.set_run("../../night run", 17);
  ASSERT_THAT(again.notes().bookmarks, SizeIs(2));
  EXPECT_EQ(again.notes().bookmarks[1].note, "there?and a second line");
  EXPECT_TRUE(again.remove(again.notes().bookmarks[0]));
  EXPECT_THAT(again.notes().bookmarks, SizeIs(1));
}

TEST(KeptNotes, AFileThatCannotBeReadIsSaidAndNeverWrittenOver) {
  const QTemporaryDir folder;
  QFile file(folder.path() + "/night-17");
  for (const char* text : {"bookmark margay://#t=5 wrong\n", "nonsense\n"}) {
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(text);
    file.close();
    KeptNotes notes(folder.path());
    QSignalSpy said(&notes, &KeptNotes::said);
    notes.set_run("night", 17);
    ASSERT_EQ(said.size(), 1);
    EXPECT_THAT(said[0][0].toString().toStdString(), HasSubstr("line 1: "));
    EXPECT_FALSE(notes.add(bookmark("1", "2", "lost?")));
    ASSERT_TRUE(file.open(QIODevice::ReadOnly));
    EXPECT_EQ(file.readAll().toStdString(), text);
    file.close();
  }
}

TEST(KeptNotes, AreBounded) {
  const QTemporaryDir folder;
  KeptNotes notes(folder.path());
  notes.set_run("night", 17);
  for (std::size_t i = 0; i < command::RunNotes::kMostBookmarks; ++i)
    ASSERT_TRUE(notes.add(bookmark("1", "2", "x")));
  QSignalSpy said(&notes, &KeptNotes::said);
  EXPECT_FALSE(notes.add(bookmark("1", "2", "one more")));
  EXPECT_THAT(said[0][0].toString().toStdString(), HasSubstr("128 bookmarks already"));
}

TEST(Bookmarks, OfTheSelectionAreListedGoneToCopiedAndRemoved) {
  Noted s("noted-listed");
  s.session.select(Session::Selection{2, 1, 2});
  QTest::keyClick(&s.overview(), Qt::Key_B);
  auto* dialog = s.window.findChild<QInputDialog*>("bookmark");
  ASSERT_NE(dialog, nullptr);
  EXPECT_THAT(dialog->labelText().toStdString(), HasSubstr("/a/r0"));
  dialog->setTextValue("sends & waits");
  dialog->accept();
  ASSERT_THAT(s.session.bookmarks(), SizeIs(1));
  const Session::Bookmark b = s.session.bookmarks()[0];
  EXPECT_EQ(b.node, "/a/r0");
  EXPECT_EQ(b.time.from, s.session.data().boundaries[1]);
  EXPECT_EQ(b.time.to, s.session.data().boundaries[2]);
  EXPECT_THAT(s.texts(s.menu()).last().toStdString(), HasSubstr("sends && waits, /a/r0, "));
  // By the line that finds anything.
  s.session.select(std::nullopt);
  const Commands commands(s.session, *s.window.menuBar(), nullptr, {});
  const Commands::Found found = commands.find("sends");
  ASSERT_THAT(found.shown, testing::Not(IsEmpty()));
  found.shown[0].run();
  ASSERT_TRUE(s.session.selection());
  EXPECT_EQ(s.session.selection()->node, 2u);
  EXPECT_EQ(s.session.selection()->first, 1u);
  s.window.set_place("night", "");
  for (QAction* a : s.menu()->actions())
    if (a->text() == "&Copy all as links") a->trigger();
  EXPECT_THAT(QApplication::clipboard()->text().toStdString(), testing::StartsWith("margay://night#t="));
  EXPECT_THAT(QApplication::clipboard()->text().toStdString(), HasSubstr("&n=/a/r0 sends & waits\n"));
  QTest::keyClick(&s.overview(), Qt::Key_B, Qt::ShiftModifier);
  auto* remove = s.window.findChild<QInputDialog*>("remove-bookmark");
  ASSERT_NE(remove, nullptr);
  remove->accept();
  EXPECT_THAT(s.session.bookmarks(), IsEmpty());
}

TEST(Bookmarks, AreFlagsAboveTheTimeAxisThatLeadThere) {
  Noted s("noted-flags");
  const QImage before = s.overview().grab().toImage();
  s.session.select(Session::Selection{5, 2, 3});
  ASSERT_TRUE(s.menu()->add("here"));
  s.session.select(std::nullopt);
  const QImage after = s.overview().grab().toImage();
  EXPECT_NE(before, after);
  const Sheet sheet = s.overview().sheet();
  const double x = sheet.picture.left() + sheet.picture.width() / 2;
  QTest::mouseClick(&s.overview(), Qt::LeftButton, {}, QPointF(x + 3, sheet.axis.top() - 5).toPoint());
  ASSERT_TRUE(s.session.selection());
  EXPECT_EQ(s.session.selection()->node, 5u);
}

TEST(Bookmarks, WhatAFileSaysMayBeFarAway) {
  Noted s("noted-far");
  EXPECT_TRUE(s.window.notes().add(bookmark("-9000000000", "9000000000", "beyond")));
  EXPECT_TRUE(s.window.notes().add(bookmark("x", "", "no time")));
  EXPECT_THAT(s.session.bookmarks(), IsEmpty());
  s.overview().grab();
}

TEST(KeptFilters, AreInTheMenuUntilTheyAreForgotten) {
  Noted s("noted-filters");
  auto* menu = s.window.findChild<FilterMenu*>();
  const auto act = [&](const char* text) {
    for (QAction* a : menu->actions())
      if (a->text().startsWith(text)) return a->trigger();
    ADD_FAILURE() << text;
  };
  ASSERT_TRUE(s.session.set_filter({{"MPI_*"}, {"/a"}, true}));
  act("&Keep this filter");
  EXPECT_EQ(s.texts(menu).last(), "Kept: states MPI_*; resources /a; shares are of the rest");
  s.session.show_everything();
  EXPECT_TRUE(s.session.subject().filter.empty());
  act("Kept: states");
  EXPECT_EQ(s.session.subject().filter, (scene::RunFilter{{"MPI_*"}, {"/a"}, true}));
  act("&Keep this filter");
  EXPECT_FALSE(s.texts(menu).last().startsWith("Kept"));
}

TEST(Measuring, ADragWithControlSaysTheTimeBetween) {
  Noted s("noted-measure");
  const scene::TimeRange seen = s.session.time();
  const QPoint from = s.at(0.25, 0.5), to = s.at(0.75, 0.5);
  QTest::mousePress(&s.overview(), Qt::LeftButton, Qt::ControlModifier, from);
  QTest::mouseMove(&s.overview(), s.at(0.5, 0.5));
  QTest::mouseMove(&s.overview(), to);
  s.overview().grab();
  QTest::mouseRelease(&s.overview(), Qt::LeftButton, Qt::ControlModifier, to);
  EXPECT_EQ(s.session.time(), seen) << "nothing is zoomed into";
  EXPECT_THAT(s.said(), HasSubstr(", 2.0 slices, "));
}

TEST(Measuring, ByKeysFromOneSelectionToTheNext) {
  Noted s("noted-measure-keys");
  QTest::keyClick(&s.overview(), Qt::Key_M, Qt::ShiftModifier);
  EXPECT_THAT(s.said(), HasSubstr("select a part first"));
  s.session.select(Session::Selection{2, 3, 4});
  QTest::keyClick(&s.overview(), Qt::Key_M, Qt::ShiftModifier);
  EXPECT_THAT(s.said(), HasSubstr("measured from "));
  s.session.select(Session::Selection{1, 0, 1});
  QTest::keyClick(&s.overview(), Qt::Key_M, Qt::ShiftModifier);
  EXPECT_THAT(s.said(), HasSubstr(", 3.0 slices, "));
}

TEST(Looks, AreUndoneAndDoneAgain) {
  Noted s("noted-looks");
  LookHistory& looks = s.window.looks();
  looks.begin();
  EXPECT_FALSE(looks.can_undo());
  s.session.set_p(0.25);
  s.session.toggle_fold(1);
  s.session.set_theme(scene::Theme::kDark);
  s.session.set_threshold(10);
  s.session.into(1);  // where one is: not a look
  QTest::keyClick(&s.overview(), Qt::Key_Z, Qt::ControlModifier);
  EXPECT_EQ(s.said(), "undone: small parts");
  EXPECT_NE(s.session.threshold(), 10);
  QTest::keyClick(&s.overview(), Qt::Key_Z, Qt::ControlModifier);
  EXPECT_EQ(s.session.palette().theme(), scene::Theme::kLight);
  QTest::keyClick(&s.overview(), Qt::Key_Z, Qt::ControlModifier);
  EXPECT_THAT(s.session.folding().folded, IsEmpty());
  EXPECT_EQ(s.session.subject().p, 0.25);
  QTest::keyClick(&s.overview(), Qt::Key_Z, Qt::ControlModifier);
  EXPECT_FALSE(s.session.subject().p);
  EXPECT_FALSE(looks.can_undo());
  EXPECT_EQ(s.session.subject().node, "/a") << "one stays where one is";
  QTest::keyClick(&s.overview(), Qt::Key_Y, Qt::ControlModifier);
  QTest::keyClick(&s.overview(), Qt::Key_Y, Qt::ControlModifier);
  EXPECT_EQ(s.session.subject().p, 0.25);
  EXPECT_THAT(s.session.folding().folded, SizeIs(1));
  // So are the frames of collectives and a p of the time line.
  looks.begin();
  s.session.set_bands(false);
  s.session.set_time_p(0.75);
  EXPECT_EQ(looks.undo(), "p of the time line");
  EXPECT_FALSE(s.session.subject().time_p);
  EXPECT_EQ(looks.undo(), "collective calls as bands");
  EXPECT_TRUE(s.session.shows_bands());
  looks.redo();
  EXPECT_FALSE(s.session.shows_bands());
  s.session.set_unit(scene::TimeUnit::kMilliseconds);
  EXPECT_EQ(looks.undo(), "unit of the time axis");
  EXPECT_EQ(s.session.times().unit, scene::TimeUnit::kAuto);
  // What is done now takes the place of what was undone.
  s.session.set_messages(false);
  EXPECT_FALSE(looks.can_redo());
}

TEST(Looks, ASearchIsOneStepAndStepsAreBounded) {
  Noted s("noted-search");
  LookHistory& looks = s.window.looks();
  looks.begin();
  for (const char* typed : {"r", "r1", "r12"}) s.session.search(typed);
  EXPECT_EQ(looks.undo(), "search");
  EXPECT_EQ(s.session.folding().search, "");
  EXPECT_FALSE(looks.can_undo());
  for (int i = 0; i < 300; ++i) s.session.set_messages(i % 2 != 0);
  std::size_t undone = 0;
  while (!looks.undo().isEmpty()) ++undone;
  EXPECT_EQ(undone, LookHistory::kMost - 1);
}

}  // namespace notes_test
}  // namespace margay::viewer
