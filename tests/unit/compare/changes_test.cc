// Of equal runs nothing is told, of a small change the phase, the state and the ranks.
#include "margay/compare/changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

namespace margay::compare {
namespace changes_test {

constexpr std::size_t kRanks = 16, kStates = 4, kSlicesABlock = 3;
constexpr std::uint32_t kPhases = 3;  // all of the run, and two
enum State : std::int32_t { kTime = -1, kWork = 0, kSend = 1, kWait = 2, kWaitingForCpu = 3 };

// A job of steps: each rank works, sends, and waits for the slowest. The machine's speed wanders, as do the
// ranks' own.
struct Job {
  double noise = 0.02;              // of a rank in a slice
  double machine = 0.03;            // of all, lasting for some slices
  double lasting = 0.8;             // of it, what is left a slice later
  double speed = 1;                 // of all, all the time
  std::uint32_t phase = 0;          // in which some are slower
  std::set<std::size_t> slow = {};  // ranks
  double by = 0;
  double waiting = 0;  // for a CPU, as a part of the work, which takes that much longer
};

RunInBlocks run_of(const Job& job, std::mt19937_64& rng) {
  std::normal_distribution<double> normal(0, 1);
  RunInBlocks out;
  out.slice_seconds = 0.1;
  out.phases.resize(kPhases);
  for (PhaseInBlocks& p : out.phases) {
    p.stretches = 1;
    p.blocks.resize(kBlocks);
    for (Block& b : p.blocks) b.spent.resize(kRanks * kStates);
  }
  double wander = 0;
  std::vector<double> own(kRanks);
  for (std::uint32_t phase = 1; phase < kPhases; ++phase) {
    for (std::size_t k = 0; k < kBlocks; ++k) {
      for (std::size_t step = 0; step < kSlicesABlock; ++step) {
        wander = job.lasting * wander + std::sqrt(1 - job.lasting * job.lasting) * job.machine * normal(rng);
        std::vector<double> work(kRanks);
        double longest = 0;
        for (std::size_t r = 0; r < kRanks; ++r) {
          own[r] = 0.5 * own[r] + 0.87 * job.noise * normal(rng);
          const bool slow = phase == job.phase && job.slow.contains(r);
          work[r] = (phase == 1 ? 0.07 : 0.05) * job.speed * (1 + job.waiting) * std::exp(wander + own[r]) *
                    (slow ? 1 + job.by : 1);
          longest = std::max(longest, work[r]);
        }
        const double send = phase == 1 ? 0.01 : 0.04;
        for (const std::uint32_t p : {0u, phase}) {
          // Blocks of all of the run are twice as long.
          Block& b = out.phases[p].blocks[p == 0 ? ((phase - 1) * kBlocks + k) / (kPhases - 1) : k];
          b.seconds += longest + send;
          b.calls += 2 * kRanks;
          for (std::size_t r = 0; r < kRanks; ++r) {
            b.spent[r * kStates + kWork] += work[r];
            b.spent[r * kStates + kSend] += send;
            b.spent[r * kStates + kWait] += longest - work[r];
            b.spent[r * kStates + kWaitingForCpu] += work[r] * job.waiting / (1 + job.waiting);
          }
          out.phases[p].seconds += longest + send;
        }
      }
    }
  }
  for (PhaseInBlocks& p : out.phases) p.slices = static_cast<std::size_t>(p.seconds / out.slice_seconds);
  out.seconds = out.phases[0].seconds;
  return out;
}

model::Hierarchy ranks() {
  std::vector<model::Attributes> leaves;
  for (std::size_t r = 0; r < kRanks; ++r)
    leaves.push_back({{"host", "n" + std::to_string(r / 4)}, {"rank", std::to_string(r)}});
  return model::Hierarchy(leaves);
}
ChangeOptions same_calls() {
  ChangeOptions out;
  out.same_work = true;
  return out;
}
Changes compared(const Job& a, const Job& b, std::mt19937_64& rng,
                 const ChangeOptions& options = same_calls()) {
  const RunInBlocks before = run_of(a, rng), after = run_of(b, rng);
  return changes(std::span(&before, 1), after, kStates, ranks(), options);
}

TEST(Changes, OfEqualRunsNothingIsTold) {
  const std::uint64_t seed = 7;
  std::mt19937_64 rng(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  int told = 0;
  for (int i = 0; i < 200; ++i) told += compared({}, {}, rng).told.empty() ? 0 : 1;
  // One in a hundred is allowed: of 200 more than 6 has a chance of a thousandth.
  EXPECT_LE(told, 6);
}

TEST(Changes, OfNoisyEqualRunsNothingIsTold) {
  const std::uint64_t seed = 8;
  std::mt19937_64 rng(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  const Job noisy{.noise = 0.2, .machine = 0.3};
  int told = 0;
  for (int i = 0; i < 100; ++i) told += compared(noisy, noisy, rng).told.empty() ? 0 : 1;
  EXPECT_LE(told, 5);
}

TEST(Changes, FivePercentInOnePhaseOfTwoRanksIsFoundEachTime) {
  const std::uint64_t seed = 9;
  std::mt19937_64 rng(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  for (int i = 0; i < 20; ++i) {
    const Changes c = compared({}, {.phase = 2, .slow = {3, 5}, .by = 0.05}, rng);
    ASSERT_FALSE(c.told.empty()) << i;
    bool found = false;
    for (const Change& t : c.told) {
      EXPECT_NE(t.phase, 1u) << "nothing changed in the other phase";
      if (t.phase != 2 || t.state != kWork) continue;
      found = true;
      EXPECT_THAT(t.resources, testing::ElementsAre(3, 5)) << i;
      EXPECT_NEAR(t.part(t.apart), 0.05, 0.02) << i;
      EXPECT_LT(t.low, t.typical);
      EXPECT_GT(t.high, t.typical);
    }
    EXPECT_TRUE(found) << i;
  }
}

// What takes longer because others had the CPU is the machine's.
TEST(Changes, WhatIsWaitingForACpuIsNoChangeOfTheProgram) {
  const std::uint64_t seed = 17;
  std::mt19937_64 rng(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  ChangeOptions options = same_calls();
  const Job quiet{.machine = 0.01}, busy{.machine = 0.01, .waiting = 0.1};
  EXPECT_FALSE(compared(quiet, busy, rng, options).told.empty());
  options.waiting = kWaitingForCpu;
  const Changes c = compared(quiet, busy, rng, options);
  EXPECT_TRUE(c.told.empty());
  ASSERT_FALSE(c.machine.empty()) << "that it waited is reported";
  for (const Change& t : c.machine) EXPECT_EQ(t.state, kWaitingForCpu);
  // What is beyond that is told.
  bool found = false;
  for (const Change& t : compared(quiet, {.machine = 0.01, .speed = 1.2, .waiting = 0.1}, rng, options).told)
    found = found || t.state == kWork;
  EXPECT_TRUE(found);
}

// Something else had the machine for a while: alerts tell of that; the program is the same.
TEST(Changes, ABurstIsNoChange) {
  const std::uint64_t seed = 16;
  std::mt19937_64 rng(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  int told = 0;
  for (int i = 0; i < 50; ++i) {
    RunInBlocks a = run_of({}, rng), b = run_of({}, rng);
    for (std::uint32_t phase = 0; phase < kPhases; ++phase)
      for (std::size_t k = 0; k < 2; ++k) {
        Block& block = b.phases[phase].blocks[(rng() + 7 * k) % kBlocks];
        block.seconds *= 3, b.phases[phase].seconds += block.seconds * 2 / 3;
        for (std::size_t r = 0; r < kRanks; ++r) block.spent[r * kStates + kWork] *= r % 2 == 0 ? 3 : 2;
      }
    told += changes(std::span(&a, 1), b, kStates, ranks(), same_calls()).told.empty() ? 0 : 1;
  }
  EXPECT_LE(told, 3);
}

TEST(Changes, AHostIsToldAsSuchAndNotRankByRank) {
  const std::uint64_t seed = 10;
  std::mt19937_64 rng(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  const Changes c = compared({}, {.phase = 1, .slow = {8, 9, 10, 11}, .by = 0.05}, rng);
  std::vector<std::vector<std::uint32_t>> work;
  for (const Change& t : c.told)
    if (t.phase == 1 && t.state == kWork && t.change() > 0) work.push_back(t.resources);
  EXPECT_THAT(work, testing::ElementsAre(testing::ElementsAre(8, 9, 10, 11)));
}

TEST(Changes, WhatSlowsAllIsToldOfAll) {
  const std::uint64_t seed = 11;
  std::mt19937_64 rng(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  const Changes c = compared({.machine = 0.01}, {.machine = 0.01, .speed = 1.1}, rng);
  std::set<std::pair<std::uint32_t, std::int32_t>> told;
  for (const Change& t : c.told) {
    told.emplace(t.phase, t.state);
    if (t.state == kWork) {
      EXPECT_TRUE(t.resources.empty());
      EXPECT_NEAR(t.part(t.typical), 0.1, 0.03);
    }
  }
  for (const std::uint32_t p : {0u, 1u, 2u}) {
    EXPECT_TRUE(told.contains({p, kWork})) << p;
    EXPECT_TRUE(told.contains({p, kTime})) << p;
  }
}

// Two runs cannot tell how much runs differ by themselves; several can.
TEST(Changes, WhatTheBaselinesRunsDifferByIsNoChange) {
  const std::uint64_t seed = 12;
  std::mt19937_64 rng(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::normal_distribution<double> normal(0, 0.05);
  const auto another_day = [&] { return run_of({.machine = 0.01, .speed = std::exp(normal(rng))}, rng); };
  int told = 0, told_of_two = 0;
  for (int i = 0; i < 50; ++i) {
    std::vector<RunInBlocks> runs;
    for (int r = 0; r < 8; ++r) runs.push_back(another_day());
    const RunInBlocks last = another_day();
    told += changes(runs, last, kStates, ranks(), same_calls()).told.empty() ? 0 : 1;
    told_of_two +=
        changes(std::span(runs).first(1), last, kStates, ranks(), same_calls()).told.empty() ? 0 : 1;
  }
  EXPECT_LE(told, 3);
  EXPECT_GT(told_of_two, 10) << "that is what the others are there for";
  // What is beyond that is told.
  std::vector<RunInBlocks> runs;
  for (int r = 0; r < 8; ++r) runs.push_back(another_day());
  EXPECT_FALSE(
      changes(runs, run_of({.machine = 0.01, .speed = 2}, rng), kStates, ranks(), same_calls()).told.empty());
}

TEST(Changes, AnIntervalHoldsInNineteenOfTwenty) {
  const std::uint64_t seed = 13;
  std::mt19937_64 rng(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  int inside = 0, all = 0;
  for (int i = 0; i < 300; ++i) {
    const Job job{.machine = 0.05, .lasting = 0.5};
    const Changes c = compared(job, job, rng);
    for (const Change& o : c.overall) {
      if (o.state != kWork || o.phase == 0) continue;
      ++all;
      inside += o.low <= 0 && 0 <= o.high ? 1 : 0;
    }
  }
  ASSERT_EQ(all, 600);
  EXPECT_GE(inside, 555);
}

TEST(Changes, OfAPhaseThatIsTooShortNothingIsSaid) {
  std::mt19937_64 rng(14);
  RunInBlocks a = run_of({}, rng), b = run_of({}, rng);
  for (RunInBlocks* r : {&a, &b}) r->phases[1].blocks.clear();
  b.phases[1].seconds *= 3;
  const Changes c = changes(std::span(&a, 1), b, kStates, ranks(), same_calls());
  for (const Change& t : c.told) EXPECT_NE(t.phase, 1u);
  for (const Change& o : c.overall) EXPECT_EQ(o.known, o.phase != 1);
}

TEST(Changes, PartsOfTheTimeAreComparedOfStretches) {
  const std::uint64_t seed = 15;
  std::mt19937_64 rng(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  ChangeOptions per_second;
  per_second.per = Per::kSecond;
  EXPECT_TRUE(compared({}, {}, rng, per_second).told.empty());
  const Changes c = compared({}, {.phase = 2, .slow = {3}, .by = 0.2}, rng, per_second);
  bool found = false;
  for (const Change& t : c.told) {
    EXPECT_GE(t.state, 0);
    EXPECT_LE(t.b, 1);
    found = found || (t.phase == 2 && t.state == kWork && t.resources == std::vector<std::uint32_t>{3});
  }
  EXPECT_TRUE(found);
}

}  // namespace changes_test
}  // namespace margay::compare
