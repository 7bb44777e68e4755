// The window from another point of view: chosen, asked for, said, and taken back; what was there before
// stays.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QInputDialog>
#include <QPushButton>

#include "filter_bar.h"
#include "point_of_view_menu.h"
#include "shown.h"

namespace margay::viewer {
namespace points_of_view_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

QAction* action(Window& window, const QString& words) {
  auto* menu = window.findChild<PointOfViewMenu*>();
  emit menu->aboutToShow();
  for (QAction* a : menu->actions())
    if (a->text().remove('&').contains(words)) return a;
  return nullptr;
}

// The small picture with the views that the daemon knows.
scene::SmallView knowing() {
  scene::SmallView view;
  for (const char* name : {"core", "host", "rank"}) view.build.raw().add_attributes()->set_name(name);
  view.build.raw().add_views("core"), view.build.raw().add_views("rank mod 2");
  return view;
}
// /a/r1 and /b/r3 are the odd ones; of the same time.
ViewPtr turned(const std::string& levels) {
  support::ViewBuilder build(4);
  const std::uint32_t state = build.state("Compute", wire::FAMILY_COMPUTE);
  const std::uint32_t even = build.node("even", 0), r0 = build.node("r0", even), r2 = build.node("r2", even);
  const std::uint32_t odd = build.node("odd", 0), r1 = build.node("r1", odd), r3 = build.node("r3", odd);
  build.part(0, 0, 4, {{state, 1}});
  for (const auto& [node, resource] : {std::pair(r0, "/a/r0"), {r1, "/a/r1"}, {r2, "/b/r2"}, {r3, "/b/r3"}})
    build.raw().mutable_nodes(static_cast<int>(node))->set_resource(resource);
  build.raw().mutable_question()->mutable_view()->set_levels(levels);
  build.raw().add_attributes()->set_name("rank");
  build.raw().add_views("core"), build.raw().add_views("rank mod 2");
  return std::make_shared<const scene::ViewData>(*scene::view_data_untrusted(build.answer()));
}

TEST(PointOfView, IsChosenAskedForSaidAndTakenBack) {
  Shown s(std::make_shared<const scene::ViewData>(knowing().data()));
  s.window.set_place("night", "");
  EXPECT_TRUE(action(s.window, "As usual")->isChecked());
  action(s.window, "By rank mod 2")->trigger();
  EXPECT_EQ(scene::question_of(s.session.asked_for(), 1, true).view().levels(), "rank mod 2");
  EXPECT_THAT(s.window.link(), HasSubstr("view=rank%20mod%202"));
  EXPECT_TRUE(action(s.window, "By rank mod 2")->isChecked());
  auto* chip = s.window.findChild<QPushButton*>("filter-view");
  ASSERT_TRUE(chip->isVisibleTo(&s.window));
  EXPECT_EQ(chip->text().toStdString(), "seen by rank mod 2");
  chip->click();
  EXPECT_TRUE(s.session.subject().view.is_usual());
  EXPECT_FALSE(chip->isVisibleTo(&s.window));
  EXPECT_THAT(s.window.link(), Not(HasSubstr("view=")));
  s.session.back();
  EXPECT_EQ(s.session.subject().view.levels, "rank mod 2");
}

// Groups are in a file that whoever follows a link has not.
TEST(PointOfView, ALinkHasNoGroupsNorTheirNodes) {
  Shown s;
  s.window.set_place("night", "");
  s.session.set_view({"group/host", "io: r1"});
  s.session.set_node("/io");
  EXPECT_THAT(s.window.link(), Not(HasSubstr("view=")));
  EXPECT_THAT(s.window.link(), Not(HasSubstr("io")));
}

TEST(PointOfView, TheNextOneGoesRound) {
  Shown s(std::make_shared<const scene::ViewData>(knowing().data()));
  auto* menu = s.window.findChild<PointOfViewMenu*>();
  std::vector<std::string> seen;
  for (int i = 0; i < 4; ++i) menu->next(), seen.push_back(s.session.subject().view.levels);
  EXPECT_THAT(seen, ElementsAre("core", "rank mod 2", "", "core"));
  s.session.set_view({"host/core", ""});
  EXPECT_TRUE(action(s.window, "By host/core")->isChecked());
  menu->next();
  EXPECT_TRUE(s.session.subject().view.is_usual());
}

TEST(PointOfView, AnyOtherIsTyped) {
  Shown s(std::make_shared<const scene::ViewData>(knowing().data()));
  action(s.window, "Other...")->trigger();
  auto* dialog = s.window.findChild<QInputDialog*>("point-of-view");
  ASSERT_NE(dialog, nullptr);
  EXPECT_THAT(dialog->labelText().toStdString(), HasSubstr("there are: core, host, rank"));
  dialog->setTextValue(" host/core ");
  dialog->accept();
  EXPECT_EQ(s.session.subject().view.levels, "host/core");
}

TEST(PointOfView, WhatIsSelectedStaysSelected) {
  Shown s;
  const auto at = [&](const char* path) {
    return static_cast<std::uint32_t>(scene::node_at(s.session.data(), path));
  };
  s.session.select(Session::Selection{at("/a/r1"), 1, 3});
  s.session.show(turned("rank mod 2"));
  ASSERT_TRUE(s.session.selection());
  EXPECT_EQ(*s.session.selection(), (Session::Selection{at("/odd/r1"), 1, 3}));
  s.session.show(small());
  EXPECT_EQ(s.session.selection()->node, at("/a/r1"));
  s.session.select(Session::Selection{at("/a"), 1, 3});
  s.session.show(turned("rank mod 2"));
  EXPECT_FALSE(s.session.selection());
}

// What was zoomed into is all that is shown from elsewhere, too.
TEST(PointOfView, AZoomIntoANodeBecomesAFilter) {
  Shown s;
  s.session.set_node("/a");
  s.session.set_view({"rank mod 2", ""});
  EXPECT_EQ(s.session.subject().node, "");
  EXPECT_THAT(s.session.subject().filter.resources, ElementsAre("/a"));
  EXPECT_TRUE(s.session.subject().filter.of_the_rest);
  s.session.back();
  EXPECT_EQ(s.session.subject().node, "/a");
  EXPECT_TRUE(s.session.subject().filter.empty());
  // From a view that is not the usual one: by the resources that are in the picture.
  s.session.set_view({"rank mod 2", ""});
  s.session.set_filter({});
  s.session.show(turned("rank mod 2"));
  s.session.set_node("/odd");
  support::ViewBuilder build(4);
  const std::uint32_t state = build.state("Compute", wire::FAMILY_COMPUTE);
  const std::uint32_t odd = build.node("odd", 0);
  for (const char* name : {"r1", "r3"}) build.node(name, odd);
  build.raw().mutable_nodes(2)->set_resource("/a/r1"), build.raw().mutable_nodes(3)->set_resource("/b/r3");
  build.part(0, 0, 4, {{state, 1}});
  build.raw().mutable_question()->mutable_view()->set_levels("rank mod 2");
  build.raw().mutable_question()->set_node("/odd");
  s.session.show(std::make_shared<const scene::ViewData>(*scene::view_data_untrusted(build.answer())));
  s.session.set_view({});
  EXPECT_THAT(s.session.subject().filter.resources, ElementsAre("/a/r1", "/b/r3"));
}

TEST(PointOfView, AnAlertIsSelectedWhereItsResourceIs) {
  Shown s(turned("rank mod 2"));
  const auto range = s.session.data().range();
  s.session.go_to(range.from, range.to, "/a/r1");
  ASSERT_TRUE(s.session.selection());
  EXPECT_EQ(s.session.data().nodes[s.session.selection()->node].path, "/odd/r1");
  s.session.go_to(range.from, range.to, "/a");  // on both sides
  EXPECT_EQ(s.session.selection()->node, 0u);
}

}  // namespace points_of_view_test
}  // namespace margay::viewer
