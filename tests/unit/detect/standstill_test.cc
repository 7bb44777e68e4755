// Whether a job gets on, and whether it is news that it does not.
#include "margay/detect/standstill.h"

#include "watch_job.h"

namespace margay::detect::test {
namespace standstill_test {

std::shared_ptr<const Topology> with_io(const JobPlan& plan) {
  auto t = std::make_shared<Topology>(*job_topology(plan));
  t->states.push_back({"write", model::StateFamily::kIo});
  return t;
}

struct Job {
  JobPlan plan;
  std::shared_ptr<const Topology> topology = with_io(plan);
  Standstill standstill{{plan.slice}};
  SliceIndex at{};

  StateId state(const std::string& name) const {
    for (std::uint16_t s = 0; s < topology->states.size(); ++s)
      if (topology->states[s].name == name) return StateId(s);
    ADD_FAILURE() << "no state " << name;
    return {};
  }
  // So many slices in which `ended` visits of each leaf end, and all are in `state`, but the first leaf in
  // `first`.
  void go(int slices, std::uint32_t ended, StateId state, bool stopped = false,
          std::optional<StateId> first = {}) {
    for (int i = 0; i < slices; ++i, at = at + 1) {
      model::SliceColumn c(LevelIndex(0), at, static_cast<std::uint32_t>(topology->hierarchy.leaf_count()),
                           static_cast<std::uint16_t>(topology->states.size()));
      for (std::uint32_t l = 0; l < c.leaves(); ++l) {
        c.visits(LeafIndex(l))[state.value] = ended;
        c.open(LeafIndex(l)) = {l == 0 ? first.value_or(state) : state,
                                slice_begin(at, plan.slice) - plan.slice};
      }
      standstill.on_slice(c, *topology, {}, stopped);
      if (ended > 0) standstill.learn();
    }
  }
  // Slices until it is news, at most so many.
  int until_news(StateId state, int most = 50) {
    for (int i = 1; i <= most; ++i) {
      go(1, 0, state);
      if (standstill.is_news()) return i;
    }
    return 0;
  }
};

TEST(Standstill, IsNewsAfterThreeSlicesWhereAllWaitForSomebody) {
  Job job;
  const StateId waits = job.state("MPI_Allreduce");
  job.go(10, 5, waits);
  EXPECT_EQ(job.until_news(waits), 0) << "ten slices do not tell what is usual";
  job.go(20, 5, waits);
  EXPECT_EQ(job.until_news(waits), 3);
  EXPECT_EQ(job.standstill.slices(), 3u);
  job.go(1, 1, waits);
  EXPECT_EQ(job.standstill.slices(), 0u);
  EXPECT_FALSE(job.standstill.is_news());
}

// The job stumbles, and then it hangs.
TEST(Standstill, ThatFewVisitsEndNowAndThenDoesNotHideIt) {
  Job job;
  const StateId waits = job.state("MPI_Allreduce");
  job.go(30, 5, waits);
  job.go(2, 0, waits);
  job.go(1, 1, waits);
  EXPECT_EQ(job.until_news(waits), 3);
  Job slow;
  for (int i = 0; i < 10; ++i) slow.go(9, 5, waits), slow.go(1, 1, waits);
  EXPECT_EQ(slow.until_news(waits), 0) << "it often gets on slowly";
}

TEST(Standstill, AsLongAsTheJobHasStoodStillTwiceBeforeIsNoNews) {
  Job job;
  const StateId waits = job.state("MPI_Allreduce");
  job.go(30, 5, waits);
  for (const int expected : {3, 3, 6, 6}) {
    EXPECT_EQ(job.until_news(waits), expected);
    job.go(8, 5, waits);
  }
}

TEST(Standstill, OnceIsNoHabitNorIsAStoppedProcess) {
  Job job;
  const StateId waits = job.state("MPI_Allreduce");
  job.go(30, 5, waits);
  job.go(8, 0, waits);
  job.go(10, 5, waits);
  for (int i = 0; i < 3; ++i) {
    job.go(8, 0, waits, true);
    job.go(1, 5, waits, true);
    job.go(10, 5, waits);
  }
  EXPECT_EQ(job.until_news(waits), 3);
}

TEST(Standstill, WhereAllDoTheSameWorkItTakesFourTimesAsLong) {
  Job job;
  const StateId writes = job.state("write"), waits = job.state("MPI_Allreduce");
  job.go(30, 5, waits);
  job.go(4, 0, writes);
  EXPECT_FALSE(job.standstill.is_news());
  EXPECT_FALSE(job.standstill.too_long());
  job.go(10, 5, waits);
  EXPECT_EQ(job.until_news(writes), 12);
  Job other;
  other.go(30, 5, waits);
  other.go(3, 0, writes, false, kCompute);
  EXPECT_TRUE(other.standstill.is_news()) << "all others write, and wait for one";
}

TEST(Standstill, StepsLongerThanASliceAreNone) {
  Job job;
  const StateId waits = job.state("MPI_Allreduce");
  job.go(30, 5, waits);
  for (int i = 0; i < 20; ++i) {
    job.go(1, 5, waits);
    job.go(4, 0, waits);
    job.standstill.learn();
  }
  EXPECT_FALSE(job.standstill.is_unusual());
  EXPECT_EQ(job.until_news(waits), 0);
}

}  // namespace standstill_test
}  // namespace margay::detect::test
