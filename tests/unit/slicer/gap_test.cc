// Time that nobody watched: no slice is made of it, whatever its length.
#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "margay/slicer/levels.h"
#include "margay/slicer/slicer.h"

namespace margay::slicer {
namespace gap_test {

constexpr DurationNs kSlice(100);
constexpr StateId kSend(3), kRecv(4);

void expect_whole(const model::SliceColumn& c) {
  for (std::uint32_t l = 0; l < c.leaves(); ++l) {
    const auto row = c.duration_ns(LeafIndex(l));
    EXPECT_EQ(std::accumulate(row.begin(), row.end(), std::int64_t{0}), kSlice.value)
        << "slice " << c.index.value << " of leaf " << l;
  }
}

TEST(Levels, AGapIsPartOfTheCoarseSlicesThatItTouchesAndMakesNoOthers) {
  // Of all begins and lengths around coarse slices, and one that is very long.
  for (std::int64_t first = 20; first < 42; ++first)
    for (const std::int64_t length : {1, 3, 5, 7, 19, 20, 21, 40, 63, 1'000'000'003}) {
      auto levels = Levels::make({DurationNs(100), DurationNs(500), DurationNs(2000)}, 64);
      ASSERT_TRUE(levels);
      std::map<std::pair<int, std::int64_t>, model::SliceColumn> coarse;
      std::vector<model::SliceColumn> out;
      const auto keep = [&] {
        for (auto& c : out) coarse[{c.level.value, c.index.value}] = c;
        out.clear();
      };
      const auto put = [&](std::int64_t k) {
        model::SliceColumn c(LevelIndex(0), SliceIndex(k), 2, 4);
        for (std::uint32_t l = 0; l < 2; ++l) c.duration_ns(LeafIndex(l))[kSend.value] = kSlice.value;
        levels->update(c, out);
        keep();
      };
      const std::int64_t last = first + length - 1, end = (last / 20 + 2) * 20;
      for (std::int64_t k = 0; k < first; ++k) put(k);
      levels->skip(SliceIndex(first), SliceIndex(last), {true, false}, out);
      keep();
      for (std::int64_t k = last + 1; k < end; ++k) put(k);
      EXPECT_LE(coarse.size(), 40u);
      for (const auto& [level, ratio] : {std::pair(1, 5), std::pair(2, 20)})
        for (std::int64_t p = 0; p < end / ratio; ++p) {
          const std::int64_t a = std::max(first, p * ratio), b = std::min(last, p * ratio + ratio - 1);
          const std::int64_t unwatched = std::max<std::int64_t>(0, b - a + 1);
          if (unwatched == ratio) {
            ASSERT_FALSE(coarse.contains({level, p})) << first << ' ' << length << ' ' << level << ' ' << p;
            p = std::max(p, (last + 1) / ratio - 1);  // all of these
            continue;
          }
          ASSERT_TRUE(coarse.contains({level, p})) << first << ' ' << length << ' ' << level << ' ' << p;
          const model::SliceColumn& c = coarse.at({level, p});
          ASSERT_EQ(c.duration_ns(LeafIndex(0))[kUnknown.value], unwatched * 100);
          ASSERT_EQ(c.duration_ns(LeafIndex(1))[kAbsent.value], unwatched * 100);
          for (std::uint32_t l = 0; l < 2; ++l)
            ASSERT_EQ(c.duration_ns(LeafIndex(l))[kSend.value], (ratio - unwatched) * 100);
        }
    }
}

TEST(Slicer, AGapOfAnyLengthHoldsNoSliceAndItsLeavesGoOnBehindIt) {
  constexpr std::int64_t kLong = 1'000'000'000'000;
  Slicer s({kSlice, 4, 64, {}, 1u << 20});
  const LeafIndex known = s.add_leaf(), lost = s.add_leaf(), absent = s.add_leaf();
  s.start(TimeNs(0));
  for (const LeafIndex l : {known, lost}) {
    static_cast<void>(s.begin(l, TimeNs(0)));
    static_cast<void>(s.enter(l, kRecv, TimeNs(250)));
  }
  EXPECT_FALSE(s.is_blank());
  for (const model::SliceColumn* c : s.close_through(TimeNs(300))) expect_whole(*c);
  EXPECT_TRUE(s.is_blank());
  EXPECT_EQ(s.newest(), SliceIndex(3));
  const Gap gap = s.skip_to(SliceIndex(kLong), [&](LeafIndex l) { return l == known; });
  EXPECT_EQ(s.left().size(), 3u) << "nobody has taken them yet";
  for (const model::SliceColumn& c : s.left()) expect_whole(c);
  EXPECT_EQ(gap, (Gap{SliceIndex(3), SliceIndex(kLong - 1), {true, true, false}}));
  EXPECT_EQ(s.held(), 1u);
  EXPECT_EQ(s.next_open(), SliceIndex(kLong));
  EXPECT_EQ(s.current(known), kRecv);
  EXPECT_EQ(s.current(lost), kUnknown);
  EXPECT_EQ(s.current(absent), kAbsent);
  EXPECT_EQ(s.leaf_state(known).stack.back().since, TimeNs(250)) << "the visit goes on";
  const TimeNs back(kLong * 100);
  // What is older than that is late; its change of state is kept.
  EXPECT_EQ(s.leave(known, kRecv, TimeNs(5000)), Outcome::kLateDropped);
  EXPECT_EQ(s.enter(lost, kSend, back + DurationNs(20)), Outcome::kModelled);
  EXPECT_EQ(s.enter(absent, kSend, back + DurationNs(70)), Outcome::kModelled);
  const auto closed = s.close_through(back + DurationNs(100));
  ASSERT_EQ(closed.size(), 1u);
  expect_whole(*closed[0]);
  EXPECT_EQ(closed[0]->duration_ns(known)[kCompute.value], 100);
  EXPECT_EQ(closed[0]->duration_ns(lost)[kUnknown.value], 20);
  EXPECT_EQ(closed[0]->duration_ns(lost)[kSend.value], 80);
  EXPECT_EQ(closed[0]->duration_ns(absent)[kAbsent.value], 70);
}

TEST(Slicer, HowManySlicesAreOpenIsBoundedWhateverIsPromisedOrObserved) {
  Slicer s({kSlice, 4, 64, {}, 100'000, 64});
  const LeafIndex leaf = s.add_leaf();
  s.start(TimeNs(0));
  EXPECT_EQ(s.limit(), TimeNs(6400));
  static_cast<void>(s.begin(leaf, TimeNs(0)));
  const TimeNs far(INT64_MAX / 4);
  s.cover(leaf, far);
  s.observe(leaf, far, {});
  s.observe(far, model::Taker{});
  EXPECT_EQ(s.gap(leaf, far, 3), Outcome::kModelled);
  EXPECT_LE(s.held(), 65u);
  // And it goes on as they close.
  static_cast<void>(s.close_through(TimeNs(1000)));
  EXPECT_EQ(s.limit(), TimeNs(7400));
  // With more leaves and states fewer fit, but never less than some.
  for (int i = 0; i < 5000; ++i) s.add_leaf();
  EXPECT_EQ(s.limit(), TimeNs(1000 + Options::kLeastAhead * 100));
}

}  // namespace gap_test
}  // namespace margay::slicer
