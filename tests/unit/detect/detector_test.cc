// Alerts of made-up jobs: one cause, one alert, the right culprit; and silence where nothing is wrong.
#include <cmath>

#include "watch_job.h"

namespace margay::detect::test {
namespace detector_test {

using alert::Kind;
using alert::Status;
using testing::ElementsAre;
using testing::HasSubstr;

JobPlan steady(std::int64_t ms = 20'000) {
  JobPlan plan;
  plan.phases = {{ms, kA, ""}};
  return plan;
}

// Exactly one alert, fired and resolved, about these ranks.
void expect_one_stop(const JobPlan& plan, const Watched& w, const JobFault& f) {
  ASSERT_EQ(w.alerts.size(), 2u);
  const auto& fired = w.alerts[0];
  const auto& over = w.alerts[1];
  EXPECT_EQ(fired.kind, Kind::kPerturbation);
  EXPECT_EQ(fired.status, Status::kFiring);
  EXPECT_EQ(over.status, Status::kResolved);
  EXPECT_EQ(fired.id, over.id);
  std::vector<std::string> who;
  for (const std::uint32_t r : f.ranks)
    who.push_back("/n" + std::to_string(r / plan.ranks_per_host) + "/rank" + std::to_string(r));
  EXPECT_EQ(fired.resources, who);
  EXPECT_EQ(over.resources, who);
  EXPECT_EQ(over.likely_cause, who);
  EXPECT_LE(std::abs((fired.onset - job_time(plan, f.begin_ms)).value), plan.slice.value);
  EXPECT_LE((fired.detected - job_time(plan, f.begin_ms)).value, 3 * plan.slice.value);
  ASSERT_TRUE(over.end);
  EXPECT_LE(std::abs((*over.end - job_time(plan, f.end_ms)).value), 2 * plan.slice.value);
  EXPECT_THAT(fired.message, HasSubstr("been stopped for"));
}

TEST(Detector, OneStoppedRank) {
  for (std::uint32_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(seed);
    JobPlan plan = steady();
    plan.seed = seed;
    const std::int64_t begin = 10'000 + 37 * seed;
    plan.faults = {{JobFault::kStop, {seed % 8}, begin, begin + 1'500}};
    const Watched w = watch(plan);
    expect_one_stop(plan, w, plan.faults[0]);
    if (HasFailure()) return;
    const auto& over = w.alerts[1];
    EXPECT_GT(over.score_bits, 1.0);
    EXPECT_LT(over.p_value, 1e-6);
    EXPECT_EQ(over.phase, "A");
    ASSERT_FALSE(over.states.empty());
    EXPECT_EQ(over.states[0].state, "MPI_Wait");
    EXPECT_GT(over.states[0].observed, over.states[0].expected + 0.3);
    EXPECT_EQ(over.affected, (std::vector<std::string>{"/n0", "/n1"}));
    EXPECT_THAT(over.message, HasSubstr("7 wait in MPI_Wait"));
    // It is a fact; and all that it was stopped for is lost.
    EXPECT_FALSE(over.false_alarms_per_day);
    ASSERT_TRUE(over.cost_s);
    EXPECT_NEAR(*over.cost_s, 1.5, 0.15);
    EXPECT_THAT(over.message, HasSubstr("s lost so far"));
    EXPECT_EQ(over.candidates, (std::vector<alert::Candidate>{{over.resources[0], "resource", 0, 1.0}}));
    EXPECT_EQ(w.names(), "A");  // the phase goes on
  }
}

TEST(Detector, AStopIsOneAlertEvenWhereSamplesAreMissing) {
  for (std::uint32_t seed = 1; seed <= 10; ++seed)
    for (const std::int64_t slice_ms : {100, 20}) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << " slice " << slice_ms << " ms");
      JobPlan plan = steady(8'000);
      plan.seed = seed;
      plan.slice = milliseconds(slice_ms);
      plan.sample_missing = slice_ms == 100 ? 0.4 : 0.7;
      plan.faults = {{JobFault::kStop, {3}, 4'020, 5'820}};
      const Watched w = watch(plan);
      // With slices shorter than the sampler's period the stall may be seen before the stop is known.
      ASSERT_EQ(w.alerts.size(), 2u);
      EXPECT_EQ(w.alerts[1].status, Status::kResolved);
      EXPECT_EQ(w.alerts[1].id, w.alerts[0].id);
      EXPECT_THAT(w.alerts[1].resources, ElementsAre("/n0/rank3"));
      if (slice_ms == 100) {
        EXPECT_EQ(w.alerts[0].kind, Kind::kPerturbation);
      }
    }
}

// After a restart of the daemon: the first sample says that the process is stopped, and not since when.
TEST(Detector, AStopIsOneAlertAlsoWhereItsBeginIsForgotten) {
  for (std::int64_t again = 10'300; again < 11'200; again += 50) {
    SCOPED_TRACE(again);
    JobPlan plan = steady();
    plan.faults = {{JobFault::kStop, {3}, 10'040, 11'500}};
    auto job = make_job(plan);
    for (auto& c : job) {
      auto& e = c.evidence(LeafIndex(3));
      if (e.stopped_since != TimeNs() && slice_end(c.index, plan.slice) > job_time(plan, again))
        e.stopped_since = job_time(plan, again);
    }
    expect_one_stop(plan, watch(plan, job), plan.faults[0]);
  }
}

TEST(Detector, TwoStopsFiveSecondsApartAreTwoAlerts) {
  JobPlan plan = steady();
  plan.faults = {{JobFault::kStop, {2}, 8'030, 9'000}, {JobFault::kStop, {2}, 14'000, 15'000}};
  const Watched w = watch(plan);
  ASSERT_EQ(w.alerts.size(), 4u);
  EXPECT_NE(w.alerts[0].id, w.alerts[2].id);
  EXPECT_EQ(w.of(Kind::kPerturbation, Status::kResolved), 2u);
  EXPECT_EQ(w.names(), "A");
}

// As cpulimit does with long periods: each stop is a fact, but eight alerts are too many for one cause.
TEST(Detector, WhoIsStoppedAgainAndAgainIsToldTwice) {
  JobPlan plan = steady();
  for (std::int64_t k = 0; k < 8; ++k)
    plan.faults.push_back({JobFault::kStop, {2}, 8'030 + 700 * k, 8'330 + 700 * k});
  const Watched w = watch(plan);
  ASSERT_EQ(w.alerts.size(), 4u);
  EXPECT_EQ(w.of(Kind::kPerturbation, Status::kResolved), 2u);
  EXPECT_THAT(w.alerts[3].resources, ElementsAre("/n0/rank2"));
  EXPECT_THAT(w.alerts[3].message, HasSubstr("rank2 on n0 is stopped for 4"));
  EXPECT_LE(std::abs((*w.alerts[3].end - job_time(plan, 8'330 + 700 * 7)).value), 2 * plan.slice.value);
}

TEST(Detector, TwoRanksStoppedTogetherAreOneAlertNamingBoth) {
  JobPlan plan = steady();
  plan.faults = {{JobFault::kStop, {1, 5}, 8'030, 9'500}};
  const Watched w = watch(plan);
  expect_one_stop(plan, w, plan.faults[0]);
  EXPECT_EQ(w.alerts[0].node, "/");
  // Not at the very same moment: the sampler sees them 50 ms apart.
  plan.faults = {{JobFault::kStop, {1}, 8'010, 9'500}, {JobFault::kStop, {5}, 8'070, 9'500}};
  const Watched apart = watch(plan);
  ASSERT_EQ(apart.alerts.size(), 2u);
  EXPECT_THAT(apart.alerts[1].resources, ElementsAre("/n0/rank1", "/n1/rank5"));
}

TEST(Detector, AStopInTheFirstSecondOfTheRun) {
  JobPlan plan = steady(8'000);
  plan.faults = {{JobFault::kStop, {3}, 420, 1'420}};
  const Watched w = watch(plan);
  expect_one_stop(plan, w, plan.faults[0]);
  EXPECT_THAT(w.names(), testing::AnyOf("A", "init-A"));
}

TEST(Detector, AStopOfAllRanks) {
  JobPlan plan = steady();
  plan.faults = {{JobFault::kStop, {0, 1, 2, 3, 4, 5, 6, 7}, 8'030, 9'500}};
  const Watched w = watch(plan);
  expect_one_stop(plan, w, plan.faults[0]);
  EXPECT_THAT(w.alerts[0].message, HasSubstr("all 8 resources"));
  EXPECT_EQ(w.names(), "A");
}

TEST(Detector, AStopAtAPhaseChange) {
  for (const std::int64_t begin : {9'500, 9'950, 10'000, 10'050, 10'300}) {
    SCOPED_TRACE(begin);
    JobPlan plan;
    plan.phases = {{10'000, kA, ""}, {10'000, kB, ""}, {5'000, kA, ""}};
    plan.faults = {{JobFault::kStop, {6}, begin, begin + 1'200}};
    const Watched w = watch(plan);
    expect_one_stop(plan, w, plan.faults[0]);
    EXPECT_EQ(w.names(), "A-B-A");
  }
}

TEST(Detector, AHangWithoutEvidenceIsAStall) {
  JobPlan plan = steady();
  plan.evidence = false;
  plan.faults = {{JobFault::kHang, {0}, 12'000, 14'000}};
  const Watched w = watch(plan);
  ASSERT_EQ(w.alerts.size(), 2u);
  EXPECT_EQ(w.alerts[0].kind, Kind::kStall);
  EXPECT_EQ(w.alerts[1].status, Status::kResolved);
  EXPECT_LE(std::abs((w.alerts[0].onset - job_time(plan, 12'000)).value), plan.slice.value);
  EXPECT_THAT(w.alerts[0].message, HasSubstr("no progress for"));
  EXPECT_EQ(w.names(), "A");
  // All wait: it is one of them, and nobody can say which.
  EXPECT_TRUE(w.alerts[0].likely_cause.empty());
  ASSERT_EQ(w.alerts[0].candidates.size(), plan.ranks);
  EXPECT_DOUBLE_EQ(w.alerts[0].candidates[0].probability, 1.0 / plan.ranks);
  ASSERT_TRUE(w.alerts[1].cost_s);
  EXPECT_NEAR(*w.alerts[1].cost_s, 2, 0.1);
}

TEST(Detector, AStopWithoutEvidenceBlamesTheRankThatDoesNotWait) {
  JobPlan plan = steady();
  plan.evidence = false;
  plan.faults = {{JobFault::kStop, {4}, 12'000, 14'000}};
  const Watched w = watch(plan);
  ASSERT_EQ(w.alerts.size(), 2u);
  EXPECT_EQ(w.alerts[1].status, Status::kResolved);
  EXPECT_THAT(w.alerts[0].resources, ElementsAre("/n1/rank4"));
}

TEST(Detector, ALongSectionOfOneRankIsNoAlert) {
  for (std::uint32_t seed = 1; seed <= 10; ++seed)
    for (const double missing : {0.0, 0.4}) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << " samples missing " << missing);
      JobPlan plan = steady();
      plan.seed = seed;
      plan.sample_missing = missing;
      plan.faults = {{JobFault::kSection, {2}, 12'000, 16'000}};
      EXPECT_TRUE(watch(plan).alerts.empty());
    }
}

TEST(Detector, StepsLongerThanASliceAreNeitherAbnormalNorAStall) {
  JobPlan plan = steady(30'000);
  auto job = make_job(plan);
  // Calls in every third slice only.
  for (auto& c : job)
    if (c.index.value % 3 != 0)
      for (std::uint32_t l = 0; l < c.leaves(); ++l)
        for (auto& v : c.visits(LeafIndex(l))) v = 0;
  Detector d(job_options(plan));
  d.set_topology(job_topology(plan));
  for (const auto& c : job) EXPECT_TRUE(d.on_slice(c, slice_end(c.index, plan.slice)).empty());
  EXPECT_GT(d.phases().reference_slices(), 150.0);
}

TEST(Detector, LostEventsAreOneAlert) {
  JobPlan plan = steady();
  plan.faults = {{JobFault::kLoss, {3}, 8'000, 9'000}, {JobFault::kLoss, {4}, 10'000, 10'100}};
  const Watched w = watch(plan);
  ASSERT_EQ(w.alerts.size(), 2u);
  EXPECT_EQ(w.alerts[0].kind, Kind::kLoss);
  EXPECT_EQ(w.alerts[1].status, Status::kResolved);
  EXPECT_EQ(w.alerts[1].lost_events, 1'100u);
  EXPECT_EQ(w.alerts[1].end, job_time(plan, 10'100));
  EXPECT_EQ(w.names(), "A");
}

TEST(Detector, RanksThatJoinLateAndEndEarlyAreNoAlert) {
  JobPlan plan = steady();
  plan.join_ms = {0, 150, 420, 0, 3'000, 0, 0, 0};
  plan.leave_ms = {0, 0, 0, 17'030, 0, 19'950, 0, 12'000};
  const Watched w = watch(plan);
  EXPECT_TRUE(w.alerts.empty());
  EXPECT_EQ(w.names(), "A");
}

TEST(Detector, TheSameSlicesGiveTheSameAlerts) {
  JobPlan plan;
  plan.phases = {{6'000, kA, ""}, {6'000, kB, ""}, {6'000, kA, ""}};
  plan.faults = {{JobFault::kStop, {1}, 8'000, 9'000}, {JobFault::kLoss, {3}, 13'000, 13'500}};
  const auto job = make_job(plan);
  const Watched a = watch(plan, job), b = watch(plan, job);
  ASSERT_EQ(a.alerts.size(), b.alerts.size());
  for (std::size_t i = 0; i < a.alerts.size(); ++i)
    EXPECT_EQ(alert::to_json(a.alerts[i]), alert::to_json(b.alerts[i]));
  EXPECT_EQ(a.spans, b.spans);
}

TEST(Detector, AmendedSlicesAreTakenInAndOldOnesIgnored) {
  JobPlan plan = steady(15'000);
  const auto job = make_job(plan);
  Detector d(job_options(plan));
  d.set_topology(job_topology(plan));
  for (std::size_t i = 0; i < job.size(); ++i) {
    // First without the last rank, then whole.
    model::SliceColumn part = job[i];
    auto row = part.duration_ns(LeafIndex(7));
    std::fill(row.begin(), row.end(), 0);
    row[kUnknown.value] = plan.slice.value;
    EXPECT_TRUE(d.on_slice(part, slice_end(part.index, plan.slice)).empty());
    if (i >= 2) static_cast<void>(d.on_amended(job[i - 2], {}));
    if (i >= 140) static_cast<void>(d.on_amended(job[0], {}));
    EXPECT_EQ(d.error(), "");
  }
  EXPECT_EQ(d.window().weight(job[140].index, LeafIndex(7)), 1.0);
  EXPECT_EQ(d.window().weight(job.back().index, LeafIndex(7)), 0.0);
  EXPECT_EQ(d.phases().spans().size(), 1u);
}

TEST(Detector, TheRunsEndResolvesWhatIsOpen) {
  JobPlan plan = steady(12'000);
  plan.faults = {{JobFault::kStop, {1}, 10'000, 12'000}, {JobFault::kLoss, {3}, 11'500, 11'600}};
  const Watched w = watch(plan);
  ASSERT_EQ(w.alerts.size(), 4u);
  EXPECT_EQ(w.of(Kind::kPerturbation, Status::kResolved), 1u);
  EXPECT_EQ(w.of(Kind::kLoss, Status::kResolved), 1u);
  for (const auto& a : w.alerts)
    if (a.status == Status::kResolved) {
      EXPECT_TRUE(a.end);
      EXPECT_LE(a.end->value, job_time(plan, 12'000).value);
    }
}

// Too small a budget for the partition: detection goes on without it, and says so.
TEST(Detector, AnEngineThatCannotBeBuiltIsAnErrorNotACrash) {
  JobPlan plan = steady(8'000);
  plan.faults = {{JobFault::kStop, {1}, 4'000, 5'000}};
  DetectorOptions o = job_options(plan);
  o.window.memory_budget_bytes = 1;
  Detector d(o);
  d.set_topology(job_topology(plan));
  std::size_t alerts = 0;
  for (const auto& c : make_job(plan)) {
    alerts += d.on_slice(c, slice_end(c.index, plan.slice)).size();
    static_cast<void>(d.on_amended(c, {}));
  }
  EXPECT_NE(d.error(), "");
  EXPECT_EQ(alerts, 2u);
}

TEST(Detector, HolesAndStrangeColumnsDoNotCrash) {
  JobPlan plan = steady(6'000);
  auto job = make_job(plan);
  job.erase(job.begin() + 20, job.begin() + 35);
  job.push_back(job[3]);                                                            // time goes back
  job.emplace_back(LevelIndex(0), kJobFirst + 90, 40, 9);                           // leaves nobody has named
  job.emplace_back(LevelIndex(0), SliceIndex(kJobFirst.value + 50'000'000), 1, 2);  // far away
  Detector d(job_options(plan));
  d.set_topology(job_topology(plan));
  for (const auto& c : job) d.on_slice(c, slice_end(c.index, plan.slice));
  d.finish(job_time(plan, 6'000), job_time(plan, 6'000));
}

}  // namespace detector_test
}  // namespace margay::detect::test
