// Filters by state, node and name: what is asked for, and that the window says what it leaves out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QImage>
#include <QInputDialog>
#include <QPainter>
#include <QPushButton>
#include <QSignalSpy>
#include <QStatusBar>

#include "margay/scene/statistics.h"
#include "margay/scene/temporal_bars.h"
#include "measure_menu.h"
#include "paint.h"
#include "shown.h"

namespace margay::viewer {
namespace filter_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Filter, ABoxLeavesAStateOutAndTheWindowSaysSo) {
  Shown s;
  EXPECT_TRUE(s.window.filters().isHidden());
  s.check("MPI_Wait", false);
  EXPECT_THAT(s.session.subject().states, ElementsAre("Compute", "MPI_Send"));
  EXPECT_FALSE(s.window.filters().isHidden());
  EXPECT_EQ(s.window.filters().text(), "only Compute, MPI_Send");
  EXPECT_FALSE(s.window.statistics().shown(s.row("MPI_Wait")));
  s.check("MPI_Wait", true);
  EXPECT_THAT(s.session.subject().states, IsEmpty());
  EXPECT_TRUE(s.window.filters().isHidden());
}

// What is measured is chosen in a menu, said above the picture, and a step of the history.
TEST(Measure, IsChosenSaidAndGoneBackFrom) {
  Shown s;
  s.session.set_p(0.5);
  s.session.set_states({"MPI_Send"});
  auto* menu = s.window.findChild<MeasureMenu*>();
  ASSERT_NE(menu, nullptr);
  const auto checked = [&] {
    QStringList texts;
    for (const QAction* a : menu->actions())
      if (a->isChecked()) texts << a->text();
    return texts.join(", ").toStdString();
  };
  EXPECT_EQ(checked(), "Time in states");
  for (QAction* a : menu->actions())
    if (a->text() == "Bytes") a->trigger();
  EXPECT_EQ(s.session.subject().measure, "bytes");
  EXPECT_FALSE(s.session.subject().p) << "a p of another measure";
  EXPECT_THAT(s.session.subject().states, ElementsAre("MPI_Send"));
  EXPECT_EQ(checked(), "Bytes");
  EXPECT_EQ(s.window.filters().text(), "measured: bytes; only MPI_Send");
  s.session.set_measure("mean:load");
  EXPECT_THAT(s.session.subject().states, IsEmpty()) << "a variable has no states";
  EXPECT_EQ(s.window.filters().text(), "measured: mean of load");
  EXPECT_EQ(checked(), "Mean of a variable...");
  s.session.back();
  EXPECT_EQ(s.session.subject().measure, "bytes");
  s.window.filters().findChild<QPushButton*>("filter-measure")->click();
  EXPECT_EQ(s.session.subject().measure, "");
  EXPECT_EQ(checked(), "Time in states");
}

TEST(Measure, StandsInTheWindowAndInTheNamesOfFiles) {
  Shown s;
  EXPECT_EQ(s.window.file_name(), "margay-duration.png");
  scene::ViewData data = scene::SmallView().data();
  data.question.set_measure("mean:cpu load/7");
  data.unit = "of the variable";
  data.full = 4;
  s.session.show(std::make_shared<const scene::ViewData>(std::move(data)));
  EXPECT_EQ(s.window.file_name(), "margay-mean-cpu-load-7.png");
  EXPECT_THAT(s.window.states().pie().toolTip().toStdString(),
              HasSubstr("mean:cpu load/7 (of the variable; full: 4)"));
  bool noted = false;
  for (const ElidedLabel* label : s.window.statusBar()->findChildren<ElidedLabel*>())
    noted = noted || label->text().contains("mean of cpu load/7");
  EXPECT_TRUE(noted);
}

TEST(Measure, BytesAreListedAsSizes) {
  Shown s;
  scene::ViewData data = scene::SmallView().data();
  data.question.set_measure("bytes");
  data.unit = "bytes";
  data.full = 3 << 20;
  s.session.show(std::make_shared<const scene::ViewData>(std::move(data)));
  const StatisticsModel& list = s.window.statistics();
  const QString total = list.data(list.index(s.row("MPI_Wait"), StatisticsModel::kTotal)).toString();
  EXPECT_TRUE(total.endsWith(" MiB")) << total.toStdString();
}

// Nothing is not known of who had less bytes than the one that had most.
TEST(Measure, BarsThatAreNotFullAreHatchedAsFarAsTheyAreNotKnown) {
  scene::ViewData data = scene::SmallView().data();
  const scene::Palette palette(scene::Theme::kLight);
  // How many pixels of a line that is so far up are painted, in the first bar: 0.75 of it is states, 0.9
  // known.
  const auto painted = [&](double up) {
    QImage image(200, 100, QImage::Format_RGB32);
    QPainter p(&image);
    paint_bars(p, image.rect(), data, scene::temporal_bars(data), data.range(), palette);
    p.end();
    const QRgb background = colour_of(palette.background()).rgb();
    int count = 0;
    for (int y = 0; y < 4; ++y)
      for (int x = 10; x < 90; ++x)
        count += image.pixel(x, static_cast<int>(100 * (1 - up)) + y) != background;
    return count;
  };
  ASSERT_NEAR(scene::temporal_bars(data)[0].known, 0.9, 1e-6);
  EXPECT_GT(painted(0.85), 0) << "of time what is left is not known";
  EXPECT_GT(painted(0.97), 0);
  data.unit = "bytes";
  data.full = 1000;
  EXPECT_EQ(painted(0.85), 0);
  EXPECT_GT(painted(0.97), 0);
}

TEST(Measure, OfAVariableIsAskedForByName) {
  Shown s;
  scene::ViewData data = scene::SmallView().data();
  data.annotation_names = {"load", "mark", "heat"};
  using Kind = scene::Annotation::Kind;
  for (const auto& [name, kind] :
       {std::pair(0u, Kind::kVariable), {1u, Kind::kMark}, {2u, Kind::kVariable}, {0u, Kind::kVariable}}) {
    scene::Annotation a;
    a.name = name;
    a.kind = kind;
    data.annotations.push_back(a);
  }
  s.session.show(std::make_shared<const scene::ViewData>(std::move(data)));
  EXPECT_THAT(s.session.variables(), ElementsAre("heat", "load"));
  for (QAction* a : s.window.findChild<MeasureMenu*>()->actions())
    if (a->text().startsWith("Mean")) a->trigger();
  auto* dialog = s.window.findChild<QInputDialog*>("variable");
  ASSERT_NE(dialog, nullptr);
  EXPECT_EQ(dialog->comboBoxItems().join(' ').toStdString(), "heat load");
  EXPECT_EQ(s.session.subject().measure, "") << "nothing was chosen yet";
  dialog->setTextValue("load");
  dialog->accept();
  EXPECT_EQ(s.session.subject().measure, "mean:load");
}

// Each that the scene knows has its line, and leads to its word.
TEST(Measure, OfAVariableIsAnyThatThereIs) {
  Shown s;
  const auto* menu = s.window.findChild<MeasureMenu*>();
  ASSERT_EQ(menu->actions().size(), static_cast<qsizetype>(std::size(scene::kMeasures)));
  for (std::size_t i = 0; i < std::size(scene::kMeasures); ++i) {
    const scene::MeasureKind& kind = scene::kMeasures[i];
    if (!kind.of_variable) continue;
    QAction& action = *menu->actions()[static_cast<qsizetype>(i)];
    SCOPED_TRACE(action.text().toStdString());
    action.trigger();
    QInputDialog* dialog = nullptr;
    for (auto* d : s.window.findChildren<QInputDialog*>("variable"))
      if (d->isVisible()) dialog = d;
    ASSERT_NE(dialog, nullptr);
    EXPECT_EQ(dialog->windowTitle() + "...", action.text());
    dialog->setTextValue("load");
    dialog->accept();
    const std::string measure = std::string(kind.word) + "load";
    EXPECT_EQ(s.session.subject().measure, measure);
    EXPECT_TRUE(action.isChecked());
    EXPECT_EQ(s.window.filters().text().toStdString(), "measured: " + scene::measure_name(measure));
  }
}

// What does not add up is listed by its mean, under a head that says so.
TEST(Measure, OfAVariableIsListedByItsMean) {
  Shown s;
  scene::ViewData data = scene::SmallView().data();
  data.question.set_measure("max:load");
  data.unit = "of the variable";
  data.full = 4;
  s.session.show(std::make_shared<const scene::ViewData>(std::move(data)));
  const StatisticsModel& list = s.window.statistics();
  const int row = s.row("MPI_Wait");
  const double share = list.data(list.index(row, StatisticsModel::kShare), Qt::EditRole).toDouble();
  EXPECT_EQ(list.headerData(StatisticsModel::kTotal, Qt::Horizontal, Qt::DisplayRole).toString(), "mean");
  EXPECT_EQ(list.data(list.index(row, StatisticsModel::kTotal)).toString().toStdString(),
            scene::amount_text("of the variable", 4 * share));
  s.session.show(small());
  EXPECT_EQ(list.headerData(StatisticsModel::kTotal, Qt::Horizontal, Qt::DisplayRole).toString(), "total");
}

// Else each step from there on would be refused as well.
TEST(Measure, ThatIsRefusedIsLeft) {
  Link link({"no-such-run", "", ""});
  Session session(&link, scene::Theme::kLight);
  session.show(small());
  session.set_measure("mean:lood");
  EXPECT_EQ(session.subject().measure, "mean:lood");
  const std::uint64_t token = link.next_token() - 1;
  emit link.refused(token - 1, "superseded by a newer question");
  EXPECT_EQ(session.subject().measure, "mean:lood");
  emit link.refused(token, "measure mean:lood: no such variable");
  EXPECT_EQ(session.subject().measure, "");
}

TEST(Filter, OneStateAtLeastIsShown) {
  Shown s;
  s.check("MPI_Wait", false);
  s.check("MPI_Send", false);
  QSignalSpy said(&s.window.states(), &StatesPanel::said);
  s.check("Compute", false);
  EXPECT_THAT(s.session.subject().states, ElementsAre("Compute"));
  ASSERT_EQ(said.count(), 1);
  EXPECT_THAT(said[0][0].toString().toStdString(), HasSubstr("at least"));
}

TEST(Filter, ADoubleClickShowsOneStateAloneAndThenAll) {
  Shown s;
  QTableView& table = s.window.states().table();
  s.choose("MPI_Send");
  const QPoint at = table.visualRect(table.currentIndex()).center() + QPoint(20, 0);  // beside the box
  const auto twice = [&] {  // a double click begins with a click, which Qt's own leaves out
    QTest::mouseClick(table.viewport(), Qt::LeftButton, {}, at);
    QTest::mouseDClick(table.viewport(), Qt::LeftButton, {}, at);
  };
  twice();
  EXPECT_THAT(s.session.subject().states, ElementsAre("MPI_Send"));
  twice();
  EXPECT_THAT(s.session.subject().states, IsEmpty());
}

TEST(Filter, KeysDoTheSameToTheChosenState) {
  Shown s;
  s.choose("MPI_Send");
  QTest::keyClick(&s.overview(), Qt::Key_O);
  EXPECT_THAT(s.session.subject().states, ElementsAre("MPI_Send"));
  QTest::keyClick(&s.overview(), Qt::Key_O, Qt::ShiftModifier);
  EXPECT_THAT(s.session.subject().states, IsEmpty());
  QTest::keyClick(&s.overview(), Qt::Key_X);
  EXPECT_THAT(s.session.subject().states, ElementsAre("Compute", "MPI_Wait"));
}

// In the list Space is its box, not the window's Hold.
TEST(Filter, SpaceInTheListIsItsBox) {
  Shown s;
  QTableView& table = s.window.states().table();
  s.choose("MPI_Send");
  table.setFocus();
  QTest::keyClick(&table, Qt::Key_Space);
  EXPECT_THAT(s.session.subject().states, ElementsAre("Compute", "MPI_Wait"));
  EXPECT_FALSE(s.session.held());
}

TEST(Filter, WhatDoesNotFitAQuestionIsSaid) {
  Shown s;
  QSignalSpy said(&s.session, &Session::said);
  std::vector<std::string> many;
  for (int i = 0; i < 120; ++i) many.push_back("a_state_with_a_long_name_" + std::to_string(i));
  EXPECT_TRUE(s.session.set_states(many));
  EXPECT_EQ(s.session.subject().states.size(), 120u);
  for (int i = 120; i < 200; ++i) many.push_back("a_state_with_a_long_name_" + std::to_string(i));
  EXPECT_FALSE(s.session.set_states(many));
  EXPECT_EQ(s.session.subject().states.size(), 120u) << "the filter stays what it was";
  std::vector<std::string> short_ones;
  for (int i = 0; i < 257; ++i) short_ones.push_back(std::to_string(i));
  EXPECT_FALSE(s.session.set_states(short_ones));
  ASSERT_EQ(said.count(), 2);
  EXPECT_EQ(said[0][0].toString(),
            "200 states are too many for one request (at most 256 states, 4096 bytes): choose fewer");
}

TEST(Filter, OnlyANodeAndAllAgain) {
  Shown s;
  QTest::mouseClick(&s.overview(), Qt::LeftButton, {}, s.at(0.75, 0.125));
  ASSERT_TRUE(s.session.selection());
  QTest::keyClick(&s.overview(), Qt::Key_N);
  EXPECT_EQ(s.session.subject().node, "/a");
  EXPECT_FALSE(s.session.subject().time) << "of all time that is seen";
  EXPECT_EQ(s.window.filters().text(), "only what is below /a");
  auto* chip = s.window.findChild<QPushButton*>("filter-node");
  ASSERT_NE(chip, nullptr);
  QTest::mouseClick(chip, Qt::LeftButton);
  EXPECT_EQ(s.session.subject().node, "");
  EXPECT_TRUE(s.window.filters().isHidden());
}

TEST(Filter, AResourceIsFoundAndThenShownAlone) {
  Shown s;
  QTest::keyClick(&s.overview(), Qt::Key_Slash);
  auto* field = qobject_cast<QLineEdit*>(QApplication::focusWidget());
  ASSERT_NE(field, nullptr);
  QTest::keyClicks(field, "r3");
  EXPECT_EQ(s.session.rows().rows.size(), 1u);
  EXPECT_EQ(s.window.filters().text(), "only names with \"r3\"");
  QTest::keyClick(field, Qt::Key_Return);
  ASSERT_TRUE(s.session.selection());
  EXPECT_EQ(s.session.data().nodes[s.session.selection()->node].path, "/b/r3");
  EXPECT_TRUE(s.overview().hasFocus());
  QTest::keyClick(&s.overview(), Qt::Key_N);
  EXPECT_EQ(s.session.subject().node, "/b/r3");
  QTest::keyClick(&s.overview(), Qt::Key_0);
  EXPECT_EQ(s.session.subject().node, "");
  EXPECT_EQ(field->text(), "");
  EXPECT_EQ(s.session.rows().rows.size(), 4u);
  EXPECT_TRUE(s.window.filters().isHidden());
}

TEST(Filter, NamesAreShortenedAndTextAsItIs) {
  Shown s;
  s.session.set_states({"<b>one</b>", std::string(200, 'x'), "three", "four", "five"});
  const QString text = s.window.filters().text();
  EXPECT_THAT(text.toStdString(), HasSubstr("and 2 more"));
  EXPECT_LT(text.size(), 80);
}

TEST(States, AreKnownWhateverTheFilterLetsThrough) {
  Shown s;
  wire::Report r = report(0);
  for (const auto& [name, family] :
       {std::pair("MPI_Allreduce", wire::FAMILY_COLLECTIVE), std::pair("solve", wire::FAMILY_REGION)}) {
    r.add_states()->set_name(name);
    r.mutable_states()->rbegin()->set_family(family);
  }
  r.add_states()->set_name("MPI_Never");
  wire::NodeBar& bar = *r.add_nodes();
  for (const std::uint32_t id : {0u, 1u, 77u}) bar.add_shares()->set_state(id);
  s.take(r);
  EXPECT_EQ(s.session.states().size(), 5u) << "those of the picture, and the one that somebody is in";
  s.session.show(small());
  EXPECT_GE(s.row("MPI_Allreduce"), 0);
  EXPECT_EQ(s.row("solve"), -1) << "a region is no state";
  // Another run has others.
  wire::Report other = report(0);
  other.set_run("r1");
  s.take(other);
  EXPECT_EQ(s.session.states().size(), 0u);
}

TEST(States, OfAReportHaveTheFamilyItSays) {
  Shown s;
  wire::Report r = report(0);
  for (const std::uint32_t family : {13u, 4u, 4'000'000'000u}) {
    r.add_states()->set_name("f" + std::to_string(family));
    r.mutable_states()->rbegin()->set_family(family);
    r.add_nodes()->add_shares()->set_state(static_cast<std::uint32_t>(r.states_size() - 1));
  }
  s.take(r);
  std::map<std::string, wire::StateFamily> families;
  for (const scene::State& state : s.session.states()) families[state.name] = state.family;
  EXPECT_EQ(families["f13"], wire::FAMILY_IDLE);
  EXPECT_EQ(families["f4"], wire::FAMILY_WAIT);
  EXPECT_EQ(families["f4000000000"], wire::FAMILY_OTHER) << "none that this version knows";
}

TEST(States, MoreThanAreKeptInMindDoNoHarm) {
  Shown s;
  wire::Report r = report(0);
  for (std::size_t i = 0; i < Session::kMostStates + 100; ++i)
    r.add_states()->set_name("s" + std::to_string(i));
  for (int i = 0; i < r.states_size(); ++i) {
    if (i % 1000 == 0) r.add_nodes();
    r.mutable_nodes()->rbegin()->add_shares()->set_state(static_cast<std::uint32_t>(i));
  }
  s.take(r);
  EXPECT_EQ(s.session.states().size(), Session::kMostStates);
}

}  // namespace filter_test
}  // namespace margay::viewer
