// A picture that follows a run is the report's; any other is asked for.
#include <gtest/gtest.h>

#include "shown.h"

namespace margay::viewer {
namespace live_test {

constexpr std::int64_t kSlice = 100'000'000;

// Of a run that has come to this slice: 40 slices of it.
wire::Report at(std::int64_t slice) {
  std::mt19937_64 rng(5);
  wire::ViewAnswer answer = support::random_view(rng, {12, 40, 5, 5, 0.7});
  answer.set_p(0.125);
  wire::Report out = support::report_of(answer, slice - 39, kSlice);
  out.set_run_begin_ns(0);
  return out;
}

struct Attached {
  // Finds no run: what it would say is said here.
  Attached() : link({"no-such-run", "", ""}), session(&link, scene::Theme::kLight) {}
  void take(const wire::Report& r) { session.take(std::make_shared<const wire::Report>(r)); }
  Link link;
  Session session;
};

TEST(LivePicture, IsEachReportsOwnWithItsPAndNothingIsAskedForIt) {
  Shown s;
  for (const std::int64_t slice : {100, 101, 250}) {
    s.take(at(slice));
    EXPECT_TRUE(s.session.of_report());
    EXPECT_FALSE(s.session.waiting());
    EXPECT_EQ(s.session.data().p, 0.125);
    EXPECT_EQ(s.session.data().range().to, TimeNs((slice + 1) * kSlice));
    EXPECT_EQ(s.session.temporal().range(), s.session.data().range()) << "bars and picture are of one report";
  }
}

// Single calls are asked for with a stretch that is a part of the run, which may be shorter than a slice.
TEST(SingleCalls, AreAskedForWithAPartOfTheRun) {
  Attached a;
  a.take(at(100));
  const auto range = [&](double from, double to) {
    a.session.zoom_to(
        {TimeNs(static_cast<std::int64_t>(from * 1e9)), TimeNs(static_cast<std::int64_t>(to * 1e9))});
  };
  range(8, 9);
  EXPECT_EQ(a.session.asked_for().visits, 0u) << "nobody wants them";
  range(8.01, 8.02);
  EXPECT_EQ(a.session.asked_for().time->to - a.session.asked_for().time->from, DurationNs(kSlice));

  a.session.set_calls(Session::Calls::kCloser);
  range(8, 9);
  EXPECT_EQ(a.session.asked_for().visits, Session::kMostCalls);
  EXPECT_EQ(a.session.asked_for().slices, 0u) << "those of the run";
  range(8.01, 8.02);
  EXPECT_EQ(a.session.asked_for().time, (scene::TimeRange{TimeNs(8'010'000'000), TimeNs(8'020'000'000)}));
  EXPECT_EQ(a.session.asked_for().slices, 64u);
  EXPECT_EQ(scene::question_of(a.session.asked_for(), 1, false).visits(), Session::kMostCalls);
  scene::Subject temporal = a.session.asked_for();
  temporal.cuts = wire::ViewQuestion::TEMPORAL;
  EXPECT_EQ(scene::question_of(temporal, 1, false).visits(), 0u);
  a.session.whole();
  EXPECT_EQ(a.session.asked_for().visits, 0u) << "of the whole run the partition is looked at";
  a.session.set_calls(Session::Calls::kAlways);
  EXPECT_EQ(a.session.asked_for().visits, Session::kMostCalls);
  a.session.follow();
  EXPECT_EQ(scene::question_of(a.session.asked_for(), 1, false).visits(), 0u);
}

TEST(LivePicture, AnotherSubjectIsAskedForAndComingBackIsTheNewestReport) {
  Attached a;
  a.take(at(100));
  ASSERT_TRUE(a.session.of_report());
  a.session.set_p(0.5);
  EXPECT_TRUE(a.session.waiting()) << "a p of one's own";
  EXPECT_EQ(a.session.data().p, 0.125) << "until the answer is there";
  a.take(at(110));
  EXPECT_EQ(a.session.data().range().to, TimeNs(101 * kSlice));
  a.session.set_policy("noise");
  EXPECT_TRUE(a.session.of_report());
  EXPECT_FALSE(a.session.waiting());
  EXPECT_EQ(a.session.data().range().to, TimeNs(111 * kSlice));
  a.session.zoom_to({TimeNs(80 * kSlice), TimeNs(90 * kSlice)});
  EXPECT_TRUE(a.session.waiting());
  a.take(at(120));
  EXPECT_EQ(a.session.data().range().to, TimeNs(111 * kSlice));
  a.session.follow();
  EXPECT_EQ(a.session.data().range().to, TimeNs(121 * kSlice));
}

// The answer to a question that nobody waits for any more comes too late.
TEST(LivePicture, AnAnswerOnTheWayDoesNotTakeItsPlace) {
  Attached a;
  a.take(at(100));
  a.session.set_p(0.5);
  const std::uint64_t token = a.link.next_token() - 1;
  a.session.set_policy("noise");
  scene::SmallView late;
  late.build.raw().set_token(token);
  emit a.link.answered(std::make_shared<const scene::ViewData>(late.data()));
  EXPECT_TRUE(a.session.of_report());
  EXPECT_EQ(a.session.data().range().to, TimeNs(101 * kSlice));
}

TEST(LivePicture, StaysAsItIsWhileItIsHeld) {
  Shown s;
  s.take(at(100));
  s.session.hold(true);
  s.take(at(101));
  EXPECT_EQ(s.session.data().range().to, TimeNs(101 * kSlice));
  EXPECT_EQ(s.window.live_text().left(7), "Held at");
  s.session.hold(false);
  EXPECT_EQ(s.session.data().range().to, TimeNs(102 * kSlice));
}

TEST(LivePicture, WithoutPartsInTheReportItIsAskedFor) {
  Attached a;
  wire::Report r = at(100);
  r.mutable_spatiotemporal()->clear_parts();
  a.take(r);
  EXPECT_FALSE(a.session.of_report());
  EXPECT_TRUE(a.session.waiting());
}

// A report is ahead of the archive by a commit: whoever comes back to a picture of one sees all of it in the
// end.
TEST(LivePicture, ThatIsComeBackToIsAskedForUntilTheArchiveHasAllOfIt) {
  Attached a;
  wire::Report r = at(100);
  r.set_watermark_ns(101 * kSlice);
  a.take(r);
  a.session.hold(true);
  a.session.zoom_to({TimeNs(80 * kSlice), TimeNs(90 * kSlice)});
  a.session.back();
  ASSERT_EQ(a.session.subject().time->to, TimeNs(101 * kSlice));
  const auto answer = [&](std::int64_t slices) {
    scene::SmallView so_far;
    wire::ViewAnswer& raw = so_far.build.raw();
    raw.set_token(a.link.next_token() - 1);
    raw.mutable_question()->set_from_ns(61 * kSlice);
    raw.mutable_question()->set_to_ns((61 + slices) * kSlice);  // what is there
    const int boundaries = raw.boundaries_size();
    for (int i = 0; i < boundaries; ++i)
      raw.set_boundaries(i, 61 * kSlice + slices * kSlice * i / (boundaries - 1));
    const std::uint64_t next = a.link.next_token() + 1;
    emit a.link.answered(std::make_shared<const scene::ViewData>(so_far.data()));
    return a.link.next_token() - next;  // asked since: each takes a token
  };
  EXPECT_EQ(answer(39), 0u) << "its temporal partition is not asked for";
  EXPECT_FALSE(a.session.waiting());
  ASSERT_TRUE(QTest::qWaitFor([&] { return a.session.waiting(); }, 60'000));
  EXPECT_GT(answer(40), 0u);
  EXPECT_EQ(a.session.data().range().to, TimeNs(101 * kSlice));
}

// Its curve comes by itself, and moves no picture.
TEST(LivePicture, TheCurveComesBesideIt) {
  Attached a;
  a.take(at(100));
  EXPECT_FALSE(a.session.waiting());
  const std::uint64_t token = a.link.next_token() - 1;
  scene::SmallView answer;
  answer.build.raw().set_token(token);
  answer.build.raw().mutable_question()->set_curve(true);
  for (const double p : {0.0, 0.1, 0.4}) answer.build.raw().add_curve()->set_p(p);
  emit a.link.answered(std::make_shared<const scene::ViewData>(answer.data()));
  EXPECT_TRUE(a.session.of_report());
  EXPECT_EQ(a.session.data().slices(), 40u);
  ASSERT_EQ(a.session.steps().steps.size(), 3u);
  EXPECT_EQ(a.session.steps().current, 1) << "where the picture's p is";
}

// Bars and picture are of one p, whichever is chosen.
TEST(TemporalBars, FollowThePThatIsChosen) {
  Attached a;
  a.take(at(100));
  for (const double p : {0.5, 0.25}) {
    a.session.set_p(p);
    scene::SmallView picture, temporal;
    picture.build.raw().set_token(a.link.next_token() - 1);
    picture.build.raw().set_p(p);
    picture.build.raw().set_policy("asked");
    emit a.link.answered(std::make_shared<const scene::ViewData>(picture.data()));
    EXPECT_EQ(a.session.data().p, p);
    // What is asked next is the temporal partition; anything else would not be taken for it.
    wire::ViewAnswer answer = temporal.build.answer();
    answer.set_token(a.link.next_token() - 1);
    answer.set_p(p);
    answer.mutable_question()->set_partition(wire::ViewQuestion::TEMPORAL);
    answer.clear_part_node();
    for (auto* list : {answer.mutable_part_first(), answer.mutable_part_last(), answer.mutable_part_states()})
      list->Clear();
    for (auto* list : {answer.mutable_part_gain(), answer.mutable_part_loss(), answer.mutable_part_known(),
                       answer.mutable_share()})
      list->Clear();
    answer.clear_share_state();
    answer.add_part_node(0);
    answer.add_part_first(0);
    answer.add_part_last(3);
    answer.add_part_gain(0);
    answer.add_part_loss(0);
    answer.add_part_known(1);
    answer.add_part_states(0);
    auto data = scene::view_data_untrusted(answer);
    ASSERT_TRUE(data) << data.error().message;
    emit a.link.answered(std::make_shared<const scene::ViewData>(std::move(*data)));
    EXPECT_EQ(a.session.temporal().p, p);
    EXPECT_TRUE(a.session.temporal().temporal);
  }
}

// What is no picture is asked for when nothing is under way for the picture, and anew where that took its
// place. Tokens tell what was sent: each question has the next one.
TEST(BesideThePicture, IsAskedForWhenThePictureIsThereAndAgainWhereItWasLost) {
  Attached a;
  std::vector<std::uint64_t> told;
  QObject::connect(&a.session, &Session::beside,
                   [&](quint64 token, const ViewPtr&) { told.push_back(token); });
  const auto answer = [&](std::uint64_t token) {
    auto data = std::make_shared<scene::ViewData>(scene::SmallView().data());
    data->token = token;
    data->temporal = true;
    emit a.link.answered(data);
  };
  a.take(at(100));
  const std::uint64_t first = a.session.ask_beside({}), curve = first - 1;
  ASSERT_EQ(a.link.next_token(), first + 1) << "nothing was sent: the curve is under way";
  emit a.link.refused(curve, "there is none");
  answer(first + 2);
  ASSERT_EQ(told, (std::vector{first}));

  const std::uint64_t second = a.session.ask_beside({});
  a.session.zoom_to({TimeNs(8'000'000'000), TimeNs(9'000'000'000)});
  answer(second + 1);
  EXPECT_EQ(told.size(), 1u) << "it may have been lost: it will be asked for again";
  emit a.link.refused(second + 2, "no picture of this");
  answer(second + 3);
  EXPECT_EQ(told, (std::vector{first, second}));

  std::uint64_t refused = 0;
  QObject::connect(&a.session, &Session::not_beside, [&](quint64 token, const QString&) { refused = token; });
  const std::uint64_t third = a.session.ask_beside({});
  emit a.link.refused(third + 1, "no such stretch");
  EXPECT_EQ(refused, third);
}

}  // namespace live_test
}  // namespace margay::viewer
