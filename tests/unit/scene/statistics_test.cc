#include "margay/scene/statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "margay/scene/temporal_bars.h"
#include "small_view.h"

namespace margay::scene {
namespace statistics_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

std::vector<std::uint32_t> states(const Statistics& s) {
  std::vector<std::uint32_t> out;
  for (const StateRow& r : s.rows) out.push_back(r.state);
  return out;
}

TEST(Statistics, OfTheWhole) {
  const SmallView small;
  const ViewData d = small.data();
  const Statistics s = statistics(d, {0, 0, 4});
  EXPECT_THAT(states(s), ElementsAre(small.compute, small.wait, small.send, small.absent));
  EXPECT_EQ(s.leaves, 4u);
  EXPECT_EQ(s.parts, 4u);
  EXPECT_NEAR(s.known, 0.9, 1e-6);
  EXPECT_DOUBLE_EQ(s.gain, 12);
  EXPECT_DOUBLE_EQ(s.loss, 6);
  EXPECT_DOUBLE_EQ(s.leaf_seconds, 16);
  EXPECT_FALSE(s.pro_rata);
  const StateRow& compute = s.rows[0];
  EXPECT_NEAR(compute.share, 0.3, 1e-6);
  EXPECT_NEAR(compute.total, 4.8, 1e-5);
  EXPECT_EQ(compute.mode_parts, 1u);
  EXPECT_EQ(compute.mode_leaves, 2u);
  EXPECT_EQ(compute.least, 0);  // three parts have none of it
  EXPECT_NEAR(compute.most, 0.6, 1e-6);
  const StateRow& wait = s.rows[1];
  EXPECT_NEAR(wait.share, 0.25, 1e-6);
  EXPECT_EQ(wait.mode_parts, 2u);
  EXPECT_EQ(wait.mode_leaves, 1u);  // r1; r0 has 1.6 + 0.5 of Send and 1.0 of Wait
  EXPECT_EQ(s.rows[2].mode_leaves, 1u);
  EXPECT_EQ(s.rows[3].mode_leaves, 0u);  // nobody's mode is to be absent
  EXPECT_EQ(s.rows[3].mode_parts, 0u);
}

TEST(Statistics, OfASelection) {
  const SmallView small;
  const ViewData d = small.data();
  const Statistics r1 = statistics(d, {small.r1, 1, 3});
  EXPECT_TRUE(r1.pro_rata);
  EXPECT_EQ(r1.parts, 2u);
  EXPECT_EQ(r1.leaves, 1u);
  EXPECT_DOUBLE_EQ(r1.leaf_seconds, 2);
  EXPECT_THAT(states(r1), ElementsAre(small.wait, small.send));
  EXPECT_NEAR(r1.rows[0].share, 0.75, 1e-6);
  EXPECT_NEAR(r1.rows[0].least, 0.5, 1e-6);
  EXPECT_NEAR(r1.rows[0].most, 1, 1e-6);
  EXPECT_EQ(r1.rows[0].mode_leaves, 1u);
  EXPECT_NEAR(r1.rows[1].most, 0.25, 1e-6);
  EXPECT_EQ(r1.rows[1].least, 0);
}

TEST(Statistics, OfNothing) {
  const ViewData d = SmallView().data();
  for (const Selection& s :
       {Selection{0, 2, 2}, Selection{0, 3, 1}, Selection{99, 0, 4}, Selection{0, 9, 12}}) {
    EXPECT_TRUE(statistics(d, s).rows.empty());
    EXPECT_EQ(statistics(d, s).parts, 0u);
  }
  EXPECT_EQ(statistics(d, {0, 0, 99}).selection.last, 4u);
  EXPECT_TRUE(statistics(ViewData{}, {0, 0, 1}).rows.empty());
}

TEST(Statistics, WhatIsMeasuredIsInItsUnit) {
  SmallView small;
  small.build.raw().set_unit("bytes");
  small.build.raw().set_full(1000);
  const Statistics s = statistics(small.data(), {small.b, 0, 4});
  EXPECT_NEAR(s.rows[0].total, 0.6 * 8 * 1000, 1e-2);
  EXPECT_THAT(csv_of(s, small.data()), HasSubstr("total (bytes)"));
}

TEST(Statistics, AgreeWithEveryLeafOfRandomPictures) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 rng(seed);
    const ViewData d =
        *view_data_untrusted(support::random_view(rng, {1 + rng() % 25, 1 + rng() % 15, 6, 4, 0.8}));
    Selection of{static_cast<std::uint32_t>(rng() % d.nodes.size()), rng() % d.slices(), d.slices()};
    const Statistics s = statistics(d, of);
    std::vector<std::uint64_t> leaves(d.states.size());
    for (const Node& n : d.nodes) {
      const std::uint32_t i = static_cast<std::uint32_t>(&n - d.nodes.data());
      if (!d.children_of(i).empty() || i < of.node || i >= d.nodes[of.node].end) continue;
      const Proportions p = proportions(d, i, of.first, of.last);
      if (p.mode != kNoState && d.states[static_cast<std::size_t>(p.mode)].known())
        ++leaves[static_cast<std::size_t>(p.mode)];
    }
    double sum = 0;
    for (const StateRow& row : s.rows) {
      EXPECT_EQ(row.mode_leaves, leaves[row.state]);
      EXPECT_LE(row.least, row.share + 1e-9);
      EXPECT_GE(row.most, row.share - 1e-9);
      sum += row.share;
    }
    EXPECT_LE(sum, 1 + 1e-6);
  }
}

TEST(Statistics, Sorting) {
  const SmallView small;
  const ViewData d = small.data();
  Statistics s = statistics(d, {0, 0, 4});
  sort(s, d, StatisticsColumn::kName, false);
  EXPECT_THAT(states(s), ElementsAre(small.compute, small.send, small.wait, small.absent));
  sort(s, d, StatisticsColumn::kName, true);
  EXPECT_THAT(states(s), ElementsAre(small.absent, small.wait, small.send, small.compute));
  sort(s, d, StatisticsColumn::kModeLeaves, true);
  EXPECT_THAT(states(s), ElementsAre(small.compute, small.send, small.wait, small.absent));  // equals by name
  sort(s, d, StatisticsColumn::kModeLeaves, false);
  EXPECT_THAT(states(s), ElementsAre(small.absent, small.send, small.wait, small.compute));
  sort(s, d, StatisticsColumn::kTotal, false);
  EXPECT_THAT(states(s), ElementsAre(small.absent, small.send, small.wait, small.compute));
  sort(s, d, StatisticsColumn::kFamily, false);  // absent, compute, point-to-point, wait
  EXPECT_THAT(states(s), ElementsAre(small.absent, small.compute, small.send, small.wait));
}

TEST(Csv, TableIsRfc4180) {
  support::ViewBuilder build(2);
  build.state("odd, \"name\"");
  build.part(0, 0, 2, {{0, 0.5F}});
  const ViewData d = *view_data_untrusted(build.answer());
  EXPECT_EQ(
      csv_of(statistics(d, {0, 0, 2}), d),
      "state,family,share,leaf-seconds,parts with it as mode,leaves with it as mode,least share of a part,"
      "largest share of a part\r\n"
      "\"odd, \"\"name\"\"\",point-to-point,0.5,1,1,1,0.5,0.5\r\n");
}

TEST(Csv, AllParts) {
  const SmallView small;
  wire::ViewAnswer answer = small.build.answer();
  answer.set_zero_ns(-500'000'000);
  for (float& share : *answer.mutable_share()) share = share > 0.3F ? 0.5F : 0.25F;
  for (float& known : *answer.mutable_part_known()) known = 1;
  const ViewData d = *view_data_untrusted(answer);
  EXPECT_EQ(
      parts_csv(d),
      "resource,first slice,last slice,begin (s),end (s),leaves,gain (bits),loss (bits),known,mode,strength,"
      "Compute,MPI_Send,MPI_Wait,absent\r\n"
      "/a,2,3,2.5,4.5,2,2,1,1,MPI_Wait,0.5,0,0.25,0.5,0\r\n"
      "/a/r0,0,1,0.5,2.5,1,1,0.5,1,MPI_Send,0.5,0,0.5,0,0\r\n"
      "/a/r1,0,1,0.5,2.5,1,1,0.5,1,MPI_Wait,0.5,0,0,0.5,0\r\n"
      "/b,0,3,0.5,4.5,2,8,4,1,Compute,0.5,0.5,0,0,0.25\r\n");
}

TEST(Csv, PartWithoutAModeHasNone) {
  support::ViewBuilder build(1);
  build.part(0, 0, 1, {}, 0);
  EXPECT_THAT(parts_csv(*view_data_untrusted(build.answer())), HasSubstr("\r\n/,0,0,0,1,1,1,0.5,0,,0\r\n"));
}

TEST(Measure, IsNamedWithItsUnit) {
  support::ViewBuilder build(1);
  build.part(0, 0, 1, {});
  EXPECT_EQ(measure_text(*view_data_untrusted(build.answer())), "operator duration (share of the time)");
  build.raw().mutable_question()->set_measure("mean:load");
  build.raw().set_unit("jobs");
  build.raw().set_full(4);
  EXPECT_EQ(measure_text(*view_data_untrusted(build.answer())), "operator mean:load (jobs; full: 4)");
  build.raw().mutable_question()->set_measure("max:load");
  EXPECT_EQ(measure_text(*view_data_untrusted(build.answer())), "operator max:load (jobs; full: 4)");
  build.raw().mutable_question()->set_measure("length");
  build.raw().set_unit("ns a visit");
  build.raw().set_full(1.5e9);
  EXPECT_EQ(measure_text(*view_data_untrusted(build.answer())), "operator length (ns a visit; full: 1.5 s)");
  build.raw().mutable_question()->set_measure("bytes");
  build.raw().set_unit("bytes");
  build.raw().set_full(3 << 20);
  EXPECT_EQ(measure_text(*view_data_untrusted(build.answer())),
            "operator bytes (bytes; full: 3.0 MiB a second of a resource)");
  build.raw().set_full(1e300);
  EXPECT_EQ(measure_text(*view_data_untrusted(build.answer())),
            "operator bytes (bytes; full: 1e+300 a second of a resource)");
}

TEST(Measure, HasANameForPeople) {
  EXPECT_EQ(measure_name(""), "time in states");
  EXPECT_EQ(measure_name("occurrences"), "visits and events");
  EXPECT_EQ(measure_name("messages"), "messages");
  EXPECT_EQ(measure_name("mean:load"), "mean of load");
  EXPECT_EQ(measure_name("max:load"), "greatest value of load");
  EXPECT_EQ(measure_name("rate:sent"), "growth of sent");
  EXPECT_EQ(measure_name("length"), "length of a visit");
  EXPECT_EQ(measure_name("of a later daemon"), "of a later daemon");
}

// Bytes of several add up, and what counters have grown by; of means and maxima, which do not, it is the
// mean.
TEST(Measure, AddsUpOrHasAMean) {
  support::ViewBuilder build(2);
  build.part(0, 0, 2, {{build.state("load"), 0.5}});
  build.raw().set_full(6);
  for (const std::string measure : {"bytes", "rate:sent", "mean:load", "max:load", "length"}) {
    SCOPED_TRACE(measure);
    const bool adds_up = measure == "bytes" || measure == "rate:sent";
    const std::string unit = measure == "bytes"    ? "bytes"
                             : measure == "length" ? "ns a visit"
                                                   : "of the variable";
    build.raw().mutable_question()->set_measure(measure);
    build.raw().set_unit(unit);
    const auto data = view_data_untrusted(build.answer());
    ASSERT_TRUE(data);
    EXPECT_EQ(measure_kind(measure).adds_up, adds_up);
    const Statistics s = statistics(*data, {0, 0, 2});
    ASSERT_EQ(s.rows.size(), 1u);
    EXPECT_DOUBLE_EQ(s.rows[0].total, adds_up ? 3 * s.leaf_seconds : 3);
    const std::string head = (adds_up ? "total (" : "mean (") + unit + ")";
    EXPECT_THAT(csv_of(s, *data), HasSubstr(head));
    EXPECT_THAT(bars_csv(*data), HasSubstr(head));
  }
  EXPECT_EQ(amount_text("bytes", 3 << 20), "3.0 MiB");
  EXPECT_EQ(amount_text("of the variable", 4.5), "4.5 of the variable");
  EXPECT_EQ(amount_text("ns a visit", 2.4e6), "2.4 ms");
}

}  // namespace statistics_test
}  // namespace margay::scene
