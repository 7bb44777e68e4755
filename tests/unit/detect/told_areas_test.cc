// The default picture has what is told as parts of its own.
#include <gtest/gtest.h>

#include "margay/detect/detector.h"
#include "margay/partition/set_apart.h"
#include "support/synthetic_job.h"
#include "told_areas.h"
#include "watch_job.h"

namespace margay::detect {
namespace {

struct Looked {
  std::optional<partition::Partition> picture;
  double p = 0;
  bool shown = false;
  std::size_t alerts = 0;
};

// The default picture at `at_ms`, and whether it has this area.
Looked look(const test::JobPlan& plan, std::int64_t at_ms, std::set<std::uint32_t> ranks,
            std::int64_t begin_ms, std::int64_t end_ms, std::optional<double> fixed = {}) {
  DetectorOptions options;
  options.run = "job";
  options.window.slice = plan.slice;
  options.window.slices = 128;
  options.window.p = fixed;
  Detector detector(options);
  const auto topology = test::job_topology(plan);
  detector.set_topology(topology);
  Looked out;
  for (const model::SliceColumn& c : test::make_job(plan)) {
    if (slice_end(c.index, plan.slice) > test::job_time(plan, at_ms)) break;
    for (const alert::Alert& a : detector.on_slice(c, slice_end(c.index, plan.slice)))
      out.alerts += a.status == alert::Status::kFiring && a.kind == alert::Kind::kPerturbation ? 1 : 0;
  }
  out.picture = detector.window().spatiotemporal();
  out.p = detector.window().p();
  std::vector<NodeIndex> parents;
  for (const auto& node : topology->hierarchy.nodes())
    parents.push_back(parents.empty() ? partition::kNoParent : node.parent);
  const auto tree = partition::TreeShape::from_parents(parents);
  partition::Area area{{},
                       slice_of(test::job_time(plan, begin_ms), plan.slice),
                       slice_of(test::job_time(plan, end_ms), plan.slice) - 1};
  for (std::uint32_t pos = 0; pos < topology->hierarchy.leaf_count(); ++pos)
    if (ranks.contains(topology->hierarchy.leaf_order()[pos].value)) area.leaves.emplace_back(pos);
  out.shown = out.picture && partition::is_apart(*out.picture, *tree, area);
  return out;
}

test::JobPlan noisy_job(std::uint32_t ranks, std::uint32_t seed) {
  test::JobPlan plan;
  plan.ranks = ranks;
  plan.phases = {{40'000, {0.5, 0.05, 0.25, 0.1, 0.1}, ""}};
  plan.n_eff = 12;
  plan.common_noise = 0.1;
  plan.own_noise = 0.05;
  plan.seed = seed;
  return plan;
}

TEST(ToldAreas, AStoppedRankIsAPartOfTheDefaultPicture) {
  for (const std::uint32_t ranks : {4u, 16u, 64u})
    for (const std::uint32_t seed : {1u, 2u, 3u}) {
      test::JobPlan plan = noisy_job(ranks, seed), undisturbed = plan;
      plan.faults = {{test::JobFault::kStop, {ranks / 2}, 25'000, 26'000}};
      const Looked with = look(plan, 32'000, {ranks / 2}, 25'000, 26'000),
                   without = look(undisturbed, 32'000, {ranks / 2}, 25'000, 26'000);
      ASSERT_TRUE(with.picture && without.picture);
      ASSERT_EQ(with.alerts, 1u);
      std::printf("%u ranks, seed %u: p %g, %zu parts (undisturbed: %zu)\n", ranks, seed, with.p,
                  with.picture->parts.size(), without.picture->parts.size());
      EXPECT_TRUE(with.shown);
      EXPECT_FALSE(without.shown);
      EXPECT_LE(with.picture->parts.size(), partition::kMostShown);
      EXPECT_GT(with.picture->pIC, 0) << "evaluated";
    }
}

TEST(ToldAreas, AreForgottenWhenTheyHaveLeftTheWindow) {
  test::JobPlan plan = noisy_job(16, 1);
  plan.faults = {{test::JobFault::kStop, {5}, 10'000, 11'000}};
  const Looked soon = look(plan, 18'000, {5}, 10'000, 11'000),
               later = look(plan, 30'000, {5}, 10'000, 11'000);
  EXPECT_GT(soon.picture->parts.size(), later.picture->parts.size());
  EXPECT_EQ(later.picture->parts.size(), 1u);
}

TEST(ToldAreas, OfTheSameLeavesThatFollowEachOtherAreOneNewestFirst) {
  const test::JobPlan plan = noisy_job(4, 1);
  DetectorOptions options;
  options.window.slice = plan.slice;
  Window window(options.window);
  window.set_topology(test::job_topology(plan));
  for (const model::SliceColumn& c : test::make_job(plan)) ASSERT_TRUE(window.push(c));
  const SliceIndex end = window.last();
  ToldAreas told(8, 10);
  told.tell("a", {1}, end - 60, end - 58);
  told.tell("b", {1}, end - 50, end - 48);
  told.end("b", end - 45);
  told.tell("c", {1}, end - 20, end - 18);
  told.tell("d", {1, 2}, end - 19, end - 17);
  told.tell("e", {3}, window.first() - 9, window.first() - 1);
  const auto areas = told.in(window);
  ASSERT_EQ(areas.size(), 3u);
  EXPECT_EQ(areas[0].leaves.size(), 2u);
  EXPECT_EQ(areas[1].first, end - 20);
  EXPECT_EQ(areas[2].first, end - 60);
  EXPECT_EQ(areas[2].last, end - 45);
}

TEST(ToldAreas, AFixedPShowsTheOptimumAtThatP) {
  test::JobPlan plan = noisy_job(16, 1);
  plan.faults = {{test::JobFault::kStop, {5}, 10'000, 11'000}};
  const Looked fixed = look(plan, 18'000, {5}, 10'000, 11'000, 0.3);
  EXPECT_EQ(fixed.p, 0.3);
  EXPECT_EQ(fixed.picture->parts.size(), 1u);
}

}  // namespace
}  // namespace margay::detect
