// Pins: bookmarks beside each other, with what most of each is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QClipboard>
#include <QDockWidget>
#include <QMenuBar>
#include <QSignalSpy>
#include <QStatusBar>
#include <QTemporaryDir>

#include "commands.h"
#include "pins.h"
#include "shown.h"

namespace margay::viewer {
namespace pins_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::int64_t kSecond = 1'000'000'000;

struct Pinned : ShownOfRun {
  using ShownOfRun::ShownOfRun;
  PinsPanel* panel() {
    QCoreApplication::processEvents();
    auto* dock = window.findChild<QDockWidget*>("pins");
    return dock != nullptr && dock->isVisible() ? dock->findChild<PinsPanel*>() : nullptr;
  }
  QString cell(int row, PinModel::Column column) {
    return panel()->table().model()->index(row, column).data().toString();
  }
  void pin(std::optional<Session::Selection> selection = std::nullopt) {
    session.select(selection);
    QTest::keyClick(&window, Qt::Key_I);
    QCoreApplication::processEvents();
  }
  // What the daemon would say of the one that is asked for.
  void answer(const std::vector<std::pair<const char*, float>>& of) {
    const wire::ViewQuestion q = *panel()->contents().asked();
    support::ViewBuilder build(1);
    *build.raw().mutable_question() = q;
    std::vector<support::ViewShare> shares;
    for (const auto& [name, share] : of) shares.push_back({build.state(name), share});
    build.node("r", 0);
    build.part(0, 0, 1, shares);
    session.take_beside(std::make_shared<const scene::ViewData>(*scene::view_data_untrusted(build.answer())));
    QCoreApplication::processEvents();
  }
  QPoint at(int row, PinModel::Column column) {
    QTableView& table = panel()->table();
    return table.visualRect(table.model()->index(row, column)).center();
  }
  std::string said() { return window.statusBar()->currentMessage().toStdString(); }
};

TEST(Pins, SayWhoWhenAndTheThreeLargestStates) {
  Pinned s("pinned-say");
  EXPECT_EQ(s.panel(), nullptr) << "no list of nothing";
  s.pin(Session::Selection{3, 0, 2});
  ASSERT_NE(s.panel(), nullptr);
  EXPECT_EQ(s.cell(0, PinModel::kWho), "/a/r1");
  EXPECT_EQ(s.cell(0, PinModel::kWhen), "0 s to 2 s (2 s)");
  EXPECT_EQ(s.cell(0, PinModel::kFirst), "reading...");
  const wire::ViewQuestion& q = *s.panel()->contents().asked();
  EXPECT_EQ(q.node(), "/a/r1");
  EXPECT_EQ(q.slices(), 1u) << "all of it, exactly";
  EXPECT_EQ(q.to_ns(), 2 * kSecond);
  EXPECT_FALSE(q.has_filter());
  s.answer({{"MPI_Send", 0.13F}, {"MPI_Wait", 0.5F}, {"write", 0.05F}, {"Compute", 0.25F}});
  EXPECT_EQ(s.cell(0, PinModel::kFirst), "MPI_Wait 50 %");
  EXPECT_EQ(s.cell(0, PinModel::kSecond), "Compute 25 %");
  EXPECT_EQ(s.cell(0, PinModel::kThird), "MPI_Send 13 %");
}

// One below the other; what is marked is several resources.
TEST(Pins, AreComparedAlsoARectangle) {
  Pinned s("pinned-compare");
  s.pin(Session::Selection{2, 0, 1});
  s.answer({{"MPI_Send", 1}});
  s.session.mark(scene::MarkedArea{{TimeNs(kSecond), TimeNs(3 * kSecond)}, {"/a/r1", "/b/r2"}});
  s.pin();
  ASSERT_EQ(s.panel()->model().rowCount(), 2);
  EXPECT_EQ(s.cell(1, PinModel::kWho), "/a/r1 and 1 other");
  const wire::ViewQuestion& q = *s.panel()->contents().asked();
  EXPECT_EQ(q.node(), "");
  EXPECT_THAT(std::vector<std::string>(q.filter().resources().begin(), q.filter().resources().end()),
              ElementsAre("/a/r1", "/b/r2"));
  EXPECT_TRUE(q.filter().of_the_rest()) << "shares are of these resources";
  s.answer({{"Compute", 0.75F}});
  EXPECT_EQ(s.cell(1, PinModel::kFirst), "Compute 75 %");
  EXPECT_EQ(s.cell(0, PinModel::kFirst), "MPI_Send 100 %");
  s.panel()->table().setFocus();
  QTest::keyClick(&s.panel()->table(), Qt::Key_C, Qt::ControlModifier);
  EXPECT_EQ(QApplication::clipboard()->text().toStdString(),
            "resource,begin (s),end (s),state,share,state,share,state,share\r\n"
            "/a/r0,0,1,MPI_Send,1,,,,\r\n"
            "/a/r1 and 1 other,1,3,Compute,0.75,,,,\r\n");
}

TEST(Pins, AreMarkedByAClickGoneToByReturnAndRemovedByTheCross) {
  Pinned s("pinned-click");
  s.session.mark(scene::MarkedArea{{TimeNs(kSecond), TimeNs(3 * kSecond)}, {"/a/r1", "/b/r2"}});
  s.pin();
  s.pin();
  EXPECT_THAT(s.said(), HasSubstr("it is pinned already"));
  s.session.mark(std::nullopt);
  s.pin(Session::Selection{2, 0, 1});
  ASSERT_EQ(s.panel()->model().rowCount(), 2);
  QWidget* rows = s.panel()->table().viewport();
  QTest::mouseClick(rows, Qt::LeftButton, {}, s.at(1, PinModel::kWho));
  ASSERT_TRUE(s.session.marked());
  EXPECT_THAT(s.session.marked()->nodes, ElementsAre("/a/r1", "/b/r2"));
  QTest::keyClick(&s.panel()->table(), Qt::Key_Return);
  ASSERT_TRUE(s.session.selection());
  EXPECT_EQ(s.session.selection()->first, 1u);
  QTest::mouseClick(rows, Qt::LeftButton, {}, s.at(1, PinModel::kRemove));
  QCoreApplication::processEvents();
  ASSERT_EQ(s.panel()->model().rowCount(), 1);
  EXPECT_EQ(s.cell(0, PinModel::kWho), "/a/r0");
  QTest::mouseClick(rows, Qt::LeftButton, {}, s.at(0, PinModel::kWho));
  QTest::keyClick(&s.panel()->table(), Qt::Key_Delete);
  EXPECT_EQ(s.panel(), nullptr) << "gone with the last";
}

// They are bookmarks: flags of the picture, in the menu, and found by their names.
TEST(Pins, AreBookmarksAndFoundByNames) {
  Pinned s("pinned-bookmarks");
  s.pin(Session::Selection{3, 0, 2});
  ASSERT_THAT(s.session.bookmarks(), SizeIs(1));
  s.session.select(std::nullopt);
  const Commands commands(s.session, *s.window.menuBar(), nullptr, {});
  const auto found = commands.find("pin this");
  ASSERT_THAT(found.shown, testing::Not(IsEmpty()));
  found.shown[0].run();
  QCoreApplication::processEvents();
  EXPECT_EQ(s.panel()->model().rowCount(), 2) << "of what is seen";
  EXPECT_EQ(s.panel()->model().at(1).who, "everything");
  QTest::keyClick(&s.window, Qt::Key_I, Qt::ShiftModifier);
  QCoreApplication::processEvents();
  ASSERT_EQ(s.panel()->model().rowCount(), 1) << "the newest";
  EXPECT_EQ(s.panel()->model().at(0).who, "/a/r1");
}

TEST(Pins, AreKeptAndNoMoreThanEight) {
  const QTemporaryDir folder;
  KeptNotes notes(folder.path());
  notes.set_run("night", 17);
  QSignalSpy said(&notes, &KeptNotes::said);
  for (int i = 0; i < 9; ++i) {
    command::RunNotes::Bookmark b;
    b.of.from = std::to_string(i), b.of.to = std::to_string(i + 1);
    b.of.resources = {"/a/r0", "/b"};
    b.pinned = true;
    EXPECT_EQ(notes.add(b), i < 8);
  }
  ASSERT_EQ(said.size(), 1);
  EXPECT_THAT(said[0][0].toString().toStdString(), HasSubstr("there are 8 pins already: remove one"));
  KeptNotes again(folder.path());
  again.set_run("night", 17);
  EXPECT_EQ(again.notes(), notes.notes());
}

TEST(Pins, SayWhyNothingIsKnown) {
  Pinned s("pinned-trouble");
  s.pin(Session::Selection{3, 0, 2});
  const std::uint64_t token = s.panel()->contents().asked()->token();
  emit s.session.not_beside(token, "the archive is busy");
  EXPECT_EQ(s.cell(0, PinModel::kFirst), "the archive is busy");
  EXPECT_TRUE(QTest::qWaitFor([&] { return s.panel()->contents().asked()->token() > token; }, 20'000))
      << "it is asked again";
}

}  // namespace pins_test
}  // namespace margay::viewer
