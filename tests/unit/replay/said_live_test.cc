// What was said live beside what a replay with other settings says.
#include "margay/replay/said_live.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "margay/wire/alert_json.h"

namespace margay::daemon {
namespace said_live_test {

using testing::ElementsAre;
using testing::IsEmpty;

wire::Alert alert(const std::string& id, double from, std::optional<double> to,
                  const std::vector<std::string>& resources,
                  wire::Alert::Kind kind = wire::Alert::PERTURBATION) {
  const auto at = [](double s) { return static_cast<std::int64_t>(s * 1e9); };
  wire::Alert a;
  a.set_id(id);
  a.set_kind(kind);
  a.set_level_ns(100'000'000);
  a.set_onset_ns(at(from));
  a.set_detected_ns(at(from + 0.3));
  a.set_resolved(to.has_value());
  if (to) a.set_end_ns(at(*to));
  for (const std::string& r : resources) a.add_resources(r);
  a.set_node(resources.size() == 1 ? resources[0] : "/");
  return a;
}

struct Beside {
  std::vector<std::string> only_now, only_live;
};

Beside beside(const std::vector<wire::Alert>& live, const std::vector<wire::Alert>& now,
              double watermark = 100, double from = 0, double to = 100) {
  std::vector<store::AlertRecord> records;
  for (const wire::Alert& a : live) records.push_back({a.id(), wire::to_json(a), "firing"});
  SaidLive said(records, TimeNs(static_cast<std::int64_t>(from * 1e9)),
                TimeNs(static_cast<std::int64_t>(to * 1e9)));
  for (const wire::Alert& a : now) said.take(*alert::parse_untrusted(wire::to_json(a)));
  wire::WhatIf out;
  said.compare(TimeNs(static_cast<std::int64_t>(watermark * 1e9)), out);
  Beside b;
  b.only_now.assign(out.only_now().begin(), out.only_now().end());
  for (const wire::Alert& a : out.only_live()) b.only_live.push_back(a.id());
  return b;
}

TEST(SaidLive, ThoseThatTouchInTimeAndShareAResourceAreAlike) {
  const auto live = {alert("a", 10, 12, {"/n/r1", "/n/r2"})};
  Beside b = beside(live, {alert("x", 11, 15, {"/n/r2"})});
  EXPECT_THAT(b.only_now, IsEmpty());
  EXPECT_THAT(b.only_live, IsEmpty());
  b = beside(live, {alert("x", 11, 15, {"/n/r3"})});
  EXPECT_THAT(b.only_now, ElementsAre("x"));
  EXPECT_THAT(b.only_live, ElementsAre("a"));
  // Two slices away is near enough, three are not.
  EXPECT_THAT(beside(live, {alert("x", 12.2, 15, {"/n/r1"})}).only_now, IsEmpty());
  EXPECT_THAT(beside(live, {alert("x", 12.3, 15, {"/n/r1"})}).only_now, ElementsAre("x"));
  EXPECT_THAT(beside(live, {alert("x", 8, 9.8, {"/n/r1"})}).only_now, IsEmpty());
  EXPECT_THAT(beside(live, {alert("x", 8, 9.7, {"/n/r1"})}).only_now, ElementsAre("x"));
  // One that goes on touches all that follows.
  EXPECT_THAT(beside({alert("a", 10, {}, {"/n/r1"})}, {alert("x", 50, {}, {"/n/r1"})}).only_live, IsEmpty());
}

TEST(SaidLive, AStallMayBeAPerturbationButNoOtherKind) {
  const auto live = {alert("a", 10, 12, {"/n/r1"}, wire::Alert::STALL)};
  EXPECT_THAT(beside(live, {alert("x", 10, 12, {"/n/r1"})}).only_live, IsEmpty());
  EXPECT_THAT(beside(live, {alert("x", 10, 12, {"/n/r1"}, wire::Alert::LOSS)}).only_live, ElementsAre("a"));
}

TEST(SaidLive, OfNobodyTheNodeIsThePlace) {
  const auto of_all = [](const char* id, const char* node) {
    wire::Alert a = alert(id, 10, 12, {}, wire::Alert::PHASE_DURATION);
    a.set_node(node);
    return a;
  };
  EXPECT_THAT(beside({of_all("a", "/")}, {of_all("x", "/")}).only_now, IsEmpty());
  EXPECT_THAT(beside({of_all("a", "/")}, {of_all("x", "/n")}).only_now, ElementsAre("x"));
}

TEST(SaidLive, WhatIsStillToBeSaidIsNotMissed) {
  const auto live = {alert("a", 10, 12, {"/n/r1"}), alert("b", 20, 22, {"/n/r1"})};
  EXPECT_THAT(beside(live, {}, 10.2).only_live, IsEmpty());
  EXPECT_THAT(beside(live, {}, 10.3).only_live, ElementsAre("a"));
  EXPECT_THAT(beside(live, {}, 30).only_live, ElementsAre("a", "b"));
  // Nor what lies outside of what is replayed.
  EXPECT_THAT(beside(live, {}, 30, 12, 30).only_live, ElementsAre("b"));
  EXPECT_THAT(beside(live, {}, 30, 0, 20).only_live, ElementsAre("a"));
}

TEST(SaidLive, RevisionsOfOneAreOneAndDamagedOnesAreLeftOut) {
  const wire::Alert a = alert("x", 10, {}, {"/n/r1"});
  EXPECT_THAT(beside({}, {a, a}).only_now, ElementsAre("x"));
  const std::vector<store::AlertRecord> damaged{{"a", "{", "firing"}};
  const SaidLive said(damaged, TimeNs(0), TimeNs(INT64_MAX));
  wire::WhatIf out;
  said.compare(TimeNs(INT64_MAX), out);
  EXPECT_EQ(out.only_live_size(), 0);
}

TEST(SaidLive, TheNewestAreCompared) {
  std::vector<wire::Alert> live;
  for (std::size_t i = 0; i <= SaidLive::kMost; ++i)
    live.push_back(
        alert(std::to_string(i), 1 + static_cast<double>(i) * 0.01, 99, {"/n/r" + std::to_string(i)}));
  const Beside b = beside(live, {});
  ASSERT_EQ(b.only_live.size(), SaidLive::kMostTold);
  EXPECT_EQ(b.only_live.back(), std::to_string(SaidLive::kMost));
  // The oldest of them is no longer known.
  EXPECT_THAT(beside(live, {alert("x", 0.9, 1.0, {"/n/r0"})}).only_now, ElementsAre("x"));
  EXPECT_THAT(beside(live, {alert("x", 0.9, 1.0, {"/n/r1"})}).only_now, IsEmpty());
}

TEST(SaidLive, OfTheReplayTheNewestAreKeptUntilItBeginsAnew) {
  SaidLive said({}, TimeNs(0), TimeNs(INT64_MAX));
  const auto take = [&](const std::string& id, double from) {
    said.take(*alert::parse_untrusted(wire::to_json(alert(id, from, {}, {"/n/r1"}))));
  };
  take("newest", 99);
  for (std::size_t i = 0; i < SaidLive::kMost; ++i) take(std::to_string(i), static_cast<double>(i) * 0.01);
  EXPECT_EQ(said.said_now("0"), nullptr) << "the oldest";
  ASSERT_NE(said.said_now("1"), nullptr);
  EXPECT_NE(said.said_now("newest"), nullptr);
  wire::WhatIf out;
  said.compare(TimeNs(0), out);
  EXPECT_EQ(out.only_now_size(), static_cast<int>(SaidLive::kMost));
  said.begin_anew();
  EXPECT_EQ(said.said_now("newest"), nullptr);
}

}  // namespace said_live_test
}  // namespace margay::daemon
