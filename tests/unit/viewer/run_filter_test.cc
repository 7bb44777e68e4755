// What of the run is looked at: terms in chips, in the list of states, in the dialog, in the line that finds
// anything; and what shares are of.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QCheckBox>
#include <QDialogButtonBox>
#include <QMenuBar>
#include <QPushButton>
#include <QStatusBar>

#include "command_palette.h"
#include "filter_dialog.h"
#include "filter_menu.h"
#include "margay/scene/live_view.h"
#include "shown.h"
#include "viewer.h"

namespace margay::viewer {
namespace run_filter_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<QPushButton*> chips(Shown& s) {
  std::vector<QPushButton*> out;
  for (QPushButton* b : s.window.filters().findChildren<QPushButton*>("filter-term"))
    if (!b->isHidden()) out.push_back(b);
  return out;
}

TEST(RunFilter, EachTermIsAChipThatTakesItBackAlone) {
  Shown s;
  ASSERT_TRUE(s.session.set_filter({{"MPI_*", "!family:wait"}, {"/a"}, false}));
  EXPECT_EQ(s.window.filters().text(), "states MPI_*; without states of the family wait; resources /a");
  EXPECT_EQ(s.window.filters().proportions(), "what is left out counts as time that is not shown");
  ASSERT_EQ(chips(s).size(), 3u);
  QTest::mouseClick(chips(s)[1], Qt::LeftButton);
  EXPECT_THAT(s.session.subject().filter.states, ElementsAre("MPI_*"));
  EXPECT_THAT(s.session.subject().filter.resources, ElementsAre("/a"));
  ASSERT_EQ(chips(s).size(), 2u);
  QTest::mouseClick(chips(s)[1], Qt::LeftButton);
  EXPECT_THAT(s.session.subject().filter.resources, IsEmpty());
  s.session.back();
  EXPECT_THAT(s.session.subject().filter.resources, ElementsAre("/a")) << "a step like others";
  QTest::keyClick(&s.overview(), Qt::Key_0);
  EXPECT_TRUE(s.window.filters().isHidden());
  EXPECT_TRUE(s.session.subject().filter.empty());
}

TEST(RunFilter, MoreThanThereIsRoomForLeadsToAllOfThem) {
  Shown s;
  ASSERT_TRUE(s.session.set_filter({{"a*", "b*", "c*", "d*"}, {"/a", "/b", "/c", "/d"}, false}));
  EXPECT_EQ(chips(s).size(), FilterBar::kMostChips);
  EXPECT_THAT(s.window.filters().text().toStdString(), HasSubstr("and 2 more..."));
  QTest::mouseClick(s.window.findChild<QPushButton*>("filter-more"), Qt::LeftButton);
  auto* dialog = s.window.findChild<FilterDialog*>();
  ASSERT_NE(dialog, nullptr);
  EXPECT_EQ(dialog->findChild<QLineEdit*>("filter-of-resources")->text(), "/a, /b, /c, /d");
}

TEST(RunFilter, WhatSharesAreOfIsChosenAndSaid) {
  Shown s;
  ASSERT_TRUE(s.session.set_filter({{"MPI_*"}, {}, false}));
  QTest::mouseClick(s.window.findChild<QPushButton*>("filter-rest"), Qt::LeftButton);
  EXPECT_TRUE(s.session.subject().filter.of_the_rest);
  EXPECT_EQ(s.window.filters().proportions(), "shares are of the rest");
  QTest::keyClick(&s.overview(), Qt::Key_R);
  EXPECT_FALSE(s.session.subject().filter.of_the_rest);
  // The line below and heads of files go by the picture, not by what is asked for.
  scene::ViewData data = scene::SmallView().data();
  data.question.mutable_filter()->add_states("MPI_*");
  data.question.mutable_filter()->set_of_the_rest(true);
  s.session.show(std::make_shared<const scene::ViewData>(std::move(data)));
  QStringList below;
  for (const ElidedLabel* label : s.window.statusBar()->findChildren<ElidedLabel*>()) below << label->text();
  EXPECT_TRUE(below.join(" ").contains("shares are of the rest")) << below.join(" ").toStdString();
  EXPECT_THAT(scene::parts_csv(s.session.data()), HasSubstr("states MPI_*; shares are of the rest"));
}

TEST(RunFilter, TheListOfStatesShowsWhatTermsLeaveOut) {
  Shown s;
  ASSERT_TRUE(s.session.set_filter({{"!family:wait"}, {}, false}));
  EXPECT_FALSE(s.window.statistics().shown(s.row("MPI_Wait")));
  EXPECT_TRUE(s.window.statistics().shown(s.row("MPI_Send")));
  s.check("MPI_Wait", true);
  EXPECT_THAT(s.window.statusBar()->currentMessage().toStdString(), HasSubstr("left out by the filter"));
  EXPECT_THAT(s.session.subject().states, IsEmpty());
  s.check("MPI_Send", false);
  EXPECT_THAT(s.session.subject().states, ElementsAre("Compute"));
  s.check("MPI_Send", true);
  EXPECT_THAT(s.session.subject().states, IsEmpty()) << "all that the terms leave";
}

TEST(RunFilter, IsTypedInADialogThatCounts) {
  Shown s;
  QTest::keyClick(&s.overview(), Qt::Key_F, Qt::ShiftModifier);
  auto* dialog = s.window.findChild<FilterDialog*>();
  ASSERT_NE(dialog, nullptr);
  auto* states = dialog->findChild<QLineEdit*>("filter-of-states");
  auto* resources = dialog->findChild<QLineEdit*>("filter-of-resources");
  // Its keys are the window's until it is the active one.
  ASSERT_TRUE(QTest::qWaitFor([&] { return states->hasFocus(); }));
  QTest::keyClicks(states, "MPI_*, !MPI_Wait");
  QTest::keyClicks(resources, "r?, !/b/r3");
  EXPECT_EQ(dialog->told(), "1 of 3 states that were seen, 3 of 4 resources of the picture");
  QTest::keyClicks(states, ", family:wate");
  EXPECT_THAT(dialog->told().toStdString(), HasSubstr("there is no such family"));
  EXPECT_FALSE(s.window.findChild<QDialogButtonBox*>()->button(QDialogButtonBox::Ok)->isEnabled());
  for (int i = 0; i < 13; ++i) QTest::keyClick(states, Qt::Key_Backspace);
  dialog->findChild<QCheckBox*>()->setChecked(true);
  QTest::keyClick(states, Qt::Key_Return);
  EXPECT_EQ(s.session.subject().filter, (scene::RunFilter{{"MPI_*", "!MPI_Wait"}, {"r?", "!/b/r3"}, true}));
}

TEST(RunFilter, FamiliesAndTheSelectedResourceByMenu) {
  Shown s;
  const auto act = [&](const char* text) {
    for (QAction* a : s.window.findChild<FilterMenu*>()->actions())
      if (a->text() == text) return a->trigger(), a->isChecked();
    ADD_FAILURE() << text;
    return false;
  };
  EXPECT_TRUE(act("States of the family wait"));
  EXPECT_THAT(s.session.subject().filter.states, ElementsAre("family:wait"));
  EXPECT_TRUE(act("Without the family wait"));
  EXPECT_THAT(s.session.subject().filter.states, ElementsAre("!family:wait"));
  EXPECT_FALSE(act("Without the family wait"));
  EXPECT_TRUE(s.session.subject().filter.empty());
  QTest::keyClick(&s.overview(), Qt::Key_X, Qt::ShiftModifier);
  EXPECT_THAT(s.window.statusBar()->currentMessage().toStdString(), HasSubstr("select a resource first"));
  s.session.select(Session::Selection{2, 0, 4});
  QTest::keyClick(&s.overview(), Qt::Key_X, Qt::ShiftModifier);
  EXPECT_THAT(s.session.subject().filter.resources, ElementsAre("!/a/r0"));
  QTest::keyClick(&s.overview(), Qt::Key_N, Qt::ShiftModifier);
  EXPECT_THAT(s.session.subject().filter.resources, ElementsAre("/a/r0"));
}

TEST(RunFilter, APatternInTheLineThatFindsAnything) {
  Shown s;
  const Commands commands(s.session, *s.window.menuBar(), nullptr, {});
  Commands::Found found = commands.find("MPI_*");
  ASSERT_GE(found.shown.size(), 2u);
  EXPECT_EQ(found.shown[0].text, "only states MPI_*");
  EXPECT_EQ(found.shown[0].beside, "filter, 2 of 3");
  EXPECT_EQ(found.shown[1].text, "without states MPI_*");
  EXPECT_EQ(found.shown[1].beside, "filter, 1 of 3");
  found.shown[1].run();
  EXPECT_THAT(s.session.subject().filter.states, ElementsAre("!MPI_*"));
  found = commands.find("!*r3");
  ASSERT_GE(found.shown.size(), 1u);
  EXPECT_EQ(found.shown[0].text, "without resources *r3");
  found.shown[0].run();
  EXPECT_THAT(s.session.subject().filter.resources, ElementsAre("!*r3"));
}

TEST(RunFilter, WhatAQuestionCannotHoldIsRefusedWithASentence) {
  Shown s;
  const auto said = [&] { return s.window.statusBar()->currentMessage().toStdString(); };
  EXPECT_FALSE(s.session.set_filter({std::vector<std::string>(257, "a"), {}, false}));
  EXPECT_THAT(said(), HasSubstr("257 states and patterns are too many for one request (at most 256"));
  std::vector<std::string> long_ones;
  for (int i = 0; i < 60; ++i) long_ones.push_back(std::string(100, 'x') + std::to_string(i));
  EXPECT_FALSE(s.session.set_filter({{}, long_ones, false}));
  EXPECT_THAT(said(), HasSubstr("4096 bytes"));
  EXPECT_FALSE(s.session.set_filter({{"family:x"}, {}, false}));
  EXPECT_THAT(said(), HasSubstr("there is no such family"));
  EXPECT_TRUE(s.session.subject().filter.empty());
}

TEST(RunFilter, IsPartOfTheLinkAndOpensTheSameAgain) {
  Shown s;
  s.window.set_place("night", "");
  scene::Subject looked;
  looked.node = "/a";
  looked.filter = {{"MPI_*", "!family:wait"}, {"*r0"}, true};
  s.session.go(looked);
  const std::string link = s.window.link();
  EXPECT_EQ(link, "margay://night#n=/a&s=MPI_%2A,%21family:wait&r=%2Ar0&of=rest");
  command::PictureOptions options;
  options.what = link;
  const auto wanted = wanted_of(options);
  ASSERT_TRUE(wanted) << wanted.error().message;
  EXPECT_EQ(*subject_of(*wanted, false, s.session), looked);
  options.what = "margay://night#s=family:x";
  EXPECT_THAT(wanted_of(options).error().message, HasSubstr("there is no such family"));
  // Names and terms at once: what the terms leave of the names.
  looked.states = {"MPI_Send", "MPI_Wait"};
  s.session.go(looked);
  EXPECT_THAT(s.window.link(), HasSubstr("&s=MPI_Send&"));
}

TEST(RunFilter, WhatFollowsTheRunIsAskedFor) {
  scene::Subject s;
  wire::Report r;
  r.set_slice_ns(100);
  EXPECT_TRUE(scene::is_live(s, r));
  s.filter.resources = {"/a"};
  EXPECT_FALSE(scene::is_live(s, r));
}

}  // namespace run_filter_test
}  // namespace margay::viewer
