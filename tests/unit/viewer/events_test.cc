// The page with the events one by one: what it asks for, what a click and a key do, what it says and saves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QAbstractItemModelTester>
#include <QClipboard>
#include <QFile>
#include <QSignalSpy>
#include <QTemporaryDir>

#include "../scene/made_up_events.h"
#include "events.h"
#include "shown.h"

namespace margay::viewer {
namespace events_test {

using scene::Daemon;
using testing::HasSubstr;
using testing::StartsWith;

// The small picture, whose page of events is answered by hand.
struct Listed {
  explicit Listed(std::uint64_t rows = 10'000) : daemon{rows} {
    daemon.from = shown.session.data().range().from.value;
    daemon.to = shown.session.data().range().to.value;
    shown.window.views().setCurrentWidget(&view());
    QCoreApplication::processEvents();
  }
  EventsView& view() { return *shown.window.views().findChild<EventsView*>(); }
  EventModel& model() { return view().model(); }
  void answer_one() {
    ASSERT_TRUE(model().asked());
    emit shown.session.listed(scene::checked(daemon.answer_to(*model().asked())));
  }
  // Until nothing is asked any more.
  void answer(int most = 10'000) {
    for (int i = 0; i < most && model().pages().reading(); ++i) answer_one();
    QCoreApplication::processEvents();
  }
  QString cell(int row, scene::EventColumn column) {
    return model().index(row, static_cast<int>(column)).data().toString();
  }

  Daemon daemon;
  Shown shown;
};

TEST(Events, AreThoseOfTheStretchAndNodeThatAreLookedAt) {
  Listed l;
  ASSERT_TRUE(l.model().asked());
  EXPECT_EQ(l.model().asked()->from_ns(), l.daemon.from);
  EXPECT_EQ(l.model().asked()->to_ns(), l.daemon.to);
  EXPECT_EQ(l.model().asked()->nodes_size(), 0);
  l.answer();
  EXPECT_GE(l.model().rowCount(), 500);
  EXPECT_EQ(l.cell(0, scene::EventColumn::kResource), "/a/r1");
  EXPECT_THAT(l.view().status().toStdString(), StartsWith("the first 1,000 rows of 10,000"));
  // Another stretch and node, whoever chooses them.
  l.shown.session.set_node("/a");
  l.shown.session.set_states({"MPI_Wait"});
  l.shown.session.zoom_to({TimeNs(0), TimeNs(200'000'000)});
  ASSERT_TRUE(QTest::qWaitFor([&] { return l.model().asked()->nodes_size() > 0; }));
  EXPECT_EQ(l.model().asked()->nodes(0), "/a");
  EXPECT_EQ(l.model().asked()->states(0), "MPI_Wait");
  EXPECT_EQ(l.model().asked()->to_ns(), 200'000'000);
  EXPECT_EQ(l.model().rowCount(), 0);
}

// One question is under way at a time: another page's may have taken its place.
TEST(Events, WhatWasUnderWayIsAskedAgainWhenTheyAreSeenAgain) {
  Listed l;
  const std::uint64_t first = l.model().asked()->token();
  l.shown.window.views().setCurrentIndex(0);
  l.shown.window.views().setCurrentWidget(&l.view());
  EXPECT_GT(l.model().asked()->token(), first);
  emit l.shown.session.not_listed(l.model().asked()->token(), "another page asked meanwhile");
  const std::uint64_t refused = l.model().asked()->token();
  l.shown.window.views().setCurrentIndex(0);
  l.shown.window.views().setCurrentWidget(&l.view());
  EXPECT_GT(l.model().asked()->token(), refused);
  l.answer();
  EXPECT_THAT(l.view().status().toStdString(), StartsWith("the first 1,000 rows of 10,000"));
}

TEST(Events, AreAskedForOnlyWhileTheyAreSeen) {
  Listed l;
  l.answer();
  const std::uint64_t last = l.model().asked()->token();
  l.shown.window.views().setCurrentIndex(0);
  l.shown.session.set_node("/a");
  QTest::qWait(300);
  EXPECT_EQ(l.model().asked()->token(), last);
  l.shown.window.views().setCurrentWidget(&l.view());
  EXPECT_GT(l.model().asked()->token(), last);
  EXPECT_EQ(l.model().asked()->nodes(0), "/a");
}

TEST(Events, AreFetchedAsOneScrolls) {
  Listed l;
  l.answer();
  const int rows = l.model().rowCount();
  l.view().table().scrollToBottom();
  l.answer();
  EXPECT_GT(l.model().rowCount(), rows);
  // By the keyboard as well.
  l.view().table().setFocus();
  l.view().table().setCurrentIndex(l.model().index(l.model().rowCount() - 1, 0));
  QTest::keyClick(&l.view().table(), Qt::Key_PageDown);
  l.answer();
  EXPECT_GT(l.model().rowCount(), rows + 500);
}

TEST(Events, ModelIsOneThatQtBelieves) {
  Shown s;
  EventModel model(s.session);
  const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
  for (const bool longest : {false, true}) {
    scene::EventSubject subject;
    subject.time = {TimeNs(scene::kFirstBegin), TimeNs(2 * scene::kFirstBegin)};
    subject.longest = longest;
    model.set(subject);
    const Daemon daemon{3000, 700};
    for (int i = 0; i < 20; ++i) {
      model.ask();
      emit s.session.listed(scene::checked(daemon.answer_to(*model.asked())));
      model.see(model.rowCount() - 10, model.rowCount());
    }
    EXPECT_EQ(model.rowCount(), longest ? 1000 : 3000);
  }
}

TEST(Events, AClickSelectsItsResourceAndTimeEverywhere) {
  Listed l;
  l.answer();
  QTableView& table = l.view().table();
  const QRect cell = table.visualRect(l.model().index(3, 2));
  QTest::mouseClick(table.viewport(), Qt::LeftButton, {}, cell.center());
  const auto& s = l.shown.session.selection();
  ASSERT_TRUE(s);
  const scene::ViewData& d = l.shown.session.data();
  EXPECT_EQ(d.nodes[s->node].path, "/a/r1");
  EXPECT_LE(d.boundaries[s->first], std::max(l.model().at(3).row->begin, d.range().from));
  EXPECT_EQ(s->last, s->first + 1);
  // It is marked in the list, and a selection that is made elsewhere as well.
  EXPECT_TRUE(l.model().index(3, 0).data(Qt::BackgroundRole).isValid());
  l.shown.session.select(std::nullopt);
  EXPECT_FALSE(l.model().index(3, 0).data(Qt::BackgroundRole).isValid());
  l.shown.session.select(Session::Selection{0, 0, static_cast<std::uint32_t>(d.slices())});
  EXPECT_TRUE(l.model().index(3, 0).data(Qt::BackgroundRole).isValid());
}

TEST(Events, ReturnSelectsAndOnceMoreGoesThere) {
  Listed l;
  l.answer();
  QTableView& table = l.view().table();
  table.setFocus();
  table.setCurrentIndex(l.model().index(0, 0));
  QTest::keyClick(&table, Qt::Key_Down);
  QTest::keyClick(&table, Qt::Key_Down);
  EXPECT_EQ(table.currentIndex().row(), 2) << "arrows are the list's own";
  EXPECT_FALSE(l.shown.session.selection());
  QTest::keyClick(&table, Qt::Key_Return);
  ASSERT_TRUE(l.shown.session.selection());
  const auto begin = l.model().at(2).row->begin, end = l.model().at(2).row->end;
  QTest::keyClick(&table, Qt::Key_Return);
  const auto& time = l.shown.session.subject().time;
  ASSERT_TRUE(time);
  EXPECT_LT(time->from, begin);
  EXPECT_GT(time->to, end);
  EXPECT_LE((time->to - time->from).value, 100'000'000) << "a slice of this run, at most";
}

TEST(Events, AFilterIsTypedAndSaysWhatItDoesNotUnderstand) {
  Listed l;
  l.answer();
  QTest::keyClicks(&l.view().filter().name(), "MPI_S");
  QTest::keyClick(&l.view().filter().name(), Qt::Key_Return);
  EXPECT_EQ(l.model().asked()->names(0), "*MPI_S*");
  EXPECT_FALSE(l.shown.session.selection()) << "Return was the field's own";
  l.answer();
  QTest::keyClicks(&l.view().filter().duration(), "10 ms..1 s");
  ASSERT_TRUE(QTest::qWaitFor([&] { return l.model().asked()->least_ns() > 0; }));
  EXPECT_EQ(l.model().asked()->least_ns(), 10'000'000) << "read when nobody types any more";
  EXPECT_EQ(l.model().asked()->most_ns(), 1'000'000'000);
  l.answer();
  const std::uint64_t token = l.model().asked()->token();
  QTest::keyClicks(&l.view().filter().match(), "rank(3");
  QTest::keyClick(&l.view().filter().match(), Qt::Key_Return);
  EXPECT_THAT(l.view().status().toStdString(), StartsWith("regular expression: "));
  EXPECT_EQ(l.model().asked()->token(), token) << "the list stays as it was";
  QTest::keyClicks(&l.view().filter().match(), ")");
  QTest::keyClick(&l.view().filter().match(), Qt::Key_Return);
  EXPECT_EQ(l.model().asked()->match(), "rank(3)");
}

TEST(Events, TheLongestComeFirstWhereTheirHeadIsClicked) {
  Listed l;
  l.answer();
  l.view().filter().set_longest(true);
  EXPECT_EQ(l.model().asked()->kind(), wire::EventsQuestion::LONGEST);
  l.answer();
  EXPECT_GE(l.model().at(0).row->end - l.model().at(0).row->begin,
            l.model().at(1).row->end - l.model().at(1).row->begin);
  EXPECT_THAT(l.view().status().toStdString(), StartsWith("the longest 1,000 rows"));
}

TEST(Events, EscapeStopsTheReadingAndThenSelectsNothing) {
  Listed l(1000);
  l.daemon.a_time = 10;
  l.view().filter().match().setText("x");
  l.view().filter().apply();
  l.answer(20);
  EXPECT_THAT(l.view().status().toStdString(), StartsWith("reading 20 %, 200 rows so far"));
  l.shown.session.select(Session::Selection{0, 0, 1});
  l.view().table().setFocus();
  QTest::keyClick(&l.view().table(), Qt::Key_Escape);
  EXPECT_THAT(l.view().status().toStdString(), StartsWith("stopped at 20 %"));
  EXPECT_TRUE(l.shown.session.selection());
  l.answer(1);  // that was under way
  EXPECT_FALSE(l.model().pages().reading()) << "no more is asked";
  QTest::keyClick(&l.view().table(), Qt::Key_Escape);
  EXPECT_FALSE(l.shown.session.selection()) << "there was nothing to stop";
  EXPECT_EQ(l.view().stop_button().text(), "Read on");
  QTest::mouseClick(&l.view().stop_button(), Qt::LeftButton);
  EXPECT_TRUE(l.model().pages().reading());
}

TEST(Events, ADragOverTheDensityIsThatTimeForAll) {
  Listed l;
  l.answer();
  DensityView& bars = l.view().density();
  const auto at = [&](double share) {
    return QPointF(1 + share * (bars.width() - 2), bars.height() / 2.0).toPoint();
  };
  QTest::mousePress(&bars, Qt::LeftButton, {}, at(0.25));
  QTest::mouseMove(&bars, at(0.5));
  QTest::mouseRelease(&bars, Qt::LeftButton, {}, at(0.75));
  auto time = l.shown.session.subject().time;
  ASSERT_TRUE(time);
  const auto whole = static_cast<double>(l.daemon.to);
  EXPECT_NEAR(static_cast<double>(time->from.value), 0.25 * whole, 0.01 * whole);
  EXPECT_NEAR(static_cast<double>(time->to.value), 0.5 * whole, 0.01 * whole);
  l.shown.session.back();
  QTest::qWait(300);
  QTest::mouseClick(&bars, Qt::LeftButton, {}, at(0.5));
  time = l.shown.session.subject().time;
  EXPECT_NEAR(static_cast<double>(time->from.value), 0.5 * whole, 0.01 * whole);
  EXPECT_EQ(time->to.value, l.daemon.to);
}

TEST(Events, CanBeCopiedAndSaved) {
  Listed l(3);
  l.answer();
  QTableView& table = l.view().table();
  table.setFocus();
  table.setCurrentIndex(l.model().index(1, 0));
  QTest::keyClick(&table, Qt::Key_Down, Qt::ShiftModifier);
  QTest::keyClick(&table, Qt::Key_C, Qt::ControlModifier);
  EXPECT_EQ(QApplication::clipboard()->text().toStdString(), l.view().copied().toStdString());
  const QStringList lines = l.view().copied().split('\n', Qt::SkipEmptyParts);
  ASSERT_EQ(lines.size(), 2);
  EXPECT_THAT(lines[0].toStdString(), HasSubstr("\t1 ms\t/a/r1\tMPI_Send"));
  const QTemporaryDir folder;
  const QString path = folder.filePath("events.csv");
  EXPECT_EQ(l.shown.window.save(path), "");
  QFile file(path);
  ASSERT_TRUE(file.open(QIODevice::ReadOnly));
  const QString csv = file.readAll();
  EXPECT_TRUE(csv.startsWith("begin_s,duration_ns,kind,resource,name,"));
  EXPECT_EQ(csv.count('\n'), 4);
  EXPECT_THAT(l.shown.window.save(folder.filePath("events.svg")).toStdString(), HasSubstr(".csv or .png"));
  EXPECT_THAT(l.shown.window.save("/no/such/folder/events.csv").toStdString(), HasSubstr("not written"));
  EXPECT_EQ(l.shown.window.save(folder.filePath("events.png")), "");
}

TEST(Events, ARefusalIsASentenceAndTheWindowGoesOn) {
  Listed l;
  emit l.shown.session.not_listed(l.model().asked()->token(), "there are no single events of that time");
  EXPECT_THAT(l.view().status().toStdString(), StartsWith("there are no single events of that time"));
  EXPECT_EQ(l.model().rowCount(), 0);
  EXPECT_FALSE(l.model().pages().reading());
}

// A daemon that does not answer: everything else goes on, and so does the list of another stretch.
TEST(Events, WithoutAnAnswerNothingWaits) {
  Listed l;
  const std::uint64_t token = l.model().asked()->token();
  QTest::keyClick(&l.view().table(), Qt::Key_Escape);
  l.shown.session.set_node("/a");
  ASSERT_TRUE(QTest::qWaitFor([&] { return l.model().asked()->token() != token; }));
  EXPECT_NE(l.model().asked()->token(), token);
  QTest::keyClick(&l.view().table(), Qt::Key_1);
  EXPECT_EQ(l.shown.window.views().current(), &l.shown.overview());
  QTest::keyClick(&l.shown.overview(), Qt::Key_2);
  EXPECT_EQ(l.shown.window.views().current(), &l.view());
}

TEST(Events, KeysAreInTheList) {
  Listed l;
  const QString list = l.shown.window.keys();
  EXPECT_TRUE(list.contains("In this page"));
  EXPECT_TRUE(list.contains("double click on a row"));
  EXPECT_TRUE(list.contains("Page: Events"));
}

}  // namespace events_test
}  // namespace margay::viewer
