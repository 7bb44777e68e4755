#include "margay/scene/temporal_bars.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "small_view.h"

namespace margay::scene {
namespace temporal_bars_test {

using support::ViewBuilder;
using testing::ElementsAre;

TEST(TemporalBars, OfATemporalPartitionEachPartIsABar) {
  ViewBuilder build(6);
  const auto wait = build.state("MPI_Wait", wire::FAMILY_WAIT);
  const auto recv = build.state("MPI_Recv");
  const auto send = build.state("MPI_Send");
  const auto compute = build.state("Compute", wire::FAMILY_COMPUTE);
  const auto absent = build.state("absent", wire::FAMILY_ABSENT);
  build.raw().mutable_question()->set_partition(wire::ViewQuestion::TEMPORAL);
  build.part(0, 0, 2, {{wait, 0.25F}, {send, 0.25F}, {compute, 0.25F}, {absent, 0.125F}}, 0.75F, 3, 2);
  build.part(0, 2, 6, {{send, 0.015F}, {wait, 0.9F}, {recv, 0.01F}});
  const std::vector<Bar> bars = temporal_bars(*view_data_untrusted(build.answer()));
  ASSERT_EQ(bars.size(), 2u);
  EXPECT_EQ(bars[0].first, 0u);
  EXPECT_EQ(bars[0].last, 2u);
  ASSERT_EQ(bars[0].segments.size(), 3u);  // compute first, then by family; what is absent is a gap
  EXPECT_EQ(bars[0].segments[0].state, static_cast<std::int32_t>(compute));
  EXPECT_EQ(bars[0].segments[1].state, static_cast<std::int32_t>(send));
  EXPECT_EQ(bars[0].segments[2].state, static_cast<std::int32_t>(wait));
  EXPECT_EQ(bars[0].segments[0].from, 0);
  EXPECT_NEAR(bars[0].segments[1].from, 0.25, 1e-9);
  EXPECT_NEAR(bars[0].segments[2].to, 0.75, 1e-9);
  EXPECT_NEAR(bars[0].known, 0.75, 1e-9);
  EXPECT_EQ(bars[0].gain, 3);
  EXPECT_EQ(bars[0].loss, 2);
  EXPECT_EQ(bars[0].parts, 1u);
  EXPECT_FALSE(bars[0].pro_rata);
  ASSERT_EQ(bars[1].segments.size(), 2u);
  EXPECT_EQ(bars[1].segments[0].state, static_cast<std::int32_t>(wait));
  EXPECT_EQ(bars[1].segments[1].state, kOthers);  // on top, though Recv and Send come before Wait
  EXPECT_EQ(bars[1].segments[1].states, 2u);
  EXPECT_NEAR(bars[1].segments[1].to, 0.925, 1e-6);
  EXPECT_EQ(bars[1].mode, static_cast<std::int32_t>(wait));
}

TEST(TemporalBars, OneSmallStateAloneKeepsItsName) {
  ViewBuilder build(1);
  build.state("MPI_Send");
  build.state("MPI_Wait", wire::FAMILY_WAIT);
  build.part(0, 0, 1, {{0, 0.01F}, {1, 0.9F}});
  const std::vector<Bar> bars = temporal_bars(*view_data_untrusted(build.answer()));
  ASSERT_EQ(bars[0].segments.size(), 2u);
  EXPECT_EQ(bars[0].segments[1].state, 0);
  EXPECT_EQ(bars[0].segments[1].states, 1u);
}

TEST(TemporalBars, OfASpatiotemporalPartitionBetweenSharedCuts) {
  const SmallView small;
  const ViewData d = small.data();
  EXPECT_THAT(shared_cuts(d, 0), ElementsAre(0, 4));  // b is not cut at 2
  EXPECT_THAT(shared_cuts(d, small.a), ElementsAre(0, 2, 4));
  EXPECT_THAT(shared_cuts(d, small.r0), ElementsAre(0, 2, 4));
  EXPECT_THAT(shared_cuts(d, small.b), ElementsAre(0, 4));
  EXPECT_TRUE(shared_cuts(d, 99).empty());
  BarOptions options;
  options.node = small.r0;
  const std::vector<Bar> bars = temporal_bars(d, options);
  ASSERT_EQ(bars.size(), 2u);
  EXPECT_FALSE(bars[0].pro_rata);
  EXPECT_TRUE(bars[1].pro_rata);
  EXPECT_NEAR(bars[1].gain, 1, 1e-9);  // half of a's
  EXPECT_TRUE(temporal_bars(d, {99, 0}).empty());
  EXPECT_TRUE(temporal_bars(ViewData{}).empty());
}

TEST(TemporalBars, SayWhatProportionsSay) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 rng(seed);
    const ViewData d =
        *view_data_untrusted(support::random_view(rng, {1 + rng() % 20, 1 + rng() % 20, 5, 4, 0.8}));
    BarOptions options;
    options.node = static_cast<std::uint32_t>(rng() % d.nodes.size());
    options.least_share = 0;
    const std::vector<std::uint32_t> cuts = shared_cuts(d, options.node);
    const std::vector<Bar> bars = temporal_bars(d, options);
    ASSERT_EQ(bars.size() + 1, cuts.size());
    for (std::size_t i = 0; i < bars.size(); ++i) {
      ASSERT_EQ(bars[i].first, cuts[i]);
      ASSERT_EQ(bars[i].last, cuts[i + 1]);
      const Proportions p = proportions(d, options.node, bars[i].first, bars[i].last);
      EXPECT_NEAR(bars[i].gain, p.gain, 1e-9);
      EXPECT_NEAR(bars[i].known, p.known, 1e-9);
      EXPECT_EQ(bars[i].parts, p.parts);
      EXPECT_EQ(bars[i].pro_rata, p.pro_rata);
      double top = 0;
      for (const Segment& s : bars[i].segments) {
        EXPECT_NEAR(s.from, top, 1e-12);
        EXPECT_NEAR(s.to - s.from, p.shares[static_cast<std::size_t>(s.state)], 1e-9);
        top = s.to;
      }
    }
  }
}

// Two resources; of the second stretch nothing is known.
TEST(TemporalBars, AsATable) {
  support::ViewBuilder build(4);
  const auto send = build.state("MPI_Send"), compute = build.state("Compute", wire::FAMILY_COMPUTE);
  build.node("r0", 0), build.node("r1", 0);
  build.part(0, 0, 3, {{send, 0.25F}, {compute, 0.5F}}, 0.75F);
  build.part(0, 3, 4, {}, 0);
  wire::ViewAnswer answer = build.answer();
  answer.set_zero_ns(-500'000'000);
  EXPECT_EQ(bars_csv(*view_data_untrusted(answer)),
            "begin (s),end (s),state,family,share,leaf-seconds,known\r\n"
            "0.5,3.5,Compute,compute,0.5,3,0.75\r\n"
            "0.5,3.5,MPI_Send,point-to-point,0.25,1.5,0.75\r\n"
            "3.5,4.5,,,0,0,0\r\n");
  answer.set_unit("B/s"), answer.set_full(8);
  EXPECT_THAT(bars_csv(*view_data_untrusted(answer)),
              testing::HasSubstr("share of full,total (B/s),known\r\n"
                                 "0.5,3.5,Compute,compute,0.5,24,0.75\r\n"));
}

// As it is drawn, but for what is pooled there.
TEST(TemporalBars, ATableNamesWhatIsTooSmallToBeDrawn) {
  support::ViewBuilder build(1);
  const auto send = build.state("MPI_Send"), wait = build.state("MPI_Wait", wire::FAMILY_WAIT);
  build.part(0, 0, 1, {{send, 0.015625F}, {wait, 0.0078125F}});
  const ViewData d = *view_data_untrusted(build.answer());
  ASSERT_EQ(temporal_bars(d)[0].segments.size(), 1u);
  EXPECT_THAT(bars_csv(d), testing::HasSubstr("0,1,MPI_Send,point-to-point,0.015625,0.015625,1\r\n"
                                              "0,1,MPI_Wait,wait,0.0078125,0.0078125,1\r\n"));
}

}  // namespace temporal_bars_test
}  // namespace margay::scene
