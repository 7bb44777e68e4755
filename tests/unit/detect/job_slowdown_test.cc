// A coupled job that goes on as before, but slower, for all wait longer.
#include <functional>
#include <random>

#include "stream.h"
#include "watch_job.h"

namespace margay::detect::test {
namespace job_slowdown_test {

using alert::Status;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

enum State : std::uint16_t { kWork = 3, kWaitall, kAllreduce, kBarrier, kWrite, kFinalize, kStates };

struct Time {
  double from, to;
  bool holds(double t) const { return t >= from && t < to; }
};

// Eight ranks on two nodes that exchange and then reduce: steps of 12 ms and slices of 100 ms. Times in
// seconds.
struct Solver {
  std::vector<Time> slow_network;  // the exchange takes twenty times as long
  double far = 1;                  // of that, for the ranks of the second node
  std::vector<Time> more_calls;    // three exchanges a step: another phase
  std::vector<Time> longer_work;   // twice as long for all
  std::vector<Time> alone;         // rank 0 writes, the others wait for it
  Time short_of_cpus{0, 0};        // processes are ready to run for a third of the time, and are not let
  std::uint32_t usual_slices = 600;
  double seconds_long = 60;
  bool ends = false;  // then all wait for the end of MPI
  const char* exchange = "MPI_Waitall";
  std::uint64_t seed = 1;

  static constexpr std::uint32_t kRanks = 8;

  std::shared_ptr<const Topology> topology() const {
    auto t = std::make_shared<Topology>();
    std::vector<model::Attributes> ranks;
    for (std::uint32_t r = 0; r < kRanks; ++r)
      ranks.push_back({{"path1", "node" + std::to_string(r / 4)}, {"path2", "rank" + std::to_string(r)}});
    t->hierarchy = model::Hierarchy(ranks);
    t->states.resize(kWork);
    for (const char* name : {"compute", exchange, "MPI_Allreduce", "MPI_Barrier", "write", "MPI_Finalize"})
      t->states.push_back({name, {}});
    return t;
  }

  static bool any(const std::vector<Time>& times, double t) {
    return std::any_of(times.begin(), times.end(), [&](const Time& of) { return of.holds(t); });
  }
  void step(bench::Stream& stream, std::mt19937_64& random) const {
    const double t = stream.now(0);
    const auto vary = [&](double by) { return std::exp(by * std::normal_distribution<double>()(random)); };
    const auto all_in = [&](State state) {
      double last = 0;
      for (std::uint32_t r = 0; r < kRanks; ++r) last = std::max(last, stream.now(r));
      for (std::uint32_t r = 0; r < kRanks; ++r) stream.until(r, state, last + 0.0002);
    };
    for (const Time& of : alone)
      if (of.holds(t)) {
        stream.spend(0, kWrite, of.to - t);
        return all_in(kBarrier);
      }
    for (std::uint32_t r = 0; r < kRanks; ++r) {
      stream.spend(r, kWork, (any(longer_work, t) ? 0.02 : 0.01) * vary(0.05));
      for (int i = 0; i < (any(more_calls, t) ? 3 : 1); ++i) {
        if (i > 0) stream.spend(r, kWork, 0.001);
        const double slower = !any(slow_network, t) ? 1 : r < kRanks / 2 ? 20 : 20 * far;
        stream.spend(r, kWaitall, 0.001 * vary(0.3) * slower);
      }
    }
    all_in(kAllreduce);
  }
  Watched watched() const {
    std::vector<model::SliceColumn> played;
    bench::Stream stream(kRanks, kStates, milliseconds(100),
                         [&](const model::SliceColumn& c) { played.push_back(c); });
    std::mt19937_64 random(seed);
    while (stream.now(0) < seconds_long) step(stream, random), stream.tell();
    for (std::uint32_t r = 0; r < kRanks && ends; ++r) stream.until(r, kFinalize, seconds_long + 0.3);
    stream.tell();
    for (model::SliceColumn& c : played)
      for (std::uint32_t r = 0; r < kRanks && short_of_cpus.to > 0; ++r) {
        model::NodeEvidence& e = c.evidence(LeafIndex(r));
        e.sampled_ns = e.cpu_ns = milliseconds(100).value;
        if (short_of_cpus.holds(static_cast<double>(c.index.value) / 10)) deny(e, 1.0 / 3);
      }
    DetectorOptions o;
    o.run = "r";
    o.window.slice = milliseconds(100);
    o.window.slices = 64;
    o.usual_slices = usual_slices;
    return watch(o, topology(), played);
  }
};

// Onset, end and message of each.
std::string told(const Watched& w) {
  std::string out;
  for (const alert::Alert& a : w.alerts)
    out += std::to_string(static_cast<double>(a.onset.value) * 1e-9) +
           (a.status == Status::kFiring ? " " : " over ") + a.message + "\n";
  return out;
}

double s(TimeNs t) {
  return static_cast<double>(t.value) * 1e-9;
}

TEST(JobSlowdown, ASlowNetworkIsToldAtOnceAndUntilItIsAsBefore) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    Solver job;
    job.seed = seed;
    job.slow_network = {{30, 35}};
    const Watched w = job.watched();
    const auto begun = w.with(Status::kFiring), over = w.with(Status::kResolved);
    ASSERT_THAT(begun, SizeIs(1)) << "seed " << seed << "\n" << told(w);
    ASSERT_THAT(over, SizeIs(1));
    EXPECT_NEAR(s(over[0].onset), 30, 0.2);
    EXPECT_LE(s(begun[0].detected), 30.3);
    EXPECT_NEAR(s(over[0].end.value_or(TimeNs())), 35, 0.3);
    EXPECT_THAT(over[0].resources, SizeIs(Solver::kRanks));
    EXPECT_THAT(over[0].message, HasSubstr("MPI_Waitall"));
    // With the last of eight exchanges of 20 ms in the mean steps take 41 ms instead of 12.
    EXPECT_THAT(over[0].message, HasSubstr("; the whole job does 7"));
  }
}

// How often somebody polls says nothing of what he does; how long he does is no work all the same.
TEST(JobSlowdown, WhoPollsWhileTheNetworkIsSlowIsTold) {
  Solver job;
  job.exchange = "MPI_Testall";
  job.slow_network = {{30, 35}};
  const Watched w = job.watched();
  ASSERT_THAT(w.with(Status::kFiring), SizeIs(1)) << told(w);
  EXPECT_THAT(told(w), HasSubstr("whole job"));
}

TEST(JobSlowdown, ThoseWhoWaitInACollectiveForTheOthersAreNotBlamed) {
  Solver job;
  job.slow_network = {{30, 35}};
  job.far = 1.0 / 20;
  const auto over = job.watched().with(Status::kResolved);
  ASSERT_THAT(over, SizeIs(1));
  EXPECT_THAT(over[0].resources, ElementsAre("/node0/rank0", "/node0/rank1", "/node0/rank2", "/node0/rank3"));
}

TEST(JobSlowdown, ItIsToldEachTimeItComesBack) {
  Solver job;
  job.slow_network = {{20, 23}, {27, 31}, {40, 42}, {53, 56}};
  const Watched w = job.watched();
  EXPECT_THAT(w.with(Status::kFiring), SizeIs(4)) << told(w);
}

TEST(JobSlowdown, WhatComesBackByTheClockIsToldThreeTimes) {
  Solver job;
  for (double t = 15; t < 60; t += 8) job.slow_network.push_back({t, t + 2});
  const Watched w = job.watched();
  EXPECT_THAT(w.with(Status::kFiring), SizeIs(3)) << told(w);
}

TEST(JobSlowdown, WhatLastsForLongIsUsualAndOver) {
  Solver job;
  job.usual_slices = 100;
  job.slow_network = {{20, 60}};
  const Watched w = job.watched();
  const auto over = w.with(Status::kResolved);
  ASSERT_THAT(over, SizeIs(1)) << told(w);
  EXPECT_NEAR(s(over[0].end.value_or(TimeNs())), 30, 0.3);
}

TEST(JobSlowdown, AQuietJobAndOneOfTwoPhasesRaiseNothing) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    Solver job;
    job.seed = seed, job.seconds_long = 120;
    EXPECT_THAT(job.watched().alerts, IsEmpty()) << "seed " << seed;
    for (double t = 20; t < 120; t += 13) job.more_calls.push_back({t, t + 5});
    EXPECT_THAT(job.watched().alerts, IsEmpty()) << "seed " << seed;
  }
}

// The last slice of a job: its ranks work for a part of it, and wait for the end of MPI.
TEST(JobSlowdown, ThatTheJobEndsIsNone) {
  for (const double part : {0.02, 0.04, 0.06, 0.08}) {
    Solver job;
    job.seconds_long = 40 + part, job.ends = true;
    EXPECT_THAT(job.watched().alerts, IsEmpty()) << part;
  }
}

// What none of these is: that others do not let the job go on as before.
TEST(JobSlowdown, LongerWorkOneWhoWorksForAllAndTooFewCpusAreNone) {
  Solver job;
  job.longer_work = {{30, 35}};
  EXPECT_THAT(told(job.watched()), Not(HasSubstr("whole job")));
  job = {};
  job.alone = {{30, 30.2}, {41, 41.3}, {50, 50.4}};
  EXPECT_THAT(told(job.watched()), Not(HasSubstr("whole job")));
  job = {};
  job.slow_network = {{30, 35}};
  job.short_of_cpus = {29, 36};
  EXPECT_THAT(told(job.watched()), Not(HasSubstr("whole job")));
}

}  // namespace job_slowdown_test
}  // namespace margay::detect::test
