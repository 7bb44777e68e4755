// Who departs from what is usual: one cause is one alert, the right leaves, and silence where nothing is
// wrong.
#include "departures.h"

#include <functional>
#include <random>

#include "watch_job.h"

namespace margay::detect::test {
namespace departures_test {

using alert::Kind;
using alert::Status;
using testing::HasSubstr;
using testing::IsEmpty;

// A job of 16 ranks on 4 hosts; `change` alters slices before they are shown.
struct Plan : JobPlan {
  Plan() {
    ranks = 16;
    evidence = false;
    phases = {{20'000, kA, ""}};
  }
};

Watched watch_changed(const JobPlan& plan, const Change& change) {
  return watch(plan, changed(plan, change));
}

std::vector<std::string> paths(std::vector<std::uint32_t> ranks) {
  std::vector<std::string> out;
  for (const auto r : ranks) out.push_back("/n" + std::to_string(r / 4) + "/rank" + std::to_string(r));
  return out;
}

void expect_one(const Watched& w, const std::vector<std::string>& who, std::int64_t begin, std::int64_t end) {
  const Plan plan;
  ASSERT_EQ(w.alerts.size(), 2u);
  EXPECT_EQ(w.alerts[0].kind, Kind::kPerturbation);
  EXPECT_EQ(w.alerts[0].status, Status::kFiring);
  EXPECT_EQ(w.alerts[1].status, Status::kResolved);
  EXPECT_EQ(w.alerts[0].id, w.alerts[1].id);
  EXPECT_EQ(w.alerts[1].resources, who);
  EXPECT_EQ(w.alerts[1].likely_cause, who);
  EXPECT_LE(std::abs((w.alerts[0].onset - job_time(plan, begin * 100)).value), plan.slice.value);
  EXPECT_LE((w.alerts[0].detected - job_time(plan, begin * 100)).value, 3 * plan.slice.value);
  ASSERT_TRUE(w.alerts[1].end);
  EXPECT_LE(std::abs((*w.alerts[1].end - job_time(plan, end * 100)).value), 2 * plan.slice.value);
}

TEST(Departures, ARankThatDoesOtherwiseIsNamed) {
  for (std::uint32_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(seed);
    Plan plan;
    plan.seed = seed;
    const Watched w = watch_changed(plan, [](std::int64_t i, model::SliceColumn& c) {
      if (i >= 100 && i < 115) spend(c, 6, StateId(4), 0.8);
    });
    expect_one(w, paths({6}), 100, 115);
    if (HasFailure()) return;
    EXPECT_THAT(w.alerts[1].message, HasSubstr("rank6 on n1: MPI_Recv takes"));
    for (const alert::Alert& a : w.alerts) {
      ASSERT_TRUE(a.false_alarms_per_day);
      EXPECT_LE(*a.false_alarms_per_day, job_options(plan).false_alarms_per_day);
      EXPECT_GE(*a.false_alarms_per_day, alert::kLeastFalseAlarms);
      // The same evidence, of a slice.
      const double slices_a_day = 86'400e9 / static_cast<double>(a.level.value);
      EXPECT_NEAR(a.p_value * slices_a_day, *a.false_alarms_per_day, 1e-6 * *a.false_alarms_per_day);
      ASSERT_FALSE(a.candidates.empty());
      EXPECT_EQ(a.candidates[0].name, "/n1/rank6");
      EXPECT_GT(a.candidates[0].probability, alert::kLikely);
      EXPECT_LT(a.candidates[0].probability, 1) << "others might wait for whom nobody sees";
    }
  }
}

TEST(Departures, WhoWaitsForAllIsACandidateButNotLikely) {
  const StateId allreduce(5);
  const Watched w = watch_changed(Plan(), [&](std::int64_t i, model::SliceColumn& c) {
    if (i >= 100 && i < 115) spend(c, 6, allreduce, 0.8);
  });
  ASSERT_EQ(w.alerts.size(), 2u);
  EXPECT_EQ(w.alerts[1].resources, paths({6}));
  ASSERT_FALSE(w.alerts[1].candidates.empty());
  EXPECT_EQ(w.alerts[1].candidates[0].name, "/n1/rank6");
  EXPECT_LT(w.alerts[1].candidates[0].probability, 0.2);
  EXPECT_THAT(w.alerts[1].likely_cause, IsEmpty());
}

TEST(Departures, WhoWorksIsTheCauseNotTheManyWhoWait) {
  Plan plan;
  const Watched w = watch_changed(plan, [](std::int64_t i, model::SliceColumn& c) {
    if (i < 100 || i >= 115) return;
    for (std::uint32_t r = 0; r < 16; ++r) spend(c, r, r / 4 == 2 ? kCompute : kJobWait, 0.9);
  });
  expect_one(w, paths({8, 9, 10, 11}), 100, 115);
  EXPECT_EQ(w.alerts[1].node, "/n2");
  // Its part of the partition is the node, from the onset to the end.
  const alert::Alert& over = w.alerts[1];
  EXPECT_EQ(over.area,
            (alert::Area{{"/n2"},
                         slice_of(over.onset, plan.slice),
                         static_cast<std::uint64_t>((*over.end - over.onset).value / plan.slice.value)}));
  EXPECT_EQ(w.alerts[0].area->first, over.area->first);
  EXPECT_LT(w.alerts[0].area->slices, over.area->slices) << "so far";
}

TEST(Departures, AShiftTooWeakForARankShowsOnItsHost) {
  Plan plan;
  plan.n_eff = 20;
  const auto shifted = [](std::set<std::uint32_t> ranks) {
    return [ranks](std::int64_t i, model::SliceColumn& c) {
      for (const std::uint32_t r : ranks)
        if (i >= 100 && i < 140) spend(c, r, StateId(5), 0.22);
    };
  };
  const Watched host = watch_changed(plan, shifted({4, 5, 6, 7}));
  ASSERT_EQ(host.alerts.size(), 2u);
  EXPECT_EQ(host.alerts[1].node, "/n1");
}

TEST(Departures, WhatHitsEveryoneAlikeIsNoPerturbation) {
  for (std::uint32_t seed = 1; seed <= 5; ++seed) {
    Plan plan;
    plan.seed = seed;
    plan.phases = {{5'000, kA, ""}, {3'050, kB, ""}, {4'020, kA, ""}, {3'030, kC, ""}, {5'000, kB, ""}};
    EXPECT_THAT(watch(plan).alerts, IsEmpty());
  }
}

TEST(Departures, WhoIsNotLetOnTheCpuIsNamedAndSoIsWhoIsThrottled) {
  for (const bool stopped : {false, true}) {
    Plan plan;
    plan.evidence = true;
    const Watched w = watch_changed(plan, [&](std::int64_t i, model::SliceColumn& c) {
      if (i < 100 || i >= 115) return;
      auto& e = c.evidence(LeafIndex(5));
      if (!stopped) return deny(e, 0.5);
      e.stopped_ns = e.sampled_ns / 2;
    });
    expect_one(w, paths({5}), 100, 115);
    if (HasFailure()) return;
    EXPECT_THAT(w.alerts[1].message, HasSubstr(stopped ? "% of the time stopped"
                                                       : "% of the time ready to run, but without a CPU"));
  }
}

TEST(Departures, WhatTheMachineDoesToAllIsNobodysDeparture) {
  Plan plan;
  plan.evidence = true;
  const Watched w = watch_changed(plan, [&](std::int64_t i, model::SliceColumn& c) {
    for (std::uint32_t r = 0; i >= 100 && i < 115 && r < 16; ++r) deny(c.evidence(LeafIndex(r)), 0.5);
  });
  EXPECT_THAT(w.alerts, IsEmpty());
}

// A job in which the ranks `writers` write: so many bytes in each slice, which storage takes that share of it
// for.
struct Writes {
  double blocked = 0.05;
  std::int64_t bytes = 1 << 20;
};
using Writing = std::function<Writes(std::int64_t slice, std::uint32_t rank, Writes usual)>;
Watched watch_writers(const std::set<std::uint32_t>& writers, const Writing& writing,
                      std::uint32_t seed = 1) {
  Plan plan;
  plan.evidence = true;
  plan.seed = seed;
  std::mt19937 random(seed);
  return watch_changed(plan, [&](std::int64_t i, model::SliceColumn& c) {
    for (const std::uint32_t r : writers) {
      // One write more or less, and what each takes differs.
      Writes w;
      w.bytes += static_cast<std::int64_t>(random() % 5 - 2) * (64 << 10);
      w.blocked += 0.01 * static_cast<double>(random() % 5) - 0.02;
      w = writing(i, r, w);
      auto& e = c.evidence(LeafIndex(r));
      e.blocked_ns = static_cast<std::int64_t>(w.blocked * static_cast<double>(e.sampled_ns));
      e.storage_bytes = w.bytes;
    }
  });
}

TEST(Departures, WhomStorageKeepsWaitingLongerForNoMoreBytesIsNamed) {
  for (std::uint32_t seed = 1; seed <= 5; ++seed) {
    const Watched w = watch_writers(
        {4, 5, 9},
        [](std::int64_t i, std::uint32_t r, Writes usual) {
          if (r == 5 && i >= 100 && i < 115) usual = {usual.blocked + 0.4, usual.bytes / 2};
          return usual;
        },
        seed);
    expect_one(w, paths({5}), 100, 115);
    if (HasFailure()) return;
    EXPECT_THAT(w.alerts[1].message, HasSubstr("% of the time waiting for storage"));
  }
}

TEST(Departures, WhatStorageTakesOfFewIsFoundInMoreSlices) {
  const Watched w = watch_writers({4, 5, 9}, [](std::int64_t i, std::uint32_t r, Writes usual) {
    if (r != 4 && i >= 100 && i < 130) usual = {usual.blocked + 0.14, usual.bytes * 3 / 4};
    return usual;
  });
  ASSERT_EQ(w.alerts.size(), 2u);
  EXPECT_EQ(w.alerts[1].likely_cause, paths({5, 9}));
  EXPECT_LE((w.alerts[0].detected - job_time(Plan(), 10'000)).value, 9 * Plan().slice.value);
}

TEST(Departures, StorageThatIsSlowAgainAndAgainIsToldEachTime) {
  const Watched w = watch_writers({4, 9}, [](std::int64_t i, std::uint32_t r, Writes usual) {
    if (r == 9 && i >= 60 && i % 35 < 12) usual = {usual.blocked + 0.3, usual.bytes / 2};
    return usual;
  });
  std::size_t told = 0;
  for (const auto& a : w.alerts) told += a.status == Status::kFiring;
  EXPECT_EQ(told, 4u);  // from 70, 105, 140, 175 on
}

// Who keeps the disk busy takes CPU time from others as well.
TEST(Departures, WhoWaitsForStorageIsBlamedBeforeWhoWaitsForTheCpuWithIt) {
  Plan plan;
  plan.evidence = true;
  const Watched w = watch_changed(plan, [&](std::int64_t i, model::SliceColumn& c) {
    const bool hog = i >= 100 && i < 120;
    auto& writer = c.evidence(LeafIndex(5));
    writer.storage_bytes = hog ? 1 << 19 : 1 << 20;
    writer.blocked_ns = (hog ? 3 : 1) * writer.sampled_ns / 10;
    deny(writer, hog ? 0.3 : 0.5);
    auto& beside = c.evidence(LeafIndex(6));
    deny(beside, hog ? 0.5 : 0.3);
  });
  ASSERT_FALSE(w.alerts.empty());
  EXPECT_EQ(w.alerts[0].likely_cause, paths({5}));
}

TEST(Departures, AWriteThatTakesLongNowAndThenIsNoSlowDisk) {
  for (std::uint32_t seed = 1; seed <= 5; ++seed)
    EXPECT_THAT(watch_writers(
                    {2, 3},
                    [](std::int64_t i, std::uint32_t r, Writes usual) {
                      // Across the end of a slice.
                      if (r == 2 && i >= 60 && i % 30 == 0) usual = {0.45, usual.bytes / 2};
                      if (r == 2 && i >= 60 && i % 30 == 1) usual = {0.45, usual.bytes / 2};
                      return usual;
                    },
                    seed)
                    .alerts,
                IsEmpty());
}

TEST(Departures, WhoHasMoreToWriteIsNotKeptWaiting) {
  for (std::uint32_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(seed);
    const auto quiet = [&](const std::set<std::uint32_t>& writers, const Writing& writing) {
      EXPECT_THAT(watch_writers(writers, writing, seed).alerts, IsEmpty());
    };
    const Writes checkpoint{0.7, 40 << 20};
    std::set<std::uint32_t> all;
    for (std::uint32_t r = 0; r < 16; ++r) all.insert(r);
    quiet(all,
          [&](std::int64_t i, std::uint32_t, Writes usual) { return i % 60 >= 50 ? checkpoint : usual; });
    // The same of one rank alone, which writes else a little, or nothing.
    quiet({0},
          [&](std::int64_t i, std::uint32_t, Writes usual) { return i % 60 >= 50 ? checkpoint : usual; });
    quiet({0}, [&](std::int64_t i, std::uint32_t, Writes) {
      return i % 60 >= 50 ? checkpoint : Writes{0, 0};
    });
    // And every other time for much longer.
    quiet({0}, [&](std::int64_t i, std::uint32_t, Writes usual) {
      if (i % 60 < 50) return usual;
      return i / 60 % 2 == 0 ? Writes{0.45, 40 << 20} : Writes{0.9, 20 << 20};
    });
    quiet({0}, [&](std::int64_t i, std::uint32_t, Writes) {
      if (i % 60 < 50) return Writes{0, 0};
      return i / 60 % 2 == 0 ? Writes{0.45, 40 << 20} : Writes{0.9, 20 << 20};
    });
    // One that always writes, now more and now less.
    quiet({3}, [&](std::int64_t i, std::uint32_t, Writes usual) {
      const std::int64_t times = 1 + i / 7 % 4;
      return Writes{usual.blocked * static_cast<double>(times), usual.bytes * times};
    });
    // What was written is then synced, and no more bytes are told.
    quiet({0, 1}, [&](std::int64_t i, std::uint32_t r, Writes usual) {
      return r == 1 || i % 60 < 50 ? usual : i % 60 < 53 ? Writes{0.1, 40 << 20} : Writes{0.9, 0};
    });
    // One of which no bytes are known, and that begins to be blocked: a device that is none of storage.
    quiet({3}, [&](std::int64_t i, std::uint32_t, Writes) { return Writes{i >= 100 ? 0.5 : 0, 0}; });
  }
}

TEST(Departures, WhatStorageDoesToAllIsNobodysDeparture) {
  std::set<std::uint32_t> all;
  for (std::uint32_t r = 0; r < 16; ++r) all.insert(r);
  const Watched w = watch_writers(all, [](std::int64_t i, std::uint32_t, Writes usual) {
    if (i >= 100 && i < 115) usual = {usual.blocked + 0.4, usual.bytes / 2};
    return usual;
  });
  EXPECT_THAT(w.alerts, IsEmpty());
}

// HPCC's Single tests: one rank works longer, and all others work less than they did.
TEST(Departures, ASectionInWhichAllWorkOtherwiseIsNoPerturbation) {
  Plan plan;
  plan.phases = {{40'000, kA, ""}};
  const Watched w = watch_changed(plan, [](std::int64_t i, model::SliceColumn& c) {
    for (std::uint32_t r = 0; r < 16; ++r) {
      if (i % 60 >= 45) spend(c, r, r == 0 ? kCompute : kJobWait, 0.9);
      c.visits(LeafIndex(r))[kCompute.value] = 20;
      c.longest_ns(LeafIndex(r))[kCompute.value] = c.duration_ns(LeafIndex(r))[kCompute.value] / 20;
    }
  });
  EXPECT_LE(w.alerts.size(), 2u) << "of six sections, one at most is told";
}

// House-keeping by the clock is the program's own, for however long it takes each time.
TEST(Departures, WhatComesBackByTheClockIsToldThreeTimes) {
  for (const std::int64_t lasts : {6, 20}) {
    SCOPED_TRACE(lasts);
    Plan plan;
    plan.phases = {{100'000, kA, ""}};
    const Watched w = watch_changed(plan, [&](std::int64_t i, model::SliceColumn& c) {
      if (i >= 100 && i % 80 < lasts) spend(c, 3, kJobWait, 0.6);
    });
    EXPECT_EQ(w.of(Kind::kPerturbation, Status::kFiring), 3u);
  }
}

TEST(Departures, WhatComesBackAtAnyTimeIsToldEachTime) {
  Plan plan;
  plan.phases = {{60'000, kA, ""}};
  const std::vector<std::int64_t> begins = {100, 160, 250, 290, 400, 510};
  const Watched w = watch_changed(plan, [&](std::int64_t i, model::SliceColumn& c) {
    for (const std::int64_t at : begins)
      if (i >= at && i < at + 12) spend(c, 3, kJobWait, 0.6);
  });
  EXPECT_EQ(w.of(Kind::kPerturbation, Status::kFiring), begins.size());
}

// Now and then something runs for an instant on a core of somebody, as it does on any machine.
TEST(Departures, WhatIsBriefAndCostsLittleIsLearned) {
  std::size_t told = 0;
  for (std::uint32_t seed = 1; seed <= 5; ++seed) {
    Plan plan;
    plan.seed = seed;
    plan.phases = {{100'000, kA, ""}};
    std::mt19937 random(seed);
    std::map<std::int64_t, std::uint32_t> runs;
    for (std::int64_t i = 60; i < 1000; i += 20 + static_cast<std::int64_t>(random() % 40))
      runs[i] = static_cast<std::uint32_t>(random() % 16);
    told += watch_changed(plan, [&](std::int64_t i, model::SliceColumn& c) {
              if (runs.contains(i)) spend(c, runs[i], kJobWait, 0.4);
            }).of(Kind::kPerturbation, Status::kFiring);
  }
  EXPECT_LE(told, 10u) << "of more than 100 times";
}

TEST(Departures, TheKnobTurnsItOff) {
  Plan plan;
  auto job = make_job(plan);
  for (std::size_t i = 100; i < 115; ++i) spend(job[i], 6, kJobWait, 0.8);
  DetectorOptions o = job_options(plan);
  o.false_alarms_per_day = 0;
  Detector d(o);
  d.set_topology(job_topology(plan));
  for (const auto& c : job) EXPECT_THAT(d.on_slice(c, slice_end(c.index, plan.slice)), IsEmpty());
}

TEST(Departures, RanksThatJoinWhileOthersDepartKeepTheirNumbers) {
  Plan plan;
  plan.join_ms = std::vector<std::int64_t>(16, 0);
  plan.join_ms[15] = 10'500;
  const Watched w = watch_changed(plan, [](std::int64_t i, model::SliceColumn& c) {
    if (i >= 100 && i < 120) spend(c, 3, kJobWait, 0.8);
  });
  expect_one(w, paths({3}), 100, 120);
}

// An alert that lasts is no reason to be blind for what else happens.
TEST(Departures, WhatLastsIsTakenForUsualAndWhatComesOnTopOfItIsTold) {
  for (std::uint32_t seed = 1; seed <= 3; ++seed) {
    Plan plan;
    plan.seed = seed;
    plan.phases = {{90'000, kA, ""}};
    const Watched w = watch_changed(plan, [](std::int64_t i, model::SliceColumn& c) {
      if (i >= 100 && i < 870) spend(c, 3, kJobWait, 0.6);
      if (i >= 810 && i < 830) spend(c, 9, kJobWait, 0.6);
    });
    ASSERT_EQ(w.alerts.size(), 4u) << "seed " << seed;
    EXPECT_EQ(w.alerts[0].resources, paths({3}));
    EXPECT_EQ(w.alerts[1].resources, paths({9}));
    EXPECT_EQ(w.alerts[2].id, w.alerts[1].id);
    EXPECT_EQ(w.alerts[3].id, w.alerts[0].id);
    EXPECT_EQ(w.alerts[3].status, Status::kResolved);
    EXPECT_THAT(w.alerts[3].message, HasSubstr("counts as usual"));
    EXPECT_LE(std::abs((w.alerts[1].onset - job_time(plan, 81'000)).value), plan.slice.value);
    EXPECT_LE(std::abs((*w.alerts[2].end - job_time(plan, 83'000)).value), 2 * plan.slice.value);
    EXPECT_LE(std::abs((*w.alerts[3].end - job_time(plan, 87'000)).value), 2 * plan.slice.value);
  }
}

// One that no longer waits is blamed by those who wait for it: it is over when these are back.
TEST(Departures, WhatLastsIsOverWhenThoseThatWaitForItNoLongerDo) {
  for (std::uint32_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE(seed);
    Plan plan;
    plan.seed = seed, plan.n_eff = 200;
    plan.phases = {{100'000, kA, ""}};
    const Watched w = watch_changed(plan, [](std::int64_t i, model::SliceColumn& c) {
      if (i < 100 || i >= 870) return;
      spend(c, 5, kJobWait, 0.5), spend(c, 7, kJobWait, 0.5);
      spend(c, 6, kCompute, 0.95);
      c.visits(LeafIndex(6))[kCompute.value] = 20;  // of the usual length
    });
    ASSERT_EQ(w.alerts.size(), 2u);
    EXPECT_EQ(w.alerts[1].resources, paths({6}));
    EXPECT_EQ(w.alerts[1].status, Status::kResolved);
    EXPECT_LE(std::abs((*w.alerts[1].end - job_time(plan, 87'000)).value), 2 * plan.slice.value);
  }
}

TEST(Departures, WhatLastsDoesNotEndThePhases) {
  Plan plan;
  plan.phases = {{75'000, kA, ""}, {6'000, kB, ""}, {6'000, kA, ""}, {6'000, kB, ""}};
  const Watched w = watch_changed(plan, [](std::int64_t i, model::SliceColumn& c) {
    if (i >= 100) spend(c, 3, kJobWait, 0.6);
  });
  EXPECT_EQ(w.of(Kind::kPerturbation, Status::kFiring), 1u);
  ASSERT_GE(w.spans.size(), 4u);
  EXPECT_EQ(w.spans[w.spans.size() - 1].name, w.spans[w.spans.size() - 3].name);
  EXPECT_NE(w.spans[w.spans.size() - 1].name, w.spans[w.spans.size() - 2].name);
}

TEST(Departures, WhatLastsIsOverWhenItsRanksHaveGone) {
  Plan plan;
  plan.phases = {{90'000, kA, ""}};
  const Watched w = watch_changed(plan, [](std::int64_t i, model::SliceColumn& c) {
    if (i >= 100 && i < 800) spend(c, 3, kJobWait, 0.6);
    if (i < 800) return;
    auto row = c.duration_ns(LeafIndex(3));
    std::fill(row.begin(), row.end(), 0);
    row[kAbsent.value] = 100'000'000;
  });
  ASSERT_EQ(w.alerts.size(), 2u);
  EXPECT_LE(std::abs((*w.alerts[1].end - job_time(plan, 80'000)).value), 2 * plan.slice.value);
}

TEST(StateKind, ByFamilyAndWhereThereIsNoneByName) {
  using F = model::StateFamily;
  EXPECT_TRUE(is_work({"Compute", F::kCompute}));
  EXPECT_TRUE(is_work({"read", F::kIo}));
  EXPECT_FALSE(is_work({"MPI_Wait", F::kWait}));
  EXPECT_FALSE(is_work({"MPI_Send", F::kPointToPoint}));
  for (const char* name : {"compute", "computing", "render", "write", "task 7", "clock_gettime"})
    EXPECT_TRUE(is_work({name, F::kOther})) << name;
  for (const char* name : {"PMPI_Allreduce", "mpi_recv", "Wait for lock", "IDLE", "barrier", "lock",
                           "pthread_mutex_lock", "BlockedOnIo"})
    EXPECT_FALSE(is_work({name, F::kOther})) << name;
  EXPECT_TRUE(is_collective({"MPI_Barrier", F::kCollective}));
  EXPECT_FALSE(is_collective({"MPI_Reduce", F::kPointToPoint}));
  for (const char* name : {"PMPI_Allreduce", "mpi_bcast", "Barrier"})
    EXPECT_TRUE(is_collective({name, F::kOther})) << name;
  for (const char* name : {"compute", "MPI_Wait", "mpi_recv"})
    EXPECT_FALSE(is_collective({name, F::kOther})) << name;
  EXPECT_TRUE(waits_for_several({"MPI_Barrier", F::kCollective}));
  EXPECT_TRUE(waits_for_several({"MPI_Waitall", F::kWait}));
  EXPECT_FALSE(waits_for_several({"MPI_Wait", F::kWait}));
  EXPECT_FALSE(waits_for_several({"MPI_Sendrecv", F::kPointToPoint}));
}

}  // namespace departures_test
}  // namespace margay::detect::test
