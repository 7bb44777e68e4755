#include "margay/slicer/rounding.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "margay/slicer/slicer.h"

namespace margay::slicer {
namespace rounding_test {

using model::SliceColumn;
constexpr DurationNs kSlice = milliseconds(100);
constexpr std::int64_t kUnit = kSlice.value / kCompactUnits;

// Rows as a slicer makes them: they sum to the slice, the last state is open.
SliceColumn random_column(std::mt19937_64& random, SliceIndex index, std::uint32_t leaves,
                          std::uint32_t states) {
  SliceColumn c(LevelIndex(0), index, leaves, states);
  const TimeNs end = slice_end(index, kSlice);
  for (std::uint32_t l = 0; l < leaves; ++l) {
    const LeafIndex leaf(l);
    std::int64_t left = kSlice.value;
    std::size_t x = random() % states;
    const std::int64_t most = std::int64_t{1} << (6 + random() % 21);
    const std::uint64_t visits = random() % 40;
    bool first = true;
    for (std::uint64_t i = 0; i < visits && left > 0; ++i) {
      const std::int64_t spent =
          std::min(left, static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most)));
      c.duration_ns(leaf)[x] += spent;
      const std::int64_t from_before = first ? static_cast<std::int64_t>(random() % 1'000'000'000) : 0;
      c.longest_ns(leaf)[x] = std::max(c.longest_ns(leaf)[x], spent + from_before);
      c.visits(leaf)[x] += 1 + static_cast<std::uint32_t>(random() % (random() % 8 == 0 ? 100'000 : 3));
      left -= spent;
      first = false;
      x = random() % states;
    }
    const TimeNs since =
        end - DurationNs(left + (first ? static_cast<std::int64_t>(random() % (1LL << 40)) : 0));
    c.duration_ns(leaf)[x] += left;
    c.longest_ns(leaf)[x] = std::max(c.longest_ns(leaf)[x], (end - since).value);
    c.open(leaf) = {StateId(static_cast<std::uint16_t>(x)), since};
    model::NodeEvidence& e = c.evidence(leaf);
    e.process_state = 'R';
    e.sampled_ns = static_cast<std::int64_t>(random() % 200'000'000);
    e.cpu_ns = static_cast<std::int64_t>(random() % 100'000'000);
    e.run_delay_ns = static_cast<std::int64_t>(random() % 100'000'000);
    e.blocked_ns = e.run_delay_ns / 2;
    e.storage_bytes = e.run_delay_ns + 1;
    e.stopped_since = TimeNs(static_cast<std::int64_t>(random() % 1000));
  }
  return c;
}

TEST(Rounding, RandomRows_EachBoundHoldsAndRowsSumToTheSlice) {
  constexpr std::uint64_t kSeed = 20;
  RecordProperty("seed", std::to_string(kSeed));
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 200; ++i) {
    const SliceColumn was =
        random_column(random, SliceIndex(16'000'000'000 + static_cast<std::int64_t>(random() % 1'000'000)), 7,
                      1 + static_cast<std::uint32_t>(random() % 30));
    SliceColumn c = was;
    make_compact(c, kSlice);
    for (std::uint32_t l = 0; l < c.leaves(); ++l) {
      const LeafIndex leaf(l);
      std::int64_t sum = 0;
      for (std::uint32_t x = 0; x < c.states(); ++x) {
        const std::int64_t d = c.duration_ns(leaf)[x];
        sum += d;
        ASSERT_GE(d, 0);
        ASSERT_EQ(d % kUnit, 0);
        ASSERT_LT(std::abs(d - was.duration_ns(leaf)[x]), kUnit);
        const std::int64_t visits = c.visits(leaf)[x], visited = was.visits(leaf)[x];
        ASSERT_EQ(visits == 0, visited == 0);
        ASSERT_LE(4 * std::abs(visits - visited), visited);
        const std::int64_t longest = c.longest_ns(leaf)[x], long_was = was.longest_ns(leaf)[x];
        const std::int64_t age_error = kSlice.value / kCompactSinceUnits;
        ASSERT_LE(longest, std::max(2 * long_was, kSlice.value / 64) + age_error);
        ASSERT_GE(longest, long_was - kUnit);
        // Nothing vanishes.
        ASSERT_EQ(d != 0 || longest != 0 || visits != 0,
                  was.duration_ns(leaf)[x] != 0 || long_was != 0 || visited != 0);
      }
      ASSERT_EQ(sum, kSlice.value);
      ASSERT_EQ(c.open(leaf).state, was.open(leaf).state);
      ASSERT_LE(c.open(leaf).since, was.open(leaf).since);
      ASSERT_LT((was.open(leaf).since - c.open(leaf).since).value, kSlice.value / kCompactSinceUnits);
      ASSERT_EQ(c.evidence(leaf).stopped_since, was.evidence(leaf).stopped_since);
      ASSERT_EQ(c.evidence(leaf).process_state, 'R');
      ASSERT_LT(std::abs(c.evidence(leaf).cpu_ns - was.evidence(leaf).cpu_ns), kSlice.value / 10);
      ASSERT_LT(std::abs(c.evidence(leaf).blocked_ns - was.evidence(leaf).blocked_ns), kSlice.value / 10);
      ASSERT_EQ(c.evidence(leaf).storage_bytes, was.evidence(leaf).storage_bytes);
      ASSERT_LE(2 * std::abs(c.evidence(leaf).sampled_ns - was.evidence(leaf).sampled_ns), kSlice.value / 10);
    }
  }
}

TEST(Rounding, WhatIsRounded_StaysAsItIs) {
  constexpr std::uint64_t kSeed = 21;
  RecordProperty("seed", std::to_string(kSeed));
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 200; ++i) {
    SliceColumn once = random_column(random, SliceIndex(1000 + i), 5, 9);
    make_compact(once, kSlice);
    SliceColumn twice = once;
    make_compact(twice, kSlice);
    ASSERT_EQ(once, twice);
  }
}

// A state that is in each slice for a hundredth of a unit would be lost by rounding to the nearest.
TEST(Rounding, SameRowOverTime_NoBias) {
  constexpr int kSlices = 8 * 1000;
  const std::int64_t spent[] = {kUnit / 100, kSlice.value / 3, 3 * kUnit / 2,
                                kSlice.value - kUnit / 100 - kSlice.value / 3 - 3 * kUnit / 2};
  for (const std::uint32_t leaf : {0u, 1u, 77u}) {
    std::int64_t sums[4] = {}, visits = 0;
    for (int i = 0; i < kSlices; ++i) {
      SliceColumn c(LevelIndex(0), SliceIndex(16'000'000'000 + i), leaf + 1, 4);
      for (std::size_t x = 0; x < 4; ++x) c.duration_ns(LeafIndex(leaf))[x] = spent[x];
      c.visits(LeafIndex(leaf))[1] = 1001;
      make_compact(c, kSlice);
      for (std::size_t x = 0; x < 4; ++x) sums[x] += c.duration_ns(LeafIndex(leaf))[x];
      visits += c.visits(LeafIndex(leaf))[1];
    }
    // Golden-ratio offsets: after n steps what is off grows with log n, not with n. A step is 8 slices.
    for (std::size_t x = 0; x < 4; ++x) EXPECT_LT(std::abs(sums[x] - kSlices * spent[x]), 8 * 6 * kUnit) << x;
    EXPECT_LT(std::abs(visits - kSlices * 1001), 8 * 6 * 128);
  }
}

TEST(Rounding, SliceThatIsNoNumberOfUnits_IsRefused) {
  EXPECT_TRUE(check_compact(milliseconds(1)));
  EXPECT_TRUE(check_compact(milliseconds(33)));
  EXPECT_FALSE(check_compact(DurationNs(333)));
  EXPECT_FALSE(check_compact(DurationNs(0)));
}

// A daemon that was killed goes on from rounded cells, and is sent late events for slices that are closed.
TEST(Rounding, SlicerRestoredFromCompactCells_LateEvents_RowsStayWholeAndPositive) {
  constexpr std::uint64_t kSeed = 22;
  RecordProperty("seed", std::to_string(kSeed));
  std::mt19937_64 random(kSeed);
  const TimeNs begin(1000 * kSlice.value);
  for (int round = 0; round < 100; ++round) {
    Slicer before({kSlice, 64, 64});
    before.start(begin);
    const LeafIndex leaf = before.add_leaf();
    before.begin(leaf, begin);
    TimeNs t = begin;
    const auto step = [&](Slicer& s, std::int64_t most) {
      t = t + DurationNs(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most)));
      if (s.current(leaf) == kCompute)
        s.enter(leaf, StateId(static_cast<std::uint16_t>(3 + random() % 6)), t);
      else
        s.leave(leaf, s.current(leaf), t);
    };
    for (int i = 0; i < 300; ++i) step(before, kUnit * 3);
    const SliceIndex closed = slice_of(t, kSlice) + 4;  // drawn out: what comes amends
    before.close_through(slice_begin(closed, kSlice));
    std::vector<SliceColumn> columns;
    for (SliceIndex s = slice_of(begin, kSlice); s < closed; ++s) {
      columns.push_back(*before.column(s));
      make_compact(columns.back(), kSlice);
    }
    Slicer after({kSlice, 64, 64});
    ASSERT_TRUE(after.restore(columns, closed, {before.leaf_state(leaf)}));
    for (int i = 0; i < 100; ++i) step(after, kUnit * 7);
    after.close_through(slice_begin(closed, kSlice));
    for (SliceIndex s = slice_of(begin, kSlice); s < closed; ++s) {
      const auto row = after.column(s)->duration_ns(leaf);
      for (const std::int64_t d : row) ASSERT_GE(d, 0);
      ASSERT_EQ(std::accumulate(row.begin(), row.end(), std::int64_t{0}), kSlice.value) << s.value;
    }
  }
}

}  // namespace rounding_test
}  // namespace margay::slicer
