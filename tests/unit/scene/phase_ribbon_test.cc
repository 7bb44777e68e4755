// Phases beside a picture at another p: where it has no cut, no boundary is shown.
#include "margay/scene/phase_ribbon.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "synthetic_view.h"

namespace margay::scene {
namespace phase_ribbon_test {

using testing::ElementsAre;

constexpr std::int64_t kSecond = 1'000'000'000;

// A of [0, 4) s, B of [4, 6), A of [6, 10), C from 10 s on, which is now 12.
wire::Report report() {
  wire::Report out;
  out.set_slice_ns(kSecond / 10);
  out.set_watermark_ns(12 * kSecond);
  const auto phase = [&](const char* name, std::int64_t from, std::int64_t to, std::uint32_t times) {
    wire::PhaseSpan& s = *out.add_phases();
    s.set_name(name);
    s.set_begin_ns(from * kSecond);
    s.set_end_ns(to * kSecond);
    s.set_occurrence(times);
  };
  phase("A", 0, 4, 1);
  phase("B", 4, 6, 1);
  phase("A", 6, 10, 2);
  phase("C", 10, 11, 1);
  out.mutable_phases(3)->set_current(true);
  out.mutable_phases(3)->set_label("write");
  return out;
}

// Of 1 s slices from 0 s to 12 s, cut there.
ViewData cut_at(const std::vector<std::uint32_t>& cuts, std::uint32_t slices = 12) {
  support::ViewBuilder build(slices);
  const std::uint32_t compute = build.state("Compute", wire::FAMILY_COMPUTE);
  build.node("r0", 0);
  build.raw().mutable_question()->set_partition(wire::ViewQuestion::TEMPORAL);
  std::uint32_t from = 0;
  for (const std::uint32_t cut : cuts) {
    build.part(0, from, cut, {{compute, 1}});
    from = cut;
  }
  build.part(0, from, slices, {{compute, 1}});
  return *view_data_untrusted(build.answer());
}

std::vector<std::string> names(const std::vector<PhaseStretch>& stretches) {
  std::vector<std::string> out;
  for (const PhaseStretch& s : stretches) {
    std::string all;
    for (const std::string& n : s.names) all += n;
    out.push_back(all);
  }
  return out;
}

TEST(PhaseRibbon, AtTheDaemonsPPhasesAreAsTheyAre) {
  const auto all = phase_stretches(report(), nullptr);
  ASSERT_THAT(names(all), ElementsAre("A", "B", "A", "C"));
  EXPECT_EQ(all[2].occurrence, 2u);
  EXPECT_EQ(all[3].label, "write");
  EXPECT_EQ(all[3].to, TimeNs(12 * kSecond)) << "the one that goes on lasts until now";
}

TEST(PhaseRibbon, ABoundaryWithoutACutIsNone) {
  const ViewData all = cut_at({4, 6, 10}), some = cut_at({10}), none = cut_at({});
  EXPECT_THAT(names(phase_stretches(report(), &all)), ElementsAre("A", "B", "A", "C"));
  const auto stretches = phase_stretches(report(), &some);
  ASSERT_THAT(names(stretches), ElementsAre("AB", "C"));
  EXPECT_EQ(stretches[0].longest, "A");
  EXPECT_EQ(stretches[0].occurrence, 0u);
  EXPECT_EQ(stretches[0].from, TimeNs(0));
  EXPECT_EQ(stretches[0].to, TimeNs(10 * kSecond));
  EXPECT_THAT(names(phase_stretches(report(), &none)), ElementsAre("ABC"));
}

// A finer partition has cuts where there is no boundary of phases: those are the daemon's to find.
TEST(PhaseRibbon, FurtherCutsMakeNoFurtherPhases) {
  const ViewData fine = cut_at({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  EXPECT_THAT(names(phase_stretches(report(), &fine)), ElementsAre("A", "B", "A", "C"));
}

TEST(PhaseRibbon, ACutNearByIsTheBoundary) {
  const ViewData near = cut_at({5, 6, 10});  // by a slice of the picture
  EXPECT_THAT(names(phase_stretches(report(), &near)), ElementsAre("A", "B", "A", "C"));
  const ViewData far = cut_at({2, 8, 10});
  EXPECT_THAT(names(phase_stretches(report(), &far)), ElementsAre("AB", "C"));
}

TEST(PhaseRibbon, WhereThePictureKnowsNothingPhasesStay) {
  const ViewData early = cut_at({}, 5);  // [0, 5) s
  EXPECT_THAT(names(phase_stretches(report(), &early)), ElementsAre("AB", "A", "C"));
}

TEST(PhaseRibbon, IsToldWithWhatTheProgramCallsItAndHowOftenItCame) {
  PhaseStretch a;
  a.names = {"A"};
  for (const auto& [n, text] :
       {std::pair(1u, "A"), std::pair(2u, "A, 2nd"), std::pair(3u, "A, 3rd"), std::pair(11u, "A, 11th"),
        std::pair(21u, "A, 21st"), std::pair(30u, "A, 30th")}) {
    a.occurrence = n;
    EXPECT_EQ(phase_text(a), text);
  }
  a.label = "write";
  EXPECT_EQ(phase_text(a), "A (write), 30th");
  EXPECT_EQ(phase_names(a), "A");
  PhaseStretch both;
  both.names = {"A", "B"};
  EXPECT_EQ(phase_text(both), "A+B");
  both.more = true;
  EXPECT_EQ(phase_text(both), "A+B+...");
}

TEST(PhaseRibbon, ManyNamesAreBounded) {
  wire::Report many;
  many.set_slice_ns(kSecond / 10);
  for (int i = 0; i < 10; ++i) {
    wire::PhaseSpan& s = *many.add_phases();
    s.set_name(std::string(1, static_cast<char>('A' + i)));
    s.set_begin_ns((i + 1) * kSecond);
    s.set_end_ns((i + 2) * kSecond);
  }
  const ViewData none = cut_at({});
  const auto one = phase_stretches(many, &none);
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].names.size(), kMostPhaseNames);
  EXPECT_TRUE(one[0].more);
}

TEST(PhaseRibbon, LevelsThatTellMoreAreFurtherOnes) {
  wire::Report r = report();
  for (int l = 0; l < 6; ++l) {
    wire::LevelPhases& level = *r.add_levels();
    level.set_slice_ns((l + 1) * kSecond);
    wire::PhaseSpan& s = *level.add_phases();
    s.set_name("long"), s.set_begin_ns(0), s.set_end_ns(9 * kSecond), s.set_occurrence(1);
    s.set_told(l == 1);
    s.set_current(true);
  }
  const auto ribbons = level_ribbons(r);
  ASSERT_EQ(ribbons.size(), kMostLevelRibbons);
  EXPECT_EQ(level_ribbon_count(r), kMostLevelRibbons);
  EXPECT_EQ(ribbons[0].slice, seconds(1));
  EXPECT_EQ(ribbons[1].slice, seconds(3)) << "a finer one has told the second";
  EXPECT_THAT(names(ribbons[0].phases), ElementsAre("long"));
  EXPECT_EQ(ribbons[0].phases[0].to, TimeNs(12 * kSecond)) << "it goes on";
  EXPECT_EQ(level_ribbon_count(report()), 0u);
}

}  // namespace phase_ribbon_test
}  // namespace margay::scene
