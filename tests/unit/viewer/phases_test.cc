// The page of phases: what it lists of a report, what it asks for, and where it leads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QClipboard>
#include <QFile>
#include <QSignalSpy>
#include <QTemporaryDir>

#include "margay/terminal/status.h"
#include "paint.h"
#include "phases.h"
#include "shown.h"

namespace margay::viewer {
namespace phases_test {

using testing::HasSubstr;
using testing::Not;

constexpr std::int64_t kTenth = 100'000'000;

// Tenths of a second, of the picture's 4 s and after it: A 0 to 1.5 s, B (write) to 2, A to 4, B to 5, and A
// from then on, which is foretold to end at 7 s.
wire::Report phases() {
  wire::Report r = report(0);
  r.set_watermark_ns(58 * kTenth);
  const std::tuple<const char*, int, int, std::uint32_t> spans[] = {
      {"A", 0, 15, 1}, {"B", 15, 20, 1}, {"A", 20, 40, 2}, {"B", 40, 50, 2}, {"A", 50, 58, 3}};
  for (const auto& [name, from, to, times] : spans) {
    wire::PhaseSpan& s = *r.add_phases();
    s.set_name(name);
    if (s.name() == "B") s.set_label("write");
    s.set_begin_ns(from * kTenth);
    s.set_end_ns(to * kTenth);
    s.set_occurrence(times);
  }
  r.mutable_phases(4)->set_current(true);
  wire::PhaseDurations& a = *r.add_phase_durations();
  a.set_name("A"), a.set_times(4), a.set_usual_ns(16 * kTenth);
  a.set_low_ns(15 * kTenth), a.set_high_ns(18 * kTenth);
  wire::PhaseForecast& f = *r.mutable_forecast();
  f.set_phase("A"), f.set_next("B");
  f.set_earliest_ns(65 * kTenth), f.set_end_ns(70 * kTenth), f.set_latest_ns(80 * kTenth);
  return r;
}

struct Phases {
  explicit Phases(const wire::Report& r = phases()) {
    shown.session.take(std::make_shared<const wire::Report>(r));
    shown.window.views().setCurrentWidget(&page());
    QCoreApplication::processEvents();
  }
  PhasesView& page() { return *shown.window.views().findChild<PhasesView*>(); }
  static QString cell(const QTableView& table, int row, int column) {
    return table.model()->index(row, column).data().toString();
  }
  QString stretch(int row, StretchModel::Column column) { return cell(page().stretches(), row, column); }
  void choose(std::initializer_list<int> rows) {
    QTableView& table = page().stretches();
    table.clearSelection();
    for (const int row : rows)
      table.selectionModel()->select(table.model()->index(row, 0),
                                     QItemSelectionModel::Select | QItemSelectionModel::Rows);
  }
  const wire::ViewQuestion& asked() { return *page().contents().asked(); }
  // What the daemon would say: all of its stretch is of these states.
  void answer(const std::vector<std::pair<const char*, float>>& of) {
    support::ViewBuilder build(1);
    *build.raw().mutable_question() = asked();
    std::vector<support::ViewShare> shares;
    for (const auto& [name, share] : of) shares.push_back({build.state(name), share});
    build.node("r0", 0);
    build.part(0, 0, 1, shares);
    shown.session.take_beside(
        std::make_shared<const scene::ViewData>(*scene::view_data_untrusted(build.answer())));
    QCoreApplication::processEvents();
  }
  QPoint at(int row) {
    QTableView& table = page().stretches();
    table.scrollTo(table.model()->index(row, 1));
    return table.visualRect(table.model()->index(row, 1)).center();
  }
  Shown shown;
};

TEST(PhasesPage, TellsWhatStatusTells) {
  Phases p;
  ASSERT_EQ(p.page().stretches().model()->rowCount(), 5);
  const std::string status = terminal::status_text(phases());
  for (int row = 0; row < 5; ++row) {
    const auto words = [&](StretchModel::Column c) { return p.stretch(row, c).toStdString(); };
    bool told = false;
    std::istringstream lines(status);
    for (std::string line; std::getline(lines, line);)
      told = told || (line.find("  " + words(StretchModel::kPhase) + " ") == 0 &&
                      line.find(" " + words(StretchModel::kBegin) + " ") != std::string::npos &&
                      line.find(" " + words(StretchModel::kLasted)) != std::string::npos);
    EXPECT_TRUE(told) << words(StretchModel::kPhase) << " " << words(StretchModel::kBegin) << " "
                      << words(StretchModel::kLasted) << "\n"
                      << status;
  }
  const std::string forecast = "ends in 1.2 s (0.7 s to 2.2 s), then B";
  EXPECT_THAT(status, HasSubstr(forecast));
  EXPECT_THAT(p.page().now_text().toStdString(), HasSubstr("now phase A, 3rd time, 0.8 s so far"));
  EXPECT_THAT(p.page().now_text().toStdString(), HasSubstr(forecast));
  EXPECT_THAT(p.page().now_text().toStdString(), HasSubstr("half of the newest 4 lasted 1.5 s to 1.8 s"));
}

TEST(PhasesPage, SaysWhyThereIsNoForecast) {
  wire::Report r = phases();
  r.mutable_phases()->DeleteSubrange(4, 1);
  Phases p(r);
  EXPECT_EQ(p.page().now_text(), "the phase that goes on has not been recognised yet");
  r.mutable_replay()->set_at_end(true);
  p.shown.take(r);
  EXPECT_EQ(p.page().now_text(), "no phase goes on any more");
  r.clear_phases();
  p.shown.take(r);
  EXPECT_EQ(p.page().now_text(), "no phase has been recognised yet");
  wire::Report over = phases();
  over.set_final(true);
  p.shown.take(over);
  EXPECT_EQ(p.page().now_text(), "no phase goes on any more") << "nor does what was current";
}

TEST(PhasesPage, SaysWhichTimeOfHowManyAndHowItComparesToTheUsual) {
  Phases p;
  EXPECT_EQ(p.stretch(2, StretchModel::kTimes), "2nd of 3");
  EXPECT_EQ(p.stretch(2, StretchModel::kAgainst), "+25 %");
  EXPECT_EQ(p.stretch(4, StretchModel::kEnd), "goes on");
  EXPECT_EQ(p.stretch(4, StretchModel::kAgainst), "") << "it may become as long";
  p.page().stretches().sortByColumn(StretchModel::kLasted, Qt::DescendingOrder);
  EXPECT_EQ(p.stretch(0, StretchModel::kBegin), "2.0 s") << "the longest";
}

TEST(PhasesPage, SumsUpByPhase) {
  Phases p;
  const QTableView& table = p.page().phases();
  ASSERT_EQ(table.model()->rowCount(), 2);
  EXPECT_EQ(p.cell(table, 0, PhaseModel::kPhase), "A") << "most time first";
  EXPECT_EQ(p.cell(table, 0, PhaseModel::kTotal), "4.3 s");
  EXPECT_EQ(p.cell(table, 0, PhaseModel::kShare), "74 %");
  EXPECT_EQ(p.cell(table, 0, PhaseModel::kUsual), "1.6 s");
  EXPECT_EQ(p.cell(table, 0, PhaseModel::kShortest), "1.5 s");
  EXPECT_EQ(p.cell(table, 1, PhaseModel::kPhase), "B (write)");
  EXPECT_EQ(p.cell(table, 1, PhaseModel::kStretches), "2");
}

TEST(PhasesPage, AReportThatGoesOnKeepsWhatIsChosen) {
  Phases p;
  p.choose({2});
  wire::Report r = phases();
  r.mutable_phases(4)->set_end_ns(60 * kTenth);
  r.mutable_phases(4)->set_current(false);
  wire::PhaseSpan& next = *r.add_phases();
  next.set_name("B"), next.set_begin_ns(60 * kTenth), next.set_end_ns(61 * kTenth), next.set_occurrence(3);
  next.set_current(true);
  r.mutable_phases()->DeleteSubrange(0, 1);
  p.shown.take(r);
  ASSERT_EQ(p.page().stretches().model()->rowCount(), 5);
  EXPECT_EQ(p.stretch(3, StretchModel::kEnd), "6.0 s");
  const QModelIndexList chosen = p.page().stretches().selectionModel()->selectedRows();
  ASSERT_EQ(chosen.size(), 1);
  EXPECT_EQ(p.stretch(chosen[0].row(), StretchModel::kBegin), "2.0 s");
}

// Phases come, go, and change their places; rows are moved to where they belong, and sorted anew.
TEST(PhasesPage, WhateverIsReportedNextEachPhaseHasOneRow) {
  Phases p;
  std::mt19937_64 rng(11);
  for (int round = 0; round < 60; ++round) {
    std::vector<std::string> names{"A", "B", "C", "D", "E", "F"};
    std::shuffle(names.begin(), names.end(), rng);
    names.resize(1 + rng() % names.size());
    wire::Report r = report(0);
    std::map<std::string, std::pair<int, double>> sums;
    std::int64_t at = 0;
    for (int i = 0; i < 8; ++i) {
      wire::PhaseSpan& s = *r.add_phases();
      s.set_name(names[rng() % names.size()]);
      const std::int64_t length = static_cast<std::int64_t>(1 + rng() % 3) * 10 * kTenth;
      s.set_begin_ns(at), s.set_end_ns(at + length), at += length;
      auto& [count, total] = sums[s.name()];
      ++count, total += static_cast<double>(length) * 1e-9;
      s.set_occurrence(static_cast<std::uint32_t>(count));
    }
    r.set_watermark_ns(at);
    p.shown.take(r);
    QCoreApplication::processEvents();
    const QTableView& table = p.page().phases();
    ASSERT_EQ(static_cast<std::size_t>(table.model()->rowCount()), sums.size()) << round;
    for (int row = 0; row < table.model()->rowCount(); ++row) {
      const std::string name = p.cell(table, row, PhaseModel::kPhase).toStdString();
      const auto found = sums.find(name);
      ASSERT_NE(found, sums.end()) << name << " in round " << round;
      EXPECT_EQ(p.cell(table, row, PhaseModel::kStretches).toInt(), found->second.first) << name;
      EXPECT_EQ(p.cell(table, row, PhaseModel::kTotal), QString::number(found->second.second, 'f', 1) + " s")
          << name;
      sums.erase(found);
    }
  }
}

TEST(PhasesPage, AClickSelectsTheTimeAndAsksWhatItConsistsOf) {
  Phases p;
  QTest::mouseClick(p.page().stretches().viewport(), Qt::LeftButton, {}, p.at(2));
  EXPECT_EQ(p.shown.session.selection(), (Session::Selection{0, 2, 4}));
  EXPECT_EQ(p.asked().from_ns(), 20 * kTenth);
  EXPECT_EQ(p.asked().to_ns(), 40 * kTenth);
  EXPECT_EQ(p.asked().slices(), 1u) << "no finer: then its bounds are those asked for";
  EXPECT_EQ(p.asked().partition(), wire::ViewQuestion::TEMPORAL);
  EXPECT_THAT(p.page().chosen_text().toStdString(), HasSubstr("reading..."));
  p.answer({{"Wait", 0.25F}, {"Compute", 0.75F}});
  const QTableView& table = p.page().differences();
  ASSERT_EQ(table.model()->rowCount(), 2);
  EXPECT_EQ(p.cell(table, 0, DifferenceModel::kState), "Compute");
  EXPECT_EQ(p.cell(table, 0, DifferenceModel::kFirst), "75 %");
  EXPECT_TRUE(table.isColumnHidden(DifferenceModel::kDifference)) << "from what?";
  EXPECT_EQ(p.stretch(2, StretchModel::kMostly), "Compute 75 %");
  EXPECT_THAT(p.page().chosen_text().toStdString(), Not(HasSubstr("reading")));
}

TEST(PhasesPage, AClickOnWhatThePictureDoesNotShowSaysHowToGetThere) {
  Phases p;
  p.shown.session.select(Session::Selection{0, 0, 1});
  QSignalSpy said(&p.shown.session, &Session::said);
  QTest::mouseClick(p.page().stretches().viewport(), Qt::LeftButton, {}, p.at(3));
  EXPECT_FALSE(p.shown.session.selection());
  ASSERT_EQ(said.size(), 1);
  EXPECT_TRUE(said[0][0].toString().contains("Return"));
}

TEST(PhasesPage, TwoStretchesAreComparedWhatDiffersMostFirst) {
  Phases p;
  p.choose({0, 2});
  const std::int64_t first = p.asked().from_ns();
  EXPECT_EQ(first, 0);
  p.answer({{"Compute", 0.5F}, {"Send", 0.3F}, {"Wait", 0.2F}});
  EXPECT_EQ(p.page().differences().model()->rowCount(), 0) << "one alone is no comparison";
  EXPECT_EQ(p.asked().from_ns(), 20 * kTenth) << "one after the other";
  p.answer({{"Compute", 0.25F}, {"Send", 0.3125F}, {"Wait", 0.4375F}});
  const QTableView& table = p.page().differences();
  ASSERT_EQ(table.model()->rowCount(), 3);
  EXPECT_EQ(p.cell(table, 0, DifferenceModel::kState), "Compute");
  EXPECT_EQ(p.cell(table, 0, DifferenceModel::kDifference), QString(QChar(0x2212)) + "25 %");
  EXPECT_EQ(p.cell(table, 1, DifferenceModel::kDifference), "+24 %");
  EXPECT_EQ(p.cell(table, 2, DifferenceModel::kState), "Send");
  EXPECT_EQ(table.model()->headerData(DifferenceModel::kFirst, Qt::Horizontal), "A, 1st");
  EXPECT_EQ(table.model()->headerData(DifferenceModel::kSecond, Qt::Horizontal), "A, 2nd");
  EXPECT_THAT(p.page().chosen_text().toStdString(), HasSubstr("the second lasted 33 % longer"));
}

TEST(PhasesPage, WhatIsKnownIsNotAskedForAgainButWhatGoesOnIs) {
  Phases p;
  p.choose({0});
  p.answer({{"Compute", 1}});
  p.choose({4});
  p.answer({{"Wait", 1}});
  p.choose({0});
  EXPECT_EQ(p.asked().from_ns(), 50 * kTenth) << "it is known";
  EXPECT_EQ(p.cell(p.page().differences(), 0, DifferenceModel::kState), "Compute");
  p.choose({4});
  wire::Report r = phases();
  r.mutable_phases(4)->set_end_ns(60 * kTenth);
  p.shown.take(r);
  EXPECT_EQ(p.cell(p.page().differences(), 0, DifferenceModel::kState), "Wait") << "until there is more";
  EXPECT_TRUE(QTest::qWaitFor([&] { return p.asked().to_ns() == 60 * kTenth; }));
}

TEST(PhasesPage, SaysWhyNothingIsKnownAndAsksAgainWhenItIsSeenAgain) {
  Phases p;
  p.choose({0});
  const std::uint64_t token = p.asked().token();
  emit p.shown.session.not_beside(token + 1, "of something else");
  EXPECT_THAT(p.page().chosen_text().toStdString(), HasSubstr("reading..."));
  emit p.shown.session.not_beside(token, "the archive is busy");
  EXPECT_THAT(p.page().chosen_text().toStdString(), HasSubstr("the archive is busy"));
  EXPECT_FALSE(p.page().contents().waits());
  p.shown.window.views().setCurrentIndex(0);
  EXPECT_EQ(p.asked().token(), token);
  p.shown.window.views().setCurrentWidget(&p.page());
  EXPECT_GT(p.asked().token(), token);
}

// Else it would wait for the answer for ever.
TEST(PhasesPage, HearsThatAnotherPagesQuestionTookThePlaceOfItsOwn) {
  Phases p;
  p.choose({0});
  ASSERT_TRUE(p.page().contents().waits());
  p.shown.session.ask_beside({});
  EXPECT_FALSE(p.page().contents().waits());
  EXPECT_THAT(p.page().chosen_text().toStdString(), HasSubstr("another page's question took its place"));
}

TEST(PhasesPage, ReturnAndADoubleClickGoThereInTheOverview) {
  Phases p;
  QTableView& table = p.page().stretches();
  table.setFocus();
  table.setCurrentIndex(table.model()->index(3, 0));
  QTest::keyClick(&table, Qt::Key_Return);
  EXPECT_EQ(p.shown.window.views().current(), &p.shown.overview());
  const scene::TimeRange seen = p.shown.session.subject().time.value();
  EXPECT_LT(seen.from, TimeNs(40 * kTenth));
  EXPECT_GT(seen.to, TimeNs(50 * kTenth));
  EXPECT_LE(seen.to - seen.from, DurationNs(20 * kTenth));

  Phases q;
  QTest::mouseClick(q.page().stretches().viewport(), Qt::LeftButton, {}, q.at(2));
  EXPECT_EQ(q.shown.window.views().current(), &q.page());
  QTest::mouseDClick(q.page().stretches().viewport(), Qt::LeftButton, {}, q.at(2));
  EXPECT_EQ(q.shown.window.views().current(), &q.shown.overview());
  EXPECT_EQ(q.shown.session.selection(), (Session::Selection{0, 2, 4}));
}

TEST(PhasesPage, APhaseListsItsStretchesAloneAndEscapeAll) {
  Phases p;
  p.page().phases().setFocus();
  p.page().phases().selectRow(1);
  ASSERT_EQ(p.page().stretches().model()->rowCount(), 2);
  EXPECT_EQ(p.stretch(0, StretchModel::kPhase), "B (write)");
  QTest::keyClick(&p.page().phases(), Qt::Key_Escape);
  EXPECT_EQ(p.page().stretches().model()->rowCount(), 5);
  p.shown.session.select(Session::Selection{0, 0, 1});
  QTest::keyClick(&p.page().phases(), Qt::Key_Escape);
  EXPECT_FALSE(p.shown.session.selection()) << "the window's own again";
}

// In slices of a second all of it is one long phase.
wire::Report with_long_phases() {
  wire::Report r = phases();
  wire::LevelPhases& level = *r.add_levels();
  level.set_slice_ns(10 * kTenth);
  wire::PhaseSpan& s = *level.add_phases();
  s.set_name("1s:A"), s.set_end_ns(58 * kTenth), s.set_occurrence(1);
  const std::pair<const char*, double> parts[] = {{"A", 0.74}, {"B", 0.26}};
  for (const auto& [name, share] : parts) {
    wire::PhasePart& part = *s.add_made_of();
    part.set_name(name), part.set_share(share);
  }
  return r;
}

TEST(PhasesPage, LongPhasesAreListedWithTheShortOnesTheyAreMadeOf) {
  Phases p(with_long_phases());
  ASSERT_EQ(p.page().stretches().model()->rowCount(), 6);
  const auto list_only = [&](const char* phase) {
    QTableView& phases = p.page().phases();
    for (int row = 0; row < phases.model()->rowCount(); ++row)
      if (p.cell(phases, row, 0) == phase) phases.selectRow(row);
  };
  list_only("A");
  EXPECT_EQ(p.page().stretches().model()->rowCount(), 3) << "1s:A is another one";
  list_only("1s:A");
  ASSERT_EQ(p.page().stretches().model()->rowCount(), 1);
  EXPECT_EQ(p.stretch(0, StretchModel::kMostly), "A 74 %, B 26 %");
}

TEST(PhaseRibbons, ThoseOfCoarserLevelsAreBelowTheFirstAndThePictureMakesRoom) {
  Shown s;
  const QRectF before = s.overview().picture_area();
  EXPECT_TRUE(s.overview().sheet().level_ribbons.empty());
  s.take(phases());
  EXPECT_EQ(s.overview().picture_area(), before);
  s.take(with_long_phases());
  const Sheet sheet = s.overview().sheet();
  ASSERT_EQ(sheet.level_ribbons.size(), 1u);
  EXPECT_LT(sheet.picture.height(), before.height());
  EXPECT_GE(sheet.level_ribbons[0].top(), sheet.ribbon.bottom());
  EXPECT_LE(sheet.level_ribbons[0].bottom(), sheet.bars.top());
  const QImage image = s.overview().grab().toImage();
  const auto at = [&](const QRectF& ribbon) {
    return image.pixelColor(QPointF(ribbon.right() - 20, ribbon.center().y()).toPoint());
  };
  EXPECT_EQ(at(sheet.level_ribbons[0]), phase_colour("1s:A", s.session.palette()));
  EXPECT_EQ(at(sheet.ribbon), phase_colour("A", s.session.palette()));
  EXPECT_DOUBLE_EQ(s.overview().shown().rects.back().y1, sheet.picture.height()) << "drawn anew";
}

TEST(PhasesPage, TheTableThatHasTheFocusIsCopiedAndTheListIsSaved) {
  Phases p;
  QApplication::clipboard()->clear();
  QTest::keyClick(&p.page().stretches(), Qt::Key_C, Qt::ControlModifier);
  EXPECT_THAT(QApplication::clipboard()->text().toStdString(), HasSubstr("A,,2,3,2,4,2,no,0.25,"));
  QTest::keyClick(&p.page().phases(), Qt::Key_C, Qt::ControlModifier);
  EXPECT_THAT(QApplication::clipboard()->text().toStdString(), HasSubstr("A,,3,4.3,"));
  p.choose({0});
  p.answer({{"Compute", 1}});
  QTest::keyClick(&p.page().differences(), Qt::Key_C, Qt::ControlModifier);
  EXPECT_THAT(QApplication::clipboard()->text().toStdString(), HasSubstr("\"A, 1st\"\r\nCompute,"));
  QTemporaryDir dir;
  ASSERT_EQ(p.page().save(dir.filePath("a.csv"), ""), "");
  QFile file(dir.filePath("a.csv"));
  ASSERT_TRUE(file.open(QIODevice::ReadOnly));
  EXPECT_THAT(file.readAll().toStdString(), HasSubstr("A,,2,3,2,4,2,no,0.25,"));
  EXPECT_THAT(p.page().save(dir.filePath("a.txt"), "").toStdString(), HasSubstr("has to end in"));
}

TEST(PhasesPage, APhaseHasTheColourOfTheRibbon) {
  Phases p;
  const QPixmap box = p.page().stretches().model()->index(1, 0).data(Qt::DecorationRole).value<QPixmap>();
  EXPECT_EQ(box.toImage().pixelColor(box.width() / 2, box.height() / 2),
            phase_colour("B", p.shown.session.palette()));
}

}  // namespace phases_test
}  // namespace margay::viewer
