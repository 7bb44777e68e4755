// What an alert says it has cost the job, beside by how much the job is later: bulk-synchronous ranks, each
// step of which ends when the last is done, with and without a rank that is slow, by the same draws.
#include "margay/detect/lost_time.h"

#include <random>

#include "families/world.h"
#include "stream.h"
#include "watch_job.h"

namespace margay::detect::test {
namespace lost_time_test {

using alert::Status;

constexpr double kStep = 0.03, kNoise = 0.04;  // s, of that
constexpr StateId kReduce{5};

struct Bsp {
  std::vector<double> work;  // of each rank, in steps
  std::vector<model::SliceColumn> slices;
  std::vector<double> ends;  // of steps
  Bsp(std::vector<double> work_of, std::uint32_t seed, std::uint32_t rank, const bench::Rate& rate,
      double end)
      : work(std::move(work_of)) {
    const auto ranks = static_cast<std::uint32_t>(work.size());
    bench::Stream stream(ranks, 7, milliseconds(100), [&](const model::SliceColumn& c) {
      slices.push_back(c);
      slices.back().index = kJobFirst + c.index.value;
      for (std::uint32_t l = 0; l < ranks; ++l) {
        TimeNs& since = slices.back().open(LeafIndex(l)).since;
        since = since + (slice_begin(kJobFirst, milliseconds(100)) - TimeNs(0));
      }
    });
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    for (double t = 0; t < end; t = ends.back()) {
      double last = t;
      for (std::uint32_t r = 0; r < ranks; ++r) {
        const double needed = kStep * work[r] * std::exp(kNoise * normal(random));
        const double done = r == rank ? rate.finish(t, needed) : t + needed;
        stream.until(r, kCompute.value, done);
        last = std::max(last, done);
      }
      for (std::uint32_t r = 0; r < ranks; ++r) stream.until(r, kReduce.value, last + 0.1 * kStep);
      ends.push_back(last + 0.1 * kStep);
      stream.tell();
    }
  }
};

struct Lost {
  double late = 0, claimed = 0;  // s
  std::vector<alert::Alert> alerts;
};
// Rank 3 goes on at `share` of its speed from 15 s on.
Lost slowed(std::vector<double> work, double share, double seconds, std::uint32_t seed) {
  JobPlan plan;
  plan.ranks = static_cast<std::uint32_t>(work.size());
  bench::Rate slow;
  slow.during(15, 15 + seconds, share);
  const Bsp usual(work, seed, 3, {}, 30), run(work, seed, 3, slow, 30);
  Lost out;
  const std::size_t done = std::min(usual.ends.size(), run.ends.size()) - 1;
  out.late = run.ends[done] - usual.ends[done];
  out.alerts = watch(plan, run.slices).alerts;
  for (const alert::Alert& a : out.alerts)
    if (a.status == Status::kResolved) out.claimed += a.cost_s.value_or(0);
  return out;
}

TEST(LostTime, IsHowMuchLaterTheJobIs) {
  for (std::uint32_t seed = 1; seed <= 3; ++seed)
    for (const auto& [share, seconds] : {std::pair(0.5, 5.0), std::pair(0.2, 2.0), std::pair(0.0, 1.5)}) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << " speed " << share << " for " << seconds << " s");
      const Lost lost = slowed(std::vector<double>(16, 1.0), share, seconds, seed);
      ASSERT_EQ(lost.alerts.size(), 2u);
      EXPECT_GT(lost.late, 0.4 * seconds);
      EXPECT_NEAR(lost.claimed, lost.late, 0.1 * lost.late + 0.1);
      EXPECT_LE(lost.alerts[0].cost_s, lost.alerts[1].cost_s) << "so far";
    }
}

// Who has half as much to do may take nearly twice as long, and nobody waits for it.
TEST(LostTime, IsNothingWhereNobodyWaits) {
  std::vector<double> work(16, 1.0);
  work[3] = 0.5;
  const Lost lost = slowed(work, 0.6, 5, 1);
  EXPECT_NEAR(lost.late, 0, 0.05);
  ASSERT_FALSE(lost.alerts.empty()) << "it takes longer, and that is told";
  EXPECT_NEAR(lost.claimed, 0, 0.15);
}

}  // namespace lost_time_test
}  // namespace margay::detect::test
