// Episodes that have become usual: when they are over.
#include "lasting.h"

#include <gmock/gmock.h>

#include <numeric>

#include "watch_job.h"

namespace margay::detect::test {
namespace lasting_test {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint32_t kBack = 2;

// Rank 3 has waited for 60 % of the time for so long that it is usual of it.
struct Lasted {
  Lasted() : measured(plan()) {
    job = make_job(plan());
    for (auto& c : job) spend(c, 3, kJobWait, 0.6);
    for (; next < 100; ++next) measured.take(job[next]);
    Episode e;
    e.number = 4;
    e.leaves = {3};
    e.onset = SliceIndex(0);
    std::vector<float> way(measured.contrast.cells(), 0.0f);
    way[measured.cell(Contrast::kShare, kJobWait)] = 0.6f;
    lasting.add(e, e.leaves, way);
  }
  static JobPlan plan() {
    JobPlan plan;
    plan.evidence = false;
    plan.n_eff = 200;
    plan.phases = {{20'000, kA, ""}};
    return plan;
  }
  // True where its leaves do as before it. `share`: that rank 3 waits for.
  bool look(double share) {
    model::SliceColumn c = make_job(plan())[next];
    spend(c, 3, kJobWait, share);
    return look(c);
  }
  bool look(const model::SliceColumn& c) {
    lasting.forget_over();
    measured.take(c, false);
    ++next;
    return lasting.look(measured.contrast, c.index, kBack);
  }
  std::size_t next = 0;
  Measured measured;
  LastingEpisodes lasting;
  std::vector<model::SliceColumn> job;
};

TEST(Lasting, GoesOnAsLongAsItsLeavesDoAsTheyHaveDone) {
  Lasted l;
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(l.look(0.6)) << i;
  ASSERT_EQ(l.lasting.all().size(), 1u);
  EXPECT_FALSE(l.lasting.any_over());
  EXPECT_THAT(l.lasting.returning(), IsEmpty());
  EXPECT_EQ(l.lasting.all()[0].number, 4u);
}

TEST(Lasting, IsOverWhenTheyDoAsBeforeForAWhile) {
  Lasted l;
  const auto first = static_cast<std::int64_t>(l.next);
  for (std::uint32_t k = 0; k <= kBack; ++k) {
    EXPECT_FALSE(l.lasting.any_over()) << k;
    EXPECT_TRUE(l.look(0)) << k;
    EXPECT_THAT(l.lasting.returning(), ElementsAre(3)) << "no departure from what it does by now";
  }
  ASSERT_TRUE(l.lasting.any_over());
  EXPECT_EQ(l.lasting.all()[0].end, kJobFirst + first);
  EXPECT_THAT(l.lasting.returned(), ElementsAre(3)) << "it is learned anew";
  l.lasting.forget_over();
  EXPECT_THAT(l.lasting.all(), IsEmpty());
}

TEST(Lasting, ASliceAsBeforeIsNoEnd) {
  Lasted l;
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(l.look(0));
    for (int k = 0; k < 3; ++k) l.look(0.6);
    EXPECT_FALSE(l.lasting.any_over()) << i;
  }
  // Nor is it where they have gone back a little.
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(l.look(0.5)) << i;
  EXPECT_FALSE(l.lasting.any_over());
}

TEST(Lasting, IsOverWhenTheyAreGone) {
  Lasted l;
  const auto first = static_cast<std::int64_t>(l.next);
  for (int i = 0; i < 20 && !l.lasting.any_over(); ++i) {
    model::SliceColumn c = l.job[l.next];
    auto row = c.duration_ns(LeafIndex(3));
    std::fill(row.begin(), row.end(), 0);
    row[kAbsent.value] = Lasted::plan().slice.value;
    EXPECT_FALSE(l.look(c));
  }
  ASSERT_TRUE(l.lasting.any_over());
  EXPECT_EQ(l.lasting.all()[0].end, kJobFirst + first);
  EXPECT_THAT(l.lasting.returned(), IsEmpty());
}

TEST(Lasting, TheOldestIsOverWhereThereAreTooMany) {
  LastingEpisodes lasting;
  for (std::uint64_t k = 0; k <= LastingEpisodes::kMost; ++k) {
    Episode e;
    e.number = k;
    e.onset = SliceIndex(static_cast<std::int64_t>(10 * k));
    lasting.add(e, e.leaves, {});
    EXPECT_EQ(lasting.any_over(), k == LastingEpisodes::kMost);
  }
  EXPECT_TRUE(lasting.all()[0].over);
  EXPECT_EQ(lasting.all()[0].end, SliceIndex(10 * LastingEpisodes::kMost));
  lasting.forget_over();
  EXPECT_EQ(lasting.all().size(), LastingEpisodes::kMost);
  EXPECT_EQ(lasting.all()[0].number, 1u);
}

TEST(Lasting, ItsWayIsThatOfTheSameStatesWhenOthersCome) {
  Lasted l;
  const std::size_t before = l.measured.contrast.columns();
  l.lasting.widen(before, before + 2);
  const auto& way = l.lasting.all()[0].way;
  ASSERT_EQ(way.size(), Contrast::kMeasures * (before + 2));
  EXPECT_EQ(way[Contrast::kShare * (before + 2) + l.measured.column(kJobWait)], 0.6f);
  EXPECT_FLOAT_EQ(std::accumulate(way.begin(), way.end(), 0.0f), 0.6f);
}

}  // namespace lasting_test
}  // namespace margay::detect::test
