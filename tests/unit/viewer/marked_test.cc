// A rectangle of the picture that somebody marks: what it is of, and who follows it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QClipboard>
#include <QSignalSpy>

#include "durations.h"
#include "events.h"
#include "marked.h"
#include "messages.h"
#include "shown.h"

namespace margay::viewer {
namespace marked_test {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t kSecond = 1'000'000'000;

// From one corner to the other, as shares of the picture; rows of the small one are a quarter each.
void drag_mark(Shown& s, QPointF from, QPointF to, Qt::KeyboardModifiers modifiers = Qt::ShiftModifier) {
  QTest::mousePress(&s.overview(), Qt::LeftButton, modifiers, s.at(from.x(), from.y()));
  QTest::mouseMove(&s.overview(), s.at((from.x() + to.x()) / 2, (from.y() + to.y()) / 2));
  QTest::mouseMove(&s.overview(), s.at(to.x(), to.y()));
  QTest::mouseRelease(&s.overview(), Qt::LeftButton, modifiers, s.at(to.x(), to.y()));
}

// r1 and r2 in the slices from 1 to 3 s.
void mark_two(Shown& s) {
  drag_mark(s, {0.3, 0.3}, {0.7, 0.7});
  ASSERT_TRUE(s.session.marked());
}

QString heading(Shown& s) {
  return s.window.states().findChild<QLabel*>()->toolTip();
}

TEST(Marked, ADragWithShiftMarksWholeRowsAndSlices) {
  Shown s;
  QSignalSpy said(&s.session, &Session::said);
  mark_two(s);
  EXPECT_THAT(s.session.marked()->nodes, ElementsAre("/a/r1", "/b/r2"));
  EXPECT_EQ(s.session.marked()->time, (scene::TimeRange{TimeNs(kSecond), TimeNs(3 * kSecond)}));
  ASSERT_EQ(said.size(), 1);
  EXPECT_THAT(said[0][0].toString().toStdString(),
              HasSubstr("in the marked rectangle: /a/r1 and 1 other, 1 s to 3 s"));
  EXPECT_FALSE(s.session.subject().time) << "nobody goes anywhere";
  // From the other corner, and in one column.
  drag_mark(s, {0.6, 0.9}, {0.6, 0.1});
  EXPECT_THAT(s.session.marked()->nodes, ElementsAre("/"));
  EXPECT_EQ(s.session.marked()->time, (scene::TimeRange{TimeNs(2 * kSecond), TimeNs(3 * kSecond)}));
  // A click with Shift is a click.
  QTest::mouseClick(&s.overview(), Qt::LeftButton, Qt::ShiftModifier, s.at(0.1, 0.1));
  EXPECT_THAT(s.session.marked()->nodes, ElementsAre("/"));
  EXPECT_TRUE(s.session.selection());
}

TEST(Marked, TheListOfStatesIsOfItUntilEscape) {
  Shown s;
  const auto share = [&](const char* state) {
    return s.window.statistics().index(s.row(state), StatisticsModel::kShare).data().toString().toStdString();
  };
  mark_two(s);
  EXPECT_THAT(heading(s).toStdString(),
              HasSubstr("in the marked rectangle: /a/r1 and 1 other\n1 s to 3 s (2 s)\n2 resources"));
  EXPECT_THAT(heading(s).toStdString(), HasSubstr("estimates: parts reach beyond it"));
  EXPECT_THAT(share("Compute"), HasSubstr("30")) << "half of what b has";
  // What is selected is another matter.
  s.session.select(Session::Selection{5, 0, 4});
  EXPECT_THAT(heading(s).toStdString(), HasSubstr("in the marked rectangle"));
  QTest::keyClick(&s.overview(), Qt::Key_Escape);
  EXPECT_FALSE(s.session.marked());
  EXPECT_FALSE(s.session.selection());
  EXPECT_THAT(heading(s).toStdString(), testing::Not(HasSubstr("marked")));
}

TEST(Marked, TheListIsCopiedAsCsv) {
  Shown s;
  mark_two(s);
  s.window.states().table().setFocus();
  QTest::keyClick(&s.window.states().table(), Qt::Key_C, Qt::ControlModifier);
  const std::string text = QApplication::clipboard()->text().toStdString();
  EXPECT_THAT(text, testing::StartsWith("state,family,"));
  EXPECT_EQ(text, scene::csv_of(s.window.statistics().statistics(), s.session.data()));
}

TEST(Marked, StaysWhereverOneGoes) {
  Shown s;
  mark_two(s);
  const auto marked = s.session.marked();
  // Another picture, of the first of its two seconds alone.
  support::ViewBuilder build(4, kSecond / 4);
  const auto state = build.state("MPI_Wait", wire::FAMILY_WAIT);
  for (int i = 0; i < build.raw().boundaries_size(); ++i)
    build.raw().set_boundaries(i, build.raw().boundaries(i) + kSecond);
  build.part(build.node("r1", build.node("a", 0)), 0, 4, {{state, 1}});
  s.session.show(std::make_shared<const scene::ViewData>(*scene::view_data_untrusted(build.answer())));
  EXPECT_EQ(s.session.marked(), marked);
  EXPECT_THAT(heading(s).toStdString(), HasSubstr("1 s to 2 s"));
  EXPECT_THAT(heading(s).toStdString(), HasSubstr("1 resource,"));
  for (int i = 0; i < build.raw().boundaries_size(); ++i)
    build.raw().set_boundaries(i, build.raw().boundaries(i) + 10 * kSecond);
  s.session.show(std::make_shared<const scene::ViewData>(*scene::view_data_untrusted(build.answer())));
  EXPECT_THAT(heading(s).toStdString(), HasSubstr("the picture does not show it; Escape takes it back"));
}

TEST(Marked, TheListOfEventsIsOfIt) {
  Shown s;
  mark_two(s);
  auto* page = s.window.views().findChild<EventsView*>();
  s.window.views().setCurrentWidget(page);
  QCoreApplication::processEvents();
  ASSERT_TRUE(page->model().asked());
  const wire::EventsQuestion& q = *page->model().asked();
  EXPECT_EQ(std::vector<std::string>(q.nodes().begin(), q.nodes().end()),
            (std::vector<std::string>{"/a/r1", "/b/r2"}));
  EXPECT_EQ(q.from_ns(), kSecond);
  EXPECT_EQ(q.to_ns(), 3 * kSecond);
  EXPECT_THAT(page->status().toStdString(), HasSubstr("in the marked rectangle: /a/r1 and 1 other"));
  s.session.mark(std::nullopt);
  ASSERT_TRUE(QTest::qWaitFor([&] { return page->model().asked()->nodes_size() == 0; }));
}

template <class Page>
void expect_sums_of_it() {
  Shown s;
  auto* page = s.window.views().findChild<Page*>();
  s.window.views().setCurrentWidget(page);
  QCoreApplication::processEvents();
  ASSERT_TRUE(page->source().asked());
  EXPECT_EQ(page->source().asked()->nodes_size(), 0);
  const std::uint64_t all = page->source().asked()->token();
  emit s.session.not_listed(all, "too long");
  mark_two(s);
  ASSERT_TRUE(QTest::qWaitFor([&] { return page->source().asked()->token() != all; }));
  const wire::EventsQuestion& q = *page->source().asked();
  EXPECT_EQ(std::vector<std::string>(q.nodes().begin(), q.nodes().end()),
            (std::vector<std::string>{"/a/r1", "/b/r2"}));
  EXPECT_EQ(q.from_ns(), kSecond);
  EXPECT_EQ(q.to_ns(), 3 * kSecond);
}

TEST(Marked, WhatEventsSumToIsOfIt) {
  expect_sums_of_it<DurationsView>();
  expect_sums_of_it<MessagesView>();
}

TEST(Marked, IsPaintedRoundItsRows) {
  Shown s;
  const QImage before = s.overview().grab().toImage();
  mark_two(s);
  const QImage after = s.overview().grab().toImage();
  const QRectF area = s.overview().picture_area();
  const auto changes = [&](double x0, double x1, double y) {
    int count = 0;
    for (int x = static_cast<int>(area.left() + x0 * area.width()); x < area.left() + x1 * area.width(); ++x)
      count += before.pixel(x, static_cast<int>(area.top() + y * area.height() + 1)) !=
                       after.pixel(x, static_cast<int>(area.top() + y * area.height() + 1))
                   ? 1
                   : 0;
    return count;
  };
  EXPECT_GT(changes(0.26, 0.74, 0.25), 0) << "its upper edge";
  EXPECT_EQ(changes(0.0, 0.24, 0.25), 0);
  EXPECT_EQ(changes(0.3, 0.7, 0.5), 0) << "nothing between rows that lie side by side";
}

TEST(Marked, AKeyMarksTheSelectionThenAllAsFarAsTheNext) {
  Shown s;
  QSignalSpy said(&s.session, &Session::said);
  QTest::keyClick(&s.window, Qt::Key_K);
  EXPECT_FALSE(s.session.marked());
  ASSERT_EQ(said.size(), 1);
  EXPECT_THAT(said[0][0].toString().toStdString(), HasSubstr("select a part first"));
  s.session.select(Session::Selection{2, 0, 1});  // r0
  QTest::keyClick(&s.window, Qt::Key_K);
  EXPECT_THAT(s.session.marked()->nodes, ElementsAre("/a/r0"));
  s.session.select(Session::Selection{5, 2, 3});  // r2
  QTest::keyClick(&s.window, Qt::Key_K);
  EXPECT_THAT(s.session.marked()->nodes, ElementsAre("/a", "/b/r2"));
  EXPECT_EQ(s.session.marked()->time, (scene::TimeRange{TimeNs(0), TimeNs(3 * kSecond)}));
}

}  // namespace marked_test
}  // namespace margay::viewer
