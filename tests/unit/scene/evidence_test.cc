// What an alert is asked about, and the slices around its onset.
#include "margay/scene/evidence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "small_view.h"

namespace margay::scene {
namespace evidence_test {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::int64_t kTenth = 100'000'000;
constexpr TimeRange kRun{TimeNs(0), TimeNs(600 * kTenth)};

// rank6 was stopped from 15 to 16 s.
wire::Alert stopped() {
  wire::Alert a;
  a.set_kind(wire::Alert::PERTURBATION);
  a.set_level_ns(kTenth);
  a.set_onset_ns(150 * kTenth + 7), a.set_end_ns(160 * kTenth);
  a.set_node("/node1/rank6");
  a.add_resources("/node1/rank6"), a.add_likely_cause("/node1/rank6");
  a.add_affected("/node1"), a.add_affected("/node2");
  return a;
}

TEST(EvidenceSubject, IsWhatAlertsShowLooksAt) {
  const auto s = evidence_subject(stopped(), kRun);
  ASSERT_TRUE(s);
  EXPECT_EQ(s->stretch, (TimeRange{TimeNs(150 * kTenth + 7), TimeNs(160 * kTenth)}));
  EXPECT_EQ(s->slices, (TimeRange{TimeNs(147 * kTenth), TimeNs(159 * kTenth)})) << "three before the onset";
  EXPECT_EQ(s->slice_count, 12u);
  EXPECT_THAT(s->calls, ElementsAre("/node1/rank6"));
  EXPECT_EQ(s->cause, "/node1/rank6");
  EXPECT_THAT(s->waiting, ElementsAre("/node1", "/node2"));
  EXPECT_THAT(s->except, ElementsAre("/node1/rank6"));
}

TEST(EvidenceSubject, WhatGoesOnGoesAsFarAsTheRunIsKnown) {
  wire::Alert a = stopped();
  a.clear_end_ns();
  const auto s = evidence_subject(a, {TimeNs(149 * kTenth), TimeNs(153 * kTenth + 5)});
  ASSERT_TRUE(s);
  EXPECT_EQ(s->stretch.to, TimeNs(153 * kTenth + 5));
  EXPECT_EQ(s->slices, (TimeRange{TimeNs(150 * kTenth), TimeNs(153 * kTenth)})) << "whole slices of the run";
  EXPECT_EQ(s->slice_count, 3u);
}

TEST(EvidenceSubject, OfManyTheNodeThatCoversThemIsAskedAbout) {
  wire::Alert a = stopped();
  a.clear_likely_cause(), a.clear_resources(), a.clear_affected();
  a.set_node("/node1");
  for (int i = 0; i < 1000; ++i) {
    a.add_resources("/node1/rank" + std::to_string(i));
    a.add_affected("/node1/rank" + std::to_string(i));
  }
  auto s = evidence_subject(a, kRun);
  ASSERT_TRUE(s);
  EXPECT_THAT(s->calls, ElementsAre("/node1"));
  EXPECT_THAT(s->waiting, ElementsAre("/node1"));
  EXPECT_THAT(s->except, IsEmpty());
  for (const char* node : {"/node1/a", "/node1/b"}) a.mutable_area()->add_nodes(node);
  s = evidence_subject(a, kRun);
  EXPECT_THAT(s->calls, ElementsAre("/node1/a", "/node1/b")) << "the fewest that hold what is blamed";
  EXPECT_EQ(s->cause, "/node1");
}

TEST(EvidenceSubject, OnlyPerturbationsAndStallsHaveSomebodyWait) {
  wire::Alert a = stopped();
  for (const auto kind : {wire::Alert::PHASE_DURATION, wire::Alert::LOSS, wire::Alert::SOURCE_LOST}) {
    a.set_kind(kind);
    EXPECT_THAT(evidence_subject(a, kRun)->waiting, IsEmpty());
  }
}

TEST(EvidenceSubject, HostileAlertsAreBounded) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min(),
                         kMost = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t onset : {kLeast, std::int64_t{0}, kTenth, kMost})
    for (const std::int64_t end : {kLeast, std::int64_t{0}, 2 * kTenth, kMost})
      for (const std::int64_t level :
           {kLeast, std::int64_t{-1}, std::int64_t{0}, std::int64_t{1}, kTenth, kMost})
        for (const TimeRange known : {TimeRange{}, kRun, TimeRange{TimeNs(kLeast), TimeNs(kMost)}}) {
          wire::Alert a = stopped();
          a.set_onset_ns(onset), a.set_end_ns(end), a.set_level_ns(level);
          a.set_node(std::string(1 << 20, 'n'));
          a.add_likely_cause(std::string(1 << 20, 'n'));
          const auto s = evidence_subject(a, known);
          if (!s) continue;
          EXPECT_LT(s->stretch.from, s->stretch.to);
          EXPECT_GE(s->stretch.from, known.from);
          EXPECT_LE(s->stretch.to, known.to);
          EXPECT_LE(s->slice_count, 12u);
          EXPECT_EQ(s->slice_count == 0, s->slices.to <= s->slices.from);
          for (const std::string& path : s->calls) EXPECT_LE(path.size(), kMostNameBytesAsked);
          EXPECT_LE(s->cause.size(), kMostNameBytesAsked);
        }
}

TEST(EvidenceSlices, AreThoseOfTheCauseBesideThoseOfAll) {
  const ViewData all = SmallView().data();
  support::ViewBuilder build(4);
  const std::uint32_t wait = build.state("MPI_Wait", wire::FAMILY_WAIT), send = build.state("MPI_Send");
  build.node("r1", 0);
  build.part(0, 0, 1, {{wait, 1}});
  build.part(0, 1, 4, {{wait, 0.25F}, {send, 0.5F}});
  const ViewData cause = *view_data_untrusted(build.answer());
  const auto rows = evidence_slices(&cause, &all, TimeNs(1'500'000'000));
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[1].time, (TimeRange{TimeNs(1'000'000'000), TimeNs(2'000'000'000)}));
  EXPECT_FALSE(rows[0].onset);
  EXPECT_TRUE(rows[1].onset);
  EXPECT_EQ(largest_shares(rows[0].cause), "MPI_Wait 100 %");
  EXPECT_EQ(largest_shares(rows[1].cause), "MPI_Send 50 %, MPI_Wait 25 %");
  // Of four resources Send has 0.8, Wait 1, and Compute 0.6 of two.
  EXPECT_EQ(largest_shares(rows[0].all), "Compute 30 %, MPI_Wait 25 %, MPI_Send 20 %, ...");
}

TEST(EvidenceSlices, WhatIsNotKnownIsLeftOut) {
  const ViewData all = SmallView().data(), none;
  EXPECT_TRUE(evidence_slices(nullptr, nullptr, TimeNs(0)).empty());
  EXPECT_TRUE(evidence_slices(&none, nullptr, TimeNs(0)).empty());
  const auto rows = evidence_slices(nullptr, &all, TimeNs(0));
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_TRUE(rows[0].cause.empty());
  EXPECT_EQ(evidence_slices(&all, nullptr, TimeNs(0)).size(), 4u);
}

}  // namespace evidence_test
}  // namespace margay::scene
