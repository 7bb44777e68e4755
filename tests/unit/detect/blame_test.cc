// Who is the cause.
#include "blame.h"

#include <gmock/gmock.h>

#include "episode.h"
#include "surprise_sums.h"
#include "trees.h"
#include "watch_job.h"

namespace margay::detect::test {
namespace blame_test {

using testing::ElementsAre;
using testing::IsEmpty;

// Services of four lanes each; columns of the machine, then work and waiting for a reply.
struct Lengths {
  static constexpr std::size_t kWorkColumn = Contrast::kMachine, kWaitColumn = kWorkColumn + 1,
                               kColumns = kWaitColumn + 1;
  static constexpr std::uint16_t kWorkState = 4, kWaitState = 5;
  explicit Lengths(std::uint32_t services) : items(hosts_of(services, 4)) {
    sums.lay_out(items.size(), kColumns);
    columns.state_of = {Episode::kDenied, Episode::kStopped, Episode::kBlocked, kWorkState, kWaitState};
    columns.work = {1, 1, 1, 1, 0};
    columns.collective.assign(kColumns, 0), columns.sleeps.assign(kColumns, 0);
    SurpriseSums::Slice& s = sums.slice();
    for (Grid* g : {&s.evidence, &s.told, &s.lost, &s.ratio}) g->fill(0);
  }
  // The visits of a leaf have been so many times as long, as so much evidence says.
  void longer(std::uint32_t leaf, std::size_t column, float nats, float times) {
    SurpriseSums::Slice& s = sums.slice();
    s.evidence[leaf][column] = nats, s.told[leaf][column] = 1;
    s.lost[leaf][column] = 0.5f, s.ratio[leaf][column] = std::log(times);
  }
  Blamed blamed(float least = 5) {
    SurpriseSums::Slice& s = sums.slice();
    for (Grid* g : {&s.evidence, &s.told, &s.lost, &s.ratio}) items.add_up(*g);
    for (std::size_t i = 0; i < items.size(); ++i)
      s.busy[i] = s.there[i] = static_cast<float>(items.below(i).size());
    sums.take(items.leaves());
    return blame_lengths(sums.stretches(), items, columns, std::log(2.0f * static_cast<float>(items.size())),
                         least, 0.05);
  }
  NodeItems items;
  Columns columns;
  SurpriseSums sums;
};

TEST(BlameLengths, TheLaneThatIsSlow) {
  Lengths l(4);
  l.longer(6, Lengths::kWorkColumn, 20, 5);
  l.longer(9, Lengths::kWorkColumn, 1, 1.5);
  const Blamed b = l.blamed();
  EXPECT_THAT(b.leaves, ElementsAre(6));
  EXPECT_TRUE(b.works);
  EXPECT_EQ(b.state, Lengths::kWorkState);
  EXPECT_NEAR(b.log_ratio, std::log(5), 0.01);
  EXPECT_NEAR(b.excess, 0.5, 0.01);
  EXPECT_THAT(b.way, IsEmpty());
}

TEST(BlameLengths, TheServiceWhereAllOfItAre) {
  Lengths l(4);
  for (const std::uint32_t lane : {4u, 5u, 7u}) l.longer(lane, Lengths::kWorkColumn, 8, 4);
  l.longer(6, Lengths::kWorkColumn, 3, 4);  // it had few requests
  EXPECT_THAT(l.blamed().leaves, ElementsAre(4, 5, 6, 7));
}

TEST(BlameLengths, TwoThatHaveNothingInCommon) {
  Lengths l(4);
  l.longer(2, Lengths::kWorkColumn, 20, 5);
  l.longer(13, Lengths::kWorkColumn, 20, 4);
  EXPECT_THAT(l.blamed().leaves, ElementsAre(2, 13));
}

TEST(BlameLengths, WhoWorksLongerBeforeThoseWhoWaitForIt) {
  Lengths l(4);
  l.longer(6, Lengths::kWorkColumn, 12, 6);
  for (std::uint32_t caller = 0; caller < 4; ++caller) l.longer(caller, Lengths::kWaitColumn, 10, 3);
  const Blamed b = l.blamed();
  EXPECT_THAT(b.leaves, ElementsAre(6));
  EXPECT_TRUE(b.works);
  // Where nobody works longer, who waits is all that there is to say.
  Lengths waits(4);
  for (std::uint32_t caller = 0; caller < 4; ++caller) waits.longer(caller, Lengths::kWaitColumn, 10, 3);
  const Blamed w = waits.blamed();
  EXPECT_THAT(w.leaves, ElementsAre(0, 1, 2, 3));
  EXPECT_FALSE(w.works);
  EXPECT_EQ(w.state, Lengths::kWaitState);
}

TEST(BlameLengths, WhoIsALittleLongerWithItIsNot) {
  Lengths l(4);
  l.longer(6, Lengths::kWorkColumn, 30, 10);
  l.longer(12, Lengths::kWorkColumn, 15, 2);
  EXPECT_THAT(l.blamed().leaves, ElementsAre(6));
}

TEST(BlameLengths, TheStrongestWhereNobodyIsStrongEnough) {
  Lengths l(4);
  l.longer(6, Lengths::kWorkColumn, 2, 5);
  EXPECT_THAT(l.blamed().leaves, ElementsAre(6));
}

// 16 ranks on 4 hosts, of which a quiet while has been seen.
struct Shares16 {
  Shares16() : items(job_topology(plan())->hierarchy), measured(plan()), means(1) {
    job = make_job(plan());
    for (std::size_t i = 0; i < 150; ++i) show(job[i], true);
    columns.state_of = {Episode::kDenied, Episode::kStopped, Episode::kBlocked};
    columns.work = {1, 1, 1};
    for (std::size_t x = 0; x < measured.window.columns(); ++x) {
      columns.state_of.push_back(measured.window.state_of(x).value);
      columns.work.push_back(columns.state_of.back() == kCompute.value);
    }
    columns.collective.assign(columns.work.size(), 0), columns.sleeps = columns.collective;
  }
  static JobPlan plan() {
    JobPlan plan;
    plan.ranks = 16;
    plan.evidence = false;
    plan.n_eff = 200;
    plan.phases = {{20'000, kA, ""}};
    return plan;
  }
  void show(const model::SliceColumn& c, bool quiet) {
    measured.take(c, false);
    means.lay_out(items, measured.contrast.columns(), items.size());
    means.take(items, measured.contrast);
    if (quiet && !measured.contrast.unsettled()) means.learn(items, measured.contrast);
    if (quiet) measured.contrast.learn();
  }
  // Who it is after so many slices that are changed.
  Blamed blamed(const std::function<void(model::SliceColumn&)>& change, std::size_t slices = 4) {
    Since since;
    since.departure.reach(items.leaves(), measured.contrast.cells());
    since.time_in.reach(items.leaves(), columns.work.size());
    since.slices = static_cast<float>(slices);
    for (std::size_t k = 0; k < slices; ++k) {
      change(job[150 + k]);
      show(job[150 + k], false);
      for (std::size_t l = 0; l < items.leaves(); ++l)
        for (std::size_t x = 0; x < columns.work.size(); ++x)
          since.time_in[l][x] += measured.contrast.spent()[l][x];
    }
    for (std::size_t l = 0; l < items.leaves(); ++l) means.add_last(l, slices, since.departure[l]);
    return blame_departures(since, means, items, columns);
  }
  NodeItems items;
  Measured measured;
  NodeMeans means;
  Columns columns;
  std::vector<model::SliceColumn> job;
};

TEST(BlameDepartures, TheRanksThatGoTheSameWay) {
  Shares16 s;
  const Blamed b = s.blamed([](model::SliceColumn& c) {
    spend(c, 3, kJobWait, 0.6);
    spend(c, 9, kJobWait, 0.5);
    spend(c, 11, kJobWait, 0.1);
  });
  EXPECT_THAT(b.leaves, ElementsAre(3, 9));
  EXPECT_EQ(b.state, kJobWait.value);
  EXPECT_FALSE(b.works);
  EXPECT_FALSE(b.everybody);
  EXPECT_THAT(b.way, testing::SizeIs(s.measured.contrast.cells()));
  EXPECT_THAT(b.way, testing::Each(testing::Ge(0)));
}

TEST(BlameDepartures, WhoWorksLongerBeforeTheManyWhoWait) {
  Shares16 s;
  const Blamed b = s.blamed([](model::SliceColumn& c) {
    for (std::uint32_t r = 0; r < 16; ++r) spend(c, r, r == 10 ? kCompute : kJobWait, 0.7);
  });
  EXPECT_THAT(b.leaves, ElementsAre(10));
  EXPECT_TRUE(b.works);
  EXPECT_EQ(b.state, kCompute.value);
}

// Its work takes no longer, but two wait for it, and it for nobody.
TEST(BlameDepartures, WhoNoLongerWaitsBeforeThoseWhoWaitLonger) {
  for (const bool goes_on : {true, false}) {
    SCOPED_TRACE(goes_on);
    Shares16 s;
    s.measured.columns.work = s.columns.work;
    const Blamed b = s.blamed([&](model::SliceColumn& c) {
      spend(c, 5, kJobWait, 0.4), spend(c, 7, kJobWait, 0.4);
      if (!goes_on) return;
      spend(c, 6, kCompute, 0.95);
      c.visits(LeafIndex(6))[kCompute.value] = 20;
    });
    EXPECT_THAT(b.depart, ElementsAre(5, 7));
    if (goes_on)
      EXPECT_THAT(b.leaves, ElementsAre(6));
    else
      EXPECT_THAT(b.leaves, ElementsAre(5, 7));
    EXPECT_EQ(b.works, goes_on);
    EXPECT_EQ(b.state, (goes_on ? kCompute : kJobWait).value);
  }
}

TEST(BlameDepartures, NearlyAllAreTheJobThatDoesSomethingElse) {
  Shares16 s;
  for (const std::uint32_t many : {8u, 12u}) {
    Since since;
    since.departure.reach(s.items.leaves(), s.measured.contrast.cells());
    since.time_in.reach(s.items.leaves(), s.columns.work.size());
    since.slices = 2;
    for (std::uint32_t r = 0; r < many; ++r)
      since.departure[r][s.measured.cell(Contrast::kShare, kJobWait)] = 0.8f;
    const Blamed b = blame_departures(since, s.means, s.items, s.columns);
    EXPECT_EQ(b.leaves.size(), many);
    EXPECT_EQ(b.everybody, many == 12);
    EXPECT_FLOAT_EQ(b.way[s.measured.cell(Contrast::kShare, kJobWait)], 0.4f);
  }
}

}  // namespace blame_test
}  // namespace margay::detect::test
