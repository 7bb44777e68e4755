// The families of made-up programs (tests/bench/detect/families): that their physics is physics, and that
// each case is what it says it is.
#include "families/families.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "families/world.h"
#include "families/written.h"
#include "score.h"

namespace margay::bench {
namespace families_test {

using testing::ElementsAre;

constexpr std::uint64_t kSeed = 9001;

TEST(Rate, WorkGoesOnAsFastAsItMay) {
  Rate r;
  r.during(10, 20, 0.5);
  r.during(15, 16, 0);
  EXPECT_DOUBLE_EQ(r.finish(0, 10), 10);
  EXPECT_DOUBLE_EQ(r.finish(10, 2), 14);
  EXPECT_DOUBLE_EQ(r.finish(10, 3), 17);
  EXPECT_DOUBLE_EQ(r.finish(18, 2), 21);
  EXPECT_DOUBLE_EQ(r.next_edge(12), 15);
  EXPECT_TRUE(std::isinf(r.next_edge(20)));
}

TEST(Rate, WhatStandsStillForGoodIsNeverDone) {
  Rate r;
  r.during(5, std::numeric_limits<double>::infinity(), 0);
  EXPECT_TRUE(std::isinf(r.finish(0, 6)));
}

TEST(Wire, CarriesOneAfterTheOther) {
  Wire w(100, 0.5);
  EXPECT_DOUBLE_EQ(w.carry(0, 100, {}), 1.5);
  EXPECT_DOUBLE_EQ(w.carry(0.2, 50, {}), 2.0);
  EXPECT_DOUBLE_EQ(w.carry(9, 100, {}), 10.5);
}

Process uses(World* world, Shared* shared, double begin, double work, std::vector<double>* done) {
  co_await world->until(begin);
  co_await shared->use(0, work);
  done->push_back(world->now());
}

TEST(Shared, IsSharedAlike) {
  World world(1, 100);
  Shared disk(&world, 1, 1);
  std::vector<double> done;
  // Alone for one second, then two at half the speed, then the longer one alone.
  world.start(uses(&world, &disk, 0, 3, &done));
  world.start(uses(&world, &disk, 1, 1, &done));
  world.run();
  EXPECT_THAT(done, ElementsAre(testing::DoubleNear(3, 1e-6), testing::DoubleNear(4, 1e-6)));
}

TEST(Shared, AFaultSlowsItAndIsToldWhatItCost) {
  World world(1, 100);
  Shared disk(&world, 2, 1);
  Fault f;
  f.begin = 2, f.end = 6, f.factor = 4, f.leaves = {0};
  disk.slow(&f);
  std::vector<double> done;
  world.start(uses(&world, &disk, 0, 1, &done));
  world.start(uses(&world, &disk, 1, 2, &done));  // one second before it, a quarter of a second each in it
  world.run();
  EXPECT_THAT(done, ElementsAre(testing::DoubleNear(1, 1e-6), testing::DoubleNear(6, 1e-6)));
  EXPECT_DOUBLE_EQ(f.first, 2);
  EXPECT_NEAR(f.last, 6, 1e-6);
  EXPECT_NEAR(f.lost[0], 3, 1e-6);
}

TEST(Core, IsStoppedAndTellsUntilWhenItHurt) {
  World world(1, 100);
  Core core(&world, 0);
  Fault f;
  f.begin = 3, f.end = 8, f.factor = 0, f.leaves = {0};
  core.slow(&f);
  EXPECT_DOUBLE_EQ(core.run(4), 9);
  EXPECT_DOUBLE_EQ(f.first, 3);
  EXPECT_DOUBLE_EQ(f.last, 9);
  EXPECT_DOUBLE_EQ(f.lost[0], 5);
}

Process takes(World* world, Mailbox* box, std::vector<std::pair<double, std::uint64_t>>* got) {
  for (;;) {
    const std::uint64_t what = co_await box->take();
    got->emplace_back(world->now(), what);
  }
}

TEST(Mailbox, IsTakenFromInTheOrderOfArrival) {
  World world(1, 100);
  Mailbox box(&world);
  box.put(1, 5);
  box.put(2, 3);
  box.put(3, 5);
  std::vector<std::pair<double, std::uint64_t>> got;
  world.start(takes(&world, &box, &got));
  world.run();
  EXPECT_THAT(got, ElementsAre(std::pair(3.0, 2u), std::pair(5.0, 1u), std::pair(5.0, 3u)));
}

// Of each family one kind after the other, so that all four are met.
template <class Take>
void each_family(Take take) {
  std::size_t number = 0;
  for (const Family& family : families()) {
    const std::string_view kind = family.kinds[number++ % family.kinds.size()];
    SCOPED_TRACE(std::string(family.name) + " " + std::string(kind));
    take(family, kind);
  }
}

TEST(Families, AQuarterIsClean) {
  ASSERT_EQ(families().size(), 11u);
  for (const Family& family : families()) {
    EXPECT_EQ(family.kinds.size(), 4u);
    EXPECT_EQ(family.kinds.back(), "clean");
  }
}

TEST(Families, TheSameSeedIsTheSameCase) {
  each_family([](const Family& family, std::string_view kind) {
    const Case a = make(family, kind, kSeed), b = make(family, kind, kSeed),
               c = make(family, kind, kSeed + 1);
    EXPECT_EQ(a.slices, b.slices);
    EXPECT_NE(a.slices, c.slices);
    ASSERT_EQ(a.truths.size(), b.truths.size());
    for (std::size_t i = 0; i < a.truths.size(); ++i) {
      EXPECT_EQ(a.truths[i].begin_s, b.truths[i].begin_s);
      EXPECT_EQ(a.truths[i].leaves, b.truths[i].leaves);
    }
  });
}

TEST(Families, SlicesConserveTimeAndTruthsLieWithin) {
  for (const Family& family : families())
    for (const std::string_view kind : family.kinds) {
      SCOPED_TRACE(std::string(family.name) + " " + std::string(kind));
      const Case c = make(family, kind, kSeed);
      const auto leaves = static_cast<std::uint32_t>(c.topology->hierarchy.leaf_count());
      const auto width = std::llround(c.slice_s * 1e9);
      ASSERT_GE(c.slices.size(), 99u);
      ASSERT_LE(c.slices.size(), 400u);
      for (const auto& slice : c.slices)
        for (std::uint32_t l = 0; l < leaves; ++l) {
          std::int64_t sum = 0;
          for (const auto ns : slice.duration_ns(LeafIndex(l))) sum += ns;
          ASSERT_EQ(sum, width) << "slice " << slice.index.value << ", leaf " << l;
        }
      EXPECT_EQ(c.truths.empty(), kind == "clean");
      double before = 12 * c.slice_s;
      for (const Truth& t : c.truths) {
        EXPECT_GE(t.begin_s, before);
        EXPECT_GE(t.end_s, t.begin_s + c.slice_s);
        EXPECT_LE(t.end_s, c.slice_s * static_cast<double>(c.slices.size() + 1));
        EXPECT_GE(t.most_lost, 0.1);
        EXPECT_GE(t.signal, 5);
        ASSERT_FALSE(t.leaves.empty());
        EXPECT_LT(*t.leaves.rbegin(), leaves);
        before = t.begin_s;
      }
    }
}

TEST(Families, TheQuietTwinIsTheSameUntilTheFaultAndHasNone) {
  each_family([](const Family& family, std::string_view kind) {
    const Case hurt = make(family, kind, kSeed), quiet = make(family, kind, kSeed, false);
    EXPECT_TRUE(quiet.truths.empty());
    ASSERT_EQ(hurt.slices.size(), quiet.slices.size());
    const double begin = hurt.truths.empty() ? 1e300 : hurt.truths.front().begin_s;
    bool same = true;
    for (std::size_t k = 0; k < hurt.slices.size(); ++k) {
      const bool equal = hurt.slices[k] == quiet.slices[k];
      ASSERT_TRUE(equal || static_cast<double>(k + 1) * hurt.slice_s > begin) << "slice " << k;
      same = same && equal;
    }
    EXPECT_EQ(same, hurt.truths.empty());
  });
}

TEST(Written, TracesAndTruthsAreWhole) {
  namespace fs = std::filesystem;
  const fs::path dir = fs::path(testing::TempDir()) / "families";
  fs::remove_all(dir);
  const Family& family = *std::find_if(families().begin(), families().end(),
                                       [](const Family& f) { return f.name == "workflow"; });
  const Recording r = record(family, "slow_disk", kSeed);
  write_index(dir.string(), {write_case(dir.string(), family, "slow_disk", kSeed, r)});
  const auto index = nlohmann::json::parse(std::ifstream(dir / "index.json"));
  ASSERT_EQ(index.size(), 1u);
  const auto truth = nlohmann::json::parse(std::ifstream(dir / index[0]["truth"].get<std::string>()));
  EXPECT_EQ(truth["leaf_paths"].size(), r.paths.size());
  EXPECT_EQ(truth["perturbations"].size(), r.faults.size());
  EXPECT_EQ(truth["perturbations"][0]["kind"], "slow_disk");
  EXPECT_FALSE(truth["perturbations"][0]["resources_alt"].empty());
  EXPECT_FALSE(truth["clean"]);
  std::ifstream trace(dir / index[0]["trace"].get<std::string>());
  std::size_t changes = 0;
  double last = 0;
  for (std::string line; std::getline(trace, line);) {
    if (!line.starts_with("5 ")) continue;
    ++changes;
    const double t = std::stod(line.substr(2));
    ASSERT_GE(t, last);
    last = t;
  }
  EXPECT_EQ(changes, truth["events"].get<std::size_t>());
  fs::remove_all(dir);
}

// Between checkpoints of 128 ranks, and waits that vary by far more than it does, one rank gets slow.
TEST(Families, ASlowRankIsToldBesideStatesThatVaryMore) {
  const auto stencil =
      std::find_if(families().begin(), families().end(), [](const Family& f) { return f.name == "stencil"; });
  const Case c = make(*stencil, "slow_rank", 33);
  ASSERT_EQ(c.truths.size(), 4u);
  const double slice_s = c.slice_s, begin = c.truths[2].begin_s;
  for (const alert::Alert& a : alerts_of(c, options_for(c))) {
    const double onset = static_cast<double>(a.onset.value) / 1e9;
    if (a.kind != alert::Kind::kPerturbation || onset < begin - 2 * slice_s) continue;
    EXPECT_LE(static_cast<double>(a.detected.value) / 1e9, begin + 3 * slice_s);
    EXPECT_THAT(a.resources, ElementsAre(c.topology->hierarchy.path_of(LeafIndex(100))));
    return;
  }
  FAIL() << "nothing is told";
}

}  // namespace families_test
}  // namespace margay::bench
