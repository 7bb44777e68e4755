// How improbable it is what nodes do otherwise than usual.
#include "node_means.h"

#include <cmath>

#include "margay/statistics/student.h"
#include "watch_job.h"

namespace margay::detect::test {
namespace node_means_test {

// A job of 16 ranks on 4 hosts; `n_eff` 0: without noise.
JobPlan job_of(double n_eff, std::uint32_t seed = 1, std::int64_t ms = 20'000) {
  JobPlan plan;
  plan.ranks = 16;
  plan.evidence = false;
  plan.seed = seed;
  plan.n_eff = n_eff;
  plan.phases = {{ms, kA, ""}};
  return plan;
}

// Measures the slices and scores all nodes.
struct Means {
  explicit Means(const JobPlan& plan, float finer = 1)
      : items(job_topology(plan)->hierarchy), measured(plan), means(finer) {}
  void take(const model::SliceColumn& c) {
    measured.take(c, false);
    means.lay_out(items, measured.contrast.columns(), items.size());
    means.take(items, measured.contrast);
    means.score(items, measured.contrast, {});
  }
  // A quiet slice.
  void learn(const model::SliceColumn& c) {
    take(c);
    if (!measured.contrast.unsettled()) means.learn(items, measured.contrast), learned += 1;
    measured.contrast.learn();
  }
  double nats(std::size_t item, std::size_t span = 0) const {
    float most = 0;
    for (std::size_t c = 0; c < measured.contrast.cells(); ++c)
      most = std::max(most, means.nats(items, item, span, c));
    return static_cast<double>(most);
  }
  // The item that scores most, of leaves or of inner nodes.
  std::size_t strongest(bool inner, std::size_t span = 0) const {
    std::size_t best = inner ? items.leaves() : 0;
    for (std::size_t i = best; i < (inner ? items.size() : items.leaves()); ++i)
      if (nats(i, span) > nats(best, span)) best = i;
    return best;
  }
  NodeItems items;
  Measured measured;
  NodeMeans means;
  double learned = 0;
};
constexpr std::size_t kLongSpan = NodeMeans::kSpans.size() - 1;

TEST(NodeMeans, AKnownDepartureIsSoManyOfTheDeviationsThatWereSeen) {
  for (std::uint32_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(seed);
    const JobPlan plan = job_of(50, seed);
    auto job = make_job(plan);
    Means m(plan);
    double squares = 0, n = 0;
    for (std::size_t i = 0; i < 150; ++i) {
      m.learn(job[i]);
      if (i < 20) continue;
      const auto d = static_cast<double>(
          m.measured.contrast.departure()[6][m.measured.cell(Contrast::kShare, kJobWait)]);
      squares += d * d, n += 1;
    }
    const double usual = std::sqrt(squares / n);
    EXPECT_NEAR(
        static_cast<double>(m.means.deviation(6, m.measured.cell(Contrast::kShare, kJobWait), 1)) / usual, 1,
        0.25);
    const double before = m.nats(6);
    spend(job[150], 6, kJobWait, 0.5);
    m.take(job[150]);
    EXPECT_GT(m.nats(6), before + 10);
    EXPECT_EQ(m.strongest(false), 6u);
    EXPECT_NEAR(m.means.effect(6, 0), 0.5 * 0.95, 0.15);
    // It is as improbable as that many deviations, at least: another cell may be more so.
    const auto d =
        static_cast<double>(m.measured.contrast.departure()[6][m.measured.cell(Contrast::kShare, kJobWait)]);
    EXPECT_GT(m.nats(6), -std::log(statistics::student_survival(d / usual / 1.3, 8 + m.learned)));
  }
}

// What is found of a depth is the greatest of its items, but for those that are left out.
TEST(NodeMeans, TellsTheGreatestOfEachDepthAndCell) {
  const JobPlan plan = job_of(50, 3);
  auto job = make_job(plan);
  spend(job[100], 5, kJobWait, 0.3);
  Means m(plan);
  for (std::size_t i = 0; i < 100; ++i) m.learn(job[i]);
  m.take(job[100]);
  std::vector<char> left_out(m.items.size());
  for (const bool without : {false, true}) {
    left_out[5] = without;
    m.means.score(m.items, m.measured.contrast, left_out);
    for (std::size_t g = 0; g < m.items.groups(); ++g)
      for (std::size_t w = 0; w < NodeMeans::kSpans.size(); ++w)
        for (std::size_t c = 0; c < m.measured.contrast.cells(); ++c) {
          SCOPED_TRACE(testing::Message() << "group " << g << " span " << w << " cell " << c);
          float most = 0;
          for (std::size_t i = 0; i < m.items.size(); ++i)
            if (m.items.group(i) == g && !left_out[i]) most = std::max(most, m.means.nats(m.items, i, w, c));
          const NodeMeans::Greatest found = m.means.greatest(g, w, c);
          EXPECT_FLOAT_EQ(found.nats, most);
          if (most > 0) {
            EXPECT_FLOAT_EQ(m.means.nats(m.items, found.item, w, c), most);
          }
        }
    const std::size_t cell = m.measured.cell(Contrast::kShare, kJobWait);
    EXPECT_EQ(m.means.greatest(0, 0, cell).item == 5, !without);
  }
}

// Without noise the variance is the least that is believed: the score is that of so many deviations, exactly.
TEST(NodeMeans, NatsAreThoseOfStudentsDistribution) {
  for (const std::size_t learn : {20u, 60u, 400u}) {
    const JobPlan plan = job_of(0, 1, 60'000);
    auto job = make_job(plan);
    Means m(plan);
    for (std::size_t i = 0; i < learn; ++i) m.learn(job[i]);
    for (std::size_t k = 0; k < 6; ++k) {
      // More of what is no visit: the share alone departs.
      const double share = 0.02 * static_cast<double>(k + 1);
      model::SliceColumn c = job[learn + k];
      auto row = c.duration_ns(LeafIndex(3));
      const auto moved = static_cast<std::int64_t>(share * 1e8);
      row[kCompute.value] -= moved, row[kJobWait.value] += moved;
      m.take(c);
      const std::size_t cell = m.measured.cell(Contrast::kShare, kJobWait);
      const auto d = static_cast<double>(m.measured.contrast.departure()[3][cell]);
      ASSERT_NEAR(d, share, 1e-3);
      // While a mode is young its usual is known less well.
      const double z = d / static_cast<double>(m.means.deviation(3, cell, 1)) /
                       std::sqrt(1 + 1 / m.measured.contrast.history());
      const double exact = -std::log(statistics::student_survival(z, 8 + m.learned));
      EXPECT_NEAR(m.nats(3), exact, 0.1 + 0.02 * exact) << learn << " slices, " << z << " deviations";
    }
  }
}

TEST(NodeMeans, AShiftOfAllMovesNothing) {
  for (std::uint32_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(seed);
    const JobPlan plan = job_of(200, seed);
    auto job = make_job(plan);
    Means m(plan);
    double usual = 0;
    for (std::size_t i = 0; i < 150; ++i) {
      m.learn(job[i]);
      if (i >= 50) usual = std::max(usual, m.nats(m.strongest(false)));
    }
    for (std::uint32_t r = 0; r < plan.ranks; ++r) spend(job[150], r, kJobWait, 0.5);
    m.take(job[150]);
    EXPECT_GT(m.measured.contrast.common()[m.measured.cell(Contrast::kShare, kJobWait)], 0.3f);
    EXPECT_LT(m.nats(m.strongest(false)), 2 * usual);
    EXPECT_LT(m.nats(m.strongest(true)), 2 * usual);
    // One of them alone is far more than that.
    Means alone(plan);
    auto again = make_job(plan);
    for (std::size_t i = 0; i < 150; ++i) alone.learn(again[i]);
    spend(again[150], 9, kJobWait, 0.5);
    alone.take(again[150]);
    EXPECT_GT(alone.nats(9), 4 * usual);
  }
}

TEST(NodeMeans, HowMuchIsUsualIsLearnedOfEachDepth) {
  const auto deviation = [](double n_eff) {
    const JobPlan plan = job_of(n_eff);
    Means m(plan);
    for (const auto& c : make_job(plan)) m.learn(c);
    return static_cast<double>(m.means.deviation(6, m.measured.cell(Contrast::kShare, kCompute), 1));
  };
  // Of shares the variance falls as the samples that they are made of grow.
  EXPECT_NEAR(deviation(25) / deviation(100), 2, 0.4);
  // Of a host of four ranks the mean varies half as much: what is weak in all of them shows there.
  const JobPlan plan = job_of(50, 2);
  auto job = make_job(plan);
  Means m(plan);
  for (std::size_t i = 0; i < 150; ++i) m.learn(job[i]);
  for (std::uint32_t r = 4; r < 8; ++r) spend(job[150], r, kJobWait, 0.2);
  m.take(job[150]);
  const std::size_t host = m.strongest(true);
  EXPECT_EQ(m.items.parent(5), host);
  EXPECT_GT(m.nats(host), m.nats(m.strongest(false)));
}

TEST(NodeMeans, ALeafThatVariesMoreIsGivenMore) {
  JobPlan plan = job_of(50, 3, 30'000);
  std::mt19937 random(3);
  auto job = make_job(plan);
  for (auto& c : job) spend(c, 2, kJobWait, std::uniform_real_distribution(0.0, 0.5)(random));
  Means m(plan);
  for (std::size_t i = 0; i < 250; ++i) m.learn(job[i]);
  for (const std::uint32_t r : {2u, 10u}) spend(job[250], r, kJobWait, 0.5);
  m.take(job[250]);
  const double own = m.nats(2);
  EXPECT_GT(m.nats(10), 3 * own);
  // What it was is forgotten with it: then it is one of its siblings.
  m.means.forget(2);
  m.take(job[251]);
  spend(job[252], 2, kJobWait, 0.5);
  m.take(job[252]);
  EXPECT_GT(m.nats(2), 1.5 * own);
}

// In a mode that the job has never been in it may vary more: what was learned is believed little.
TEST(NodeMeans, HowMuchVariesInAnotherModeIsLearnedAnew) {
  const auto told = [](bool begins) {
    JobPlan plan = job_of(200, 3, 30'000);
    Means m(plan);
    auto job = make_job(plan);
    plan.n_eff = 12;
    const auto noisy = make_job(plan);
    for (std::size_t i = 0; i < 200; ++i) m.learn(job[i]);
    if (begins) m.means.begin_mode();
    for (std::size_t i = 200; i < 216; ++i) m.learn(noisy[i]);
    double most = 0;
    for (std::size_t i = 216; i < 240; ++i) {
      m.take(noisy[i]);
      most = std::max(most, m.nats(m.strongest(false)));
    }
    return most;
  };
  EXPECT_LT(1.5 * told(true), told(false));
}

TEST(NodeMeans, WhatIsWeakShowsIfItLasts) {
  const JobPlan plan = job_of(50, 4);
  auto job = make_job(plan);
  for (std::size_t i = 150; i < 170; ++i) spend(job[i], 7, kJobWait, 0.12);
  Means m(plan);
  for (std::size_t i = 0; i < 150; ++i) m.learn(job[i]);
  double at_once = 0;
  for (std::size_t i = 150; i < 150 + NodeMeans::kLong; ++i) {
    m.take(job[i]);
    at_once = std::max(at_once, m.nats(7));
  }
  EXPECT_EQ(m.strongest(false, kLongSpan), 7u);
  EXPECT_GT(m.nats(7, kLongSpan), 1.5 * at_once);
  // Sums are those of the slices.
  std::vector<float> sum(m.measured.contrast.cells());
  m.means.add_last(7, NodeMeans::kLong, sum.data());
  float by_hand = 0;
  const std::size_t cell = m.measured.cell(Contrast::kShare, kJobWait);
  for (std::size_t k = 0; k < NodeMeans::kLong; ++k) by_hand += m.means.ago(7, k)[cell];
  EXPECT_NEAR(sum[cell], by_hand, 1e-5);
  EXPECT_EQ(m.means.ago(7, 0)[cell], m.measured.contrast.departure()[7][cell]);
  // Of another stretch nothing is known yet.
  m.means.restart();
  EXPECT_EQ(m.means.run(), 0u);
  m.take(job[160]);
  EXPECT_EQ(m.means.run(), 1u);
  EXPECT_EQ(m.nats(7, kLongSpan), 0);
  EXPECT_GT(m.nats(7), 0);
}

// Of a coarser level, whose slices vary little.
TEST(NodeMeans, DeviationsOfACoarserLevelMayBeSmaller) {
  const JobPlan plan = job_of(0);
  auto job = make_job(plan);
  spend(job[100], 3, kJobWait, 0.05);
  Means fine(plan), coarse(plan, 3);
  for (std::size_t i = 0; i < 100; ++i) fine.learn(job[i]), coarse.learn(job[i]);
  fine.take(job[100]), coarse.take(job[100]);
  EXPECT_GT(coarse.nats(3), 3 * fine.nats(3));
  const std::size_t cell = fine.measured.cell(Contrast::kShare, kJobWait);
  EXPECT_NEAR(fine.means.deviation(3, cell, 1) / coarse.means.deviation(3, cell, 1), 3, 0.01);
}

// Nodes become others, leaves keep their numbers, and columns come.
TEST(NodeMeans, RanksThatJoinChangeNothingOfTheOthers) {
  const JobPlan plan = job_of(50, 5);
  auto job = make_job(plan);
  Means m(plan);
  for (std::size_t i = 0; i < 150; ++i) m.learn(job[i]);
  const std::size_t cell = m.measured.cell(Contrast::kShare, kJobWait);
  const float before = m.means.deviation(4, cell, 1);
  JobPlan more = plan;
  more.ranks = 20;
  const NodeItems items(job_topology(more)->hierarchy);
  m.means.lay_out(items, m.measured.contrast.columns(), m.items.leaves());
  m.means.restart();
  EXPECT_EQ(m.means.deviation(4, cell, 1), before);
  m.means.lay_out(items, m.measured.contrast.columns() + 2, items.size());
  EXPECT_EQ(m.means.deviation(4, cell + (cell >= m.measured.contrast.columns() ? 2 : 0), 1), before);
}

}  // namespace node_means_test
}  // namespace margay::detect::test
