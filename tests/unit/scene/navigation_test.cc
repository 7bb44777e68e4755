#include "margay/scene/navigation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace margay::scene {
namespace navigation_test {

using testing::ElementsAre;

constexpr std::int64_t kS = 1'000'000'000;
using Limits = std::numeric_limits<std::int64_t>;

TimeRange range(std::int64_t from, std::int64_t to) {
  return {TimeNs(from), TimeNs(to)};
}

TEST(Navigation, QuestionSaysAllThatIsLookedAt) {
  Subject s;
  s.time = range(5, 50);
  s.node = "/node7";
  s.states = {"MPI_Send", "MPI_Wait"};
  s.slices = 100;
  s.level = DurationNs(kS);
  s.measure = "bytes";
  s.cuts = wire::ViewQuestion::TEMPORAL;
  s.p = 0.25;
  s.policy = "jump";
  const wire::ViewQuestion q = question_of(s, 42, true);
  EXPECT_EQ(q.token(), 42u);
  EXPECT_EQ(q.from_ns(), 5);
  EXPECT_EQ(q.to_ns(), 50);
  EXPECT_EQ(q.slices(), 100u);
  EXPECT_EQ(q.slice_ns(), 0);  // of a level only without times
  EXPECT_EQ(q.node(), "/node7");
  EXPECT_THAT(q.states(), ElementsAre("MPI_Send", "MPI_Wait"));
  EXPECT_EQ(q.measure(), "bytes");
  EXPECT_EQ(q.partition(), wire::ViewQuestion::TEMPORAL);
  EXPECT_TRUE(q.has_p());
  EXPECT_EQ(q.p(), 0.25);
  EXPECT_EQ(q.policy(), "");  // p is asked for, no policy
  EXPECT_TRUE(q.curve());
}

TEST(Navigation, NewestOfALevel) {
  Subject s;
  s.node = "/";
  s.level = DurationNs(kS);
  s.policy = "jump";
  const wire::ViewQuestion q = question_of(s, 1, false);
  EXPECT_EQ(q.from_ns(), 0);
  EXPECT_EQ(q.to_ns(), 0);
  EXPECT_EQ(q.slice_ns(), kS);
  EXPECT_EQ(q.node(), "");
  EXPECT_FALSE(q.has_p());
  EXPECT_EQ(q.policy(), "jump");
  EXPECT_FALSE(q.curve());
}

TEST(Navigation, QuestionIsWithinRange) {
  Subject s;
  s.time = range(50, 5);
  s.slices = 100'000;
  s.p = 7;
  s.level = DurationNs(-1);
  const wire::ViewQuestion q = question_of(s, 1, false);
  EXPECT_EQ(q.from_ns(), 0);
  EXPECT_EQ(q.to_ns(), 0);
  EXPECT_EQ(q.slices(), kMostAskedSlices);
  EXPECT_EQ(q.p(), 1);
  EXPECT_EQ(q.slice_ns(), 0);
  s.p = std::nan("");
  EXPECT_FALSE(question_of(s, 1, false).has_p());
}

TEST(Navigation, SubjectOfAQuestionIsWhatItWasMadeOf) {
  Subject s;
  s.time = range(5, 50);
  s.node = "/node7";
  s.states = {"MPI_Send"};
  s.slices = 100;
  s.measure = "bytes";
  s.cuts = wire::ViewQuestion::TEMPORAL;
  s.p = 0.25;
  EXPECT_EQ(subject_of(question_of(s, 1, true)), s);
  Subject newest;
  newest.level = DurationNs(kS);
  newest.policy = "noise";
  EXPECT_EQ(subject_of(question_of(newest, 1, true)), newest);
  EXPECT_EQ(subject_of({}), Subject{});
}

TEST(Navigation, ZoomsToAStretch) {
  EXPECT_EQ(zoomed_to({}, range(2 * kS, 3 * kS)).time, range(2 * kS, 3 * kS));
  EXPECT_EQ(zoomed_to({}, range(3 * kS, 2 * kS)).time, range(2 * kS, 3 * kS));  // drawn backwards
  EXPECT_EQ(zoomed_to({}, range(100, 100), DurationNs(10)).time, range(95, 105));
  EXPECT_EQ(zoomed_to({}, range(100, 100), DurationNs(-10)).time, range(100, 101));
  EXPECT_EQ(zoomed_to({}, range(Limits::min(), Limits::max())).time, range(Limits::min(), Limits::max()));
  Subject s;
  s.node = "/a";
  s.p = 0.5;
  const Subject z = zoomed_to(s, range(0, kS));
  EXPECT_EQ(z.node, "/a");
  EXPECT_EQ(z.p, 0.5);
  EXPECT_FALSE(following(z).time);
  EXPECT_EQ(following(z).node, "/a");
}

TEST(Navigation, ZoomsRoundAPoint) {
  const TimeRange shown = range(1000, 2000);
  const auto time = [&](double factor, std::int64_t about, std::optional<TimeRange> bounds = std::nullopt) {
    return zoomed_by({}, shown, factor, TimeNs(about), bounds, DurationNs(10)).time;
  };
  EXPECT_EQ(time(0.5, 1500), range(1250, 1750));
  EXPECT_EQ(time(0.5, 1000), range(1000, 1500));
  EXPECT_EQ(time(2, 1500), range(500, 2500));
  EXPECT_EQ(time(2, 1500, range(800, 5000)), range(800, 2800));
  EXPECT_EQ(time(2, 1500, range(0, 2200)), range(200, 2200));
  EXPECT_EQ(time(9, 1500, range(0, 2200)), range(0, 2200));
  EXPECT_EQ(time(0.0001, 1500), range(1495, 1505));
  EXPECT_EQ(time(0, 1500), std::nullopt);  // no factor: nothing changes
  EXPECT_EQ(time(std::nan(""), 1500), std::nullopt);
  const auto far = time(1e300, 1500);
  EXPECT_LT(far->from, TimeNs(-9'000'000'000'000'000'000));
  EXPECT_GT(far->to, TimeNs(9'000'000'000'000'000'000));
}

TEST(Navigation, Pans) {
  const TimeRange shown = range(1000, 2000);
  EXPECT_EQ(panned_by({}, shown, 0.5).time, range(1500, 2500));
  EXPECT_EQ(panned_by({}, shown, -0.25).time, range(750, 1750));
  EXPECT_EQ(panned_by({}, shown, 5, range(0, 2400)).time, range(1400, 2400));
  EXPECT_EQ(panned_by({}, shown, -5, range(0, 2400)).time, range(0, 1000));
  EXPECT_EQ(panned_by({}, shown, std::nan("")).time, std::nullopt);
}

TEST(Navigation, IntoANodeAndUp) {
  EXPECT_EQ(into({}, "/a/b").node, "/a/b");
  EXPECT_EQ(into({}, "/").node, "");
  EXPECT_EQ(up(into({}, "/a/b")).node, "/a");
  EXPECT_EQ(up(into({}, "/a/b/")).node, "/a");
  EXPECT_EQ(up(into({}, "/a")).node, "");
  EXPECT_EQ(up(Subject{}).node, "");
  EXPECT_EQ(up(into({}, "a")).node, "");
}

TEST(Navigation, InWords) {
  Subject s;
  EXPECT_EQ(text_of(s, TimeNs(0)), "all, newest");
  s.node = "/node7";
  s.time = range(12 * kS + 7, 20 * kS + 7);
  s.measure = "bytes";
  s.cuts = wire::ViewQuestion::TEMPORAL;
  s.states = {"MPI_Send"};
  s.p = 0.25;
  EXPECT_EQ(text_of(s, TimeNs(7)), "/node7, 12 s to 20 s, bytes, in time only, MPI_Send, p 0.25");
  s = {};
  s.level = DurationNs(kS);
  s.slices = 50;
  s.states = {"a", "b"};
  s.policy = "jump";
  EXPECT_EQ(text_of(s, TimeNs(0)), "all, newest, slices of 1 s, 50 slices, 2 states, p by jump");
}

TEST(History, BackAndForward) {
  History h;
  EXPECT_EQ(h.now(), Subject{});
  EXPECT_FALSE(h.can_back());
  h.go(into({}, "/a"));
  h.go(into({}, "/b"));
  h.go(into({}, "/b"));  // is there already
  EXPECT_EQ(h.size(), 3u);
  EXPECT_EQ(h.back().node, "/a");
  EXPECT_TRUE(h.can_forward());
  EXPECT_EQ(h.forward().node, "/b");
  EXPECT_EQ(h.forward().node, "/b");
  EXPECT_EQ(h.back().node, "/a");
  EXPECT_EQ(h.back().node, "");
  EXPECT_EQ(h.back().node, "");
  h.go(into({}, "/c"));  // what was ahead is forgotten
  EXPECT_FALSE(h.can_forward());
  EXPECT_EQ(h.size(), 2u);
  EXPECT_EQ(h.back().node, "");
}

TEST(History, ReplaceLeavesNoStep) {
  History h;
  h.go(into({}, "/a"));
  h.replace(into({}, "/a2"));
  EXPECT_EQ(h.now().node, "/a2");
  EXPECT_EQ(h.back().node, "");
  EXPECT_EQ(h.forward().node, "/a2");
}

TEST(History, ResetIsAStepLikeOthers) {
  History h(into({}, "/start"));
  EXPECT_EQ(h.reset().node, "/start");
  EXPECT_FALSE(h.can_back());
  h.go(into({}, "/a"));
  EXPECT_EQ(h.reset().node, "/start");
  EXPECT_EQ(h.back().node, "/a");
}

TEST(History, IsBounded) {
  History h;
  for (int i = 0; i < 250; ++i) h.go(into({}, "/" + std::to_string(i)));
  EXPECT_EQ(h.size(), History::kMost);
  EXPECT_EQ(h.now().node, "/249");
  int steps = 0;
  for (; h.can_back(); ++steps) h.back();
  EXPECT_EQ(steps, 99);
  EXPECT_EQ(h.now().node, "/150");
}

}  // namespace navigation_test
}  // namespace margay::scene
