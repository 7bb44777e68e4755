// How much longer than ever before work takes.
#include "work_lengths.h"

#include <gmock/gmock.h>

#include "stream.h"
#include "watch_job.h"

namespace margay::detect::test {
namespace work_lengths_test {

using bench::Stream;

constexpr std::uint32_t kRanks = 4;

// Ranks that compute for 0.17 s and wait for 0.08 s in turn, rank 2 for 0.0085 s longer from slice `from` on:
// visits of work cross the slices of 0.1 s anywhere.
struct Steps {
  explicit Steps(std::int64_t from) {
    plan.ranks = kRanks;
    plan.evidence = false;
    Stream stream(kRanks, static_cast<std::uint32_t>(job_topology(plan)->states.size()), plan.slice,
                  [&](const model::SliceColumn& c) { slices.push_back(c); });
    while (stream.told() < 1'000) {
      for (std::uint32_t r = 0; r < kRanks; ++r) {
        const bool slow = r == 2 && stream.now(r) * 10 >= static_cast<double>(from);
        stream.spend(r, kCompute.value, slow ? 0.1785 : 0.17);
        stream.spend(r, kJobWait.value, 0.08);
      }
      stream.tell();
    }
  }
  JobPlan plan;
  std::vector<model::SliceColumn> slices;
};

TEST(WorkLengths, AVisitCountsAsAWholeWhereverSlicesCutIt) {
  const Steps steps(500);
  Measured measured(steps.plan);
  WorkLengths lengths;
  std::vector<double> longer(kRanks), excess(kRanks);
  double counted = 0;
  for (std::size_t i = 0; i < 1'000; ++i) {
    measured.take(steps.slices[i]);
    measured.columns.work.resize(measured.contrast.columns(), 0);
    measured.columns.work[measured.column(kCompute)] = 1;
    if (measured.contrast.unsettled()) continue;
    lengths.take(measured.contrast, measured.columns, {});
    if (i < 500) continue;
    counted += 1;
    for (std::uint32_t r = 0; r < kRanks; ++r) {
      ASSERT_TRUE(lengths.known()[r]);
      longer[r] += static_cast<double>(lengths.longer()[r][measured.column(kCompute)]);
      excess[r] += static_cast<double>(lengths.excess()[r][measured.column(kCompute)]);
    }
  }
  ASSERT_GT(counted, 400);
  for (std::uint32_t r = 0; r < kRanks; ++r) {
    SCOPED_TRACE(r);
    // It takes 5 % longer, but what has been usual for fifty seconds becomes less so.
    if (r == 2) {
      EXPECT_GT(longer[r] / counted, 0.02);
      EXPECT_LT(longer[r] / counted, 0.05);
      EXPECT_GT(excess[r], 0.01 * counted);
    } else {
      EXPECT_NEAR(longer[r] / counted, 0, 0.002);
      EXPECT_NEAR(excess[r] / counted, 0, 0.002);
    }
  }
}

// Who is told to be slow is not learned from.
TEST(WorkLengths, NothingIsLearnedOfThoseThatAreLeftOut) {
  const Steps steps(500);
  Measured measured(steps.plan);
  WorkLengths lengths;
  double longer = 0, counted = 0;
  for (std::size_t i = 0; i < 1'000; ++i) {
    measured.take(steps.slices[i]);
    measured.columns.work.resize(measured.contrast.columns(), 0);
    measured.columns.work[measured.column(kCompute)] = 1;
    if (measured.contrast.unsettled()) continue;
    lengths.take(measured.contrast, measured.columns,
                 i < 500 ? std::vector<char>() : std::vector<char>(kRanks, 1));
    if (i < 500) continue;
    counted += 1;
    longer += static_cast<double>(lengths.longer()[2][measured.column(kCompute)]);
  }
  ASSERT_GT(counted, 400);
  EXPECT_NEAR(longer / counted, 0.05, 0.005);
}

}  // namespace work_lengths_test
}  // namespace margay::detect::test
