#include "margay/model/slice_column.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace margay::model {
namespace slice_column_test {

using testing::ElementsAre;

SliceColumn random_column(std::mt19937& random, std::uint32_t leaves, std::uint32_t states,
                          std::int64_t index) {
  SliceColumn c(LevelIndex(0), SliceIndex(index), leaves, states);
  for (std::uint32_t l = 0; l < leaves; ++l) {
    for (std::uint32_t x = 0; x < states; ++x) {
      c.duration_ns(LeafIndex(l))[x] = static_cast<std::int64_t>(random() % 1000);
      c.longest_ns(LeafIndex(l))[x] = static_cast<std::int64_t>(random() % 1000);
      c.visits(LeafIndex(l))[x] = static_cast<std::uint32_t>(random() % 10);
    }
    c.open(LeafIndex(l)) = {StateId(static_cast<std::uint16_t>(random() % states)),
                            TimeNs(static_cast<std::int64_t>(random()))};
    const auto number = [&] { return static_cast<std::int64_t>(random() % 100); };
    c.evidence(LeafIndex(l)) = {'S', TimeNs(0), number(), number(), number(), number()};
  }
  return c;
}

TEST(SliceColumn, ResizeKeepsCellsAndNewOnesAreZero) {
  std::mt19937 random(1);
  const SliceColumn before = random_column(random, 3, 4, 7);
  for (const auto& [leaves, states] : {std::pair{5u, 4u}, {3u, 6u}, {5u, 6u}, {1u, 1u}}) {
    SliceColumn c = before;
    c.resize(leaves, states);
    EXPECT_EQ(c.leaves(), std::max(3u, leaves));
    EXPECT_EQ(c.states(), std::max(4u, states));
    for (std::uint32_t l = 0; l < c.leaves(); ++l)
      for (std::uint32_t x = 0; x < c.states(); ++x) {
        const bool old = l < 3 && x < 4;
        EXPECT_EQ(c.duration_ns(LeafIndex(l))[x], old ? before.duration_ns(LeafIndex(l))[x] : 0);
        EXPECT_EQ(c.longest_ns(LeafIndex(l))[x], old ? before.longest_ns(LeafIndex(l))[x] : 0);
        EXPECT_EQ(c.visits(LeafIndex(l))[x], old ? before.visits(LeafIndex(l))[x] : 0);
      }
    EXPECT_EQ(c.open(LeafIndex(2)), before.open(LeafIndex(2)));
    EXPECT_EQ(c.evidence(LeafIndex(2)), before.evidence(LeafIndex(2)));
  }
}

TEST(SliceColumn, RenewedItIsAsNew) {
  std::mt19937 random(4);
  for (const auto& [leaves, states] : {std::pair{5u, 4u}, {3u, 6u}, {2u, 2u}, {0u, 3u}}) {
    SliceColumn c = random_column(random, 3, 4, 7);
    c.level = LevelIndex(2);
    c.lost_events = 3;
    c.provisional = true;
    c.region = "solve";
    Taker taker;
    taker.cpu_ns = 5;
    c.add_taker(taker);
    c.measure(leaves == 5 ? Plane::kMean : Plane::kCounts);
    c.measured(LeafIndex(0))[0] = 9;
    if (leaves == 5) c.integral(LeafIndex(1)) = 2.5;
    c.renew(LevelIndex(1), SliceIndex(8), leaves, states);
    EXPECT_EQ(c, SliceColumn(LevelIndex(1), SliceIndex(8), leaves, states));
    c.resize(7, 9);
    c.measure(Plane::kMean);
    SliceColumn fresh(LevelIndex(1), SliceIndex(8), 7, 9);
    fresh.measure(Plane::kMean);
    EXPECT_EQ(c, fresh);
  }
}

TEST(SliceColumn, EmptyColumnGrows) {
  SliceColumn c;
  EXPECT_EQ(c.leaves(), 0u);
  c.resize(2, 0);
  EXPECT_EQ(c.duration_ns(LeafIndex(1)).size(), 0u);
  c.resize(2, 3);
  EXPECT_THAT(c.visits(LeafIndex(1)), ElementsAre(0, 0, 0));
}

TEST(SliceColumn, WhoHadTheCpuIsAddedUpAndBounded) {
  const auto taker = [](std::int64_t pid, std::int64_t ns) {
    return Taker{LeafIndex(3), Taker::Kind::kOther, pid, Taker::kNobody, 1, ns, 100, "python3"};
  };
  SliceColumn coarse(LevelIndex(1), SliceIndex(0), 0, 0);
  for (int i = 0; i < 3; ++i) {
    SliceColumn fine(LevelIndex(0), SliceIndex(i), 4, 2);
    fine.add_taker(taker(7, 60));
    if (i == 1) fine.add_taker(taker(8, 20));
    coarse.merge(fine);
  }
  ASSERT_EQ(coarse.takers.size(), 2u);
  EXPECT_EQ(coarse.takers[0].cpu_ns, 180);
  EXPECT_EQ(coarse.takers[0].over_ns, 300);
  EXPECT_EQ(coarse.takers[1], taker(8, 20));
  coarse.add_taker(taker(7, std::numeric_limits<std::int64_t>::max()));
  EXPECT_EQ(coarse.takers[0].cpu_ns, std::numeric_limits<std::int64_t>::max());
  for (std::int64_t pid = 100; pid < 1000; ++pid) coarse.add_taker(taker(pid, 1));
  EXPECT_EQ(coarse.takers.size(), SliceColumn::kMostTakers);
}

TEST(SliceColumn, MergeAddsDurationsAndVisitsAndKeepsTheLongest) {
  std::mt19937 random(2);
  std::vector<SliceColumn> fine;
  for (int i = 0; i < 10; ++i)  // leaves and states grow on the way
    fine.push_back(random_column(random, 2u + (i > 4 ? 1 : 0), 3u + (i > 6 ? 2 : 0), i));
  fine[3].lost_events = 5;
  fine[8].lost_events = 2;
  fine[4].provisional = true;
  fine[9].region = "solve";
  SliceColumn coarse(LevelIndex(1), SliceIndex(0), 0, 0);
  for (const auto& c : fine) coarse.merge(c);
  EXPECT_EQ(coarse.leaves(), 3u);
  EXPECT_EQ(coarse.states(), 5u);
  EXPECT_EQ(coarse.lost_events, 7u);
  EXPECT_TRUE(coarse.provisional);
  EXPECT_EQ(coarse.region, "solve");
  EXPECT_EQ(coarse.level, LevelIndex(1));
  for (std::uint32_t l = 0; l < 3; ++l) {
    for (std::uint32_t x = 0; x < 5; ++x) {
      std::int64_t duration = 0, longest = 0, visits = 0;
      for (const auto& c : fine) {
        if (l >= c.leaves() || x >= c.states()) continue;
        duration += c.duration_ns(LeafIndex(l))[x];
        longest = std::max(longest, c.longest_ns(LeafIndex(l))[x]);
        visits += c.visits(LeafIndex(l))[x];
      }
      EXPECT_EQ(coarse.duration_ns(LeafIndex(l))[x], duration);
      EXPECT_EQ(coarse.longest_ns(LeafIndex(l))[x], longest);
      EXPECT_EQ(coarse.visits(LeafIndex(l))[x], visits);
    }
    EXPECT_EQ(coarse.open(LeafIndex(l)), fine.back().open(LeafIndex(l)));
    std::int64_t cpu = 0;
    for (const auto& c : fine)
      if (l < c.leaves()) cpu += c.evidence(LeafIndex(l)).cpu_ns;
    EXPECT_EQ(coarse.evidence(LeafIndex(l)).cpu_ns, cpu);
  }
}

TEST(SliceColumn, AProcessThatStoppedIsStoppedInTheMergeUntilASampleSaysOtherwise) {
  SliceColumn a(LevelIndex(0), SliceIndex(0), 1, 3), b = a, c = a, coarse = a;
  a.evidence(LeafIndex(0)) = {'T', TimeNs(5), 100, 0, 0, 100};
  b.evidence(LeafIndex(0)) = {};  // no sample fell into it
  c.evidence(LeafIndex(0)) = {'R', TimeNs(0), 100, 90, 0, 0};
  coarse.merge(a);
  coarse.merge(b);
  EXPECT_EQ(coarse.evidence(LeafIndex(0)).process_state, 'T');
  EXPECT_EQ(coarse.evidence(LeafIndex(0)).stopped_since, TimeNs(5));
  coarse.merge(c);
  EXPECT_EQ(coarse.evidence(LeafIndex(0)).process_state, 'R');
  EXPECT_EQ(coarse.evidence(LeafIndex(0)).stopped_since, TimeNs(0));
  EXPECT_EQ(coarse.evidence(LeafIndex(0)).stopped_ns, 100);
}

}  // namespace slice_column_test
}  // namespace margay::model
