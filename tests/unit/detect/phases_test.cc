// Phases of made-up jobs: names, edges, labels, and none where there is only noise.
#include <cmath>
#include <cstdio>

#include "watch_job.h"

namespace margay::detect::test {
namespace phases_test {

TEST(Phases, AbacaIsRecognisedAndItsEdgesAreWithinASlice) {
  double worst = 0, sum = 0;
  std::size_t edges = 0;
  for (const std::int64_t ms : {2'030, 4'570, 10'010, 20'050})
    for (std::uint32_t seed = 1; seed <= (ms < 5'000 ? 8u : 2u); ++seed) {
      SCOPED_TRACE(testing::Message() << "phases of " << ms << " ms, seed " << seed);
      JobPlan plan;
      plan.seed = seed;
      plan.n_eff = 40;
      plan.phases = {{ms, kA, ""}, {ms, kB, ""}, {ms, kA, ""}, {ms, kC, ""}, {ms, kA, ""}};
      const Watched w = watch(plan);
      EXPECT_EQ(w.names(), "A-B-A-C-A");
      EXPECT_TRUE(w.alerts.empty()) << w.alerts[0].message;
      if (w.spans.size() != 5) continue;
      EXPECT_EQ(w.spans[4].occurrence, 3u);
      EXPECT_EQ(w.spans[3].occurrence, 1u);
      for (std::size_t i = 1; i < 5; ++i) EXPECT_EQ(w.spans[i].begin, w.spans[i - 1].end);
      for (const double e : edge_errors(plan, w)) {
        worst = std::max(worst, e);
        sum += e;
        ++edges;
        EXPECT_LE(e, 100.0);
      }
    }
  std::printf("edges: %zu, mean error %.1f ms, worst %.1f ms\n", edges, sum / static_cast<double>(edges),
              worst);
}

// The quick bound decides as the distance would: it is never below it.
TEST(Distribution, TheBoundIsNotBelowTheDistanceAndNearItWhereBothAreSmall) {
  JobPlan plan;
  plan.ranks = 5;
  plan.ranks_per_host = 5;
  plan.n_eff = 3;
  plan.phases = {
      {4'000, kA, ""}, {4'000, kB, ""}, {2'000, {1, 0, 0, 0, 0}, ""}, {2'000, {0, 0, 0, 1, 0}, ""}};
  plan.leave_ms = {0, 6'000, 0, 0, 0};
  WindowOptions options;
  options.slice = plan.slice;
  Window window(options);
  window.set_topology(job_topology(plan));
  for (const auto& c : make_job(plan)) ASSERT_TRUE(window.push(c));
  std::size_t pairs = 0, apart = 0;
  for (SliceIndex i = window.first(); i <= window.last(); i = i + 3)
    for (SliceIndex j = window.first(); j <= window.last(); ++j) {
      Distribution a, b;
      a.add(window, i);
      a.add(window, std::min(i + 1, window.last()));
      b.add(window, j);
      const double distance = distance_bits(a, b), bound = distance_bound_bits(a, b);
      ASSERT_GE(bound, distance) << i.value << " and " << j.value;
      ASSERT_LE(bound, 2 * distance * std::log(2.0) + 1e-9)
          << "JS is at least a quarter of the discrimination, in nats";
      ++pairs;
      apart += distance > 0.5 ? 1 : 0;
    }
  EXPECT_GT(pairs, 1000u);
  EXPECT_GT(apart, 100u) << "both near and far pairs were compared";
}

TEST(Phases, NearPhasesAreToldApart) {
  // 0.05 bits of Jensen-Shannon divergence and a little more, with little noise and with much.
  const Shares a = {0.60, 0.15, 0.15, 0.05, 0.05};
  for (const double n_eff : {0.0, 200.0, 30.0})
    for (std::uint32_t seed = 1; seed <= 5; ++seed) {
      SCOPED_TRACE(testing::Message() << "n_eff " << n_eff << " seed " << seed);
      JobPlan plan;
      plan.seed = seed;
      plan.n_eff = n_eff;
      const Shares b = {0.34, 0.28, 0.28, 0.05, 0.05};  // 0.050 bits from a
      plan.phases = {{10'000, a, ""}, {10'000, b, ""}, {10'000, a, ""}};
      EXPECT_EQ(watch(plan).names(), "A-B-A");
    }
}

TEST(Phases, AJobThatAlternatesHasTwoPhases) {
  JobPlan plan;
  for (int i = 0; i < 12; ++i) plan.phases.push_back({1'500 + 70 * (i % 3), i % 2 == 0 ? kA : kB, ""});
  const Watched w = watch(plan);
  EXPECT_EQ(w.names(), "A-B-A-B-A-B-A-B-A-B-A-B");
  EXPECT_EQ(w.spans.back().occurrence, 6u);
}

// Two phases that alternate too quickly to be told are one; once each of them lasts, they are told.
TEST(Phases, AStretchThatWasAMixtureDoesNotHideWhatFollows) {
  const Shares f = {0.80, 0.06, 0.06, 0.04, 0.04}, d = {0.42, 0.25, 0.25, 0.04, 0.04};  // 0.13 bits apart
  for (std::uint32_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    JobPlan plan;
    plan.seed = seed;
    for (int i = 0; i < 24; ++i) plan.phases.push_back({300, i % 2 == 0 ? f : d, ""});
    for (int i = 0; i < 10; ++i) plan.phases.push_back({2'000, i % 2 == 0 ? f : d, ""});
    const Watched w = watch(plan);
    ASSERT_GE(w.spans.size(), 8u) << w.names();
    // The last ones are told in turn.
    std::string last;
    for (std::size_t i = w.spans.size() - 6; i < w.spans.size(); ++i) last += w.spans[i].name;
    const std::string two = last.substr(0, 2);
    EXPECT_NE(two[0], two[1]);
    EXPECT_EQ(last, two + two + two) << w.names();
  }
}

// Ranks settle into a phase for a second: that is its begin, and no phase of its own.
TEST(Phases, ARegimeAtTheBeginOfAPhaseIsPartOfIt) {
  const Shares regime = {0.20, 0.20, 0.10, 0.45, 0.05};  // 0.06 bits from kC, 0.25 from kA
  for (const std::int64_t ms : {600, 900, 1'300})
    for (const bool first : {true, false}) {
      SCOPED_TRACE(testing::Message() << ms << " ms, " << (first ? "its begin" : "its end"));
      JobPlan plan;
      plan.phases = {{4'000, kA, ""}, {3'000, kB, ""}, {4'000, kA, ""}};
      if (first) plan.phases.push_back({ms, regime, ""});
      plan.phases.push_back({3'000, kC, ""});
      if (!first) plan.phases.push_back({ms, regime, ""});
      plan.phases.push_back({4'000, kA, ""});
      const Watched w = watch(plan);
      EXPECT_EQ(w.names(), "A-B-A-C-A");
      if (w.spans.size() != 5) continue;
      EXPECT_NEAR(static_cast<double>((w.spans[3].begin - job_time(plan, 11'000)).value) * 1e-6, 0, 100);
      EXPECT_NEAR(static_cast<double>((w.spans[4].begin - job_time(plan, 14'000 + ms)).value) * 1e-6, 0, 100);
    }
}

// Who shares a core with whom decides who waits for whom: ranks that go on doing the same are in the same
// phase.
TEST(Phases, TheSameCallsAreTheSamePhaseHoweverTheMachineDividesTheTime) {
  const Shares one = {0.55, 0.10, 0.10, 0.20, 0.05},
               other = {0.30, 0.10, 0.10, 0.45, 0.05};  // 0.06 bits apart
  const Shares calls = {0.4, 0.1, 0.1, 0.2, 0.2}, others = {0.4, 0.2, 0.2, 0.1, 0.1};
  for (std::uint32_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    JobPlan plan;
    plan.seed = seed;
    plan.n_eff = 200;
    for (int i = 0; i < 4; ++i) plan.phases.push_back({3'000, i % 2 == 0 ? one : other, "", calls});
    EXPECT_EQ(watch(plan).names(), "A");
    // The same shares of time, and other calls.
    for (int i = 1; i < 4; i += 2) plan.phases[static_cast<std::size_t>(i)].visits = others;
    EXPECT_EQ(watch(plan).names(), "A-B-A-B");
    // What is so far apart is another phase whatever it calls.
    for (JobPhase& p : plan.phases) p.visits = calls;
    for (int i = 1; i < 4; i += 2)
      plan.phases[static_cast<std::size_t>(i)].shares = {0.02, 0.02, 0.02, 0.92, 0.02};
    EXPECT_EQ(watch(plan).names(), "A-B-A-B");
  }
}

TEST(Distribution, SameVisitsIsSaidOfEnoughOnly) {
  const auto of = [](std::vector<double> visits) {
    const std::size_t columns = visits.size();
    return Distribution(columns, std::vector<double>(columns, 1.0 / static_cast<double>(columns)), {1}, 1,
                        std::move(visits));
  };
  EXPECT_TRUE(same_visits(of({500, 300, 200}), of({50'000, 30'000, 20'000, 0})));
  EXPECT_TRUE(same_visits(of({50, 30, 20}), of({44, 36, 20}))) << "chance";
  EXPECT_FALSE(same_visits(of({500, 300, 200}), of({500, 200, 300, 100})));
  EXPECT_FALSE(same_visits(of({5, 3, 2}), of({500, 300, 200}))) << "too few to tell";
  EXPECT_FALSE(same_visits(of({0, 0, 0}), of({0, 0, 0})));
  EXPECT_FALSE(same_visits(Distribution(), of({500, 300, 200})));
}

TEST(Phases, AShortBeginningIsInit) {
  JobPlan plan;
  plan.phases = {{330, kC, ""}, {5'000, kA, ""}, {5'000, kB, ""}, {5'000, kA, ""}};
  const Watched w = watch(plan);
  EXPECT_EQ(w.names(), "init-A-B-A");
  for (const double e : edge_errors(plan, w)) EXPECT_LE(e, 100.0);
}

TEST(Phases, ShortTransitionsBelongToTheirNeighbours) {
  for (const std::int64_t ms : {100, 200, 330, 400}) {
    SCOPED_TRACE(ms);
    JobPlan plan;
    plan.phases = {{4'000, kA, ""}, {ms, kC, ""}, {4'000, kB, ""}, {ms, kC, ""}, {4'000, kA, ""}};
    const Watched w = watch(plan);
    EXPECT_EQ(w.names(), "A-B-A");
    if (w.spans.size() != 3) continue;
    EXPECT_GE(w.spans[1].begin, job_time(plan, 3'900));
    EXPECT_LE(w.spans[1].begin, job_time(plan, 4'100 + ms));
  }
}

// A rank is stopped while the job goes from one phase to the next.
TEST(Phases, AnEdgeThatAPerturbationLiesOverIsWhereTheOthersChange) {
  for (const auto& [before, after] : {std::pair(1'000, 100), std::pair(600, 600), std::pair(100, 1'500)})
    for (std::uint32_t seed = 1; seed <= 4; ++seed) {
      SCOPED_TRACE(testing::Message() << before << " ms before, " << after << " after, seed " << seed);
      JobPlan plan;
      plan.seed = seed;
      plan.n_eff = 40;
      plan.phases = {{4'000, kA, ""}, {3'000, kB, ""}, {4'000, kA, ""}, {3'000, kC, ""}, {4'000, kA, ""}};
      const std::int64_t edge = (job_time(plan, 14'000) - job_time(plan, 0)).value / plan.slice.value;
      const Watched w = watch(plan, changed(plan, [&](std::int64_t slice, model::SliceColumn& c) {
                                if (slice >= edge - before / 100 && slice < edge + after / 100)
                                  spend(c, 2, kJobWait, 1);
                              }));
      EXPECT_FALSE(w.alerts.empty());
      EXPECT_EQ(w.names(), "A-B-A-C-A");
      for (const double e : edge_errors(plan, w)) EXPECT_LE(e, 150.0);
    }
}

// One rank is slow for ten seconds and longer, which the job does not wait for: its phases go on.
TEST(Phases, AreToldWhileAPerturbationLasts) {
  for (const auto& [begin, end] :
       {std::pair(30, 170), std::pair(30, 130), std::pair(20, 60), std::pair(5, 175)})
    for (std::uint32_t seed = 1; seed <= 3; ++seed) {
      SCOPED_TRACE(testing::Message() << begin << " to " << end << ", seed " << seed);
      JobPlan plan;
      plan.seed = seed;
      plan.n_eff = 40;
      plan.phases = {{4'000, kA, ""}, {3'000, kB, ""}, {4'000, kA, ""}, {3'000, kC, ""}, {4'000, kA, ""}};
      const Watched w = watch(plan, changed(plan, [&](std::int64_t slice, model::SliceColumn& c) {
                                if (slice >= begin && slice < end) spend(c, 2, kJobWait, 1);
                              }));
      EXPECT_FALSE(w.alerts.empty());
      EXPECT_EQ(w.names(), "A-B-A-C-A");
      for (const double e : edge_errors(plan, w)) EXPECT_LE(e, 150.0);
    }
}

// While a perturbation lasts, what was not whole stays out of it.
TEST(Phases, SlicesWithLossesBoundNoneWhateverLasts) {
  JobPlan plan;
  plan.n_eff = 40;
  plan.phases = {{3'500, kA, ""}, {1'000, kC, ""}, {7'500, kA, ""}};
  for (const bool lost : {false, true}) {
    const Watched w = watch(plan, changed(plan, [&](std::int64_t slice, model::SliceColumn& c) {
                              if (slice >= 20 && slice < 100) spend(c, 2, kJobWait, 1);
                              if (slice >= 35 && slice < 45 && lost) c.lost_events = 1;
                            }));
    EXPECT_EQ(w.names(), lost ? "A" : "A-B-A");
  }
}

// All wait for a slow rank: they go on doing the same, and so it is the same phase.
TEST(Phases, APerturbationThatLastsIsNoPhase) {
  for (std::uint32_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    JobPlan plan;
    plan.seed = seed;
    plan.n_eff = 40;
    plan.phases = {{20'000, kA, ""}, {4'000, kB, ""}, {4'000, kA, ""}};
    const Watched w = watch(plan, changed(plan, [&](std::int64_t slice, model::SliceColumn& c) {
                              if (slice < 50 || slice >= 150) return;
                              for (std::uint32_t r = 0; r < 8; ++r)
                                spend(c, r, r == 2 ? kCompute : kJobWait, 0.7);
                            }));
    EXPECT_FALSE(w.alerts.empty());
    EXPECT_EQ(w.names(), "A-B-A");
  }
}

TEST(Phases, ASingleOddSliceIsNoPhase) {
  for (const std::int64_t ms : {60, 100, 200, 300}) {
    SCOPED_TRACE(ms);
    JobPlan plan;
    plan.phases = {{5'000, kA, ""},
                   {ms, {0, 0, 0, 0, 1}, ""},
                   {5'000, kA, ""},
                   {ms, {0, 0, 1, 0, 0}, ""},
                   {3'000, kA, ""}};
    EXPECT_EQ(watch(plan).names(), "A");
  }
}

TEST(Phases, LabelsComeFromTheProgramsRegions) {
  JobPlan plan;
  plan.phases = {{3'000, kA, "assemble"}, {3'000, kB, "solve"}, {3'000, kA, "assemble"}, {3'000, kC, ""}};
  const Watched w = watch(plan);
  ASSERT_EQ(w.names(), "A-B-A-C");
  EXPECT_EQ(w.spans[0].label, "assemble");
  EXPECT_EQ(w.spans[1].label, "solve");
  EXPECT_EQ(w.spans[2].label, "assemble");
  EXPECT_EQ(w.spans[3].label, "");
}

// The sanitizers make these runs up to twenty times as long: there they are about memory and threads, not
// statistics.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::uint32_t kQuietRuns = 2;
#else
constexpr std::uint32_t kQuietRuns = 10;
#endif

TEST(Phases, QuietNoisyRunsHaveOnePhaseAndNoAlert) {
  const struct {
    const char* name;
    double n_eff, common, own;
  } kinds[] = {{"n_eff 4", 4, 0, 0},
               {"common 30 %", 20, 0.3, 0},
               {"own 30 %", 20, 0, 0.3},
               {"both 30 %", 8, 0.3, 0.3}};
  for (const auto& kind : kinds) {
    std::size_t spurious = 0, noisy = 0, phases = 0;
    for (std::uint32_t seed = 1; seed <= kQuietRuns; ++seed) {
      JobPlan plan;
      plan.ranks = 4;
      plan.seed = seed;
      plan.n_eff = kind.n_eff;
      plan.common_noise = kind.common;
      plan.own_noise = kind.own;
      plan.phases = {{60'000, kA, ""}};
      const Watched w = watch(plan);
      EXPECT_TRUE(w.alerts.empty()) << kind.name << ", seed " << seed << ": "
                                    << (w.alerts.empty() ? "" : w.alerts[0].message);
      spurious += w.spans.size() - 1;
      noisy += w.spans.size() > 1 ? 1 : 0;
      phases = std::max(phases, w.spans.size());
    }
    std::printf("%-12s: %u runs of 600 slices, %zu spurious spans in %zu runs\n", kind.name, kQuietRuns,
                spurious, noisy);
    EXPECT_LE(spurious, 1u) << kind.name;
  }
}

TEST(Phases, NoisyPhasesAreStillFound) {
  std::size_t right = 0;
  for (std::uint32_t seed = 1; seed <= 8; ++seed) {
    JobPlan plan;
    plan.seed = seed;
    plan.n_eff = 8;
    plan.common_noise = plan.own_noise = 0.3;
    plan.phases = {{8'000, kA, ""}, {8'000, kB, ""}, {8'000, kA, ""}, {8'000, kC, ""}, {8'000, kA, ""}};
    const Watched w = watch(plan);
    right += w.names() == "A-B-A-C-A" ? 1 : 0;
    if (w.names() != "A-B-A-C-A") std::printf("seed %u: %s\n", seed, w.names().c_str());
  }
  std::printf("noisy A-B-A-C-A: %zu of 8 right\n", right);
  EXPECT_GE(right, 7u);
}

TEST(Phases, NamesGoOnAfterZ) {
  EXPECT_EQ(PhaseTracker::name_of(0), "A");
  EXPECT_EQ(PhaseTracker::name_of(25), "Z");
  EXPECT_EQ(PhaseTracker::name_of(26), "AA");
  EXPECT_EQ(PhaseTracker::name_of(27), "AB");
  EXPECT_EQ(PhaseTracker::name_of(26 * 27), "AAA");
}

TEST(Phases, KnownSignaturesAreBounded) {
  JobPlan plan;
  plan.ranks = 2;
  plan.n_eff = 0;
  for (int i = 0; i < 12; ++i) {
    Shares s(5, 0.0);
    s[static_cast<std::size_t>(i % 5)] = 1 - 0.08 * i;
    s[static_cast<std::size_t>((i + 1 + i / 5) % 5)] += 0.08 * i;
    plan.phases.push_back({1'000, s, ""});
  }
  DetectorOptions o = job_options(plan);
  o.phases.most_phases = 4;
  o.phases.most_spans = 6;
  Detector d(o);
  d.set_topology(job_topology(plan));
  std::set<std::string> names;
  for (const auto& c : make_job(plan)) {
    d.on_slice(c, slice_end(c.index, plan.slice));
    EXPECT_LE(d.phases().spans().size(), 6u);
    if (d.phases().known()) names.insert(d.phases().spans().back().name);
  }
  EXPECT_LE(names.size(), 5u);
}

}  // namespace phases_test
}  // namespace margay::detect::test
