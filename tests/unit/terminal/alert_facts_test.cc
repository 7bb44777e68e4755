// What an alert says of itself, as `margay alerts show` and the window write it.
#include "margay/terminal/alert_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "alerts.h"

namespace margay::terminal {
namespace alert_facts_test {

using testing::HasSubstr;
using testing::Not;

wire::Alert stopped() {
  wire::Alert a;
  a.set_id("r-perturbation-1300-2");
  a.set_kind(wire::Alert::PERTURBATION);
  a.set_level_ns(100'000'000);
  a.set_onset_ns(1'300'000'000), a.set_detected_ns(1'500'000'000);
  a.set_node("/n/rank2");
  a.add_resources("/n/rank2"), a.add_likely_cause("/n/rank2"), a.add_affected("/n");
  a.set_score_bits(4.25), a.set_p_value(1e-9), a.set_p(0.02);
  auto& c = *a.add_candidates();
  c.set_name("/n/rank2"), c.set_kind("resource"), c.set_probability(0.97);
  a.mutable_area()->add_nodes("/n/rank2");
  a.mutable_area()->set_first_slice(13), a.mutable_area()->set_slices(11);
  return a;
}

AlertContext context() {
  AlertContext c;
  c.moment = [](TimeNs t) { return std::to_string(t.value / 1'000'000) + " ms"; };
  return c;
}

std::string value(const std::vector<AlertFact>& facts, const char* name) {
  const auto at =
      std::find_if(facts.begin(), facts.end(), [&](const AlertFact& f) { return f.name == name; });
  return at == facts.end() ? "" : at->value;
}

TEST(AlertFacts, SayWhatWhenWhereAndWhy) {
  const auto facts = alert_facts(stopped(), context());
  EXPECT_EQ(value(facts, "kind"), "perturbation, firing");
  EXPECT_EQ(value(facts, "onset"), "1300 ms into the run");
  EXPECT_EQ(value(facts, "detected"), "0.2 s later");
  EXPECT_EQ(value(facts, "candidates"), "/n/rank2 0.97");
  EXPECT_EQ(value(facts, "area"), "/n/rank2: 11 slices of 100 ms from 1300 ms on");
  EXPECT_EQ(value(facts, "score"), "4.25 bits, p-value 1e-09, in slices of 100 ms, partition at p 0.02");
  EXPECT_EQ(value(facts, "false alarms"), "none from chance: it rests on facts");
  EXPECT_THAT(value(facts, "rule"), HasSubstr("stopped"));
  EXPECT_EQ(value(facts, "waited for"), "") << "that is not known";
  for (const AlertFact& f : facts) EXPECT_LE(f.name.size(), 13u) << f.name;
}

TEST(AlertFacts, OneThatChanceCanMakeSaysHowOften) {
  wire::Alert a = stopped();
  a.set_false_alarms_per_day(0.031);
  a.set_cost_s(0.75);
  const auto facts = alert_facts(a, context());
  EXPECT_EQ(value(facts, "false alarms"), "0.031 a day expected from chance with as much evidence");
  EXPECT_THAT(value(facts, "rule"), HasSubstr("detect.false_alarms_per_day"));
  EXPECT_EQ(value(facts, "cost"), "0.75 s that the job is late");
}

// Its cells are not compared with anything: a score of nothing would look like no evidence.
TEST(AlertFacts, OneOfLostEventsHasNoScore) {
  wire::Alert a = stopped();
  a.set_kind(wire::Alert::LOSS), a.set_score_bits(0), a.set_p_value(1);
  const auto facts = alert_facts(a, context());
  EXPECT_EQ(std::count_if(facts.begin(), facts.end(), [](const AlertFact& f) { return f.name == "score"; }),
            0);
}

TEST(AlertFacts, HaveWhatIsKnownBesideTheAlert) {
  AlertContext c = context();
  c.moment_of.clear();
  c.waited_for = {{"/n/rank2", 0.75}, {"/n/rank1", 0.0002}};
  c.waited_for_unknown = 0.2498;
  wire::PhaseSpan& phase = c.phase.emplace();
  phase.set_name("B"), phase.set_label("solve"), phase.set_occurrence(14), phase.set_begin_ns(1'000'000'000);
  const auto facts = alert_facts(stopped(), c);
  EXPECT_EQ(value(facts, "onset"), "1300 ms");
  EXPECT_EQ(value(facts, "waited for"), "/n/rank2 75 %, unknown partner 25 %");
  EXPECT_EQ(value(facts, "phase"), "B (solve), 14th time, since 1000 ms");
}

TEST(AlertFacts, HostileOnesArePrintableAndBounded) {
  wire::Alert a = stopped();
  a.set_id(std::string(100'000, 'x') + "\x1b[31m");
  a.mutable_area()->set_first_slice(std::numeric_limits<std::int64_t>::max());
  a.set_onset_ns(std::numeric_limits<std::int64_t>::min());
  a.set_end_ns(std::numeric_limits<std::int64_t>::max());
  a.set_score_bits(std::numeric_limits<double>::quiet_NaN());
  a.set_kind(wire::Alert::UNKNOWN);
  for (int i = 0; i < 100'000; ++i) {
    a.add_affected("/n/\n" + std::to_string(i));
    a.add_states()->set_state("s\x07");
  }
  const auto facts = alert_facts(a, context());
  EXPECT_LT(facts.size(), 200u);
  for (const AlertFact& f : facts) {
    EXPECT_LT(f.value.size(), 4000u) << f.name;
    EXPECT_THAT(f.value, Not(HasSubstr("\x1b"))) << f.name;
    EXPECT_THAT(f.value, Not(HasSubstr("\n"))) << f.name;
  }
  EXPECT_THAT(value(facts, "affected"), HasSubstr(" more"));
}

TEST(AlertFacts, ThePhaseIsThatOfTheAlertsLevel) {
  wire::Report r;
  const auto add = [](auto* to, const char* name, std::int64_t from, std::int64_t until) {
    to->set_name(name), to->set_begin_ns(from), to->set_end_ns(until);
  };
  add(r.add_phases(), "A", 0, 10), add(r.add_phases(), "B", 10, 20);
  wire::LevelPhases& level = *r.add_levels();
  level.set_slice_ns(1000);
  add(level.add_phases(), "10s:A", 0, 30);
  EXPECT_EQ(phase_at(r, TimeNs(10), DurationNs(100))->name(), "B");
  EXPECT_EQ(phase_at(r, TimeNs(10), DurationNs(1000))->name(), "10s:A");
  EXPECT_FALSE(phase_at(r, TimeNs(20), DurationNs(100)));
  r.mutable_phases(1)->set_current(true);
  EXPECT_TRUE(phase_at(r, TimeNs(20), DurationNs(100)));
}

// By the id that lists have, and of several entries the newest.
TEST(FindAlert, FindsWhatTheListHas) {
  wire::Report r;
  *r.add_alerts() = stopped();
  wire::Alert& other = *r.add_alerts();
  other = stopped();
  other.clear_id();
  *r.add_alerts() = stopped();
  r.mutable_alerts(2)->set_resolved(true);
  for (const AlertView& a : read_alerts(r, 256)) {
    const wire::Alert* found = find_alert(r, a.id);
    ASSERT_NE(found, nullptr) << a.id;
    EXPECT_EQ(found->resolved(), !a.firing);
  }
  EXPECT_EQ(find_alert(r, "another"), nullptr);
}

}  // namespace alert_facts_test
}  // namespace margay::terminal
