// The strip of the whole run: when it is asked for, and what a mouse does to its frame.
#include "margay/scene/whole_run.h"

#include <gtest/gtest.h>

#include <random>

namespace margay::scene {
namespace whole_run_test {

constexpr std::int64_t kSlice = 100'000'000;

TimeRange of(std::int64_t from, std::int64_t to) {
  return {TimeNs(from), TimeNs(to)};
}

TEST(WholeRun, IsAskedForAsAllOfItInCutsOfTime) {
  const wire::ViewQuestion q = whole_run_question(of(5, 1000), 7);
  EXPECT_EQ(q.token(), 7u);
  EXPECT_EQ(q.from_ns(), 5);
  EXPECT_EQ(q.to_ns(), 1000);
  EXPECT_EQ(q.slices(), 0u) << "whole slices: no events have to be read";
  EXPECT_EQ(q.partition(), wire::ViewQuestion::TEMPORAL);
  EXPECT_EQ(q.node() + q.policy() + q.measure(), "");
  EXPECT_FALSE(q.curve());
  EXPECT_EQ(q.states_size(), 0);
}

TEST(WholeRun, IsAskedForAgainWhenItHasGrown) {
  const auto due = [](std::optional<TimeRange> asked, TimeRange run, bool ended = false) {
    return is_whole_run_due(asked, run, DurationNs(kSlice), ended);
  };
  EXPECT_FALSE(due({}, of(0, 0))) << "there is nothing of it yet";
  EXPECT_TRUE(due({}, of(0, kSlice)));
  EXPECT_FALSE(due(of(0, 100 * kSlice), of(0, 100 * kSlice)));
  EXPECT_FALSE(due(of(0, 100 * kSlice), of(0, 109 * kSlice))) << "a few slices";
  EXPECT_TRUE(due(of(0, 100 * kSlice), of(0, 110 * kSlice)));
  EXPECT_FALSE(due(of(0, 1000 * kSlice), of(0, 1049 * kSlice))) << "a small part of it";
  EXPECT_TRUE(due(of(0, 1000 * kSlice), of(0, 1050 * kSlice)));
  EXPECT_TRUE(due(of(0, 100 * kSlice), of(0, 101 * kSlice), true)) << "that is all there will be";
  EXPECT_FALSE(due(of(0, 100 * kSlice), of(0, 100 * kSlice), true));
  EXPECT_TRUE(due(of(0, 100 * kSlice), of(5, 100 * kSlice))) << "another run";
  EXPECT_TRUE(due(of(0, 100 * kSlice), of(0, 50 * kSlice))) << "another run";
}

// Ten reports a second for a day.
TEST(WholeRun, IsSeldomAskedFor) {
  std::optional<TimeRange> asked;
  int times = 0;
  for (std::int64_t slice = 1; slice <= 864'000; ++slice) {
    const TimeRange run = of(0, slice * kSlice);
    if (!is_whole_run_due(asked, run, DurationNs(kSlice), false)) continue;
    asked = run;
    ++times;
    ASSERT_LE(times, 250);
  }
  EXPECT_GT(times, 100);
  EXPECT_GE(asked->to.value, 864'000 * kSlice / 21 * 20) << "no more than a twentieth is lacking";
}

TEST(Frame, IsWhereWhatIsSeenIs) {
  const Strip strip{of(0, 1000), 500};
  EXPECT_EQ(frame_of(strip, of(200, 400)), (Frame{100, 200}));
  EXPECT_EQ(frame_of(strip, of(0, 1000)), (Frame{0, 500}));
  EXPECT_EQ(frame_of(strip, of(-100, 2000)), (Frame{0, 500})) << "cut where the run ends";
  EXPECT_EQ(frame_of(strip, of(400, 401)), (Frame{197.25, 203.25})) << "it can be seen";
  EXPECT_EQ(frame_of(strip, of(0, 1)), (Frame{0, 6}));
  EXPECT_EQ(frame_of(strip, of(999, 1000)), (Frame{494, 500}));
  EXPECT_EQ(frame_of({of(0, 0), 500}, of(0, 0)), (Frame{0, 6}));
  EXPECT_EQ(frame_of({of(0, 1000), 0}, of(0, 10)), (Frame{0, 0}));
  EXPECT_EQ(time_at(strip, 250), TimeNs(500));
  EXPECT_EQ(time_at(strip, -3), TimeNs(0));
  EXPECT_EQ(time_at(strip, 501), TimeNs(1000));
}

TEST(Frame, IsTakenByItsEdgesOrItsMiddle) {
  const Strip strip{of(0, 1000), 500};
  const auto grip = [&](double x, TimeRange seen) { return grip_at(strip, seen, x); };
  const TimeRange wide = of(200, 400), narrow = of(400, 401);
  EXPECT_EQ(grip(94, wide), Grip::kElsewhere);
  EXPECT_EQ(grip(95, wide), Grip::kBegin);
  EXPECT_EQ(grip(105, wide), Grip::kBegin);
  EXPECT_EQ(grip(106, wide), Grip::kInside);
  EXPECT_EQ(grip(194, wide), Grip::kInside);
  EXPECT_EQ(grip(195, wide), Grip::kEnd);
  EXPECT_EQ(grip(205, wide), Grip::kEnd);
  EXPECT_EQ(grip(206, wide), Grip::kElsewhere);
  EXPECT_EQ(grip(200.2, narrow), Grip::kInside) << "half of a narrow one";
  EXPECT_EQ(grip(195, narrow), Grip::kBegin);
  EXPECT_EQ(grip(205, narrow), Grip::kEnd);
}

TEST(Frame, IsDragged) {
  const Strip strip{of(0, 1000), 500};
  const auto drag = [&](Grip grip, std::int64_t from, std::int64_t to, TimeRange seen = of(200, 400)) {
    return dragged(strip, seen, grip, TimeNs(from), TimeNs(to));
  };
  EXPECT_EQ(drag(Grip::kInside, 300, 350), of(250, 450));
  EXPECT_EQ(drag(Grip::kInside, 300, 0), of(0, 200)) << "no further than the run";
  EXPECT_EQ(drag(Grip::kInside, 300, 1000), of(800, 1000));
  EXPECT_EQ(drag(Grip::kBegin, 200, 100), of(100, 400));
  EXPECT_EQ(drag(Grip::kEnd, 400, 500), of(200, 500));
  EXPECT_EQ(drag(Grip::kEnd, 400, 100), of(100, 200)) << "past the other edge";
  EXPECT_EQ(drag(Grip::kElsewhere, 700, 600), of(600, 700));
  EXPECT_EQ(drag(Grip::kInside, 300, 500, of(0, 1000)), of(300, 500)) << "it has no room";
  EXPECT_EQ(centred(strip, of(200, 400), TimeNs(600)), of(500, 700));
  EXPECT_EQ(centred(strip, of(200, 400), TimeNs(950)), of(800, 1000));
  EXPECT_EQ(centred(strip, of(0, 1000), TimeNs(10)), of(0, 1000));
}

// Whatever is dragged stays within the run, and no time overflows.
TEST(Frame, OfAnyRunStaysWithinIt) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 rng(seed);
    const auto any = [&] { return static_cast<std::int64_t>(rng()) >> (rng() % 60); };
    const auto range = [&] {
      const std::int64_t a = any(), b = any();
      return of(std::min(a, b), std::max(a, b));
    };
    const Strip strip{range(), std::uniform_real_distribution(0.0, 4000.0)(rng)};
    const TimeRange seen = range();
    const Frame f = frame_of(strip, seen);
    ASSERT_GE(f.from, 0);
    ASSERT_LE(f.to, strip.width + 1e-9);
    const double x = std::uniform_real_distribution(-10.0, 4010.0)(rng);
    const TimeNs t = time_at(strip, x);
    ASSERT_GE(t, strip.run.from);
    ASSERT_LE(t, strip.run.to);
    const auto grip = static_cast<Grip>(rng() % 4);
    for (const TimeRange r : {dragged(strip, seen, grip, t, TimeNs(any())), centred(strip, seen, t)}) {
      ASSERT_LE(r.from, r.to);
      ASSERT_GE(r.from, strip.run.from);
      ASSERT_LE(r.to, strip.run.to);
    }
  }
}

}  // namespace whole_run_test
}  // namespace margay::scene
