// The lists of phases: what the report tells of them, summed up; and what two stretches differ in.
#include "margay/scene/phase_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "small_view.h"

namespace margay::scene {
namespace phase_list_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::int64_t kSecond = 1'000'000'000;

void add(google::protobuf::RepeatedPtrField<wire::PhaseSpan>& to, const char* name, double from, double until,
         std::uint32_t times) {
  wire::PhaseSpan& s = *to.Add();
  s.set_name(name);
  s.set_begin_ns(static_cast<std::int64_t>(from * 1e9));
  s.set_end_ns(static_cast<std::int64_t>(until * 1e9));
  s.set_occurrence(times);
}

// A of [0, 4) s, B of [4, 6), A of [6, 9), B from 9 s on; the second of its name each.
wire::Report report() {
  wire::Report out;
  out.set_run_begin_ns(0);
  out.set_watermark_ns(10 * kSecond);
  add(*out.mutable_phases(), "A", 0, 4, 1);
  add(*out.mutable_phases(), "B", 4, 6, 1);
  add(*out.mutable_phases(), "A", 6, 9, 2);
  add(*out.mutable_phases(), "B", 9, 10, 2);
  out.mutable_phases(1)->set_label("write");
  out.mutable_phases(3)->set_current(true);
  return out;
}

PhaseList list_of(const wire::Report& r) {
  return phase_list(r, [](const std::string& name) -> std::optional<std::int64_t> {
    if (name == "A") return 2 * kSecond;
    return std::nullopt;
  });
}

TEST(PhaseList, SaysTheHowManiethOfHowManyAndHowItComparesToWhatIsUsual) {
  const PhaseList list = list_of(report());
  ASSERT_EQ(list.stretches.size(), 4u);
  const ListedStretch &first = list.stretches[0], &b = list.stretches[1], &second = list.stretches[2],
                      &now = list.stretches[3];
  EXPECT_EQ(first.of, 2u) << "it has come once more since";
  EXPECT_EQ(second.occurrence, 2u);
  EXPECT_EQ(first.against_usual, 1.0);
  EXPECT_EQ(second.against_usual, 0.5);
  EXPECT_FALSE(b.against_usual) << "nobody knows what is usual";
  EXPECT_TRUE(now.goes_on);
  EXPECT_FALSE(second.goes_on);
  EXPECT_EQ(list.older, 0u);
  wire::Report once = report();
  once.mutable_phases()->DeleteSubrange(1, 3);
  EXPECT_FALSE(list_of(once).stretches[0].against_usual) << "it is what is known of it";
}

TEST(PhaseList, WhatGoesOnIsComparedOnceItIsLongerThanUsual) {
  wire::Report r = report();
  r.mutable_phases(2)->set_current(true);
  EXPECT_EQ(list_of(r).stretches[2].against_usual, 0.5);
  r.mutable_phases(2)->set_end_ns(7 * kSecond);
  EXPECT_FALSE(list_of(r).stretches[2].against_usual) << "it may become so";
  r.set_final(true);
  EXPECT_FALSE(list_of(r).stretches[2].goes_on) << "the run is over";
  EXPECT_EQ(list_of(r).stretches[2].against_usual, -0.5);
}

TEST(PhaseList, SumsUpByPhaseInTheOrderInWhichTheyCame) {
  const PhaseList list = list_of(report());
  ASSERT_EQ(list.phases.size(), 2u);
  const ListedPhase &a = list.phases[0], &b = list.phases[1];
  EXPECT_EQ(a.name, "A");
  EXPECT_EQ(a.stretches, 2u);
  EXPECT_EQ(a.total, seconds(7));
  EXPECT_DOUBLE_EQ(a.share, 0.7);
  EXPECT_EQ(a.usual, seconds(2));
  EXPECT_EQ(a.shortest, seconds(3));
  EXPECT_EQ(a.longest, seconds(4));
  EXPECT_EQ(b.label, "write");
  EXPECT_EQ(b.stretches, 2u);
  EXPECT_EQ(b.total, seconds(3)) << "with what there is of the one that goes on";
  EXPECT_EQ(b.shortest, seconds(2)) << "of those that are over";
  EXPECT_FALSE(b.usual);
}

TEST(PhaseList, SaysThatThereWereOlderOnes) {
  wire::Report r = report();
  r.mutable_phases()->DeleteSubrange(0, 1);
  EXPECT_EQ(list_of(r).older, 1u);
  EXPECT_EQ(list_of(r).stretches[1].of, 2u);
}

TEST(PhaseList, CoarserLevelsAreListedWhereTheyTellMore) {
  wire::Report r = report();
  auto& finer = *r.add_levels();
  add(*finer.mutable_phases(), "1s:A", 0, 9, 1);
  finer.mutable_phases(0)->set_told(true);
  auto& coarser = *r.add_levels();
  add(*coarser.mutable_phases(), "10s:A", 0, 10, 1);
  wire::PhasePart& part = *coarser.mutable_phases(0)->add_made_of();
  part.set_name("A"), part.set_share(0.7);
  coarser.mutable_phases(0)->add_made_of()->set_share(std::numeric_limits<double>::quiet_NaN());
  EXPECT_THAT(levels_that_tell_more(r), ElementsAre(1));
  const PhaseList list = list_of(r);
  ASSERT_EQ(list.stretches.size(), 5u);
  EXPECT_EQ(list.stretches[4].level, 2u);
  EXPECT_THAT(list.stretches[4].made_of, ElementsAre(std::pair<std::string, double>("A", 0.7)));
  EXPECT_DOUBLE_EQ(list.phases[0].share, 0.7) << "of the time of its level";
  EXPECT_DOUBLE_EQ(list.phases[2].share, 1);
}

// A report may come from anybody.
TEST(PhaseList, TimesBeyondAllBoundsAreCutToThem) {
  wire::Report r;
  for (int i = 0; i < kMostListedStretches + 3; ++i) {
    wire::PhaseSpan& s = *r.add_phases();
    s.set_name("\x01 bad");
    s.set_begin_ns(INT64_MIN), s.set_end_ns(INT64_MAX);
  }
  r.add_phases()->set_begin_ns(5);  // ends before it begins
  const PhaseList list = list_of(r);
  EXPECT_EQ(list.stretches.size(), static_cast<std::size_t>(kMostListedStretches));
  EXPECT_EQ(list.phases[0].total, DurationNs(INT64_MAX));
  EXPECT_EQ(list.phases[0].name, "? bad");
  EXPECT_EQ(list.stretches.back().length(), DurationNs(0));
}

TEST(PhaseList, AsTables) {
  wire::Report r = report();
  r.mutable_phases(1)->set_label("write, read");
  const PhaseList list = list_of(r);
  const std::string all = stretches_csv(list, TimeNs(kSecond));
  EXPECT_THAT(all, HasSubstr("A,,1,2,-1,3,4,no,1,\r\n"));
  EXPECT_THAT(all, HasSubstr("B,\"write, read\",1,2,3,5,2,no,,\r\n"));
  EXPECT_THAT(all, HasSubstr("B,,2,2,8,9,1,yes,,\r\n"));
  EXPECT_THAT(stretches_csv(list, TimeNs(), "B"), testing::Not(HasSubstr("\nA,")));
  EXPECT_THAT(phases_csv(list), HasSubstr("A,,2,7,0.7,2,3,4\r\nB,\"write, read\",2,3,0.3,,2,2\r\n"));
}

StretchContents shares(std::initializer_list<std::pair<const char*, float>> of) {
  support::ViewBuilder build(1);
  std::vector<support::ViewShare> states;
  for (const auto& [name, share] : of) states.push_back({build.state(name, wire::FAMILY_COMPUTE), share});
  build.node("r0", 0);
  build.raw().mutable_question()->set_partition(wire::ViewQuestion::TEMPORAL);
  build.part(0, 0, 1, states);
  return contents_of(*view_data_untrusted(build.answer()));
}

TEST(StateDifferences, WhatDiffersMostComesFirst) {
  const StretchContents first = shares({{"Compute", 0.5F}, {"Wait", 0.25F}, {"Send", 0.25F}});
  const StretchContents second = shares({{"Send", 0.25F}, {"Wait", 0.625F}, {"Recv", 0.125F}});
  const auto rows = difference_of(first, &second);
  std::vector<std::string> names;
  for (const StateDifference& r : rows) names.push_back(r.state.name);
  EXPECT_THAT(names, ElementsAre("Compute", "Wait", "Recv", "Send"));
  EXPECT_EQ(rows[0].more(), -0.5) << "of the second there is nothing";
  EXPECT_EQ(rows[1].more(), 0.375);
  EXPECT_EQ(rows[3].more(), 0);
  EXPECT_THAT(difference_csv(rows, "A, 1st", "A, 2nd"),
              StartsWith("state,family,\"A, 1st\",\"A, 2nd\",difference\r\nCompute,compute,0.5,0,-0.5\r\n"));
}

TEST(StateDifferences, AreOfAllResourcesAndAllTheTime) {
  const StretchContents all = contents_of(SmallView().data());
  ASSERT_EQ(all.shares.size(), 4u);
  EXPECT_EQ(all.shares[0].first.name, "Compute");
  EXPECT_NEAR(all.shares[0].second, 0.3, 1e-6) << "0.6 of two of the four";
  EXPECT_EQ(all.shares[1].first.name, "MPI_Wait");
  EXPECT_NEAR(all.shares[1].second, 0.25, 1e-6) << "of r1 in the first half, of a in the second";
  EXPECT_EQ(all.time, (TimeRange{TimeNs(), TimeNs(4 * kSecond)}));
  EXPECT_TRUE(contents_of({}).shares.empty());
}

TEST(StateDifferences, OfOneIsWhatThereIsMostOf) {
  const auto rows = difference_of(shares({{"Send", 0.25F}, {"Wait", 0.5F}, {"Recv", 0}}), nullptr);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].state.name, "Wait");
  EXPECT_EQ(difference_csv(rows, "A", ""), "state,family,A\r\nWait,compute,0.5\r\nSend,compute,0.25\r\n");
}

}  // namespace phase_list_test
}  // namespace margay::scene
