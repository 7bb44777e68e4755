// The p of the picture: the floor, or the largest below it that shows what was alerted.
#include "margay/partition/automatic_p.h"

#include <gtest/gtest.h>

#include <random>

#include "margay/partition/noise.h"

namespace margay::partition {
namespace automatic_p_test {

constexpr std::int64_t kSlices = 64;
constexpr std::uint32_t kLeaves = 4;

// Four ranks that share a common phase; one computes a little less for sixteen slices.
Batch model_of(double away) {
  std::mt19937_64 random(11);
  std::vector<double> v, w(kLeaves, 1.0);
  for (std::int64_t t = 0; t < kSlices; ++t)
    for (std::uint32_t l = 0; l < kLeaves; ++l) {
      const double x =
          0.5 + 0.0005 * static_cast<double>(random() % 100) - (l == 2 && t >= 30 && t < 46 ? away : 0);
      v.push_back(x);
      v.push_back(1 - x);
    }
  std::vector<Column> columns;
  for (std::size_t t = 0; t < kSlices; ++t)
    columns.push_back({std::span(v).subspan(t * kLeaves * 2, kLeaves * 2), w});
  Batch::Options options;
  options.tree = TreeShape::flat(kLeaves);
  options.states = 2;
  auto batch = Batch::create(std::move(options), columns);
  EXPECT_TRUE(batch);
  return std::move(*batch);
}

const Area kArea{{LeafPosition(2)}, SliceIndex(30), SliceIndex(45)};

struct Found {
  double p = 0;
  int solves = 0;
};
Found find(Batch& batch, double floor, std::span<const Area> areas, std::size_t most = kMostShown) {
  Found out;
  const auto p = automatic_p(
      [&](double at) {
        ++out.solves;
        return batch.solve(at);
      },
      batch.tree(), floor, areas, most);
  EXPECT_TRUE(p);
  out.p = *p;
  return out;
}

TEST(AutomaticP, IsTheLargestThatShowsTheArea) {
  Batch batch = model_of(0.2);
  const std::vector<Area> areas{kArea};
  ASSERT_FALSE(is_apart(*batch.solve(0.05), batch.tree(), kArea));
  const Found found = find(batch, 0.05, areas);
  EXPECT_LE(found.solves, kMostSolves);
  EXPECT_LT(found.p, 0.05);
  const Partition there = *batch.solve(found.p);
  EXPECT_TRUE(is_apart(there, batch.tree(), kArea));
  EXPECT_LE(there.parts.size(), kMostShown);
  EXPECT_FALSE(is_apart(*batch.solve(found.p * 1.1), batch.tree(), kArea)) << "not a tenth more";
}

TEST(AutomaticP, IsTheFloorWhereThatShowsTheAreaOrNoPDoes) {
  Batch clear = model_of(0.4), none = model_of(0);
  const std::vector<Area> areas{kArea};
  EXPECT_EQ(find(clear, 0.01, areas).p, 0.01);
  EXPECT_EQ(find(clear, 0.01, areas).solves, 1);
  EXPECT_EQ(find(none, 0.2, areas).p, 0.2);
  EXPECT_EQ(find(none, 0.2, {}).solves, 0);
}

TEST(AutomaticP, ShowsNoMorePartsThanAPictureCan) {
  Batch batch = model_of(0.2);
  const std::vector<Area> areas{kArea};
  const std::size_t there = batch.solve(find(batch, 0.05, areas).p)->parts.size();
  EXPECT_EQ(find(batch, 0.05, areas, there - 1).p, 0.05);
}

TEST(AutomaticP, WhatNoPShowsHasNoSay) {
  Batch batch = model_of(0.2);
  const std::vector<Area> one{kArea}, both{{{LeafPosition(0)}, SliceIndex(3), SliceIndex(9)}, kArea};
  EXPECT_EQ(find(batch, 0.05, both).p, find(batch, 0.05, one).p);
}

}  // namespace automatic_p_test
}  // namespace margay::partition
