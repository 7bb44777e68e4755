// What leaves do otherwise than usual, and otherwise than the others.
#include "contrast.h"

#include <random>

#include "watch_job.h"

namespace margay::detect::test {
namespace contrast_test {

JobPlan plan_of(std::vector<JobPhase> phases) {
  JobPlan plan;
  plan.phases = std::move(phases);
  plan.n_eff = 200;
  return plan;
}

double at(const Contrast& c, Contrast::Measure measure, std::uint32_t leaf, std::size_t column) {
  return static_cast<double>(c.departure()[leaf][measure * c.columns() + Contrast::kMachine + column]);
}
double largest_share(const Contrast& c) {
  double most = 0;
  for (std::uint32_t l = 0; l < c.leaves(); ++l)
    for (std::size_t x = 0; x + Contrast::kMachine < c.columns(); ++x)
      most = std::max(most, std::abs(at(c, Contrast::kShare, l, x)));
  return most;
}

TEST(Contrast, TheCommonPartIsTakenOff) {
  const JobPlan plan = plan_of({{5'000, kA, ""}, {1'000, kB, ""}});
  Measured seen(plan);
  const auto job = make_job(plan);
  for (std::size_t i = 0; i < 50; ++i) seen.take(job[i]);
  EXPECT_FALSE(seen.contrast.unsettled());
  EXPECT_GT(seen.contrast.history(), 40);
  EXPECT_LT(largest_share(seen.contrast), 0.2);
  seen.take(job[51], false);
  EXPECT_TRUE(seen.contrast.unsettled());
  EXPECT_NEAR(seen.contrast.common()[Contrast::kMachine], -0.5, 0.1);
  EXPECT_LT(largest_share(seen.contrast), 0.25) << "what all leaves do is nobody's departure";
}

TEST(Contrast, AModeIsLearnedAndFoundAgainInItsFirstSlice) {
  JobPlan plan = plan_of({{3'000, kA, ""}, {3'000, kB, ""}, {3'000, kA, ""}});
  plan.n_eff = 2'000;
  Measured seen(plan);
  const auto job = make_job(plan);
  for (std::size_t i = 0; i < job.size(); ++i) {
    seen.take(job[i]);
    const bool learning = i < 3 || (i >= 30 && i < 33);
    EXPECT_EQ(seen.contrast.unsettled(), learning) << i;
    if (i == 60) {
      EXPECT_GT(seen.contrast.history(), 25) << "the first mode's";
    }
  }
}

TEST(Contrast, ALeafThatGoesAnotherWayStandsOut) {
  const JobPlan plan = plan_of({{5'000, kA, ""}});
  Measured seen(plan);
  auto job = make_job(plan);
  for (std::size_t i = 0; i < 49; ++i) seen.take(job[i]);
  auto row = job[49].duration_ns(LeafIndex(5));
  std::fill(row.begin(), row.end(), 0);
  row[kJobWait.value] = plan.slice.value;
  seen.take(job[49], false);
  EXPECT_FALSE(seen.contrast.unsettled()) << "most leaves are as usual";
  for (std::uint32_t l = 0; l < 8; ++l) {
    double moved = 0;
    for (std::size_t x = 0; x + Contrast::kMachine < seen.contrast.columns(); ++x)
      moved += std::abs(at(seen.contrast, Contrast::kShare, l, x)) / 2;
    if (l == 5)
      EXPECT_GT(moved, 0.8);
    else
      EXPECT_LT(moved, 0.2);
  }
}

TEST(Contrast, ExcessTellsLongerVisitsFromMoreOfThem) {
  const JobPlan plan = plan_of({{6'000, kA, ""}});
  Measured seen(plan);
  auto job = make_job(plan);
  for (std::size_t i = 0; i < 58; ++i) seen.take(job[i]);
  // Twice the time in Send, for twice the visits: as usual. Without them: longer.
  for (const std::size_t i : {58, 59}) {
    auto row = job[i].duration_ns(LeafIndex(2));
    const std::int64_t more = row[3];
    row[2] -= more, row[3] += more;
    if (i == 58) job[i].visits(LeafIndex(2))[3] *= 2;
    seen.take(job[i], false);
    const auto excess =
        static_cast<double>(seen.contrast.departure()[2][seen.cell(Contrast::kExcess, StateId(3))]);
    if (i == 58)
      EXPECT_LT(std::abs(excess), 0.05);
    else
      EXPECT_GT(excess, 0.05);
  }
}

// A leaf works and waits in turns; `longer` slices longer works the turn that begins first after `from`.
void take_turns(model::SliceColumn& c, std::uint32_t leaf, DurationNs slice, double from, double longer) {
  constexpr double kWorks = 1.3, kWaits = 0.1;
  const LeafIndex l(leaf);
  for (auto row : {c.duration_ns(l), c.longest_ns(l)}) std::fill(row.begin(), row.end(), 0);
  std::fill(c.visits(l).begin(), c.visits(l).end(), 0u);
  const auto begin = static_cast<double>(c.index.value - 1'000), end = begin + 1;
  const auto ns = [&](double slices) {
    return static_cast<std::int64_t>(std::llround(slices * static_cast<double>(slice.value)));
  };
  double at = -10 - 0.17 * leaf;
  bool works = true, told = false;
  while (at < end) {
    double lasts = works ? kWorks : kWaits;
    if (works && at >= from && !told) lasts += longer, told = true;
    const StateId state = works ? kCompute : kJobWait;
    const double seen = std::min(end, at + lasts) - std::max(begin, at);
    if (seen > 0) {
      c.duration_ns(l)[state.value] += ns(seen);
      c.longest_ns(l)[state.value] =
          std::max(c.longest_ns(l)[state.value], ns(std::min(end, at + lasts) - at));
      if (at + lasts > end)
        c.open(l) = {state, slice_end(c.index, slice) - DurationNs(ns(end - at))};
      else
        c.visits(l)[state.value] += 1;
    }
    at += lasts, works = !works;
  }
}

TEST(Contrast, WhereCallsFallIntoSlicesIsNoExcess) {
  const JobPlan plan = plan_of({{6'000, kA, ""}});
  Measured seen(plan);
  auto job = make_job(plan);
  for (std::uint32_t i = 0; i < job.size(); ++i) job[i].index = SliceIndex(1'000 + i);
  double sum = 0;
  for (std::size_t i = 0; i < 58; ++i) {
    for (std::uint32_t r = 0; r < plan.ranks; ++r) take_turns(job[i], r, plan.slice, 50, r == 5 ? 0.6 : 0);
    seen.take(job[i], i < 50);
    if (i < 40) continue;  // how long work takes is known from some visits only
    const std::size_t cell = seen.cell(Contrast::kExcess, kCompute);
    for (std::uint32_t r = 0; r < plan.ranks; ++r) {
      const auto excess = static_cast<double>(seen.contrast.departure()[r][cell]);
      if (r == 5)
        sum += i < 50 ? 0 : excess;
      else
        EXPECT_NEAR(excess, 0, 0.1) << "rank " << r << " in slice " << i;
    }
  }
  EXPECT_NEAR(sum, 0.6, 0.1) << "what its work took longer, in all";
}

TEST(Contrast, WhatABeginThatNobodySawIsBeyondIsNotOfOneSlice) {
  const JobPlan plan = plan_of({{6'000, kA, ""}});
  Measured seen(plan);
  auto job = make_job(plan);
  for (std::size_t i = 0; i < 50; ++i) seen.take(job[i]);
  // Slices that something else explains are not looked at; rank 5 has been in a call for all of them.
  for (std::size_t i = 50; i < 55; ++i) ASSERT_TRUE(seen.window.push(job[i]));
  model::SliceColumn& c = job[55];
  spend(c, 5, kJobWait, 1);
  c.visits(LeafIndex(5))[kJobWait.value] = 0;
  c.open(LeafIndex(5)) = {kJobWait, slice_end(c.index, plan.slice) - plan.slice * 6};
  seen.take(c, false);
  const auto excess =
      static_cast<double>(seen.contrast.departure()[5][seen.cell(Contrast::kExcess, kJobWait)]);
  EXPECT_GT(excess, 0.8);
  EXPECT_LE(excess, 1.1) << "a slice takes no longer than a slice";
}

// More of some work is what the program does; what hurts it makes work take longer.
TEST(Contrast, OfWorkOnlyWhatTakesLongerIsADeparture) {
  const JobPlan plan = plan_of({{5'000, kA, ""}});
  Measured seen(plan);
  auto job = make_job(plan);
  std::vector<char> work(Contrast::kMachine + 5, 0);
  for (std::size_t i = 0; i < 49; ++i) {
    seen.take(job[i]);
    if (i == 0) work[seen.column(kCompute)] = 1, seen.columns.work = work;
  }
  spend(job[49], 5, kCompute, 0.9);
  seen.take(job[49], false);
  EXPECT_EQ(seen.contrast.departure()[5][seen.cell(Contrast::kShare, kCompute)], 0);
  EXPECT_GT(seen.contrast.departure()[5][seen.cell(Contrast::kExcess, kCompute)], 0.2f);
  EXPECT_LT(seen.contrast.departure()[5][seen.cell(Contrast::kShare, kJobWait)], -0.02f);
}

// Rank 5 in a wait for nine tenths of a slice, in so many visits; usually nobody is.
double share_in_new_wait(std::uint32_t visits, bool returns_when_done) {
  Shares usual = kA;
  usual[0] += usual[4] - 1e-3, usual[4] = 1e-3;  // too little for a visit
  const JobPlan plan = plan_of({{5'000, usual, ""}});
  Measured seen(plan);
  auto job = make_job(plan);
  for (std::size_t i = 0; i < 49; ++i) seen.take(job[i]);
  spend(job[49], 5, kJobWait, 0.9);
  job[49].visits(LeafIndex(5))[kJobWait.value] = visits;
  seen.columns.returns_when_done.assign(Contrast::kMachine + 5, returns_when_done);
  seen.take(job[49], false);
  return static_cast<double>(seen.contrast.departure()[5][seen.cell(Contrast::kShare, kJobWait)]);
}

// A disturbance makes calls longer, but nobody call what he does not call: who does is in another part of the
// program, first.
TEST(Contrast, ManyCallsThatNobodyMakesOtherwiseAreTheProgramsOwn) {
  EXPECT_GT(share_in_new_wait(1, true), 0.8);
  EXPECT_NEAR(share_in_new_wait(30, true), 0, 1e-3);
  EXPECT_GT(share_in_new_wait(30, false), 0.8) << "who asks again and again waits as long";
}

// Usually all compute for `work` of the time, poll for most of the rest (MPI_Recv stands for a test), and
// wait in one call for some of it. Rank 5 is all in state `to`, in so many visits: how far each state of its
// departs.
struct Moved {
  double polls = 0, waits = 0;
};
Moved moved(double work, StateId to, std::uint32_t visits, bool polls) {
  const JobPlan plan = plan_of({{5'000, {work, 0.0, 0.7 * (1 - work), 0.0, 0.3 * (1 - work)}, ""}});
  Measured seen(plan);
  auto job = make_job(plan);
  const StateId poll(4);
  for (std::size_t i = 0; i < 49; ++i) {
    seen.take(job[i]);
    if (i > 0) continue;
    for (auto* const of : {&seen.columns.work, &seen.columns.polls, &seen.columns.returns_when_done})
      of->assign(Contrast::kMachine + 5, 0);
    seen.columns.work[seen.column(kCompute)] = 1;
    seen.columns.polls[seen.column(poll)] = polls;
    seen.columns.returns_when_done[seen.column(kJobWait)] = 1;
  }
  spend(job[49], 5, to, 0.999);
  job[49].visits(LeafIndex(5))[to.value] = visits;
  seen.take(job[49], false);
  const auto share = [&](StateId s) {
    return static_cast<double>(seen.contrast.departure()[5][seen.cell(Contrast::kShare, s)]);
  };
  return {share(poll), share(kJobWait)};
}

// Waiting is waiting, in one call or in asking again and again: a rank is in it because of others.
TEST(Contrast, WhoPollsInsteadOfWaitingOtherwiseDoesNotDepart) {
  const StateId poll(4);
  Moved m = moved(0.02, poll, 30'000, true);
  EXPECT_LT(m.polls, 0.06);
  EXPECT_GT(m.waits, -0.06) << "it has not stopped waiting";
  m = moved(0.02, kJobWait, 1, true);
  EXPECT_LT(m.waits, 0.06) << "nor has it begun to";
  EXPECT_GT(m.polls, -0.06);
  m = moved(0.02, kJobWait, 1, false);
  EXPECT_GT(m.waits, 0.5) << "from one call to another is a departure";
  EXPECT_LT(m.polls, -0.5);
}

TEST(Contrast, WhatMoreCallsExplainIsStillWaiting) {
  const Moved m = moved(0.02, kJobWait, 2'000, false);
  EXPECT_LT(m.waits, 0.06);
  EXPECT_GT(m.polls, -0.06);
}

// A rank that truly is disturbed works less.
TEST(Contrast, WhoWaitsInsteadOfWorkingDepartsByThat) {
  const StateId poll(4);
  EXPECT_NEAR(moved(0.6, poll, 30'000, true).polls, 0.6, 0.06);
  EXPECT_NEAR(moved(0.6, kJobWait, 1, true).waits, 0.6, 0.06);
}

TEST(Contrast, WhoWaitsAsEverWhileOthersHaveStoppedDoesNotDepart) {
  const Shares waits = {0.05, 0.0, 0.05, 0.0, 0.9};
  const JobPlan plan = plan_of({{5'000, waits, ""}});
  Measured seen(plan);
  auto job = make_job(plan);
  for (std::size_t i = 0; i < 49; ++i) seen.take(job[i]);
  for (std::uint32_t r = 0; r < plan.ranks; ++r)
    if (r != 5) spend(job[49], r, StateId(4), 0.95);
  seen.take(job[49], false);
  EXPECT_LT(seen.contrast.departure()[5][seen.cell(Contrast::kShare, kJobWait)], 0.1f);
}

TEST(Contrast, VisitsThatAreOpenAtTheEdgesOfASliceAreSeen) {
  const JobPlan plan = plan_of({{5'000, kA, ""}});
  Measured seen(plan);
  auto job = make_job(plan);
  for (const std::size_t i : {48, 49}) {
    model::SliceColumn& c = job[i];
    auto row = c.duration_ns(LeafIndex(1));
    std::fill(row.begin(), row.end(), 0);
    row[kJobWait.value] = plan.slice.value;
    c.visits(LeafIndex(1))[kJobWait.value] = 0;
    const auto age = plan.slice * static_cast<std::int64_t>(i - 44);
    c.longest_ns(LeafIndex(1))[kJobWait.value] = age.value;
    c.open(LeafIndex(1)) = {kJobWait, slice_end(c.index, plan.slice) - age};
  }
  for (std::size_t i = 0; i < 50; ++i) seen.take(job[i]);
  const VisitsSeen visits = seen.contrast.seen();
  const std::size_t x = seen.column(kJobWait);
  EXPECT_EQ(visits.after[1].state, kJobWait.value);
  EXPECT_NEAR(visits.before[1].age, 4, 0.01);
  EXPECT_NEAR(visits.after[1].age, 5, 0.01);
  EXPECT_EQ(visits.ended[1][x], 0);
  EXPECT_NEAR(visits.longest[1][x], 5, 0.01);
  EXPECT_NEAR(visits.spent[1][x], 1, 0.01);
  EXPECT_NEAR(seen.contrast.busy()[1], 1, 0.01);
  EXPECT_EQ(visits.state_of[x], kJobWait.value);
}

// MPI_Init is all alike; what comes after it may never be.
TEST(Contrast, ARestlessJobHasAModeAlsoAfterAStillOne) {
  JobPlan plan = plan_of({{1'000, kA, ""}, {5'000, kB, ""}});
  plan.n_eff = 0;
  Measured seen(plan);
  auto job = make_job(plan);
  std::mt19937 random(3);
  for (std::size_t i = 10; i < job.size(); ++i) {
    const double part = std::uniform_real_distribution(0.0, 0.8)(random);
    for (std::uint32_t l = 0; l < 8; ++l) {
      auto row = job[i].duration_ns(LeafIndex(l));
      const auto moved = static_cast<std::int64_t>(part * static_cast<double>(row[kCompute.value]));
      row[kCompute.value] -= moved, row[4] += moved;
    }
  }
  for (std::size_t i = 0; i < 10; ++i) seen.take(job[i]);
  EXPECT_FALSE(seen.contrast.unsettled());
  std::size_t settled = 0;
  for (std::size_t i = 10; i < job.size(); ++i) {
    seen.take(job[i]);
    settled += i >= 30 && !seen.contrast.unsettled();
  }
  EXPECT_GT(settled, 20u);
}

TEST(Contrast, WhoIsNotThereIsNotKnown) {
  JobPlan plan = plan_of({{3'000, kA, ""}});
  plan.leave_ms = {0, 0, 0, 2'000, 0, 0, 0, 0};
  Measured seen(plan);
  const auto job = make_job(plan);
  for (std::size_t i = 0; i < job.size(); ++i) seen.take(job[i]);
  EXPECT_FALSE(seen.contrast.known(3));
  EXPECT_TRUE(seen.contrast.known(4));
}

}  // namespace contrast_test
}  // namespace margay::detect::test
