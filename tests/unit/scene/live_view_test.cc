// Pictures out of reports: the same as out of answers, and nothing else of what is no partition.
#include "margay/scene/live_view.h"

#include <gtest/gtest.h>

#include "synthetic_view.h"

namespace margay::scene {
namespace live_view_test {

TEST(LiveView, IsThePictureThatAnAnswerGives) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 rng(seed);
    const wire::ViewAnswer answer = support::random_view(rng, {});
    const auto asked = view_data_untrusted(answer);
    const auto live = live_view_untrusted(support::report_of(answer, 17'000'000'000, 100'000'000));
    ASSERT_TRUE(asked && live) << live.error().message;
    EXPECT_EQ(live->policy, kDaemonsPolicy);
    EXPECT_EQ(live->p, asked->p);
    EXPECT_EQ(live->range().from, TimeNs(1'700'000'000'000'000'000));
    ASSERT_EQ(live->slices(), asked->slices());
    ASSERT_EQ(live->nodes.size(), asked->nodes.size());
    for (std::size_t i = 0; i < live->nodes.size(); ++i) {
      EXPECT_EQ(live->nodes[i].path, asked->nodes[i].path);
      EXPECT_EQ(live->nodes[i].end, asked->nodes[i].end);
    }
    ASSERT_EQ(live->parts.size(), asked->parts.size());
    for (std::size_t i = 0; i < live->parts.size(); ++i) {
      const Part &a = live->parts[i], &b = asked->parts[i];
      EXPECT_EQ(std::tuple(a.node, a.first, a.last, a.gain, a.loss, a.known),
                std::tuple(b.node, b.first, b.last, b.gain, b.loss, b.known));
      ASSERT_EQ(a.mode < 0, b.mode < 0);
      if (a.mode >= 0) {
        EXPECT_EQ(live->states[static_cast<std::size_t>(a.mode)].name,
                  asked->states[static_cast<std::size_t>(b.mode)].name);
      }
      ASSERT_EQ(live->shares_of(a).size(), asked->shares_of(b).size());
    }
  }
}

TEST(LiveView, StatesThatNobodyIsInAreNotThere) {
  std::mt19937_64 rng(1);
  wire::Report report = support::report_of(support::random_view(rng, {}));
  const std::size_t states = live_view_untrusted(report)->states.size();
  for (int i = 0; i < 100; ++i) report.add_states()->set_name("MPI_Never" + std::to_string(i));
  EXPECT_EQ(live_view_untrusted(report)->states.size(), states);
}

TEST(LiveView, TheTemporalOneIsOfTheRootAlone) {
  std::mt19937_64 rng(1);
  const wire::Report report = support::report_of(support::random_view(rng, {}));
  const auto temporal = live_view_untrusted(report, LivePart::kTimeLine);
  ASSERT_TRUE(temporal) << temporal.error().message;
  EXPECT_TRUE(temporal->temporal);
  EXPECT_EQ(temporal->nodes.size(), 1u);
  EXPECT_EQ(temporal->leaves(), live_view_untrusted(report)->leaves());
  EXPECT_EQ(temporal->range(), live_view_untrusted(report)->range());
}

// Whatever is looked at but the newest of everything at the daemon's p has to be asked for.
TEST(LiveView, IsOfTheNewestOfEverythingAtTheDaemonsP) {
  std::mt19937_64 rng(1);
  const wire::Report report = support::report_of(support::random_view(rng, {}));
  Subject newest;
  EXPECT_TRUE(is_live(newest, report));
  newest.policy = "noise";
  newest.node = "/";
  newest.level = DurationNs(report.slice_ns());
  EXPECT_TRUE(is_live(newest, report));
  const auto differs = [&](auto change) {
    Subject s;
    change(s);
    return !is_live(s, report);
  };
  EXPECT_TRUE(differs([](Subject& s) { s.time = TimeRange{TimeNs(0), TimeNs(1)}; }));
  EXPECT_TRUE(differs([](Subject& s) { s.node = "/host1"; }));
  EXPECT_TRUE(differs([](Subject& s) { s.states = {"MPI_Send"}; }));
  EXPECT_TRUE(differs([](Subject& s) { s.slices = 20; }));
  EXPECT_TRUE(differs([](Subject& s) { s.level = seconds(1); }));
  EXPECT_TRUE(differs([](Subject& s) { s.measure = "bytes"; }));
  EXPECT_TRUE(differs([](Subject& s) { s.cuts = wire::ViewQuestion::PRODUCT; }));
  EXPECT_TRUE(differs([](Subject& s) { s.time_p = 0.1; }));
  EXPECT_TRUE(differs([](Subject& s) { s.p = 0.1; }));
  EXPECT_TRUE(differs([](Subject& s) { s.policy = "jump"; }));
  wire::Report other = report;
  other.mutable_replay();
  EXPECT_FALSE(is_live({}, other));
  other = report;
  other.mutable_measured();
  EXPECT_FALSE(is_live({}, other));
}

TEST(LiveView, WhatIsNoPartitionIsRefusedWithASentence) {
  std::mt19937_64 rng(3);
  const wire::Report sound = support::report_of(support::random_view(rng, {}));
  const auto code = [&](auto change) {
    wire::Report r = sound;
    change(r);
    const auto out = live_view_untrusted(r);
    EXPECT_FALSE(out);
    EXPECT_FALSE(out ? false : out.error().message.empty());
    return out ? ErrorCode::kInvalidArgument : out.error().code;
  };
  EXPECT_EQ(code([](wire::Report& r) { r.clear_spatiotemporal(); }), ErrorCode::kUnavailable);
  EXPECT_EQ(code([](wire::Report& r) { r.mutable_spatiotemporal()->add_parts(0); }), ErrorCode::kCorrupt);
  EXPECT_EQ(code([](wire::Report& r) { r.mutable_spatiotemporal()->set_parts(2, 1u << 31); }),
            ErrorCode::kLimit);
  EXPECT_EQ(code([](wire::Report& r) { r.set_slice_ns(0); }), ErrorCode::kCorrupt);
  EXPECT_EQ(code([](wire::Report& r) { r.mutable_spatiotemporal()->set_first_slice(INT64_MAX / 2); }),
            ErrorCode::kCorrupt);
  EXPECT_EQ(code([](wire::Report& r) { r.clear_states(); }), ErrorCode::kCorrupt);
  EXPECT_EQ(code([](wire::Report& r) { r.clear_nodes(); }), ErrorCode::kCorrupt);
  EXPECT_EQ(code([](wire::Report& r) { r.mutable_nodes(1)->set_depth(7); }), ErrorCode::kCorrupt);
  EXPECT_EQ(code([](wire::Report& r) { r.mutable_spatiotemporal()->clear_part_known(); }),
            ErrorCode::kCorrupt);
}

// Any change of any field gives a picture that is sound, or an error; never a crash.
TEST(LiveView, SurvivesMutations) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 rng(seed);
    std::string bytes =
        support::report_of(support::random_view(rng, {12, 12, 4, 4, 0.7})).SerializeAsString();
    for (int k = 0; k < 3; ++k) bytes[rng() % bytes.size()] = static_cast<char>(rng());
    wire::Report changed;
    if (!changed.ParseFromString(bytes)) continue;
    for (const LivePart cuts : {LivePart::kPicture, LivePart::kTimeLine}) {
      const auto d = live_view_untrusted(changed, cuts);
      if (!d || d->empty()) continue;
      double area = 0;
      for (const Part& p : d->parts) area += d->nodes[p.node].leaf_count * d->seconds(p.first, p.last);
      EXPECT_NEAR(area / (d->leaves() * d->seconds(0, d->slices())), 1, 1e-9);
    }
  }
}

}  // namespace live_view_test
}  // namespace margay::scene
