// The picture as a table, and what assistive technology gets of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QAccessible>

#include "accessible_overview.h"
#include "picture_table.h"
#include "shown.h"

namespace margay::viewer {
namespace accessible_test {

using testing::ElementsAre;

std::vector<std::string> row_of(const PictureTable& table, int row) {
  std::vector<std::string> out;
  for (int column = 0; column < table.columns();) {
    const PictureTable::Cell cell = table.cell(row, column);
    out.push_back(table.words(cell).toStdString());
    column = cell.last;
  }
  return out;
}

TEST(PictureTable, TellsWhoWhenAndHowMuchTheLargestFirst) {
  Shown s;
  const PictureTable table(s.session);
  EXPECT_EQ(table.rows(), 5) << "four resources, and all together";
  EXPECT_EQ(table.columns(), 2);
  EXPECT_THAT(row_of(table, 0),
              ElementsAre("r0, 0.0 to 2.0 s, MPI_Send 80 %, not shown 20 %",
                          "r0, 2.0 to 4.0 s, as all 2 of a, MPI_Wait 50 %, MPI_Send 25 %, not shown 25 %"));
  EXPECT_THAT(row_of(table, 1),
              ElementsAre("r1, 0.0 to 2.0 s, MPI_Wait 100 %",
                          "r1, 2.0 to 4.0 s, as all 2 of a, MPI_Wait 50 %, MPI_Send 25 %, not shown 25 %"));
  // One part, as long as both columns.
  EXPECT_THAT(row_of(table, 3),
              ElementsAre("r3, 0.0 to 4.0 s, as all 2 of b, Compute 60 %, not shown 20 %, not there 20 %"));
  EXPECT_EQ(table.cell(3, 1), (PictureTable::Cell{3, 0, 2}));
  EXPECT_THAT(row_of(table, 4), ElementsAre("all together, 0.0 to 4.0 s, Compute 30 %, MPI_Wait 25 %, "
                                            "MPI_Send 16 %, not shown 19 %, not there 10 %"));
  EXPECT_EQ(table.row_words(0), "/a/r0");
  EXPECT_EQ(table.column_words(1), "2.0 to 4.0 s");
  EXPECT_EQ(table.more(table.cell(0, 0)), "/a/r0, 2 s long, gain 1 bits, loss 0.5 bits");
  EXPECT_EQ(table.selection(table.cell(0, 1)), (Session::Selection{2, 2, 4}));
}

TEST(PictureTable, AFoldedRowIsCutWhereAllBelowAre) {
  Shown s;
  s.session.toggle_fold(1);  // a
  s.session.toggle_fold(4);  // b
  const PictureTable table(s.session);
  EXPECT_EQ(table.rows(), 3);
  EXPECT_THAT(
      row_of(table, 0),
      ElementsAre("a, 0.0 to 2.0 s, 2 resources in 2 parts, MPI_Wait 50 %, MPI_Send 40 %, not shown 10.0 %",
                  "a, 2.0 to 4.0 s, 2 resources alike, MPI_Wait 50 %, MPI_Send 25 %, not shown 25 %"));
  EXPECT_EQ(table.row_words(0), "/a, folded, 2 resources");
}

TEST(PictureTable, SmallStatesAreOneNumber) {
  support::ViewBuilder build(4);
  std::vector<support::ViewShare> shares;
  for (const auto& [name, share] :
       {std::pair("s1", 0.3F), std::pair("s2", 0.2F), std::pair("s3", 0.15F), std::pair("s4", 0.1F),
        std::pair("s5", 0.1F), std::pair("s6", 0.08F), std::pair("s7", 0.04F), std::pair("s8", 0.03F)})
    shares.push_back({build.state(name), share});
  const std::uint32_t r = build.node("r", 0);
  build.part(r, 0, 4, shares);
  Shown s(std::make_shared<const scene::ViewData>(*scene::view_data_untrusted(build.answer())));
  EXPECT_THAT(row_of(PictureTable(s.session), 0),
              ElementsAre("r, 0.0 to 4.0 s, s1 30 %, s2 20 %, s3 15 %, s4 10 %, s5 10 %, 3 others 15 %"));
}

TEST(PictureTable, WhatIsMeasuredIsInItsUnit) {
  auto data = std::make_shared<scene::ViewData>(scene::SmallView().data());
  data->unit = "bytes";
  data->full = 100;
  Shown s(data);
  EXPECT_EQ(row_of(PictureTable(s.session), 0)[0], "r0, 0.0 to 2.0 s, MPI_Send 160 bytes");
}

TEST(PictureTable, TimesAreAsExactAsSlices) {
  auto data = std::make_shared<scene::ViewData>(scene::SmallView().data());
  for (TimeNs& t : data->boundaries) t = TimeNs(t.value / 400);  // 2.5 ms
  Shown s(data);
  EXPECT_EQ(PictureTable(s.session).column_words(1), "0.005 to 0.010 s");
}

TEST(PictureTable, HasPhasesAndTheAlertsOfWhoIsBlamed) {
  Shown s;
  wire::Report r = report(0);
  auto& alert = *r.add_alerts();
  alert.set_id("r0-1");
  alert.set_kind(wire::Alert::PERTURBATION);
  alert.set_resolved(true);
  alert.set_onset_ns(1'900'000'000);  // a part ends at 2 s
  alert.set_end_ns(3'900'000'000);
  alert.set_node("/a/r1");
  alert.add_resources("/a/r1");
  alert.set_message("r1 on a has been stopped for 2 s");
  for (const auto& [name, from, to] : {std::tuple("A", 500, 1000), std::tuple("B", 1000, 9000)}) {
    auto& phase = *r.add_phases();
    phase.set_name(name);
    phase.set_begin_ns(from * 1'000'000LL);
    phase.set_end_ns(to * 1'000'000LL);
    phase.set_occurrence(2);
  }
  s.take(r);
  const PictureTable table(s.session);
  EXPECT_EQ(table.rows(), 6);
  EXPECT_EQ(table.resources(), 4);
  EXPECT_THAT(row_of(table, 4),
              ElementsAre("phases, 0.0 to 0.5 s, none", "phases, 0.5 to 1.0 s, A, 2nd",
                          "phases, 1.0 to 4.0 s, B, 2nd; alert: r1 on a has been stopped for 2 s"));
  // In the cell that has most of its time, of the resource that is blamed.
  EXPECT_THAT(row_of(table, 1), ElementsAre("r1, 0.0 to 2.0 s, MPI_Wait 100 %",
                                            "r1, 2.0 to 4.0 s, as all 2 of a, MPI_Wait 50 %, MPI_Send 25 %, "
                                            "not shown 25 %; alert: r1 on a has been stopped for 2 s"));
  EXPECT_THAT(row_of(table, 0), testing::Each(testing::Not(testing::HasSubstr("alert"))));
  // All rows fit the columns: 0, 0.5, 1, 2 and 4 s.
  EXPECT_EQ(table.columns(), 4);
  EXPECT_EQ(table.cell(0, 1), (PictureTable::Cell{0, 0, 3}));
}

TEST(PictureTable, EachRowIsTiledByItsCells) {
  Shown s(cluster());
  const PictureTable table(s.session);
  ASSERT_EQ(table.resources(), 1000);
  for (int row = 0; row < table.rows(); row += 37) {
    int at = 0;
    while (at < table.columns()) {
      const PictureTable::Cell cell = table.cell(row, at);
      ASSERT_EQ(cell.first, at);
      ASSERT_GT(cell.last, at);
      ASSERT_EQ(table.cell(row, cell.last - 1), cell);
      at = cell.last;
    }
    EXPECT_EQ(at, table.columns());
  }
}

QAccessibleInterface* interface_of(Shown& s) {
  return QAccessible::queryAccessibleInterface(&s.overview());
}

TEST(AccessibleOverview, IsATable) {
  Shown s;
  QAccessibleInterface* is = interface_of(s);
  ASSERT_NE(is, nullptr);
  EXPECT_EQ(is->role(), QAccessible::Table);
  EXPECT_EQ(is->text(QAccessible::Name), "Overview: resources over time");
  EXPECT_TRUE(is->text(QAccessible::Description).startsWith("4 rows of resources, 0.0 to 4.0 s, p "));
  QAccessibleTableInterface* table = is->tableInterface();
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(table->rowCount(), 5);
  EXPECT_EQ(table->columnCount(), 2);
  EXPECT_EQ(table->rowDescription(2), "/b/r2");
  EXPECT_EQ(table->columnDescription(0), "0.0 to 2.0 s");
  QAccessibleInterface* cell = table->cellAt(1, 0);
  EXPECT_EQ(cell->role(), QAccessible::Cell);
  EXPECT_EQ(cell->text(QAccessible::Name), "r1, 0.0 to 2.0 s, MPI_Wait 100 %");
  EXPECT_EQ(cell->parent(), is);
  EXPECT_EQ(is->indexOfChild(cell), 2);
  EXPECT_EQ(is->child(2), cell) << "the same place is the same object";
  EXPECT_EQ(is->childCount(), 10);
  // A part of two columns is one cell.
  EXPECT_EQ(table->cellAt(3, 0), table->cellAt(3, 1));
  EXPECT_EQ(table->cellAt(3, 1)->tableCellInterface()->columnIndex(), 0);
  EXPECT_EQ(table->cellAt(3, 1)->tableCellInterface()->columnExtent(), 2);
}

TEST(AccessibleOverview, CellsAreWhereThePictureHasThem) {
  Shown s;
  QAccessibleInterface* is = interface_of(s);
  for (const auto& [x, y, row, column] :
       {std::tuple(0.1, 0.1, 0, 0), std::tuple(0.9, 0.1, 0, 1), std::tuple(0.4, 0.4, 1, 0)}) {
    const QPoint at = s.overview().mapToGlobal(s.at(x, y));
    QAccessibleInterface* cell = is->tableInterface()->cellAt(row, column);
    EXPECT_EQ(is->childAt(at.x(), at.y()), cell);
    EXPECT_TRUE(cell->rect().contains(at));
    EXPECT_FALSE(cell->state().offscreen);
  }
  s.session.set_scroll({2, 4});
  EXPECT_TRUE(is->tableInterface()->cellAt(0, 0)->state().offscreen) << "r0 is scrolled out of sight";
  EXPECT_FALSE(is->tableInterface()->cellAt(3, 0)->state().offscreen);
}

TEST(AccessibleOverview, APlaceThatThereIsNotIsAnInvalidCell) {
  Shown s;
  QAccessibleTableInterface* table = interface_of(s)->tableInterface();
  for (const auto& [row, column] : {std::pair(5, 0), std::pair(0, 2), std::pair(-1, 0), std::pair(99, 99)}) {
    QAccessibleInterface* cell = table->cellAt(row, column);
    ASSERT_NE(cell, nullptr) << "Qt asks it for its extent without a look";
    EXPECT_FALSE(cell->isValid());
    ASSERT_NE(cell->tableCellInterface(), nullptr);
    EXPECT_EQ(cell->tableCellInterface()->columnExtent(), 0);
    EXPECT_FALSE(cell->tableCellInterface()->isSelected());
    EXPECT_EQ(cell->text(QAccessible::Name), "");
    cell->actionInterface()->doAction(QAccessibleActionInterface::pressAction());
  }
  EXPECT_EQ(table->rowDescription(77), "");
  EXPECT_EQ(table->columnDescription(-1), "");
  EXPECT_FALSE(table->selectRow(4)) << "all together is no node";
  EXPECT_EQ(interface_of(s)->child(10), nullptr);
}

TEST(AccessibleOverview, ACellSaysWhatIsThereNow) {
  Shown s;
  QAccessibleTableInterface* table = interface_of(s)->tableInterface();
  QAccessibleInterface *r1 = table->cellAt(1, 0), *r3 = table->cellAt(3, 0);
  auto next = std::make_shared<scene::ViewData>(scene::SmallView().data());
  for (TimeNs& t : next->boundaries) t = t + DurationNs(10'000'000'000);
  s.session.show(next);
  EXPECT_EQ(r1->text(QAccessible::Name), "r1, 10.0 to 12.0 s, MPI_Wait 100 %");
  s.session.search("r1");
  EXPECT_FALSE(r3->isValid()) << "there are fewer rows now";
  EXPECT_EQ(table->cellAt(0, 0)->text(QAccessible::Name), "r1, 10.0 to 12.0 s, MPI_Wait 100 %");
  s.session.search("");
  EXPECT_TRUE(r3->isValid());
  s.session.show(std::make_shared<const scene::ViewData>());
  EXPECT_EQ(table->rowCount(), 0);
  EXPECT_EQ(interface_of(s)->childCount(), 0);
  EXPECT_EQ(interface_of(s)->text(QAccessible::Description), "there is no picture yet");
  EXPECT_FALSE(r1->isValid());
  EXPECT_FALSE(table->cellAt(0, 0)->isValid());
}

TEST(AccessibleOverview, SelectsAndGoesInto) {
  Shown s;
  QAccessibleInterface* is = interface_of(s);
  QAccessibleTableInterface* table = is->tableInterface();
  EXPECT_TRUE(table->selectRow(2));
  EXPECT_EQ(s.session.selection(), (Session::Selection{5, 0, 4}));
  EXPECT_TRUE(table->isRowSelected(2));
  EXPECT_FALSE(table->isRowSelected(3));
  EXPECT_EQ(table->selectedRows(), QList<int>{2});
  EXPECT_TRUE(table->cellAt(2, 0)->state().selected);
  EXPECT_EQ(table->selectedCells(), QList<QAccessibleInterface*>{table->cellAt(2, 0)});
  EXPECT_TRUE(is->text(QAccessible::Description).contains("; selected: r2, 0.0 to 4.0 s, "));
  EXPECT_TRUE(table->unselectRow(2));
  EXPECT_FALSE(s.session.selection());
  table->cellAt(0, 0)->actionInterface()->doAction(QAccessibleActionInterface::setFocusAction());
  EXPECT_EQ(s.session.selection(), (Session::Selection{2, 0, 2}));
  table->cellAt(0, 0)->actionInterface()->doAction(QAccessibleActionInterface::pressAction());
  ASSERT_TRUE(s.session.subject().time);
  EXPECT_EQ(s.session.subject().time->to.value, 2'000'000'000);
}

// What is announced to a client is tests/e2e/accessible_test.py's: Qt tells of nothing where there is none.
TEST(AccessibleOverview, TheSelectedCellHasTheFocus) {
  Shown s;
  s.overview().setFocus();
  ASSERT_TRUE(s.overview().hasFocus());
  QAccessibleInterface* is = interface_of(s);
  EXPECT_EQ(is->focusChild(), is) << "nothing is selected";
  QTest::keyClick(&s.overview(), Qt::Key_Down);
  EXPECT_EQ(is->focusChild(), is->tableInterface()->cellAt(0, 0));
  QTest::keyClick(&s.overview(), Qt::Key_Down);
  EXPECT_EQ(is->focusChild(), is->tableInterface()->cellAt(1, 0));
  EXPECT_TRUE(is->focusChild()->state().focused);
  EXPECT_FALSE(is->tableInterface()->cellAt(0, 0)->state().focused);
  s.session.select(Session::Selection{3, 2, 4});
  EXPECT_EQ(is->focusChild(), is->tableInterface()->cellAt(1, 1)) << "the next part";
  QTest::keyClick(&s.overview(), Qt::Key_Escape);
  EXPECT_EQ(is->focusChild(), is);
  // Somewhere else nothing of it has the focus.
  s.session.select(Session::Selection{3, 2, 4});
  s.window.alert_list().setFocus();
  EXPECT_FALSE(is->tableInterface()->cellAt(1, 1)->state().focused);
}

// 100,000 resources x 250 slices: a list of all cells would be millions.
TEST(AccessibleOverview, AsksForNoMoreThanIsWanted) {
  std::mt19937_64 rng(7);
  Shown s(std::make_shared<const scene::ViewData>(
      *scene::view_data_untrusted(support::cluster_view(rng, 100'000, 250, 100'000))));
  QAccessibleInterface* is = interface_of(s);
  QAccessibleTableInterface* table = is->tableInterface();
  ASSERT_EQ(table->rowCount(), 100'001);
  ASSERT_GT(table->columnCount(), 20);
  EXPECT_EQ(is->childCount(), static_cast<int>(kMostCells));
  const QAccessible::Id first = QAccessible::uniqueId(table->cellAt(0, 0));
  EXPECT_TRUE(table->cellAt(99'999, 17)->isValid());
  EXPECT_NE(is->indexOfChild(table->cellAt(99'999, 17)), -1);
  EXPECT_NE(QAccessible::accessibleInterface(first), nullptr);
  for (int row = 1; row <= static_cast<int>(kMostCells); ++row) table->cellAt(row, 0);
  EXPECT_EQ(QAccessible::accessibleInterface(first), nullptr) << "the oldest is gone";
  EXPECT_TRUE(table->cellAt(0, 0)->isValid()) << "and made again where it is asked for";
  s.session.select(Session::Selection{0, 0, static_cast<std::uint32_t>(s.session.data().slices())});
  EXPECT_EQ(table->selectedCellCount(), static_cast<int>(kMostCellsChosen));
  EXPECT_EQ(table->selectedRowCount(), 100'000);
}

}  // namespace accessible_test
}  // namespace margay::viewer
