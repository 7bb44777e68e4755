// Who is the cause.
#include "blame.h"

#include <gmock/gmock.h>

#include "contrast.h"
#include "episode.h"
#include "trees.h"

namespace margay::detect::test {
namespace blame_test {

using testing::ElementsAre;

// Services of four lanes each; columns of the machine, then work and waiting for a reply.
struct Lengths {
  static constexpr std::size_t kWorkColumn = Contrast::kMachine, kWaitColumn = kWorkColumn + 1,
                               kColumns = kWaitColumn + 1;
  static constexpr std::uint16_t kWorkState = 4, kWaitState = 5;
  explicit Lengths(std::uint32_t services) : items(hosts_of(services, 4)) {
    sums.lay_out(items.size(), kColumns);
    columns.state_of = {Episode::kDenied, Episode::kStopped, Episode::kBlocked, kWorkState, kWaitState};
    columns.work = {1, 1, 1, 1, 0};
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
    return blame_lengths(sums, items, columns, std::log(2.0f * static_cast<float>(items.size())), least);
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

}  // namespace blame_test
}  // namespace margay::detect::test
