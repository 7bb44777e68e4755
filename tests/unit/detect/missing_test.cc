// What is not known is said, and no other alert is made of it.
#include <cmath>

#include "watch_job.h"

namespace margay::detect::test {
namespace missing_test {

using alert::Alert;
using alert::Kind;
using alert::Status;
using testing::HasSubstr;

JobPlan steady(std::int64_t ms) {
  JobPlan plan;
  plan.phases = {{ms, kA, ""}};
  return plan;
}

// The ranks are not heard in [from, to): what they were in is drawn out.
void silence(const JobPlan& plan, std::vector<model::SliceColumn>& job,
             const std::vector<std::uint32_t>& ranks, std::int64_t from_ms, std::int64_t to_ms) {
  const TimeNs since = job_time(plan, from_ms);
  for (model::SliceColumn& c : job) {
    if (slice_end(c.index, plan.slice) <= since || slice_begin(c.index, plan.slice) >= job_time(plan, to_ms))
      continue;
    c.provisional = true;
    for (const std::uint32_t r : ranks) {
      const LeafIndex leaf(r);
      auto row = c.duration_ns(leaf);
      std::fill(row.begin(), row.end(), 0);
      row[kJobWait.value] = plan.slice.value;
      auto visits = c.visits(leaf);
      std::fill(visits.begin(), visits.end(), 0u);
      c.open(leaf) = {kJobWait, since};
      c.evidence(leaf) = {};
      c.evidence(leaf).silent_since = since;
      c.evidence(leaf).drawn_out = true;
    }
  }
}

TEST(Missing, AHostThatIsNoLongerHeardIsOneAlertAfterTenSeconds) {
  const JobPlan plan = steady(40'000);
  auto job = make_job(plan);
  silence(plan, job, {4, 5, 6, 7}, 12'000, 30'000);
  const Watched w = watch(plan, job);
  ASSERT_EQ(w.alerts.size(), 2u);
  const Alert& fired = w.alerts[0];
  EXPECT_EQ(fired.kind, Kind::kSourceLost);
  EXPECT_EQ(fired.node, "/n1");
  EXPECT_EQ(fired.resources.size(), 4u);
  EXPECT_EQ(fired.onset, job_time(plan, 12'000));
  EXPECT_GE(fired.detected, job_time(plan, 22'000));
  EXPECT_LE(fired.detected, job_time(plan, 22'200));
  EXPECT_THAT(fired.message, HasSubstr("no events from 4 resources below /n1 for 10 s"));
  EXPECT_EQ(w.alerts[1].id, fired.id);
  EXPECT_EQ(w.alerts[1].status, Status::kResolved);
  ASSERT_TRUE(w.alerts[1].end);
  EXPECT_LE(std::abs((*w.alerts[1].end - job_time(plan, 30'000)).value), plan.slice.value);
}

// Many are told by what they have in common, where the hierarchy has no node for them.
TEST(Missing, WhoHasSomethingInCommonIsToldByIt) {
  const JobPlan plan = steady(40'000);
  auto job = make_job(plan);
  silence(plan, job, {1, 3, 5, 7}, 12'000, 30'000);
  const auto told = [&](std::vector<model::Attributes> leaves) {
    auto topology = std::make_shared<Topology>(*job_topology(plan));
    if (!leaves.empty())
      topology->attributes = std::make_shared<const std::vector<model::Attributes>>(std::move(leaves));
    const Watched w = watch(job_options(plan), topology, job);
    EXPECT_EQ(w.alerts.size(), 2u);
    return w.alerts.empty() ? std::string() : w.alerts[0].message;
  };
  EXPECT_THAT(told({}), HasSubstr("no events from 4 resources below / for 10 s"));
  std::vector<model::Attributes> leaves(plan.ranks);
  for (std::uint32_t r = 0; r < plan.ranks; ++r)
    leaves[r] = {{"rank", std::to_string(r)}, {"rack", r % 2 == 0 ? "west" : "east"}};
  EXPECT_THAT(told(leaves), HasSubstr("no events from all 4 of east for 10 s"));
  leaves[6]["rack"] = "east";
  EXPECT_THAT(told(leaves), HasSubstr("all 4 of rank mod 2 = 1")) << "which nobody else is of";
  leaves[6]["rank"] = "7";
  EXPECT_THAT(told(leaves), HasSubstr("4 of 5 of ")) << "nearly nobody else";
  leaves.pop_back();
  EXPECT_THAT(told(leaves), HasSubstr("4 resources below /")) << "they are not of these leaves";
}

TEST(Missing, SilenceShorterThanThatIsNoAlert) {
  const JobPlan plan = steady(40'000);
  auto job = make_job(plan);
  silence(plan, job, {1}, 12'000, 21'900);
  EXPECT_TRUE(watch(plan, job).alerts.empty());
}

TEST(Missing, WhenNobodyIsHeardThatIsNoStall) {
  const JobPlan plan = steady(40'000);
  auto job = make_job(plan);
  silence(plan, job, {0, 1, 2, 3, 4, 5, 6, 7}, 12'000, 30'000);
  const Watched w = watch(plan, job);
  EXPECT_EQ(w.of(Kind::kSourceLost, Status::kFiring), 1u);
  EXPECT_EQ(w.of(Kind::kStall, Status::kFiring), 0u);
  EXPECT_EQ(w.alerts.size(), 2u);
}

TEST(Missing, ALostSourceHidesNoStop) {
  JobPlan plan = steady(40'000);
  plan.faults = {{JobFault::kStop, {1}, 30'000, 31'500}};
  auto job = make_job(plan);
  silence(plan, job, {7}, 12'000, 40'000);
  const Watched w = watch(plan, job);
  EXPECT_EQ(w.of(Kind::kSourceLost, Status::kFiring), 1u);
  ASSERT_EQ(w.of(Kind::kPerturbation, Status::kFiring), 1u);
  for (const Alert& a : w.alerts)
    EXPECT_EQ(a.likely_cause[0], a.kind == Kind::kPerturbation ? "/n0/rank1" : "/n1/rank7");
}

TEST(Missing, LossNamesWhoseEventsTheyWere) {
  JobPlan plan = steady(20'000);
  plan.faults = {{JobFault::kLoss, {2}, 9'000, 9'100}, {JobFault::kLoss, {6}, 9'200, 9'300}};
  const Watched w = watch(plan);
  ASSERT_EQ(w.alerts.size(), 2u);
  EXPECT_EQ(w.alerts[0].kind, Kind::kLoss);
  EXPECT_THAT(w.alerts[0].message, HasSubstr("100 events of rank2 on n0 were lost"));
  EXPECT_EQ(w.alerts[1].status, Status::kResolved);
  EXPECT_EQ(w.alerts[1].lost_events, 200u);
  EXPECT_THAT(w.alerts[1].message, HasSubstr("200 events of rank2 on n0 and rank6 on n1"));
}

TEST(Missing, LossFoundInASliceThatHadClosedIsToldOnce) {
  const JobPlan plan = steady(12'000);
  const auto job = make_job(plan);
  Detector d(job_options(plan));
  d.set_topology(job_topology(plan));
  for (const auto& c : job) EXPECT_TRUE(d.on_slice(c, slice_end(c.index, plan.slice)).empty());
  model::SliceColumn amended = job[job.size() - 40];
  amended.lost_events = 7;
  amended.duration_ns(LeafIndex(3))[kUnknown.value] = 1;
  const auto first = d.on_amended(amended, job_time(plan, 12'000));
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].kind, Kind::kLoss);
  EXPECT_EQ(first[0].onset, slice_begin(amended.index, plan.slice));
  EXPECT_TRUE(d.on_amended(amended, job_time(plan, 12'000)).empty());
  amended.lost_events = 9;
  EXPECT_TRUE(d.on_amended(amended, job_time(plan, 12'000)).empty());
  const auto over = d.finish(job_time(plan, 12'000), job_time(plan, 12'000));
  ASSERT_EQ(over.size(), 1u);
  EXPECT_EQ(over[0].lost_events, 9u);
}

TEST(Missing, AnAlertSaysWhatWasLostInItsSlices) {
  JobPlan plan = steady(20'000);
  plan.faults = {{JobFault::kStop, {1}, 10'000, 12'000}, {JobFault::kLoss, {5}, 11'000, 11'100}};
  const Watched w = watch(plan);
  std::uint64_t fired = 1, over = 0;
  for (const Alert& a : w.alerts)
    if (a.kind == Kind::kPerturbation) (a.status == Status::kFiring ? fired : over) = a.lost_events;
  EXPECT_EQ(fired, 0u);
  EXPECT_EQ(over, 100u);
}

}  // namespace missing_test
}  // namespace margay::detect::test
