// How the picture is cut, and the time line below it: its own p, its bars, what is hit and said there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QMenuBar>
#include <QStatusBar>

#include "cuts_menu.h"
#include "picture_table.h"
#include "shown.h"

namespace margay::viewer {
namespace cuts_test {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Kind = BelowPicture::Kind;

QAction* action(Window& window, const QString& words) {
  for (QAction* a : window.findChild<CutsMenu*>()->actions())
    if (a->text().remove('&').contains(words)) return a;
  return nullptr;
}

std::string notes(const Window& window) {
  for (const ElidedLabel* l : window.statusBar()->findChildren<ElidedLabel*>())
    if (l->text().contains(", p ")) return l->text().toStdString();
  return "";
}

TEST(Cuts, AreChosenAskedForSaidAndGoneBackFrom) {
  Shown s;
  s.window.set_place("night", "");
  EXPECT_TRUE(action(s.window, "space and time at once")->isChecked());
  EXPECT_THAT(notes(s.window), Not(HasSubstr("cut in")));
  action(s.window, "in space only times")->trigger();
  EXPECT_EQ(s.session.subject().cuts, wire::ViewQuestion::PRODUCT);
  EXPECT_EQ(scene::question_of(s.session.asked_for(), 1, true).partition(), wire::ViewQuestion::PRODUCT);
  EXPECT_THAT(s.window.link(), HasSubstr("cut=product"));
  scene::SmallView answer;
  answer.build.raw().mutable_question()->set_partition(wire::ViewQuestion::PRODUCT);
  s.session.show(std::make_shared<const scene::ViewData>(answer.data()));
  EXPECT_THAT(notes(s.window), HasSubstr("cut in space only times in time only"));
  EXPECT_TRUE(action(s.window, "in space only times")->isChecked());
  s.session.back();
  EXPECT_EQ(s.session.subject().cuts, wire::ViewQuestion::SPATIOTEMPORAL);
  EXPECT_THAT(s.window.link(), Not(HasSubstr("cut=")));
}

// The small picture in two bars of two seconds each; the second p of its curve begins at 0.25.
ViewPtr time_line(double p, std::uint64_t token) {
  scene::SmallView view;
  wire::ViewAnswer answer = view.build.answer();
  answer.set_token(token);
  answer.set_p(p);
  answer.mutable_question()->set_partition(wire::ViewQuestion::TEMPORAL);
  answer.mutable_question()->set_curve(true);
  for (auto* list : {answer.mutable_part_node(), answer.mutable_part_first(), answer.mutable_part_last(),
                     answer.mutable_part_states(), answer.mutable_share_state()})
    list->Clear();
  for (auto* list : {answer.mutable_part_gain(), answer.mutable_part_loss(), answer.mutable_part_known(),
                     answer.mutable_share()})
    list->Clear();
  for (const std::uint32_t first : {0, 2}) {
    answer.add_part_node(0);
    answer.add_part_first(first);
    answer.add_part_last(first + 1);
    answer.add_part_gain(2);
    answer.add_part_loss(1);
    answer.add_part_known(1);
    answer.add_part_states(1);
    answer.add_share_state(0);
    answer.add_share(first == 0 ? 0.75f : 0.25f);
  }
  answer.clear_curve();
  for (const auto& [from, parts] : {std::pair(0.0, 2u), {0.25, 1u}}) {
    auto& point = *answer.add_curve();
    point.set_p(from);
    point.set_parts(parts);
    point.set_gain(parts == 1 ? 4 : 2);
    point.set_loss(parts == 1 ? 3 : 1);
  }
  return std::make_shared<const scene::ViewData>(*scene::view_data_untrusted(answer));
}

// As an archive answers; what is asked is known by its token.
struct Answered {
  Answered() : link({"no-such-run", "", ""}), session(&link, scene::Theme::kLight) {
    session.go([] {
      scene::Subject s;
      s.time = scene::TimeRange{TimeNs(0), TimeNs(4'000'000'000)};
      return s;
    }());
    answer_picture();
    answer_time_line(session.data().p);
    emit link.answered(of_picture(link.next_token() - 1));  // with the curve
  }
  ViewPtr of_picture(std::uint64_t token) {
    scene::SmallView view;
    view.build.raw().set_token(token);
    if (session.subject().p) view.build.raw().set_p(*session.subject().p);
    view.build.raw().mutable_question()->set_curve(true);
    return std::make_shared<const scene::ViewData>(view.data());
  }
  void answer_picture() { emit link.answered(of_picture(link.next_token() - 1)); }
  void answer_time_line(double p) { emit link.answered(time_line(p, link.next_token() - 1)); }
  Link link;
  Session session;
};

TEST(TimeLine, HasAPOfItsOwnWhereThatIsChosen) {
  Answered a;
  ASSERT_FALSE(a.session.temporal().empty());
  const double p = a.session.data().p;
  EXPECT_EQ(a.session.temporal().p, p);
  a.session.set_steps_of_time(true);
  EXPECT_EQ(a.session.subject().time_p, p) << "it begins where the picture is";
  a.answer_picture();
  a.answer_time_line(p);
  EXPECT_EQ(a.session.steps().steps.size(), 2u) << "the steps are the time line's";
  const std::int64_t from = a.session.steps().current;
  a.session.step_p(from == 0 ? 1 : -1);
  const double chosen = a.session.subject().time_p.value();
  EXPECT_NE(chosen, p);
  EXPECT_FALSE(a.session.subject().p) << "that of the picture stays as it was";
  a.answer_picture();
  a.answer_time_line(chosen);
  EXPECT_EQ(a.session.temporal().p, chosen);
  EXPECT_EQ(a.session.data().p, p);
  EXPECT_NE(a.session.steps().current, from);

  // Another p of the picture leaves the time line where it is.
  a.session.set_steps_of_time(false);
  a.session.set_p(0.75);
  a.answer_picture();
  EXPECT_EQ(a.session.subject().time_p, chosen);
  EXPECT_EQ(a.session.temporal().p, chosen);
  a.session.set_time_p(std::nullopt);
  a.answer_picture();
  a.answer_time_line(0.75);
  EXPECT_EQ(a.session.temporal().p, 0.75) << "one p for both again";
}

TEST(TimeLine, TheMenuChoosesWhoseStepsThereAre) {
  Shown s;
  QAction* of_time = action(s.window, "p of the time line");
  EXPECT_FALSE(action(s.window, "One p")->isEnabled());
  QTest::keyClick(&s.overview(), Qt::Key_P, Qt::ShiftModifier);
  EXPECT_TRUE(of_time->isChecked());
  EXPECT_TRUE(s.session.steps_of_time());
  action(s.window, "One p")->trigger();
  EXPECT_FALSE(s.session.steps_of_time());
  EXPECT_FALSE(s.session.subject().time_p);
  EXPECT_FALSE(of_time->isChecked());
}

// Phases have no boundary where the time line at its own p has no cut.
TEST(TimeLine, PhasesGoByItsOwnP) {
  Answered a;
  wire::Report r = report(0);
  r.set_watermark_ns(4'000'000'000);
  for (const auto& [name, from, to] : {std::tuple("A", 0, 9), {"B", 9, 20}, {"C", 20, 40}}) {
    auto& phase = *r.add_phases();
    phase.set_name(name);
    phase.set_begin_ns(from * 100'000'000LL);
    phase.set_end_ns(to * 100'000'000LL);
  }
  a.session.take(std::make_shared<const wire::Report>(r));
  a.session.set_time_p(0.875);
  a.answer_picture();
  EXPECT_EQ(phases_of(a.session).size(), 3u) << "those of the daemon, until the time line at this p is there";
  a.answer_time_line(0.875);
  const auto stretches = phases_of(a.session);
  ASSERT_EQ(stretches.size(), 2u) << "it is cut at 2 s alone, and a slice is a second";
  EXPECT_EQ(scene::phase_names(stretches[0]), "A+B");
}

// Without a time line of its own the bars are those cuts that all parts share.
struct Below : Shown {
  std::vector<scene::Bar> bars() { return temporal_bars_of(session); }
  QPoint on(const QRectF& of, double x) {
    return QPointF(of.left() + x * of.width(), of.center().y()).toPoint();
  }
  std::optional<BelowPicture> what(const QRectF& of, double x) {
    return below_picture(session, overview().sheet(), bars(), QPointF(on(of, x)));
  }
};

TEST(TimeLine, WhatIsBelowThePictureIsSaid) {
  Below s;
  wire::Report r = report(0);
  auto& phase = *r.add_phases();
  phase.set_begin_ns(0);
  phase.set_end_ns(2'000'000'000);
  phase.set_name("A");
  s.take(r);
  const Sheet sheet = s.overview().sheet();
  const auto bar = s.what(sheet.bars, 0.01);
  ASSERT_TRUE(bar && bar->kind == Kind::kBar);
  EXPECT_EQ(bar->time.from, s.session.data().range().from);
  const std::string text = below_text(s.session, s.bars(), *bar).toStdString();
  EXPECT_THAT(text, AllOf(HasSubstr("part 1 of " + std::to_string(s.bars().size())), HasSubstr("gain "),
                          HasSubstr("p 0")));
  // Every state of it by its name, also those that a bar pools.
  const scene::ViewData& data = s.session.data();
  const auto of = scene::proportions(data, 0, data.leaves(), s.bars()[0].first, s.bars()[0].last);
  for (std::size_t x = 0; x < of.shares.size(); ++x)
    EXPECT_EQ(of.shares[x] > 0, text.find(data.states[x].name) != std::string::npos) << data.states[x].name;
  const auto ribbon = s.what(sheet.ribbon, 0.1);
  ASSERT_TRUE(ribbon && ribbon->kind == Kind::kPhase);
  EXPECT_THAT(below_text(s.session, s.bars(), *ribbon).toStdString(),
              AllOf(HasSubstr("phase A"), HasSubstr("2 s")));
  EXPECT_FALSE(s.what(sheet.ribbon, 0.9)) << "no phase is there";
  const auto axis = s.what(sheet.axis, 0.5);
  ASSERT_TRUE(axis && axis->kind == Kind::kAxis);
  EXPECT_EQ(below_text(s.session, s.bars(), *axis), "2 s");
  EXPECT_FALSE(below_picture(s.session, sheet, s.bars(), sheet.picture.center()));
  EXPECT_FALSE(below_picture(s.session, sheet, s.bars(), QPointF(3, sheet.bars.center().y())));
}

TEST(TimeLine, AClickOnABarAPhaseOrTheAxisSelectsThatTimeOfAll) {
  Below s;
  const Sheet sheet = s.overview().sheet();
  s.overview().grab();  // bars are hit as they are drawn
  QTest::mouseClick(&s.overview(), Qt::LeftButton, {}, s.on(sheet.bars, 0.01));
  const scene::Bar first = s.bars()[0];
  EXPECT_EQ(s.session.selection(), (Session::Selection{0, first.first, first.last}));
  QTest::mouseClick(&s.overview(), Qt::LeftButton, {}, s.on(sheet.axis, 0.9));
  EXPECT_EQ(s.session.selection(), (Session::Selection{0, 3, 4}));
  QTest::mouseDClick(&s.overview(), Qt::LeftButton, {}, s.on(sheet.bars, 0.01));
  ASSERT_TRUE(s.session.subject().time);
  EXPECT_EQ(s.session.subject().time->from, s.session.data().boundaries[first.first]);
  EXPECT_EQ(s.session.subject().time->to, s.session.data().boundaries[first.last]);
}

// A part of 24 states of which most are small: the table names the largest, and how many more there are.
TEST(TimeLine, WhatHasNoRoomIsCounted) {
  Shown s;
  scene::Proportions of;
  of.shares = {0.5, 0.25, 0.125, 0.0625};
  ASSERT_GE(s.session.data().states.size(), 4u);
  const std::string all = shares_table(s.session, s.session.data(), of, 4).toStdString();
  EXPECT_THAT(all, Not(HasSubstr("more")));
  const std::string two = shares_table(s.session, s.session.data(), of, 2).toStdString();
  EXPECT_THAT(two, AllOf(HasSubstr("2 more"), HasSubstr(share_text(0.1875).toStdString())));
}

}  // namespace cuts_test
}  // namespace margay::viewer
