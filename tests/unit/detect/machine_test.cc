// What the machine takes of ranks, and who has it instead.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "margay/detect/taker_log.h"
#include "watch_job.h"

namespace margay::detect::test {
namespace machine_test {

using alert::Status;
using model::Taker;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// A job of 16 ranks on 4 hosts; rank 5 is ready to run, and not let, as `denied` says.
Watched watch_denied(const std::function<double(std::int64_t)>& denied,
                     const std::function<void(std::int64_t, model::SliceColumn&)>& more = {}) {
  JobPlan plan;
  plan.ranks = 16;
  plan.phases = {{20'000, kA, ""}};
  return watch(plan, changed(plan, [&](std::int64_t i, model::SliceColumn& c) {
                 deny(c.evidence(LeafIndex(5)), denied(i));
                 if (more) more(i, c);
               }));
}
bool in(std::int64_t i, std::int64_t from, std::int64_t to) {
  return i >= from && i < to;
}

TEST(Machine, WhatRunsForAnInstantIsNoMatter) {
  const Watched w = watch_denied([](std::int64_t i) {
    if (i < 60 || i % 30 > 2) return 0.02;
    return i % 30 == 2 ? 0.2 : 0.7;  // 0.2 s of a core, that three slices share
  });
  EXPECT_THAT(w.alerts, IsEmpty());
}

TEST(Machine, WhatLastsIsTold) {
  for (const double share : {0.25, 0.5, 0.9}) {
    const Watched w = watch_denied([&](std::int64_t i) { return in(i, 100, 115) ? share : 0.02; });
    ASSERT_EQ(w.alerts.size(), 2u) << share;
    EXPECT_EQ(w.alerts[1].likely_cause, std::vector<std::string>{"/n1/rank5"});
    EXPECT_LE((w.alerts[0].detected - job_time(JobPlan(), 10'000)).value, 9 * JobPlan().slice.value);
  }
}

// Four ranks on two CPUs: while one of them has more to do, the others have to wait. Nobody else takes
// anything from them as long as they have both CPUs together.
TEST(Machine, WhatRanksOfTheJobTakeFromEachOtherIsWhatTheJobDoes) {
  const auto watch_ranks = [](double first, double others) {
    JobPlan plan;
    plan.ranks = 16;
    plan.phases = {{20'000, kA, ""}};
    return watch(plan, changed(plan, [&](std::int64_t i, model::SliceColumn& c) {
                   for (std::uint32_t r = 0; r < 16; ++r) {
                     const double runs = !in(i, 100, 115) || r < 4 || r > 7 ? 0.5 : r == 4 ? first : others;
                     auto& e = c.evidence(LeafIndex(r));
                     e.cpu_ns = static_cast<std::int64_t>(runs * static_cast<double>(e.sampled_ns));
                     e.run_delay_ns = e.sampled_ns - e.cpu_ns;
                   }
                 }));
  };
  EXPECT_THAT(watch_ranks(0.98, 0.34).alerts, IsEmpty());
  const auto told = watch_ranks(0.5, 0.2).alerts;
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].likely_cause, (std::vector<std::string>{"/n1/rank5", "/n1/rank6", "/n1/rank7"}));
  EXPECT_THAT(told[0].message, HasSubstr("without a CPU"));
}

// Who polls is always ready, and who sleeps until it is woken is ready to go on.
TEST(Machine, WhoWaitsAndIsReadyIsKeptFromTheCpuIfItSleptAndNotIfItPolls) {
  JobPlan plan;
  plan.ranks = 16;
  plan.phases = {{20'000, {0.02, 0.10, 0.10, 0.08, 0.70}, ""}};
  const auto job = changed(plan, [](std::int64_t i, model::SliceColumn& c) {
    deny(c.evidence(LeafIndex(5)), in(i, 100, 120) ? 0.9 : 0.02);
  });
  const auto told = [&](const char* wait) {
    auto topology = std::make_shared<Topology>(*job_topology(plan));
    for (model::StateInfo& s : topology->states)
      if (s.name == "MPI_Wait") s.name = wait;
    return watch(plan, job, topology).alerts;
  };
  EXPECT_THAT(told("MPI_Wait"), IsEmpty());
  const auto alerts = told("condition wait");
  ASSERT_EQ(alerts.size(), 2u);
  EXPECT_EQ(alerts[0].likely_cause, std::vector<std::string>{"/n1/rank5"});
  EXPECT_THAT(alerts[0].message, HasSubstr("without a CPU"));
}

// Two things in turn, each new to it: what the machine does is one thing all the while.
TEST(Machine, ModesThatAreLearnedDoNotHideIt) {
  JobPlan plan;
  plan.ranks = 4;
  plan.ranks_per_host = 4;
  plan.phases = {{8'000, kA, ""}};
  for (int i = 0; i < 8; ++i) {
    plan.phases.push_back({400, {0.1 * i, 0.9 - 0.1 * i, 0.0, 0.1, 0.0}, ""});
    plan.phases.push_back({400, {0.0, 0.1 * i, 0.9 - 0.1 * i, 0.0, 0.1}, ""});
  }
  plan.phases.push_back({4'000, kA, ""});
  const Watched w = watch(plan, changed(plan, [](std::int64_t i, model::SliceColumn& c) {
                            for (const std::uint32_t r : {1, 3}) {
                              deny(c.evidence(LeafIndex(r)), in(i, 84, 140) ? 0.35 : 0);
                              spend(c, r, kCompute, 0.3);
                            }
                          }));
  ASSERT_FALSE(w.alerts.empty());
  EXPECT_EQ(w.alerts[0].likely_cause, (std::vector<std::string>{"/n0/rank1", "/n0/rank3"}));
  EXPECT_THAT(w.alerts[0].message, HasSubstr("without a CPU"));
}

Taker taker(Taker::Kind kind, std::int64_t pid, std::int64_t percent, const std::string& name,
            std::uint32_t rank = Taker::kNobody) {
  return {LeafIndex(5), kind, pid, rank, 1, percent * 1'000'000, 100'000'000, name};
}

TEST(Machine, WhoHasTheCpuInsteadIsSaid) {
  struct Case {
    Taker taker;
    std::string kind, said;
  };
  const std::vector<Case> cases = {
      {taker(Taker::Kind::kOther, 4242, 92, "python3"), "other",
       "without a CPU: python3 (pid 4242, not of this job) takes 92 % of CPU 1, for "},
      {taker(Taker::Kind::kRank, 77, 48, "lmp", 6), "rank", ": rank6 of the same job takes 48 % of CPU 1, "},
      {taker(Taker::Kind::kJob, 78, 30, "orted"), "job", ": orted (pid 78, of the same job) takes 30 %"},
      {taker(Taker::Kind::kMargay, 79, 30, "margayd"), "margay", ": margayd itself (pid 79) takes 30 %"},
      {taker(Taker::Kind::kUnseen, 0, 30, ""), "unseen", "hidden from Margay, takes 30 % of CPU 1"},
      {taker(Taker::Kind::kHypervisor, 0, 30, ""), "hypervisor", ": the hypervisor takes 30 % of CPU 1"}};
  for (const Case& one : cases) {
    const Watched w = watch_denied([](std::int64_t i) { return in(i, 100, 115) ? 0.5 : 0.02; },
                                   [&](std::int64_t i, model::SliceColumn& c) {
                                     if (in(i, 101, 115)) c.add_taker(one.taker);
                                   });
    ASSERT_EQ(w.alerts.size(), 2u);
    for (const auto& a : w.alerts) {
      EXPECT_THAT(a.message, HasSubstr(one.said));
      ASSERT_EQ(a.takers.size(), 1u);
      EXPECT_EQ(a.takers[0].kind, one.kind);
      EXPECT_EQ(a.takers[0].resource, "/n1/rank5");
      EXPECT_EQ(a.takers[0].pid, one.taker.pid);
      EXPECT_EQ(a.takers[0].cpu, 1);
    }
  }
}

// Four ranks on two CPUs, all of which wait longer for them: by whom these were used meanwhile says whether
// that is the job's doing.
TEST(Machine, WhatSomebodyElseTakesOfAllRanksIsTold) {
  const auto watch_ranks = [](const std::optional<Taker>& other, std::uint32_t ranks = 4) {
    JobPlan plan;
    plan.ranks = ranks;
    plan.ranks_per_host = 4;
    plan.phases = {{20'000, kA, ""}};
    return watch(plan, changed(plan, [&](std::int64_t i, model::SliceColumn& c) {
                   for (std::uint32_t r = 0; r < ranks; ++r) {
                     auto& e = c.evidence(LeafIndex(r));
                     e.cpu_ns = (in(i, 100, 130) ? 33 : 50) * e.sampled_ns / 100;
                     e.run_delay_ns = e.sampled_ns - e.cpu_ns;
                     Taker now = other.value_or(Taker());
                     now.leaf = LeafIndex(r);
                     // The agent looks now and then.
                     if (other && in(i, 102, 130) && i % 3 == 0) c.add_taker(now);
                   }
                 }));
  };
  const auto takes = [](Taker::Kind kind, std::int64_t percent) {
    return Taker{LeafIndex(0), kind, 4242, 1, -1, percent * 3'000'000, 300'000'000, "python3"};
  };
  for (const std::uint32_t ranks : {4, 8}) {
    const auto told = watch_ranks(takes(Taker::Kind::kOther, 67), ranks).alerts;
    ASSERT_EQ(told.size(), 2u) << ranks;
    EXPECT_EQ(told[0].resources.size(), ranks);
    EXPECT_THAT(told[0].message, HasSubstr("without a CPU: python3 (pid 4242, not of this job) takes 67 %"));
    EXPECT_LE((told[0].detected - job_time(JobPlan(), 10'000)).value, 12 * JobPlan().slice.value);
    EXPECT_NEAR(static_cast<double>((*told[1].end - job_time(JobPlan(), 13'000)).value), 0,
                3.0 * static_cast<double>(JobPlan().slice.value));
  }
  EXPECT_THAT(watch_ranks({}).alerts, IsEmpty());
  EXPECT_THAT(watch_ranks(takes(Taker::Kind::kRank, 67)).alerts, IsEmpty());
  EXPECT_THAT(watch_ranks(takes(Taker::Kind::kJob, 67)).alerts, IsEmpty());
  EXPECT_THAT(watch_ranks(takes(Taker::Kind::kOther, 5)).alerts, IsEmpty()) << "that is not who it is";
}

// Kept from the CPU, they mostly wait for each other, and poll.
TEST(Machine, WhatSomebodyElseTakesIsToldOfWhoPollsMeanwhile) {
  JobPlan plan;
  plan.ranks = 4;
  const Shares waits = {0.05, 0.40, 0.40, 0.10, 0.05};
  plan.phases = {{10'000, kA, ""}, {3'000, waits, ""}, {7'000, kA, ""}};
  const auto watch_ranks = [&](std::int64_t percent, double cpu, double ready) {
    return watch(plan, changed(plan,
                               [&](std::int64_t i, model::SliceColumn& c) {
                                 for (std::uint32_t r = 0; r < plan.ranks; ++r) {
                                   auto& e = c.evidence(LeafIndex(r));
                                   const auto of = [&](double then) {
                                     return static_cast<std::int64_t>((in(i, 100, 130) ? then : 0.5) *
                                                                      static_cast<double>(e.sampled_ns));
                                   };
                                   e.cpu_ns = of(cpu), e.run_delay_ns = of(ready);
                                   if (in(i, 102, 130) && i % 3 == 0)
                                     c.add_taker({LeafIndex(r), Taker::Kind::kOther, 4242, 1, -1,
                                                  percent * 3'000'000, 300'000'000, "python3"});
                                 }
                               }))
        .alerts;
  };
  const auto told = watch_ranks(80, 0.3, 0.7);
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].resources.size(), 4u);
  EXPECT_THAT(told[0].message, HasSubstr("without a CPU: python3 (pid 4242, not of this job) takes 80 %"));
  EXPECT_THAT(watch_ranks(5, 0.3, 0.7), IsEmpty()) << "that is not who it is";
  EXPECT_THAT(watch_ranks(80, 0.5, 0.7), IsEmpty()) << "they have what they want, together";
  EXPECT_THAT(watch_ranks(80, 0.3, 0.5), IsEmpty()) << "they want no more";
}

TEST(Machine, WhatTheOthersDoMeanwhileIsSaidOfOneAndOfMany) {
  const auto message = [](const std::vector<std::string>& others) {
    JobPlan plan;
    plan.ranks = static_cast<std::uint32_t>(others.size()) + 1;
    plan.phases = {{20'000, kA, ""}};
    const auto topology = job_topology(plan);
    const auto state = [&](const std::string& name) {
      std::uint16_t s = 0;
      while (topology->states[s].name != name) ++s;
      return StateId(s);
    };
    const auto job = changed(plan, [&](std::int64_t i, model::SliceColumn& c) {
      deny(c.evidence(LeafIndex(0)), in(i, 100, 115) ? 0.9 : 0.02);
      for (std::uint32_t r = 1; r < plan.ranks; ++r) c.open(LeafIndex(r)).state = state(others[r - 1]);
    });
    return watch(plan, job, topology).alerts.at(0).message;
  };
  EXPECT_THAT(message({"Compute"}), HasSubstr("; the other one goes on"));
  EXPECT_THAT(message({"MPI_Wait"}), HasSubstr("; the other one waits in MPI_Wait"));
  EXPECT_THAT(message({"Compute", "Compute"}), HasSubstr("; the other 2 go on"));
  EXPECT_THAT(message({"MPI_Wait", "MPI_Wait"}), HasSubstr("; the other 2 wait in MPI_Wait"));
  EXPECT_THAT(message({"MPI_Send", "MPI_Wait"}), HasSubstr("; 1 of the other 2 waits in MPI_"));
  EXPECT_THAT(message({"MPI_Send", "MPI_Wait", "MPI_Wait"}),
              HasSubstr("; 2 of the other 3 wait in MPI_Wait"));
}

// At the end of each slice they compute, and have waited for most of it.
TEST(Machine, OthersThatWaitMoreThanEverDoNotGoOn) {
  const auto message = [](double waited) {
    JobPlan plan;
    plan.ranks = 4;
    plan.phases = {{20'000, kA, ""}};
    const auto topology = job_topology(plan);
    StateId wait{0};
    while (topology->states[wait.value].name != "MPI_Wait") ++wait.value;
    const auto job = changed(plan, [&](std::int64_t i, model::SliceColumn& c) {
      deny(c.evidence(LeafIndex(0)), in(i, 100, 115) ? 0.9 : 0.02);
      for (std::uint32_t r = 1; r < plan.ranks; ++r) {
        c.open(LeafIndex(r)).state = kCompute;
        if (in(i, 100, 115)) spend(c, r, wait, waited);
      }
    });
    const auto told = watch(plan, job, topology).alerts;
    EXPECT_EQ(told.size(), 2u);
    // When the end is known they compute as ever, and it is still said how they waited.
    const auto clause = [](const alert::Alert& alert) {
      const std::size_t at = alert.message.find("; the other 3 ");
      return alert.message.substr(at, alert.message.find(" of the time, u", at) - at);
    };
    EXPECT_EQ(clause(told.at(1)).substr(0, 18), clause(told.at(0)).substr(0, 18));
    return told.at(0).message;
  };
  EXPECT_THAT(message(0), HasSubstr("; the other 3 go on"));
  EXPECT_THAT(message(0.1), HasSubstr("; the other 3 go on"));
  EXPECT_THAT(message(0.6),
              testing::ContainsRegex("; the other 3 wait for [67][0-9] % of the time, usually [1-3][0-9] %"));
}

TEST(Machine, WithoutAWordOfTheAgentNobodyIsNamed) {
  const Watched w = watch_denied([](std::int64_t i) { return in(i, 100, 115) ? 0.5 : 0.02; },
                                 [&](std::int64_t i, model::SliceColumn& c) {
                                   Taker elsewhere = taker(Taker::Kind::kOther, 4242, 92, "python3");
                                   elsewhere.leaf = LeafIndex(7);
                                   if (in(i, 101, 115)) c.add_taker(elsewhere);
                                 });
  ASSERT_EQ(w.alerts.size(), 2u);
  EXPECT_THAT(w.alerts[1].takers, IsEmpty());
  EXPECT_THAT(w.alerts[1].message, HasSubstr("without a CPU, for "));
}

// Ranks that share a core always take it from each other: it is not they that are new.
TEST(Machine, WhoIsNotOfTheJobIsToldBeforeRanks) {
  TakerLog log;
  Topology topology;
  for (std::int64_t i = 0; i < 200; ++i) {
    model::SliceColumn c(LevelIndex(0), SliceIndex(i), 8, 2);
    c.add_taker(taker(Taker::Kind::kRank, 77, 50, "lmp", 6));
    if (i % 2 == 0) c.add_taker(taker(Taker::Kind::kOther, 4242, 60, "python3"));
    c.add_taker(taker(Taker::Kind::kOther, 4243, 3, "little"));
    log.on_slice(c);
  }
  const auto takers = log.most({5}, SliceIndex(0), topology);
  ASSERT_EQ(takers.size(), 2u);
  EXPECT_EQ(takers[0].name, "python3");
  EXPECT_NEAR(takers[0].share, 0.3, 1e-9) << "of all the time that was looked at";
  EXPECT_EQ(takers[1].kind, "rank");
  EXPECT_THAT(log.most({5, 6}, SliceIndex(0), topology), testing::SizeIs(1)) << "both are not let";
  EXPECT_THAT(log.most({4}, SliceIndex(0), topology), IsEmpty());
  EXPECT_THAT(log.most({5}, SliceIndex(200), topology), IsEmpty());
}

}  // namespace machine_test
}  // namespace margay::detect::test
