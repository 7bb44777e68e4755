// The page of what an alert rests on: what it says, what it asks for, and where it leads.
#include "evidence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QClipboard>
#include <QFile>
#include <QSignalSpy>
#include <QTemporaryDir>

#include "../scene/made_up_events.h"
#include "shown.h"

namespace margay::viewer {
namespace evidence_test {

using testing::HasSubstr;

constexpr std::int64_t kTenth = 100'000'000;

// Of the small picture's 4 s: rank r1 was stopped from 1 to 3 s, and r2 waits since 3 s.
wire::Report stopped() {
  wire::Report r = report(0);
  r.set_watermark_ns(40 * kTenth);
  wire::Alert& a = *r.add_alerts();
  a.set_id("r0-stopped");
  a.set_kind(wire::Alert::PERTURBATION);
  a.set_resolved(true);
  a.set_level_ns(2 * kTenth);
  a.set_onset_ns(10 * kTenth), a.set_detected_ns(12 * kTenth), a.set_end_ns(30 * kTenth);
  a.set_node("/a/r1");
  a.add_resources("/a/r1"), a.add_likely_cause("/a/r1");
  a.add_affected("/a"), a.add_affected("/b");
  a.set_message("r1 on a was stopped for 2 s");
  a.mutable_area()->add_nodes("/a/r1");
  a.mutable_area()->set_first_slice(5), a.mutable_area()->set_slices(10);
  a.set_cost_s(1.5);
  auto& s = *a.add_states();
  s.set_state("MPI_Wait"), s.set_expected(0.1), s.set_observed(0.85);
  auto& c = *a.add_states();
  c.set_state("Compute"), c.set_expected(0.9), c.set_observed(0.1);
  wire::Alert& b = *r.add_alerts();
  b.set_id("r0-waits");
  b.set_kind(wire::Alert::PERTURBATION);
  b.set_level_ns(kTenth);
  b.set_onset_ns(30 * kTenth);
  b.set_node("/b/r2");
  b.add_resources("/b/r2");
  b.set_message("r2 on b waits");
  return r;
}

struct Evidences {
  explicit Evidences(const wire::Report& r = stopped(), const char* chosen = "r0-stopped") {
    shown.take(r);
    if (chosen != nullptr) shown.session.choose_alert(chosen);
    shown.window.views().setCurrentWidget(&page());
    QCoreApplication::processEvents();
  }
  EvidenceView& page() { return *shown.window.views().findChild<EvidenceView*>(); }
  static QString cell(const QTableView& table, int row, int column) {
    return table.model()->index(row, column).data().toString();
  }
  std::string fact(const char* name) {
    for (int row = 0; row < page().facts().model()->rowCount(); ++row)
      if (cell(page().facts(), row, FactModel::kName) == name)
        return cell(page().facts(), row, FactModel::kValue).toStdString();
    return "";
  }
  const wire::EventsQuestion& asked_calls() { return *page().call_model().asked(); }
  // All calls there are: of /a/r1, later ones are longer.
  void answer_calls(std::uint64_t rows = 20) {
    scene::Daemon daemon{rows};
    daemon.from = asked_calls().from_ns(), daemon.to = asked_calls().to_ns();
    while (page().call_model().pages().reading())
      emit shown.session.listed(scene::checked(daemon.answer_to(asked_calls())));
    QCoreApplication::processEvents();
  }
  void answer_waits() {
    const wire::EventsQuestion& q = *page().source().asked_waits();
    wire::EventsAnswer a;
    *a.mutable_question() = q;
    a.set_token(q.token());
    a.add_resources("/a/r1");
    a.mutable_waits()->set_leaves(2), a.mutable_waits()->set_waited_ns(100);
    a.mutable_waits()->set_unknown_ns(25);
    a.mutable_waits()->add_partner(0), a.mutable_waits()->add_for_ns(75);
    emit shown.session.waits_known(
        std::make_shared<const scene::EventWaits>(*scene::event_waits_untrusted(a)));
    QCoreApplication::processEvents();
  }
  void answer_slices(const char* state) {
    const wire::ViewQuestion q = *page().source().asked_slices();
    support::ViewBuilder build(q.slices(), (q.to_ns() - q.from_ns()) / q.slices());
    *build.raw().mutable_question() = q;
    for (int i = 0; i < build.raw().boundaries_size(); ++i)
      build.raw().set_boundaries(i, build.raw().boundaries(i) + q.from_ns());
    const std::uint32_t s = build.state(state);
    build.node("r", 0);
    build.part(0, 0, q.slices(), {{s, 1}});
    shown.session.take_beside(
        std::make_shared<const scene::ViewData>(*scene::view_data_untrusted(build.answer())));
    QCoreApplication::processEvents();
  }
  Shown shown;
};

TEST(EvidencePage, SaysWhatTheAlertSaysAndWhichStatesRoseAndFell) {
  Evidences e;
  EXPECT_THAT(e.page().sentence().toStdString(), HasSubstr("r1 on a was stopped for 2 s"));
  EXPECT_EQ(e.fact("likely cause"), "/a/r1");
  EXPECT_EQ(e.fact("cost"), "1.5 s that the job is late");
  EXPECT_EQ(e.fact("false alarms"), "none from chance: it rests on facts");
  EXPECT_THAT(e.fact("area"), HasSubstr("/a/r1: 10 slices of 200 ms from 1 s on"));
  EXPECT_EQ(e.fact("rose"), "") << "it has a table";
  const QTableView& changes = e.page().changes();
  ASSERT_EQ(changes.model()->rowCount(), 2);
  EXPECT_EQ(e.cell(changes, 0, ChangeModel::kState), "Compute") << "what changed most first";
  EXPECT_EQ(e.cell(changes, 0, ChangeModel::kDifference), QString(QChar(0x2212)) + "80 %");
  EXPECT_EQ(e.cell(changes, 0, ChangeModel::kTime), QString(QChar(0x2212)) + "1.60 s");
  EXPECT_EQ(e.cell(changes, 1, ChangeModel::kExpected), "10 %");
  EXPECT_EQ(e.cell(changes, 1, ChangeModel::kObserved), "85 %");
  EXPECT_EQ(e.cell(changes, 1, ChangeModel::kTime), "+1.50 s");
}

TEST(EvidencePage, SaysWhyThereIsNothing) {
  Evidences e(report(0), nullptr);
  EXPECT_EQ(e.page().sentence(), "no alert has been raised in this run");
  EXPECT_FALSE(e.page().facts().isVisible());
  EXPECT_FALSE(e.page().call_model().asked());
  e.shown.take(stopped());
  EXPECT_THAT(e.page().sentence().toStdString(), HasSubstr("r2 on b waits")) << "the newest, as it comes";
  EXPECT_TRUE(e.page().facts().isVisible());
  e.shown.session.choose_alert("of another time");
  EXPECT_THAT(e.page().sentence().toStdString(), HasSubstr("is not reported any more"));
}

TEST(EvidencePage, ItIsTheAlertThatIsChosenInTheList) {
  Evidences e;
  EXPECT_EQ(
      e.shown.window.alert_list().currentIndex().siblingAtColumn(AlertModel::kSentence).data().toString(),
      e.page().sentence());
  for (int row = 0; row < 2; ++row) {
    QTableView& list = e.shown.window.alert_list();
    list.setCurrentIndex(list.model()->index(row, 0));
    EXPECT_EQ(e.page().sentence(), list.model()->index(row, AlertModel::kSentence).data().toString());
  }
  // One that is not reported any more does not make another one be chosen.
  e.shown.session.choose_alert("r0-stopped");
  wire::Report less = stopped();
  less.mutable_alerts()->DeleteSubrange(0, 1);
  e.shown.take(less);
  EXPECT_EQ(e.shown.session.chosen_alert(), "r0-stopped");
  e.shown.take(stopped());
  EXPECT_THAT(e.page().sentence().toStdString(), HasSubstr("r1 on a"));
}

TEST(EvidencePage, AsksForCallsOfTheBlamedThenWhoWaited) {
  Evidences e;
  EXPECT_EQ(e.asked_calls().kind(), wire::EventsQuestion::LONGEST);
  EXPECT_EQ(e.asked_calls().from_ns(), 10 * kTenth);
  EXPECT_EQ(e.asked_calls().to_ns(), 30 * kTenth);
  ASSERT_EQ(e.asked_calls().nodes_size(), 1);
  EXPECT_EQ(e.asked_calls().nodes(0), "/a/r1");
  EXPECT_FALSE(e.page().source().asked_waits()) << "one after the other";
  e.answer_calls();
  EXPECT_EQ(e.page().call_model().rowCount(), 20);
  EXPECT_THAT(e.page().calls_text().toStdString(), HasSubstr("the longest calls of r1 on a while it lasted"));
  ASSERT_TRUE(e.page().source().asked_waits());
  const wire::EventsQuestion& q = *e.page().source().asked_waits();
  EXPECT_EQ(q.kind(), wire::EventsQuestion::WAITS);
  EXPECT_EQ(q.nodes_size(), 2);
  EXPECT_EQ(q.except(0), "/a/r1");
  EXPECT_EQ(q.to_ns(), 30 * kTenth);
  EXPECT_EQ(e.fact("waited for"), "");
  e.answer_waits();
  EXPECT_EQ(e.fact("waited for"), "/a/r1 75 %, unknown partner 25 %");
}

TEST(EvidencePage, AsksForTheSlicesOfTheCauseAndOfAll) {
  Evidences e;
  ASSERT_TRUE(e.page().source().asked_slices());
  const wire::ViewQuestion first = *e.page().source().asked_slices();
  EXPECT_EQ(first.node(), "/a/r1");
  EXPECT_EQ(first.from_ns(), 4 * kTenth) << "three slices before the onset";
  EXPECT_EQ(first.slices(), 12u);
  EXPECT_EQ(first.p(), 0) << "each slice as it is";
  e.answer_slices("MPI_Wait");
  EXPECT_EQ(e.page().source().asked_slices()->node(), "");
  e.answer_slices("Compute");
  const QTableView& slices = e.page().slices();
  ASSERT_EQ(slices.model()->rowCount(), 12);
  EXPECT_EQ(e.cell(slices, 3, SliceModel::kOnset), "onset");
  EXPECT_EQ(e.cell(slices, 3, SliceModel::kFrom), "1 s");
  EXPECT_EQ(e.cell(slices, 3, SliceModel::kCause), "MPI_Wait 100 %");
  EXPECT_EQ(e.cell(slices, 3, SliceModel::kAll), "Compute 100 %");
  EXPECT_EQ(slices.model()->headerData(SliceModel::kCause, Qt::Horizontal), "r1 on a");
}

TEST(EvidencePage, SaysWhatCannotBeHadAndAsksAgainWhenItIsSeenAgain) {
  Evidences e;
  const std::uint64_t calls = e.asked_calls().token(), slices = e.page().source().asked_slices()->token();
  emit e.shown.session.not_listed(calls, "raw events are not kept");
  emit e.shown.session.not_beside(slices, "the archive is busy");
  EXPECT_THAT(e.page().calls_text().toStdString(), HasSubstr("raw events are not kept"));
  EXPECT_THAT(e.page().slices_text().toStdString(), HasSubstr("the archive is busy"));
  ASSERT_TRUE(e.page().source().asked_waits()) << "that may be known all the same";
  emit e.shown.session.not_listed(e.page().source().asked_waits()->token(), "not in time");
  EXPECT_EQ(e.fact("waited for"), "not in time");
  e.shown.window.views().setCurrentIndex(0);
  EXPECT_EQ(e.asked_calls().token(), calls);
  e.shown.window.views().setCurrentWidget(&e.page());
  EXPECT_GT(e.asked_calls().token(), calls);
  EXPECT_TRUE(QTest::qWaitFor([&] { return e.page().source().asked_slices()->token() > slices + 1; }));
}

TEST(EvidencePage, AnotherAlertIsAskedAboutAnew) {
  Evidences e;
  e.answer_calls();
  e.answer_waits();
  e.answer_slices("MPI_Wait");
  e.answer_slices("Compute");
  e.shown.session.choose_alert("r0-waits");
  QCoreApplication::processEvents();
  EXPECT_EQ(e.asked_calls().nodes(0), "/b/r2");
  EXPECT_EQ(e.asked_calls().to_ns(), 40 * kTenth) << "as far as is known of what goes on";
  EXPECT_EQ(e.fact("waited for"), "");
  EXPECT_EQ(e.page().slices().model()->rowCount(), 0);
  EXPECT_EQ(e.page().source().asked_slices()->node(), "/b/r2");
  EXPECT_EQ(e.page().changes().model()->rowCount(), 0);
}

TEST(EvidencePage, WhatGoesOnIsReadAnewUnlessSomebodyReadsIt) {
  Evidences e(stopped(), "r0-waits");
  e.answer_calls();
  wire::Report r = stopped();
  r.set_watermark_ns(50 * kTenth);
  e.shown.take(r);
  EXPECT_TRUE(QTest::qWaitFor(
      [&] {
        e.shown.take(r);
        return e.asked_calls().to_ns() == 50 * kTenth;
      },
      20'000));
  e.answer_calls();
  e.page().calls().setCurrentIndex(e.page().call_model().index(2, 0));
  r.set_watermark_ns(60 * kTenth);
  ASSERT_TRUE(QTest::qWaitFor([&] { return !e.page().rests(); }, 20'000));
  e.shown.take(r);
  EXPECT_EQ(e.asked_calls().to_ns(), 50 * kTenth);
}

TEST(EvidencePage, ACallIsSelectedEverywhereAndReturnGoesThere) {
  Evidences e;
  e.answer_calls();
  EventTable& calls = e.page().calls();
  calls.setFocus();
  const QModelIndex last = e.page().call_model().index(19, 0);
  calls.scrollTo(last);
  QTest::mouseClick(calls.viewport(), Qt::LeftButton, {}, calls.visualRect(last).center());
  const auto selected = e.shown.session.selection();
  ASSERT_TRUE(selected);
  EXPECT_EQ(e.shown.session.data().nodes[selected->node].path, "/a/r1");
  EXPECT_EQ(selected->first, 1u) << "it begins at 1 s";
  EXPECT_EQ(e.shown.window.views().current(), &e.page());
  QTest::keyClick(&calls, Qt::Key_Return);
  EXPECT_EQ(e.shown.window.views().current(), &e.shown.overview());
  EXPECT_TRUE(e.shown.session.subject().time);
}

TEST(EvidencePage, TheKeyLeadsToItAndReturnOnAFactToTheAlert) {
  Shown s;
  s.take(stopped());
  QTest::keyClick(&s.window, Qt::Key_V);
  auto* page = s.window.views().findChild<EvidenceView*>();
  ASSERT_EQ(s.window.views().current(), page);
  EXPECT_EQ(s.session.chosen_alert(), "r0-waits") << "the uppermost";
  s.session.choose_alert("r0-stopped");
  QTest::keyClick(&page->facts(), Qt::Key_Return);
  EXPECT_EQ(s.window.views().current(), &s.overview());
  const auto selected = s.session.selection();
  ASSERT_TRUE(selected);
  EXPECT_EQ(s.session.data().nodes[selected->node].path, "/a/r1");
}

TEST(EvidencePage, AHostileAlertIsText) {
  wire::Report r = stopped();
  wire::Alert& a = *r.mutable_alerts(0);
  a.set_message("<img src=x> & <b>");
  a.set_level_ns(-1), a.set_onset_ns(std::numeric_limits<std::int64_t>::min());
  a.mutable_states(0)->set_expected(std::numeric_limits<double>::quiet_NaN());
  a.mutable_states(0)->set_observed(1e300);
  for (int i = 0; i < 1000; ++i) a.add_states()->set_state("MPI_\x1bWait" + std::to_string(i % 100));
  Evidences e(r);
  EXPECT_THAT(e.page().sentence().toStdString(), HasSubstr("<img src=x> & <b>"));
  EXPECT_LE(e.page().changes().model()->rowCount(), 64);
  EXPECT_FALSE(e.page().grab().isNull());
  EXPECT_THAT(e.page().slices_text().toStdString(), HasSubstr("none of them is known yet"));
}

TEST(EvidencePage, IsCopiedAndSaved) {
  Evidences e;
  QTest::keyClick(&e.page().changes(), Qt::Key_C, Qt::ControlModifier);
  EXPECT_THAT(QApplication::clipboard()->text().toStdString(), HasSubstr("MPI_Wait,10 %,85 %,+75 %,+1.50 s"));
  QTemporaryDir dir;
  ASSERT_EQ(e.page().save(dir.filePath("a.csv"), ""), "");
  QFile file(dir.filePath("a.csv"));
  ASSERT_TRUE(file.open(QIODevice::ReadOnly));
  EXPECT_THAT(file.readAll().toStdString(), HasSubstr("likely cause,/a/r1\r\n"));
  EXPECT_THAT(e.page().save(dir.filePath("a.txt"), "").toStdString(), HasSubstr("has to end in"));
}

}  // namespace evidence_test
}  // namespace margay::viewer
