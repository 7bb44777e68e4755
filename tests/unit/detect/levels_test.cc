// Detection at several levels: what is weak and lasts is found, one cause is one alert across levels, and the
// finest says what it says alone.
#include "margay/detect/levels.h"

#include <functional>

#include "watch_job.h"

namespace margay::detect::test {
namespace {

using alert::Alert;
using alert::Kind;
using alert::Status;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const std::vector<DurationNs> kSecondsAndTens = {seconds(1), seconds(10)};
using Change = std::function<void(std::int64_t slice, model::SliceColumn&)>;

// 16 ranks on 4 hosts that do one thing.
JobPlan steady(std::int64_t seconds, std::uint32_t seed = 1) {
  JobPlan plan;
  plan.ranks = 16;
  plan.seed = seed;
  plan.evidence = false;
  plan.phases = {{seconds * 1000, kA, ""}};
  return plan;
}

std::vector<model::SliceColumn> changed(const JobPlan& plan, const Change& change) {
  auto job = make_job(plan);
  for (std::size_t i = 0; i < job.size(); ++i) change(static_cast<std::int64_t>(i), job[i]);
  return job;
}

// Of `rank`, that share of the slice goes to waiting.
void wait_longer(model::SliceColumn& c, std::uint32_t rank, double share) {
  auto row = c.duration_ns(LeafIndex(rank));
  std::int64_t moved = 0;
  for (std::size_t x = kCompute.value; x < row.size(); ++x) {
    const auto part = static_cast<std::int64_t>(share * static_cast<double>(row[x]));
    row[x] -= part;
    moved += part;
  }
  row[kJobWait.value] += moved;
}

struct Said {
  std::vector<Alert> alerts;
  std::vector<std::string> lines, phases;  // phases: of each level, "A-B-A"
  std::vector<Alert> firing() const {
    std::vector<Alert> out;
    for (const Alert& a : alerts)
      if (a.status == Status::kFiring) out.push_back(a);
    return out;
  }
};

Said said(const JobPlan& plan, const std::vector<model::SliceColumn>& job,
          const std::vector<DurationNs>& coarser) {
  Levels levels(job_options(plan, 64), coarser);
  levels.set_topology(job_topology(plan));
  Said out;
  TimeNs end{};
  const auto take = [&](const std::vector<Alert>& alerts) {
    for (const Alert& a : alerts) out.alerts.push_back(a), out.lines.push_back(to_json(a));
  };
  for (const auto& c : job) {
    end = slice_end(c.index, plan.slice);
    take(levels.on_slice(c, end));
    EXPECT_EQ(levels.error(), "");
  }
  take(levels.finish(end, end));
  EXPECT_THAT(levels.firing(), IsEmpty());
  for (std::size_t i = 0; i < levels.count(); ++i) {
    std::string names;
    for (const PhaseSpan& s : levels.detector(i).phases().spans())
      names += (names.empty() ? "" : "-") + s.name;
    out.phases.push_back(names);
  }
  return out;
}

std::vector<std::string> paths(const std::vector<std::uint32_t>& ranks) {
  std::vector<std::string> out;
  for (const auto r : ranks) out.push_back("/n" + std::to_string(r / 4) + "/rank" + std::to_string(r));
  return out;
}

TEST(Levels, AQuarterOfTheFalseAlarmsOfTheLevelBelow) {
  EXPECT_EQ(Levels::share(0, 1), 1);
  for (const std::size_t levels : {2u, 4u}) {
    double sum = 0;
    for (std::size_t i = 0; i < levels; ++i) sum += Levels::share(i, levels);
    EXPECT_NEAR(sum, 1, 1e-12);
    EXPECT_NEAR(Levels::share(1, levels), Levels::share(0, levels) / 4, 1e-12);
    EXPECT_GT(Levels::share(0, levels), 0.75);
  }
}

TEST(Levels, ThoseThatAreNoMultiplesAreLeftOut) {
  DetectorOptions o = job_options(steady(1));
  const std::vector<DurationNs> some = {milliseconds(50),  milliseconds(100), milliseconds(250),
                                        milliseconds(500), seconds(1),        milliseconds(1500),
                                        seconds(10)};
  const Levels levels(o, some);
  ASSERT_EQ(levels.count(), 4u);
  EXPECT_EQ(levels.slice(0), milliseconds(100));
  EXPECT_EQ(levels.slice(1), milliseconds(500));
  EXPECT_EQ(levels.slice(2), seconds(1));
  EXPECT_EQ(levels.slice(3), seconds(10));
}

TEST(Levels, WhatIsWeakAndLastsIsFoundAtACoarserLevelOnce) {
  for (std::uint32_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE(seed);
    const JobPlan plan = steady(400, seed);
    const auto job = changed(plan, [](std::int64_t i, model::SliceColumn& c) {
      if (i < 1'500 || i >= 3'000) return;
      wait_longer(c, 3, 0.06);
      wait_longer(c, 9, 0.06);
    });
    EXPECT_THAT(said(plan, job, {}).alerts, IsEmpty()) << "noise hides it in slices of 100 ms";
    const Said all = said(plan, job, kSecondsAndTens);
    ASSERT_THAT(all.alerts, SizeIs(2));
    const Alert &fired = all.alerts[0], &over = all.alerts[1];
    EXPECT_EQ(fired.kind, Kind::kPerturbation);
    EXPECT_EQ(fired.status, Status::kFiring);
    EXPECT_EQ(over.status, Status::kResolved);
    EXPECT_EQ(fired.id, over.id);
    EXPECT_GT(fired.level, plan.slice);
    EXPECT_EQ(over.resources, paths({3, 9}));
    EXPECT_THAT(fired.message, HasSubstr("seen in slices of "));
    EXPECT_LE(std::abs((fired.onset - job_time(plan, 150'000)).value), 10 * fired.level.value);
    EXPECT_LE((fired.detected - job_time(plan, 150'000)).value, 50'000'000'000);
    EXPECT_LE(std::abs((*over.end - job_time(plan, 300'000)).value), 3 * fired.level.value);
  }
}

TEST(Levels, AQuietJobStaysQuiet) {
  for (std::uint32_t seed = 1; seed <= 3; ++seed) {
    const JobPlan plan = steady(400, seed);
    EXPECT_THAT(said(plan, make_job(plan), kSecondsAndTens).alerts, IsEmpty()) << "seed " << seed;
  }
}

// What the finest tells is told once, and as if there were no other level.
TEST(Levels, WhatTheFinestTellsIsToldOnce) {
  JobPlan plan = steady(200);
  plan.evidence = true;
  plan.faults = {{JobFault::kStop, {5}, 60'000, 63'000}, {JobFault::kLoss, {2}, 80'050, 80'250}};
  const auto job = changed(plan, [](std::int64_t i, model::SliceColumn& c) {
    if (i >= 1'000 && i < 1'040) wait_longer(c, 3, 0.7);
    if (i >= 1'300 && i < 1'420) wait_longer(c, 7, 0.5), wait_longer(c, 8, 0.5);
    if (i >= 1'600 && i < 1'640) wait_longer(c, 3, 0.7);
  });
  const Said alone = said(plan, job, {}), all = said(plan, job, kSecondsAndTens);
  EXPECT_THAT(alone.firing(), SizeIs(5));
  EXPECT_EQ(all.lines, alone.lines);
  EXPECT_EQ(all.phases[0], alone.phases[0]);
  EXPECT_THAT(all.phases, ElementsAre(alone.phases[0], "A", "A"));
}

// An alert of the finest that has become usual goes on to explain what coarser levels see.
TEST(Levels, WhatLastsAtTheFinestIsNotToldAgain) {
  const JobPlan plan = steady(250);
  const auto job = changed(plan, [](std::int64_t i, model::SliceColumn& c) {
    if (i >= 1'000 && i < 1'850) wait_longer(c, 3, 0.6);
  });
  const Said all = said(plan, job, kSecondsAndTens);
  ASSERT_THAT(all.alerts, SizeIs(2)) << testing::PrintToString(all.lines);
  EXPECT_EQ(all.alerts[0].level, plan.slice);
  EXPECT_EQ(all.alerts[0].id, all.alerts[1].id);
}

// What has been told at a coarser level, and shows at the finest now and then.
TEST(Levels, TheFinestDoesNotTellWhatACoarserLevelHasTold) {
  const JobPlan plan = steady(300);
  const auto job = changed(plan, [](std::int64_t i, model::SliceColumn& c) {
    if (i < 1'200 || i >= 2'600) return;
    const bool more = i >= 2'000 && i < 2'010;
    wait_longer(c, 3, more ? 0.32 : 0.07);
  });
  const Said alone = said(plan, job, {}), all = said(plan, job, kSecondsAndTens);
  EXPECT_THAT(alone.firing(), SizeIs(1));
  ASSERT_THAT(all.firing(), SizeIs(1));
  EXPECT_GT(all.firing()[0].level, plan.slice);
}

// What is a great deal stronger and begins later is another cause, and so is another rank.
TEST(Levels, TheFinestTellsWhatIsAnotherCause) {
  const JobPlan plan = steady(300);
  const auto job = changed(plan, [](std::int64_t i, model::SliceColumn& c) {
    if (i >= 1'200 && i < 2'600) wait_longer(c, 3, i >= 2'000 && i < 2'020 ? 0.8 : 0.07);
    if (i >= 2'200 && i < 2'220) wait_longer(c, 12, 0.7);
  });
  const auto firing = said(plan, job, kSecondsAndTens).firing();
  ASSERT_THAT(firing, SizeIs(3));
  EXPECT_GT(firing[0].level, plan.slice);
  EXPECT_EQ(firing[1].level, plan.slice);
  EXPECT_EQ(firing[1].resources, paths({3}));
  EXPECT_EQ(firing[2].level, plan.slice);
  EXPECT_EQ(firing[2].resources, paths({12}));
}

// A-B-A-B... of a second each is one long phase, and so is what follows it.
TEST(Levels, LongPhasesAreMadeOfShortOnes) {
  JobPlan plan = steady(0);
  plan.phases.clear();
  for (int part = 0; part < 3; ++part)
    for (int i = 0; i < 100; ++i) {
      plan.phases.push_back({1'000, kA, ""});
      plan.phases.push_back({1'000, part == 1 ? kC : kB, ""});
    }
  const Said all = said(plan, make_job(plan), kSecondsAndTens);
  EXPECT_GT(all.phases[0].size(), 500u) << "the finest sees each";
  EXPECT_EQ(all.phases[2], "A-B-A");
}

TEST(Levels, TheSameSlicesGiveTheSameAlerts) {
  const JobPlan plan = steady(250, 7);
  const auto job = changed(plan, [](std::int64_t i, model::SliceColumn& c) {
    if (i >= 1'200) wait_longer(c, 3, 0.07);
  });
  EXPECT_EQ(said(plan, job, kSecondsAndTens).lines, said(plan, job, kSecondsAndTens).lines);
}

}  // namespace
}  // namespace margay::detect::test
