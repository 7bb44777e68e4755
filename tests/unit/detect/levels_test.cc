// Detection at several levels: what is weak and lasts is found, one cause is one alert across levels, and the
// finest says what it says alone.
#include "margay/detect/levels.h"

#include <functional>

#include "watch_job.h"

namespace margay::detect::test {
namespace levels_test {

using alert::Alert;
using alert::Kind;
using alert::Status;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const std::vector<DurationNs> kSecondsAndTens = {seconds(1), seconds(10)};

// 16 ranks on 4 hosts that do one thing.
JobPlan steady(std::int64_t seconds, std::uint32_t seed = 1) {
  JobPlan plan;
  plan.ranks = 16;
  plan.seed = seed;
  plan.evidence = false;
  plan.phases = {{seconds * 1000, kA, ""}};
  return plan;
}

// Of `rank`, that share of the slice goes to waiting.
void wait_longer(model::SliceColumn& c, std::uint32_t rank, double share) {
  spend(c, rank, kJobWait, share);
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
  // Of the false alarms that are allowed a level has its share; the p-value says them of a slice.
  const auto lines = [](const Said& said) {
    std::vector<std::string> out;
    for (Alert a : said.alerts) a.false_alarms_per_day.reset(), a.p_value = 1, out.push_back(to_json(a));
    return out;
  };
  EXPECT_EQ(lines(all), lines(alone));
  EXPECT_EQ(all.phases[0], alone.phases[0]);
  EXPECT_THAT(all.phases, ElementsAre(alone.phases[0], "1s:A", "10s:A"));
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

// One that lasts, and has gone back half of its way: the finest takes it for over, for it has learned that
// way as usual; slices of a second have not.
TEST(Levels, WhatLastsAndIsOverAtTheFinestAloneFiresOn) {
  for (const double rest : {0.27, 0.31, 0.32}) {
    SCOPED_TRACE(rest);
    const JobPlan plan = steady(500);
    const auto job = changed(plan, [&](std::int64_t i, model::SliceColumn& c) {
      if (i >= 1'000 && i < 1'850) wait_longer(c, 3, 0.7);
      if (i >= 1'850 && i < 3'500) wait_longer(c, 3, rest);
    });
    const Said alone = said(plan, job, {}), all = said(plan, job, kSecondsAndTens);
    ASSERT_GE(alone.alerts.size(), 2u);
    EXPECT_EQ(alone.alerts[1].status, Status::kResolved);
    EXPECT_LE((*alone.alerts[1].end - job_time(plan, 190'000)).value, 0) << "the finest alone";
    ASSERT_THAT(all.alerts, SizeIs(2)) << testing::PrintToString(all.lines);
    EXPECT_EQ(all.alerts[0].level, plan.slice);
    EXPECT_EQ(all.alerts[1].id, all.alerts[0].id);
    EXPECT_EQ(all.alerts[1].status, Status::kResolved);
    EXPECT_LE(std::abs((*all.alerts[1].end - job_time(plan, 350'000)).value), 11'000'000'000);
  }
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
  EXPECT_EQ(all.phases[2], "10s:A-10s:B-10s:A");
}

TEST(Levels, NamesOfCoarserPhasesBeginWithTheirSlices) {
  EXPECT_EQ(Levels::prefix(milliseconds(500)), "500ms:");
  EXPECT_EQ(Levels::prefix(milliseconds(1500)), "1500ms:");
  EXPECT_EQ(Levels::prefix(seconds(10)), "10s:");
  EXPECT_EQ(Levels::prefix(seconds(60)), "1min:");
  EXPECT_EQ(Levels::prefix(seconds(90)), "90s:");
  EXPECT_EQ(Levels::prefix(seconds(7200)), "2h:");
}

// A-B-A-B, then A-C-A-C, then B for long, then A-C-A-C.
JobPlan by_turns() {
  JobPlan plan = steady(0);
  plan.phases.clear();
  const auto turns = [&](const std::vector<double>& other, int times) {
    for (int i = 0; i < times; ++i) {
      plan.phases.push_back({1'500, kA, ""});
      plan.phases.push_back({1'500, other, ""});
    }
  };
  turns(kB, 60);
  turns(kC, 60);
  plan.phases.push_back({180'000, kB, ""});
  turns(kC, 60);
  return plan;
}

// What a coarser level tells that no finer one does, and of what it is made.
TEST(Levels, ABoundaryIsToldAtTheFinestLevelThatHasIt) {
  const JobPlan plan = by_turns();
  Levels levels(job_options(plan, 64), kSecondsAndTens);
  levels.set_topology(job_topology(plan));
  for (const auto& c : make_job(plan)) levels.on_slice(c, slice_end(c.index, plan.slice));
  const auto& long_ones = levels.detector(2).phases().spans();
  const auto parts = [&](const PhaseSpan& s) {
    std::set<std::string> names;
    double sum = 0;
    for (const auto& part : levels.made_of(s)) names.insert(part.name), sum += part.share;
    EXPECT_NEAR(sum, 1, 0.05);
    return names;
  };
  ASSERT_EQ(long_ones.size(), 4u);
  EXPECT_EQ(long_ones[3].name, long_ones[1].name);
  EXPECT_EQ(long_ones[3].occurrence, 2u);
  // By coarser levels, near that time.
  const auto told_at = [&](std::int64_t s) {
    int times = 0;
    for (const std::size_t level : {1, 2})
      for (const PhaseSpan& p : levels.detector(level).phases().spans())
        if (std::abs((p.begin - job_time(plan, s * 1'000)).value) <= 15'000'000'000)
          times += levels.told(level, p) ? 0 : 1;
    return times;
  };
  EXPECT_EQ(told_at(0), 0) << "the run begins";
  EXPECT_EQ(told_at(180), 1) << "the finest goes on by turns";
  EXPECT_EQ(told_at(360), 0) << "the finest has that long phase, too";
  EXPECT_EQ(told_at(540), 1);
  EXPECT_EQ(parts(long_ones[0]), (std::set<std::string>{"A", "B"}));
  EXPECT_EQ(parts(long_ones[1]), (std::set<std::string>{"A", "C"}));
  EXPECT_EQ(parts(long_ones[2]), (std::set<std::string>{"B"}));
  EXPECT_EQ(parts(long_ones[3]), (std::set<std::string>{"A", "C"}));
  for (const PhaseSpan& s : levels.detector().phases().spans()) EXPECT_FALSE(levels.told(0, s));
}

// Who begins in the middle and is told what was before knows the phases of every level again.
TEST(Levels, NamesGoOnBehindWhatIsRemembered) {
  const JobPlan plan = by_turns();
  const auto job = make_job(plan);
  Levels first(job_options(plan, 64), kSecondsAndTens), next(job_options(plan, 64), kSecondsAndTens);
  first.set_topology(job_topology(plan));
  next.set_topology(job_topology(plan));
  const std::size_t half = job.size() - 1'700;  // in the last turns
  for (std::size_t i = 0; i < half; ++i) first.on_slice(job[i], slice_end(job[i].index, plan.slice));
  PhaseMemory memory;
  std::set<std::string> asked;
  for (std::size_t level = 0; level < first.count(); ++level)
    for (const PhaseSpan& s : first.detector(level).phases().spans()) {
      if (!s.current) memory.before.push_back(s);
      if (!asked.insert(s.name).second) continue;
      if (auto known = first.known_phase(level, s.name)) {
        EXPECT_EQ(known->born, job[half - 1].index);
        memory.phases.push_back(std::move(*known));
      }
    }
  next.restore(memory);
  for (std::size_t i = half; i < job.size(); ++i) next.on_slice(job[i], slice_end(job[i].index, plan.slice));
  const auto& spans = next.detector(2).phases().spans();
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(spans[0].name, first.detector(2).phases().spans()[1].name);
  EXPECT_EQ(spans[0].occurrence, 2u);
}

TEST(Levels, TheSameSlicesGiveTheSameAlerts) {
  const JobPlan plan = steady(250, 7);
  const auto job = changed(plan, [](std::int64_t i, model::SliceColumn& c) {
    if (i >= 1'200) wait_longer(c, 3, 0.07);
  });
  EXPECT_EQ(said(plan, job, kSecondsAndTens).lines, said(plan, job, kSecondsAndTens).lines);
}

}  // namespace levels_test
}  // namespace margay::detect::test
