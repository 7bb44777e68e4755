// Ranks that share CPUs.
#include "crowd.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "watch_job.h"

namespace margay::detect::test {
namespace crowd_test {

using testing::ElementsAre;
using testing::IsEmpty;

// Two hosts of four ranks that always work; those of the first are kept waiting for half of the time.
class Crowd : public ::testing::Test {
 protected:
  Crowd() : measured_(plan()) {
    measured_.columns.work.assign(16, 1);
    contrast().share_cpus({1, 1, 1, 1, 2, 2, 2, 2});
    for (model::SliceColumn& c : make_job(plan())) {
      for (std::uint32_t r = 0; r < 8; ++r) {
        model::NodeEvidence& e = c.evidence(LeafIndex(r));
        e.sampled_ns = e.cpu_ns = plan().slice.value;
        deny(e, r < 4 ? 0.5 : 0.02);
      }
      measured_.take(c);
    }
  }
  static JobPlan plan() {
    JobPlan p;
    p.ranks = 8;
    p.phases = {{2'000, kA, ""}};
    return p;
  }
  Contrast& contrast() { return measured_.contrast; }
  // Those that are not named work as ever.
  std::set<std::uint32_t> together(const std::set<std::uint32_t>& blamed,
                                   const std::map<std::uint32_t, float>& longer) {
    return slowed_together(contrast(), blamed,
                           [&](std::uint32_t l) { return longer.contains(l) ? longer.at(l) : 0.0f; });
  }

 private:
  Measured measured_;
};

TEST_F(Crowd, OneThatIsSlowedHalfAsMuchIsSlowedWithIt) {
  EXPECT_THAT(together({1}, {{1, 1.0f}, {3, 0.5f}}), ElementsAre(1, 3));
  EXPECT_THAT(together({1}, {{1, 1.0f}, {3, 0.4f}}), IsEmpty()) << "alone";
  EXPECT_THAT(together({1, 2}, {{1, 1.0f}, {2, 0.9f}}), ElementsAre(1, 2));
}

TEST_F(Crowd, OthersHaveOtherCpusOrOneEach) {
  EXPECT_THAT(together({1}, {{1, 1.0f}, {5, 1.0f}}), IsEmpty());
  EXPECT_THAT(together({5}, {{5, 1.0f}, {6, 1.0f}}), IsEmpty());
  EXPECT_THAT(together({1, 5}, {{1, 1.0f}, {2, 1.0f}, {5, 1.0f}, {6, 1.0f}}), IsEmpty()) << "one of them";
  EXPECT_TRUE(in_crowds(contrast(), {0, 3}));
  EXPECT_FALSE(in_crowds(contrast(), {0, 5}));
}

TEST_F(Crowd, WhoIsKeptWaitingAloneOnItsCpusIsNone) {
  EXPECT_EQ(count_crowded(contrast()), 4u);
  contrast().share_cpus({1, 2, 3, 3, 4, 4, 4, 4});
  EXPECT_EQ(count_crowded(contrast()), 2u);
}

TEST_F(Crowd, WhoDoesNotWorkLongerIsNotSlowedTogetherWithAnybody) {
  EXPECT_TRUE(in_crowds(contrast(), {1}));
  EXPECT_THAT(together({1}, {}), IsEmpty());
}

}  // namespace crowd_test
}  // namespace margay::detect::test
