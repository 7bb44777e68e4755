#include "margay/scene/view_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "margay/scene/rows.h"
#include "small_view.h"

namespace margay::scene {
namespace view_data_test {

using support::random_view;
using support::ViewBuilder;
using support::ViewShape;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(ViewData, TreeIsCounted) {
  const SmallView small;
  const ViewData d = small.data();
  ASSERT_EQ(d.nodes.size(), 7u);
  EXPECT_EQ(d.leaves(), 4u);
  EXPECT_EQ(d.nodes[0].path, "/");
  EXPECT_EQ(d.nodes[small.r3].path, "/b/r3");
  EXPECT_EQ(d.nodes[small.r3].name, "r3");
  EXPECT_EQ(d.nodes[small.r3].depth, 2u);
  EXPECT_EQ(d.nodes[small.r3].parent, small.b);
  EXPECT_EQ(d.nodes[small.r3].place, 1u);
  EXPECT_EQ(d.nodes[small.r3].first_leaf, 3u);
  EXPECT_EQ(d.nodes[small.b].first_leaf, 2u);
  EXPECT_EQ(d.nodes[small.b].leaf_count, 2u);
  EXPECT_EQ(d.nodes[small.a].end, small.b);
  EXPECT_EQ(d.nodes[0].end, 7u);
  EXPECT_THAT(d.children_of(0), ElementsAre(small.a, small.b));
  EXPECT_THAT(d.children_of(small.a), ElementsAre(small.r0, small.r1));
  EXPECT_TRUE(d.children_of(small.r3).empty());
}

TEST(ViewData, PartsAreSortedAndHaveModes) {
  const SmallView small;
  const ViewData d = small.data();
  ASSERT_EQ(d.parts.size(), 4u);
  std::vector<std::uint32_t> nodes;
  for (const Part& p : d.parts) nodes.push_back(p.node);
  EXPECT_THAT(nodes, ElementsAre(small.a, small.r0, small.r1, small.b));
  const Part& a = d.parts[0];
  EXPECT_EQ(a.first, 2u);
  EXPECT_EQ(a.last, 4u);
  EXPECT_EQ(a.mode, static_cast<std::int32_t>(small.wait));
  EXPECT_DOUBLE_EQ(a.strength, 0.5);
  EXPECT_EQ(d.shares_of(a)[0].state, small.wait);  // largest first, though they came otherwise
  EXPECT_EQ(d.shares_of(a)[1].state, small.send);
  const Part& b = d.parts[3];
  EXPECT_NEAR(b.known, 0.8, 1e-6);
  EXPECT_EQ(b.mode, static_cast<std::int32_t>(small.compute));
  EXPECT_NEAR(b.strength, 0.75, 1e-6);  // of what is known
  EXPECT_EQ(d.parts_of(small.a).size(), 1u);
  EXPECT_EQ(d.parts_below(small.a).size(), 3u);
  EXPECT_EQ(d.parts_below(0).size(), 4u);
  EXPECT_EQ(d.index_of(d.parts_below(small.b)[0]), 3);
}

TEST(ViewData, ModeIsOfWhatIsKnownIfAnythingIs) {
  ViewBuilder build(3);
  const auto absent = build.state("absent", wire::FAMILY_ABSENT);
  const auto unknown = build.state("unknown", wire::FAMILY_UNKNOWN);
  const auto send = build.state("MPI_Send");
  build.part(0, 0, 1, {{absent, 0.9F}, {send, 0.1F}}, 0.1F);
  build.part(0, 1, 2, {{absent, 0.4F}, {unknown, 0.6F}}, 0);
  build.part(0, 2, 3, {}, 0);
  const ViewData d = *view_data_untrusted(build.answer());
  EXPECT_EQ(d.parts[0].mode, static_cast<std::int32_t>(send));
  EXPECT_NEAR(d.parts[0].strength, 1, 1e-6);
  EXPECT_EQ(d.parts[1].mode, static_cast<std::int32_t>(unknown));
  EXPECT_EQ(d.parts[1].strength, 0);
  EXPECT_EQ(d.parts[2].mode, kNoState);
}

TEST(ViewData, OfEquallyLargeStatesTheFirstIsTheMode) {
  ViewBuilder build(1);
  build.state("x");
  build.state("y");
  build.part(0, 0, 1, {{1, 0.5F}, {0, 0.5F}});
  EXPECT_EQ(view_data_untrusted(build.answer())->parts[0].mode, 0);
}

TEST(ViewData, WhatIsSaidComesAlong) {
  SmallView small;
  wire::ViewAnswer answer = small.build.answer();
  answer.set_token(7);
  answer.set_p(0.25);
  answer.set_policy("jump");
  answer.set_why("because");
  answer.set_gain(10);
  answer.set_loss(3);
  answer.set_zero_ns(-5);
  answer.set_unit("bytes");
  answer.set_full(1e9);
  answer.set_left_out(true);
  answer.set_curve_complete(true);
  answer.add_notes("mind the gap");
  answer.mutable_question()->set_node("/x/");
  for (const double p : {0.0, 0.5}) answer.add_curve()->set_p(p);
  const ViewData d = *view_data_untrusted(answer);
  EXPECT_EQ(d.token, 7u);
  EXPECT_EQ(d.p, 0.25);
  EXPECT_EQ(d.policy, "jump");
  EXPECT_EQ(d.why, "because");
  EXPECT_EQ(d.gain, 10);
  EXPECT_EQ(d.loss, 3);
  EXPECT_EQ(d.zero, TimeNs(-5));
  EXPECT_EQ(d.unit, "bytes");
  EXPECT_EQ(d.full, 1e9);
  EXPECT_TRUE(d.left_out);
  EXPECT_TRUE(d.curve_complete);
  EXPECT_EQ(d.curve.size(), 2u);
  EXPECT_THAT(d.notes, ElementsAre("mind the gap"));
  EXPECT_EQ(d.nodes[0].path, "/x");
  EXPECT_EQ(d.nodes[small.r3].path, "/x/b/r3");
  EXPECT_EQ(d.question.node(), "/x/");
}

// What a daemon answers about a node has the way down to it; the picture begins with the node.
TEST(ZoomedIntoANode, ThePictureBeginsWithIt) {
  support::ViewBuilder build(2);
  const std::uint32_t state = build.state("Compute", wire::FAMILY_COMPUTE);
  const std::uint32_t site = build.node("s", 0), host = build.node("h", site);
  const std::uint32_t r0 = build.node("r0", host), r1 = build.node("r1", host);
  build.part(site, 1, 2, {{state, 1}}).part(r0, 0, 1, {{state, 1}}).part(r1, 0, 1, {{state, 0.5F}});
  build.raw().mutable_question()->set_node("/s/h/");
  auto& visits = *build.raw().mutable_visits();
  visits.add_node(r1), visits.add_state(state), visits.add_begin_ns(0), visits.add_length_ns(5);
  visits.add_depth(0), visits.add_flags(0);
  const ViewData d = *view_data_untrusted(build.answer());
  ASSERT_EQ(d.nodes.size(), 3u);
  EXPECT_EQ(d.nodes[0].path, "/s/h");
  EXPECT_EQ(d.nodes[0].name, "h");
  EXPECT_EQ(d.nodes[2].path, "/s/h/r1");
  EXPECT_EQ(d.nodes[2].depth, 1u);
  EXPECT_EQ(node_at(d, "/s/h/r1"), 2);
  ASSERT_EQ(d.parts.size(), 3u);
  EXPECT_EQ(d.parts[0].node, 0u);
  EXPECT_EQ(d.parts[1].node, 1u);
  ASSERT_EQ(d.visits.size(), 1u);
  EXPECT_EQ(d.visits[0].node, 2u);
  EXPECT_EQ(d.visits_of(2).size(), 1u);
}

TEST(ZoomedIntoANode, AResourceAloneIsTheRoot) {
  support::ViewBuilder build(1);
  const std::uint32_t state = build.state("Compute", wire::FAMILY_COMPUTE);
  const std::uint32_t leaf = build.node("r0", build.node("h", 0));
  build.part(leaf, 0, 1, {{state, 1}});
  build.raw().mutable_question()->set_node("/h/r0");
  const ViewData d = *view_data_untrusted(build.answer());
  ASSERT_EQ(d.nodes.size(), 1u);
  EXPECT_EQ(d.nodes[0].path, "/h/r0");
  EXPECT_EQ(d.leaves(), 1u);
}

TEST(ViewData, NamesAreMadeFitToShow) {
  ViewBuilder build(1);
  build.state("a\xff\n", static_cast<wire::StateFamily>(99));
  build.state("");
  build.node("n\x01", 0);
  build.node(std::string(kLongestName - 1, 'x') + "éé", 0);
  build.part(0, 0, 1, {});
  const ViewData d = *view_data_untrusted(build.answer());
  EXPECT_EQ(d.states[0].name, "a??");
  EXPECT_EQ(d.states[0].family, wire::FAMILY_OTHER);
  EXPECT_EQ(d.states[1].name, "state 1");
  EXPECT_EQ(d.nodes[1].name, "n?");
  EXPECT_EQ(d.nodes[2].name, std::string(kLongestName - 1, 'x'));  // no half of a letter
}

TEST(ViewData, NoSlicesOrNoLeavesIsEmpty) {
  wire::ViewAnswer answer;
  answer.add_nodes();
  const auto d = view_data_untrusted(answer);
  ASSERT_TRUE(d) << d.error().message;
  EXPECT_TRUE(d->empty());
  EXPECT_EQ(d->slices(), 0u);
  EXPECT_EQ(d->range(), TimeRange{});
  answer.add_boundaries(5);  // one boundary bounds nothing
  EXPECT_TRUE(view_data_untrusted(answer)->empty());
  answer.add_boundaries(6);
  EXPECT_TRUE(view_data_untrusted(answer)->empty());
}

TEST(ViewData, NodeWithoutChildrenMayStandForSeveralLeaves) {
  ViewBuilder build(1);
  build.node("host", 0);
  build.part(1, 0, 1, {});
  wire::ViewAnswer answer = build.answer();
  answer.mutable_nodes(0)->set_leaves(64);
  answer.mutable_nodes(1)->set_leaves(64);
  EXPECT_EQ(view_data_untrusted(answer)->leaves(), 64u);
}

TEST(ViewData, ErrorOfTheDaemonIsItsError) {
  wire::ViewAnswer answer;
  answer.set_error("no such node\x1b[2J");
  const auto d = view_data_untrusted(answer);
  ASSERT_FALSE(d);
  EXPECT_EQ(d.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(d.error().message, "no such node?[2J");
}

// One thing wrong with a sound answer each.
struct Wrong {
  const char* what;  // of the sentence
  std::function<void(wire::ViewAnswer&)> change;
};

TEST(ViewData, RefusesWhatIsWrongWithASentence) {
  const double nan = std::nan("");
  const float huge = std::numeric_limits<float>::infinity();
  const std::vector<Wrong> wrongs = {
      {"no resources", [](auto& a) { a.clear_nodes(); }},
      {"depth first", [](auto& a) { a.mutable_nodes(1)->set_parent(1); }},
      {"depth first", [](auto& a) { a.mutable_nodes(2)->set_parent(5); }},
      {"depth first", [](auto& a) { a.mutable_nodes(0)->set_parent(1); }},
      {"depth first", [](auto& a) { a.mutable_nodes(6)->set_parent(1); }},  // mingled with b's
      {"leaves", [](auto& a) { a.mutable_nodes(1)->set_leaves(3); }},
      {"leaves", [](auto& a) { a.mutable_nodes(0)->set_leaves(5); }},
      {"no leaves", [](auto& a) { a.mutable_nodes(2)->set_leaves(0); }},
      {"resources", [](auto& a) { a.mutable_nodes(2)->set_leaves(0xffffffffu); }},
      {"boundary 2", [](auto& a) { a.set_boundaries(2, a.boundaries(1)); }},
      {"boundary 1", [](auto& a) { a.set_boundaries(1, -1); }},
      {"too far apart",
       [](auto& a) {
         a.set_boundaries(0, std::numeric_limits<std::int64_t>::min());
         a.set_boundaries(4, std::numeric_limits<std::int64_t>::max());
       }},
      {"differ in length", [](auto& a) { a.add_part_gain(1); }},
      {"differ in length", [](auto& a) { a.add_part_states(0); }},
      {"differ in length", [](auto& a) { a.add_share(0); }},
      {"more shares or fewer", [](auto& a) { a.set_part_states(0, 0xffffffffu); }},
      {"of no node", [](auto& a) { a.set_part_node(0, 7); }},
      {"outside the slices", [](auto& a) { a.set_part_last(0, 4); }},
      {"outside the slices", [](auto& a) { a.set_part_last(0, 0xffffffffu); }},
      {"outside the slices", [](auto& a) { a.set_part_first(0, 4); }},
      {"overlap", [](auto& a) { a.set_part_first(3, 1); }},
      {"overlap", [](auto& a) { a.set_part_node(0, 0); }},
      {"overlap", [](auto& a) { a.set_part_node(2, 2); }},
      {"4 of 16 cells uncovered", [](auto& a) { a.set_part_last(0, 1); }},
      {"2 of 16 cells uncovered", [](auto& a) { a.set_part_node(0, a.part_node(0)), a.set_part_last(3, 2); }},
      {"unknown state", [](auto& a) { a.set_share_state(0, 4); }},
      {"twice", [](auto& a) { a.set_share_state(1, a.share_state(0)); }},
      {"share outside", [](auto& a) { a.set_share(0, 1.01F); }},
      {"share outside", [](auto& a) { a.set_share(0, -0.01F); }},
      {"share outside", [&](auto& a) { a.set_share(0, static_cast<float>(nan)); }},
      {"more than all its time", [](auto& a) { a.set_share(0, 0.9F); }},
      {"known", [](auto& a) { a.set_part_known(0, 1.01F); }},
      {"known", [](auto& a) { a.set_part_known(0, -1); }},
      {"no number", [&](auto& a) { a.set_part_gain(1, huge); }},
      {"no number", [&](auto& a) { a.set_part_loss(1, -huge); }},
      {"no number", [&](auto& a) { a.set_gain(nan); }},
      {"no number", [&](auto& a) { a.set_full(nan); }},
      {"p is not", [&](auto& a) { a.set_p(nan); }},
      {"p is not", [](auto& a) { a.set_p(1.5); }},
      {"temporal", [](auto& a) { a.mutable_question()->set_partition(wire::ViewQuestion::TEMPORAL); }},
      {"of p", [](auto& a) { a.add_curve()->set_p(2); }},
      {"of p", [](auto& a) { a.add_curve()->set_p(1), a.add_curve()->set_p(0.5); }},
      {"of p", [&](auto& a) { a.add_curve()->set_gain(nan); }},
  };
  const SmallView small;
  ASSERT_TRUE(view_data_untrusted(small.build.answer()));
  int number = 0;
  for (const Wrong& wrong : wrongs) {
    SCOPED_TRACE(std::to_string(number++) + ": " + wrong.what);
    wire::ViewAnswer answer = small.build.answer();
    wrong.change(answer);
    const auto d = view_data_untrusted(answer);
    ASSERT_FALSE(d);
    EXPECT_THAT(d.error().message, HasSubstr(wrong.what));
    EXPECT_THAT(d.error().message, testing::StartsWith("the daemon's answer: "));
  }
}

TEST(ViewData, RefusesMoreThanItsBounds) {
  ViewBuilder build(1);
  for (std::uint32_t parent = 0; parent <= kMostDepth; ++parent) build.node("n", parent);
  build.part(0, 0, 1, {});
  EXPECT_EQ(view_data_untrusted(build.answer()).error().code, ErrorCode::kLimit);
  ViewBuilder many(kMostSlices + 1);
  many.part(0, 0, kMostSlices + 1, {});
  EXPECT_EQ(view_data_untrusted(many.answer()).error().code, ErrorCode::kLimit);
}

TEST(ViewData, SharesRoundedUpAreCut) {
  ViewBuilder build(1);
  build.state("x");
  build.part(0, 0, 1, {{0, 1.0001F}}, 1.0001F);
  const ViewData d = *view_data_untrusted(build.answer());
  EXPECT_EQ(d.shares[0].share, 1);
  EXPECT_EQ(d.parts[0].known, 1);
  EXPECT_EQ(d.parts[0].strength, 1);
}

// Any change of any field gives data that is sound, or an error; never a crash.
TEST(ViewData, SurvivesMutations) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 rng(seed);
    const wire::ViewAnswer sound = random_view(rng, {12, 12, 4, 4, 0.7});
    ASSERT_TRUE(view_data_untrusted(sound)) << view_data_untrusted(sound).error().message;
    std::string bytes = sound.SerializeAsString();
    for (int k = 0; k < 3; ++k) bytes[rng() % bytes.size()] = static_cast<char>(rng());
    wire::ViewAnswer changed;
    if (!changed.ParseFromString(bytes)) continue;
    const auto d = view_data_untrusted(changed);
    if (!d || d->empty()) continue;
    double area = 0;
    for (const Part& p : d->parts) area += d->nodes[p.node].leaf_count * d->seconds(p.first, p.last);
    EXPECT_NEAR(area / (d->leaves() * d->seconds(0, d->slices())), 1, 1e-9);
  }
}

TEST(ViewData, SliceAtATime) {
  const ViewData d = SmallView().data();
  EXPECT_EQ(d.slice_at(TimeNs(-1)), 0u);
  EXPECT_EQ(d.slice_at(TimeNs(0)), 0u);
  EXPECT_EQ(d.slice_at(TimeNs(999'999'999)), 0u);
  EXPECT_EQ(d.slice_at(TimeNs(1'000'000'000)), 1u);
  EXPECT_EQ(d.slice_at(TimeNs(3'500'000'000)), 3u);
  EXPECT_EQ(d.slice_at(TimeNs(99'000'000'000)), 3u);
  EXPECT_EQ(d.seconds(1, 3), 2);
}

TEST(Proportions, OfWholeParts) {
  const SmallView small;
  const ViewData d = small.data();
  const Proportions all = proportions(d, 0, 0, 4);
  EXPECT_FALSE(all.pro_rata);
  EXPECT_EQ(all.parts, 4u);
  EXPECT_DOUBLE_EQ(all.leaf_seconds, 16);
  EXPECT_NEAR(all.shares[small.compute], 0.6 * 8 / 16, 1e-6);
  EXPECT_NEAR(all.shares[small.send], (0.8 * 2 + 0.25 * 4) / 16, 1e-6);
  EXPECT_NEAR(all.shares[small.wait], (2 + 0.5 * 4) / 16, 1e-6);
  EXPECT_NEAR(all.shares[small.absent], 0.1, 1e-6);
  EXPECT_NEAR(all.known, 0.9, 1e-6);
  EXPECT_NEAR(all.unknown, 0.1, 1e-6);
  EXPECT_DOUBLE_EQ(all.gain, 8 + 1 + 1 + 2);
  EXPECT_DOUBLE_EQ(all.loss, 4 + 0.5 + 0.5 + 1);
  EXPECT_EQ(all.mode, static_cast<std::int32_t>(small.compute));
  EXPECT_NEAR(all.strength, 0.3 / 0.9, 1e-6);
}

TEST(Proportions, ProRataWherePartsReachBeyond) {
  const SmallView small;
  const ViewData d = small.data();
  const Proportions r0 = proportions(d, small.r0, 1, 3);  // half of r0's part, a quarter of a's
  EXPECT_TRUE(r0.pro_rata);
  EXPECT_EQ(r0.parts, 2u);
  EXPECT_DOUBLE_EQ(r0.leaf_seconds, 2);
  EXPECT_NEAR(r0.shares[small.send], (0.8 + 0.25) / 2, 1e-6);
  EXPECT_NEAR(r0.shares[small.wait], 0.25, 1e-6);
  EXPECT_NEAR(r0.gain, 0.5 * 1 + 0.25 * 2, 1e-9);
  EXPECT_NEAR(r0.loss, 0.5 * 0.5 + 0.25 * 1, 1e-9);
  EXPECT_FALSE(proportions(d, small.r0, 0, 2).pro_rata);
  EXPECT_TRUE(proportions(d, small.r0, 2, 4).pro_rata);
  EXPECT_FALSE(proportions(d, small.a, 2, 4).pro_rata);
}

TEST(Proportions, OfNothing) {
  const ViewData d = SmallView().data();
  for (const Proportions& p :
       {proportions(d, 0, 2, 2), proportions(d, 0, 3, 1), proportions(d, 99, 0, 4), proportions(d, 0, 7, 9),
        proportions(d, 4, 9, 0, 4), proportions(ViewData{}, 0, 0, 1)}) {
    EXPECT_EQ(p.parts, 0u);
    EXPECT_EQ(p.leaf_seconds, 0);
    EXPECT_EQ(p.unknown, 1);
    EXPECT_EQ(p.mode, kNoState);
  }
  EXPECT_EQ(proportions(d, 0, 0, 99).leaf_seconds, 16);  // cut
  EXPECT_EQ(proportions(d, 1, 0xffffffffu, 0, 1).leaf_seconds, 3);
}

TEST(Proportions, PiecesAddUpToTheWhole) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 rng(seed);
    const ViewData d = *view_data_untrusted(random_view(rng, {17, 13, 6, 5, 0.8}));
    const Proportions all = proportions(d, 0, 0, 13);
    EXPECT_FALSE(all.pro_rata);
    const std::uint32_t leaf = 1 + static_cast<std::uint32_t>(rng() % 16);
    const std::size_t slice = 1 + rng() % 12;
    double gain = 0, area = 0, known = 0;
    std::vector<double> shares(d.states.size());
    for (const auto& [from, count] : {std::pair{0u, leaf}, std::pair{leaf, 17 - leaf}})
      for (const auto& [first, last] :
           {std::pair{std::size_t{0}, slice}, std::pair{slice, std::size_t{13}}}) {
        const Proportions p = proportions(d, from, count, first, last);
        gain += p.gain;
        area += p.leaf_seconds;
        known += p.known * p.leaf_seconds;
        for (std::size_t s = 0; s < shares.size(); ++s) shares[s] += p.shares[s] * p.leaf_seconds;
      }
    EXPECT_NEAR(gain, all.gain, 1e-9);
    EXPECT_NEAR(area, 17 * 13, 1e-9);
    EXPECT_NEAR(known / area, all.known, 1e-9);
    for (std::size_t s = 0; s < shares.size(); ++s) EXPECT_NEAR(shares[s] / area, all.shares[s], 1e-9);
  }
}

TEST(ViewData, StatesInOrder) {
  ViewBuilder build(1);
  build.state("unknown", wire::FAMILY_UNKNOWN);
  build.state("absent", wire::FAMILY_ABSENT);
  build.state("weird", wire::FAMILY_OTHER);
  build.state("MPI_Wait", wire::FAMILY_WAIT);
  build.state("MPI_Send");
  build.state("MPI_Recv");
  build.state("Compute", wire::FAMILY_COMPUTE);
  build.part(0, 0, 1, {});
  EXPECT_THAT(states_in_order(*view_data_untrusted(build.answer())), ElementsAre(6, 5, 4, 3, 2, 0, 1));
}

}  // namespace view_data_test
}  // namespace margay::scene
