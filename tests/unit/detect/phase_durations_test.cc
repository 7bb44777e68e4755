// How long phases last: statistics, alerts of unusual durations, forecasts and how often they hold.
#include <cmath>
#include <cstdio>

#include "watch_job.h"

namespace margay::detect::test {
namespace phase_durations_test {

JobPlan small_plan(std::uint32_t seed = 1) {
  JobPlan plan;
  plan.ranks = 4;
  plan.seed = seed;
  return plan;
}

// A-B-A-B with durations that vary by `deviation` (of the logarithm), in turns `a_ms` and `b_ms`.
JobPlan alternating(std::uint32_t seed, int cycles, double deviation, double a_ms = 3'000,
                    double b_ms = 4'000) {
  JobPlan plan = small_plan(seed);
  std::mt19937 random(seed * 7919);
  std::normal_distribution<double> normal(0, deviation);
  for (int i = 0; i < 2 * cycles; ++i) {
    const double ms = (i % 2 == 0 ? a_ms : b_ms) * std::exp(normal(random));
    plan.phases.push_back({std::llround(ms), i % 2 == 0 ? kA : kB, ""});
  }
  return plan;
}

std::vector<alert::Alert> of_kind(const Watched& w, alert::Kind kind) {
  std::vector<alert::Alert> out;
  for (const auto& a : w.alerts)
    if (a.kind == kind) out.push_back(a);
  return out;
}

std::int64_t begin_ms(const JobPlan& plan, std::size_t phase) {
  std::int64_t at = 0;
  for (std::size_t i = 0; i < phase; ++i) at += plan.phases[i].ms;
  return at;
}

double off_ms(TimeNs a, TimeNs b) {
  return std::abs(static_cast<double>((a - b).value)) * 1e-6;
}

TEST(PhaseDurations, AJobThatAlternatesRaisesNothing) {
  double worst = 0;
  for (std::uint32_t seed = 1; seed <= 6; ++seed)
    for (const double deviation : {0.0, 0.1, 0.3}) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << " deviation " << deviation);
      const JobPlan plan = alternating(seed, 20, deviation);
      const Watched w = watch(plan);
      std::set<std::string> names;
      for (const PhaseSpan& s : w.spans) names.insert(s.name);
      EXPECT_EQ(names, (std::set<std::string>{"A", "B"}));
      EXPECT_TRUE(w.alerts.empty()) << w.alerts[0].message;
      ASSERT_EQ(w.durations.size(), 2u);
      EXPECT_GE(w.durations.at("A").times, 19u);
      EXPECT_GE(w.durations.at("B").times, 19u - 1);
      // The median of the newest 16 that are over, as they were made.
      std::vector<double> truth;
      for (std::size_t i = plan.phases.size() - 2 - 32; i < plan.phases.size() - 2; i += 2)
        truth.push_back(static_cast<double>(plan.phases[i].ms));
      std::sort(truth.begin(), truth.end());
      const double median = (truth[7] + truth[8]) / 2;
      const double usual = static_cast<double>(w.durations.at("A").usual.value) * 1e-6;
      worst = std::max(worst, std::abs(usual / median - 1));
      EXPECT_NEAR(usual / median, 1, 0.12);
    }
  std::printf("usual durations off by at most %.1f %%\n", 100 * worst);
}

TEST(PhaseDurations, AnOverrunIsOneAlertWhileItLasts) {
  for (std::uint32_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(seed);
    JobPlan plan = alternating(seed, 10, 0.05);
    plan.phases[15].ms = 16'000;  // B, the eighth time: four times the usual
    const Watched w = watch(plan);
    const auto alerts = of_kind(w, alert::Kind::kPhaseDuration);
    ASSERT_EQ(alerts.size(), 2u);
    EXPECT_EQ(w.alerts.size(), 2u);
    const alert::Alert &fired = alerts[0], &resolved = alerts[1];
    EXPECT_EQ(fired.status, alert::Status::kFiring);
    EXPECT_EQ(resolved.status, alert::Status::kResolved);
    EXPECT_EQ(fired.id, resolved.id);
    EXPECT_EQ(fired.phase, "B");
    EXPECT_EQ(fired.node, "/");
    EXPECT_TRUE(fired.likely_cause.empty());
    EXPECT_LT(fired.p_value, 1e-3);
    const TimeNs begin = job_time(plan, begin_ms(plan, 15));
    // The usual four seconds, and at least half of it again; said as soon as a boundary would have been seen.
    EXPECT_LE(off_ms(fired.onset, begin + seconds(4)), 500.0);
    EXPECT_GE(fired.detected, begin + seconds(6));
    EXPECT_LE(fired.detected, begin + seconds(10));
    ASSERT_TRUE(fired.duration && resolved.duration);
    EXPECT_LE(std::abs(static_cast<double>(fired.duration->usual.value) * 1e-9 - 4), 0.5);
    EXPECT_GE(fired.duration->limit, milliseconds(5'400));
    EXPECT_EQ(fired.duration->times, 7u);
    EXPECT_LE(off_ms(*resolved.end, begin + seconds(16)), 150.0);
    EXPECT_NEAR(static_cast<double>(resolved.duration->lasted.value) * 1e-9, 16, 0.3);
    EXPECT_NE(fired.message.find("phase B has lasted"), std::string::npos) << fired.message;
    EXPECT_NE(resolved.message.find("phase B lasted 1"), std::string::npos) << resolved.message;
  }
}

TEST(PhaseDurations, AnOverrunThatTheRunEndsInIsResolvedByIt) {
  JobPlan plan = alternating(3, 8, 0.05);
  plan.phases.back().ms = 20'000;
  const Watched w = watch(plan);
  const auto alerts = of_kind(w, alert::Kind::kPhaseDuration);
  ASSERT_EQ(alerts.size(), 2u);
  EXPECT_EQ(alerts[1].status, alert::Status::kResolved);
  EXPECT_LE(off_ms(*alerts[1].end, job_time(plan, begin_ms(plan, plan.phases.size()))), 101.0);
}

TEST(PhaseDurations, TheKnobSwitchesItOff) {
  JobPlan plan = alternating(1, 10, 0.05);
  plan.phases[15].ms = 16'000;
  Detector d([&] {
    DetectorOptions o = job_options(plan);
    o.false_alarms_per_day = 0;
    return o;
  }());
  d.set_topology(job_topology(plan));
  bool overdue = false;
  for (const auto& c : make_job(plan)) {
    EXPECT_TRUE(d.on_slice(c, slice_end(c.index, plan.slice)).empty());
    overdue = overdue || (d.durations().forecast() && d.durations().forecast()->overdue);
  }
  EXPECT_TRUE(overdue) << "it is known all the same";
}

TEST(PhaseDurations, FewTimesSayNothing) {
  JobPlan plan = small_plan();
  for (int i = 0; i < 6; ++i) plan.phases.push_back({3'000, i % 2 == 0 ? kA : kB, ""});
  plan.phases.push_back({30'000, kA, ""});  // the fourth time
  EXPECT_TRUE(watch(plan).alerts.empty());
}

// A stop, a loss or slow ranks are told as such, and what they prolong is not told again.
TEST(PhaseDurations, WhatAnotherAlertExplainsIsNotTold) {
  for (const auto kind : {JobFault::kStop, JobFault::kLoss}) {
    SCOPED_TRACE(kind);
    JobPlan plan = alternating(2, 10, 0.05);
    plan.phases[15].ms += 9'000;
    const std::int64_t at = begin_ms(plan, 15) + 1'500;
    plan.faults = {{kind, {1}, at, at + 9'000}};
    const Watched w = watch(plan);
    EXPECT_TRUE(of_kind(w, alert::Kind::kPhaseDuration).empty());
    EXPECT_EQ(w.alerts.size(), 2u) << "the other alert, firing and resolved";
    // Nor is it learned: what is usual is as it was.
    EXPECT_LE(w.durations.at("B").high, milliseconds(4'600));
  }
}

TEST(PhaseDurations, DriftIsFollowed) {
  for (const double factor : {1.03, 1.06, 0.96}) {
    SCOPED_TRACE(factor);
    JobPlan plan = small_plan();
    double a = factor < 1 ? 6'000 : 2'500;
    for (int i = 0; i < 24; ++i) {
      plan.phases.push_back({std::llround(a), kA, ""});
      plan.phases.push_back({std::llround(a * 0.8), kB, ""});
      a *= factor;
    }
    const Watched w = watch(plan);
    EXPECT_TRUE(w.alerts.empty()) << w.alerts[0].message;
    // The newest sixteen: their middle lies half as many behind.
    EXPECT_NEAR(std::log(static_cast<double>(w.durations.at("A").usual.value) * 1e-6 / a) / std::log(factor),
                -9.5, 1.5);
  }
}

TEST(PhaseDurations, WhatComesTwiceIsUsual) {
  // Every sixth B writes a checkpoint, which makes it three times as long.
  JobPlan plan = small_plan();
  for (int i = 0; i < 30; ++i) {
    plan.phases.push_back({2'000, kA, ""});
    plan.phases.push_back({i % 6 == 5 ? 6'000 : 2'000, kB, ""});
  }
  const Watched w = watch(plan);
  EXPECT_LE(of_kind(w, alert::Kind::kPhaseDuration).size(), 2u * 2)
      << "told twice at most, firing and resolved";
}

TEST(PhaseDurations, AnEarlyEndIsToldWhereTheUsualFollows) {
  JobPlan plan = alternating(5, 14, 0.05, 3'000, 6'000);
  plan.phases[21].ms = 1'800;  // B, the eleventh time
  const Watched w = watch(plan);
  const auto alerts = of_kind(w, alert::Kind::kPhaseDuration);
  ASSERT_EQ(alerts.size(), 2u);
  EXPECT_EQ(alerts[0].status, alert::Status::kFiring);
  EXPECT_EQ(alerts[1].status, alert::Status::kResolved);
  EXPECT_EQ(alerts[0].id, alerts[1].id);
  EXPECT_LE(off_ms(alerts[0].onset, job_time(plan, begin_ms(plan, 22))), 150.0);
  EXPECT_NE(alerts[0].message.find("phase B ended after 1."), std::string::npos) << alerts[0].message;

  // Something new cuts a B in two: neither part is an early end.
  JobPlan cut = alternating(5, 14, 0.05, 3'000, 6'000);
  cut.phases.insert(cut.phases.begin() + 21, {{1'800, kB, ""}, {1'500, kC, ""}});
  EXPECT_TRUE(of_kind(watch(cut), alert::Kind::kPhaseDuration).empty());
}

// The interval is to hold what it says, from the fifth time on, on durations that nothing was chosen by.
TEST(PhaseDurations, ForecastsHoldAsOftenAsTheySay) {
  for (const double deviation : {0.08, 0.25}) {
    std::size_t asked = 0, held = 0, early = 0, next = 0;
    double off = 0;
    for (std::uint32_t seed = 101; seed <= 106; ++seed) {
      const JobPlan plan = alternating(seed, 24, deviation, 3'000, 5'000);
      Detector d(job_options(plan));
      d.set_topology(job_topology(plan));
      std::size_t phase = 0, last_asked = SIZE_MAX;
      for (const auto& c : make_job(plan)) {
        const TimeNs now = slice_end(c.index, plan.slice);
        d.on_slice(c, now);
        while (phase + 1 < plan.phases.size() && job_time(plan, begin_ms(plan, phase + 1)) <= now) ++phase;
        if (phase + 1 == plan.phases.size()) break;  // what ends with the job is cut off
        const TimeNs begin = job_time(plan, begin_ms(plan, phase));
        const auto f = d.durations().forecast();
        // Once in each stretch, two seconds after its begin.
        if (!f || phase == last_asked || now < begin + seconds(2)) continue;
        last_asked = phase;
        const TimeNs truth = job_time(plan, begin_ms(plan, phase + 1));
        EXPECT_GE(f->times, 4u);
        EXPECT_LE(f->earliest, f->end);
        EXPECT_LE(f->end, f->latest);
        ++asked;
        held += truth >= f->earliest && truth <= f->latest ? 1 : 0;
        early += truth < f->end ? 1 : 0;
        next += f->next == (f->phase == "A" ? "B" : "A") ? 1 : 0;
        off += off_ms(f->end, truth);
      }
    }
    const double share = static_cast<double>(held) / static_cast<double>(asked);
    std::printf(
        "deviation %.2f: %zu forecasts, %.1f %% held (said %.0f %%), %.1f %% ended before the middle, "
        "off by %.0f ms on average, next known in %.1f %%\n",
        deviation, asked, 100 * share, 100 * PhaseForecast::kConfidence,
        100 * static_cast<double>(early) / static_cast<double>(asked), off / static_cast<double>(asked),
        100 * static_cast<double>(next) / static_cast<double>(asked));
    ASSERT_GE(asked, 200u);
    // Of 200 independent ones, four deviations are 11 %.
    EXPECT_GE(share, PhaseForecast::kConfidence - 0.11);
    EXPECT_LE(share, PhaseForecast::kConfidence + 0.11);
    EXPECT_GE(static_cast<double>(next) / static_cast<double>(asked), 0.9);
  }
}

TEST(PhaseDurations, NothingIsForetoldWhereTheSequenceDoesNotSaySo) {
  JobPlan plan = small_plan();
  for (int i = 0; i < 12; ++i) {
    plan.phases.push_back({2'000, kA, ""});
    plan.phases.push_back({2'000, i % 2 == 0 ? kB : kC, ""});
  }
  Detector d(job_options(plan));
  d.set_topology(job_topology(plan));
  std::size_t after_a = 0, after_b = 0;
  for (const auto& c : make_job(plan)) {
    d.on_slice(c, slice_end(c.index, plan.slice));
    const auto f = d.durations().forecast();
    if (!f) continue;
    if (f->phase == "A") {
      EXPECT_EQ(f->next, "") << "B and C take turns";
      ++after_a;
    } else if (f->times >= 5) {
      EXPECT_EQ(f->next, "A");
      ++after_b;
    }
  }
  EXPECT_GT(after_a, 20u);
  EXPECT_GT(after_b, 10u);
}

// A detector that begins in the middle of a run, as after a restart in a run too long to be looked at whole.
TEST(PhaseDurations, NamesAndDurationsGoOnInADetectorThatIsToldThem) {
  JobPlan plan = small_plan();
  for (int i = 0; i < 18; ++i) plan.phases.push_back({3'000, std::vector<Shares>{kA, kB, kC}[i % 3], ""});
  plan.phases.push_back({3'000, {0.05, 0.05, 0.05, 0.05, 0.80}, ""});  // D
  plan.phases.push_back({30'000, kA, ""});
  const auto job = make_job(plan);
  const auto topology = job_topology(plan);
  Detector first(job_options(plan));
  first.set_topology(topology);
  const std::size_t middle = 30 * 14 + 10;  // one second into the fifteenth stretch, a C
  PhaseMemory memory;
  for (std::size_t i = 0; i < middle; ++i) {
    first.on_slice(job[i], slice_end(job[i].index, plan.slice));
    // Each is written down once, early, and told out of order.
    for (const char* name : {"C", "B", "A"})
      if (i == 200)
        if (const auto k = first.known_phase(name)) memory.phases.push_back(*k);
  }
  ASSERT_EQ(memory.phases.size(), 3u);
  for (const PhaseSpan& s : first.phases().spans())
    if (!s.current) memory.before.push_back(s);
  ASSERT_EQ(memory.before.size(), 14u);

  Detector second(job_options(plan));
  second.restore(memory);
  second.set_topology(topology);
  std::vector<alert::Alert> alerts;
  for (std::size_t i = middle; i < job.size(); ++i)
    for (auto& a : second.on_slice(job[i], slice_end(job[i].index, plan.slice))) alerts.push_back(a);
  std::string names;
  for (const PhaseSpan& s : second.phases().spans()) names += s.name;
  EXPECT_EQ(names, "CABCDA");
  EXPECT_EQ(second.phases().spans()[1].occurrence, 6u);
  // What is usual was told; that the first stretch seen was cut off is no early end, nor learned.
  EXPECT_EQ(second.durations().statistics("C")->times, 5u);
  EXPECT_LE(off_ms(TimeNs(second.durations().statistics("C")->usual.value), TimeNs(3'000'000'000)), 150.0);
  ASSERT_EQ(alerts.size(), 1u);
  EXPECT_EQ(alerts[0].kind, alert::Kind::kPhaseDuration);
  EXPECT_EQ(alerts[0].phase, "A");
  // Without being told, names begin anew.
  Detector none(job_options(plan));
  none.set_topology(topology);
  for (std::size_t i = middle; i < job.size(); ++i)
    none.on_slice(job[i], slice_end(job[i].index, plan.slice));
  EXPECT_EQ(none.phases().spans().front().name, "A");
}

TEST(PhaseDurations, WhatDoesNotFitTogetherIsNotTaken) {
  JobPlan plan = small_plan();
  plan.phases = {{4'000, kA, ""}, {4'000, kB, ""}};
  PhaseMemory memory;
  KnownPhase k;
  k.name = "A";
  k.states = {StateId(2), StateId(3)};
  k.signature = Distribution(3, std::vector<double>(3, 1.0), {1.0}, 5);  // three columns, two states
  memory.phases.push_back(k);
  k.name = "B";
  k.states = {StateId(6), StateId(6), StateId(5), StateId(4)};  // begins otherwise
  k.signature = Distribution(0, {}, {}, 0);
  memory.phases.push_back(k);
  memory.before = {{0, "A", "", TimeNs(1), TimeNs(1), 7, false},
                   {1, "zzz", "", TimeNs(9), TimeNs(3), 0, false}};
  Detector d(job_options(plan));
  d.restore(memory);
  d.set_topology(job_topology(plan));
  for (const auto& c : make_job(plan)) d.on_slice(c, slice_end(c.index, plan.slice));
  EXPECT_EQ(d.error(), "");
  ASSERT_EQ(d.phases().spans().size(), 2u);
  EXPECT_EQ(d.phases().spans()[0].name, "B") << "A is somebody else's";
}

// A share of time that moves slowly is one phase, and no departure of anybody.
TEST(PhaseDurations, AStateShareThatDriftsIsFollowed) {
  for (const double to : {0.45, 0.35}) {
    SCOPED_TRACE(to);
    JobPlan plan = small_plan();
    for (int i = 0; i < 500; ++i) {
      const double compute = 0.70 + (to - 0.70) * i / 500;
      plan.phases.push_back({100, {compute, 0.10, 0.10, 0.05, 0.75 - compute}, ""});
    }
    const Watched w = watch(plan);
    EXPECT_TRUE(w.alerts.empty()) << w.alerts[0].message;
    std::set<std::string> names;
    for (const PhaseSpan& s : w.spans) names.insert(s.name);
    std::printf("a share that moves from 0.70 to %.2f: %s\n", to, w.names().c_str());
    EXPECT_LE(w.spans.size(), 3u);
    EXPECT_LE(names.size(), 3u);
  }
}

}  // namespace phase_durations_test
}  // namespace margay::detect::test
