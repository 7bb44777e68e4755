// Frames against golden files, and what must hold for every frame: its size, and that nothing in a report can
// reach the terminal as a command. Set MARGAY_UPDATE_GOLDEN=1 to write the golden files anew.
#include "margay/terminal/render.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "hostile_report.h"
#include "margay/terminal/status.h"
#include "measured.h"
#include "palette.h"
#include "screen_text.h"
#include "synthetic_report.h"
#include "synthetic_view.h"

namespace margay::terminal {
namespace render_test {

using support::synthetic_report;
using support::SyntheticRun;

TimeNs now_of(const wire::Report& r) {
  return TimeNs(r.emitted_wall_ns() + 20'000'000);
}

void expect_golden(const std::string& name, const std::string& text) {
  const std::string path = std::string(MARGAY_GOLDEN_DIR) + "/" + name + ".txt";
  if (std::getenv("MARGAY_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << text;
  std::ifstream in(path);
  ASSERT_TRUE(in) << path;
  std::stringstream wanted;
  wanted << in.rdbuf();
  EXPECT_EQ(wanted.str(), text) << "see " << name << ".txt";
}

std::string joined(const std::vector<std::string>& lines) {
  std::string out;
  for (const auto& line : lines) out += line + "\n";
  return out;
}

View view_of(int width, int height) {
  View v;
  v.width = width;
  v.height = height;
  return v;
}

SyntheticRun large() {
  SyntheticRun run;
  run.ranks = 64;
  run.hosts = 4;
  return run;
}

TEST(RenderGolden, Steady80x24) {
  const auto r = synthetic_report({}, 20);
  expect_golden("steady_80x24", joined(render(r, view_of(80, 24), now_of(r))));
}
TEST(RenderGolden, Perturbed80x24) {
  const auto r = synthetic_report({}, 28);
  expect_golden("perturbed_80x24", joined(render(r, view_of(80, 24), now_of(r))));
}
// What a daemon knows of durations, and foretells.
wire::Report foretold(bool overdue) {
  auto r = synthetic_report({}, 64);
  auto* d = r.add_phase_durations();
  d->set_name("B");
  d->set_times(5);
  d->set_usual_ns(13'800'000'000);
  d->set_low_ns(13'500'000'000);
  d->set_high_ns(14'200'000'000);
  d->set_last_ns(14'000'000'000);
  auto* f = r.mutable_forecast();
  f->set_phase("B");
  f->set_end_ns(r.watermark_ns() + 11'800'000'000);
  f->set_earliest_ns(r.watermark_ns() + 10'900'000'000);
  f->set_latest_ns(r.watermark_ns() + 12'900'000'000);
  f->set_confidence(0.8);
  f->set_times(5);
  f->set_next("C");
  f->set_next_share(1);
  f->set_overdue(overdue);
  return r;
}

// Reports that list the parts of the partition: rows are of it, and v leads to the newest slices.
wire::Report partitioned(const SyntheticRun& run, double at_s) {
  wire::Report r = synthetic_report(run, at_s);
  std::mt19937_64 rng(3);
  const wire::Report other = support::report_of(support::random_view(rng, {12, 60, 5, 4, 0.95}));
  *r.mutable_nodes() = other.nodes();
  *r.mutable_states() = other.states();
  *r.mutable_spatiotemporal() = other.spatiotemporal();
  r.mutable_spatiotemporal()->set_p(0.02);
  return r;
}

TEST(RenderGolden, Partition80x24) {
  const wire::Report r = partitioned({}, 20);
  expect_golden("partition_80x24", joined(render(r, view_of(80, 24), now_of(r))));
}

TEST(RenderGolden, Partition200x50) {
  const wire::Report r = partitioned({}, 20);
  expect_golden("partition_200x50", joined(render(r, view_of(200, 50), now_of(r))));
}

TEST(Render, TheBarsOfTheNewestSlicesAreThereWhereTheyAreWantedOrThereIsNoPartition) {
  const wire::Report r = partitioned({}, 20);
  View view = view_of(80, 24);
  EXPECT_THAT(joined(render(r, view, now_of(r))),
              testing::HasSubstr("optimal partition of the newest 6.0 s"));
  view.bars = true;
  EXPECT_THAT(joined(render(r, view, now_of(r))), testing::HasSubstr("newest slices"));
  view.bars = false;
  wire::Report without = r;
  without.mutable_spatiotemporal()->clear_parts();
  EXPECT_THAT(joined(render(without, view, now_of(r))), testing::HasSubstr("newest slices"));
}

TEST(RenderGolden, Foretold100x24) {
  const auto r = foretold(false);
  expect_golden("foretold_100x24", joined(render(r, view_of(100, 24), now_of(r))));
}
TEST(Render, WhatIsForetoldIsShownWhereThereIsRoom) {
  const auto line = [](const wire::Report& r, int width) {
    return joined(render(r, view_of(width, 24), now_of(r)));
  };
  const auto r = foretold(false);
  EXPECT_THAT(line(r, 100), testing::HasSubstr("usual 13.8 s; ends in 11.8 s (10.9 s to 12.9 s), then C\n"));
  EXPECT_THAT(line(r, 70), testing::HasSubstr("usual 13.8 s; ends in 11.8 s, then C\n"));
  EXPECT_THAT(line(r, 44), testing::Not(testing::HasSubstr("ends in")));
  EXPECT_THAT(line(foretold(true), 80), testing::HasSubstr("usual 13.8 s; unusually long\n"));
  EXPECT_THAT(status_text(r),
              testing::HasSubstr("  phase B: ends in 11.8 s (10.9 s to 12.9 s), then C; half of "
                                 "the newest 5 lasted 13.5 s to 14.2 s\n"));
  const auto j = nlohmann::json::parse(status_json(r));
  EXPECT_EQ(j["forecast"]["next"], "C");
  EXPECT_EQ(j["forecast"]["latest_ns"], r.watermark_ns() + 12'900'000'000);
  EXPECT_EQ(j["phase_durations"][0]["usual_ns"], 13'800'000'000);
  EXPECT_TRUE(nlohmann::json::parse(status_json(synthetic_report({}, 64)))["forecast"].is_null());
}

// Long phases made of short ones, where a level has such that no finer one tells.
wire::Report with_levels() {
  auto r = synthetic_report({}, 64);
  const auto add = [&](wire::LevelPhases* level, const char* name, std::int64_t from, std::int64_t to,
                       std::uint32_t occurrence, bool told, std::vector<std::string> of) {
    auto* p = level->add_phases();
    p->set_name(name);
    p->set_begin_ns(r.run_begin_ns() + from * 1'000'000'000);
    p->set_end_ns(r.run_begin_ns() + to * 1'000'000'000);
    p->set_occurrence(occurrence);
    p->set_current(to == 64);
    p->set_told(told);
    for (const std::string& name_of : of) {
      auto* part = p->add_made_of();
      part->set_name(name_of);
      part->set_share(1 / static_cast<double>(of.size()));
    }
  };
  for (const std::int64_t s : {1, 10, 60}) r.add_levels()->set_slice_ns(s * 1'000'000'000);
  add(r.mutable_levels(0), "1s:A", 0, 20, 1, true, {"A"});
  add(r.mutable_levels(0), "1s:B", 20, 64, 1, true, {"B"});
  add(r.mutable_levels(1), "10s:A", 0, 20, 1, true, {"A", "B"});
  add(r.mutable_levels(1), "10s:B", 20, 40, 1, false, {"B", "C", "D", "E", "F"});
  add(r.mutable_levels(1), "10s:A", 40, 64, 2, false, {"A", "B"});
  return r;
}

TEST(Render, PhasesOfCoarserLevelsAreToldWhereTheyTellMore) {
  const auto r = with_levels();
  EXPECT_THAT(status_text(r), testing::HasSubstr("\nphases in slices of 10 s\n"
                                                 "  phase  time   began   lasted  made of\n"
                                                 "  10s:A   1st   0.0 s   20.0 s  A and B\n"
                                                 "  10s:B   1st  20.0 s   20.0 s  B, C, D and others\n"
                                                 "  10s:A   2nd  40.0 s  24.0 s+  A and B\n"));
  EXPECT_THAT(status_text(r), testing::Not(testing::HasSubstr("slices of 1 s")));
  EXPECT_THAT(status_text(r), testing::Not(testing::HasSubstr("slices of 60 s")));
  const auto j = nlohmann::json::parse(status_json(r));
  ASSERT_EQ(j["levels"].size(), 3u);
  EXPECT_EQ(j["levels"][1]["slice_ns"], 10'000'000'000);
  EXPECT_EQ(j["levels"][1]["phases"][2]["occurrence"], 2);
  EXPECT_EQ(j["levels"][1]["phases"][2]["made_of"][1]["name"], "B");
  EXPECT_TRUE(j["levels"][0]["phases"][1]["told"]);
  EXPECT_EQ(j["levels"][2]["phases"].size(), 0u);
  const auto lines = [&](int width) { return joined(render(r, view_of(width, 24), now_of(r))); };
  EXPECT_THAT(lines(80), testing::HasSubstr("; in 10s:A for 24.0 s\n"));
  EXPECT_THAT(lines(80), testing::Not(testing::HasSubstr("1s:B")));
  EXPECT_THAT(lines(40), testing::Not(testing::HasSubstr("; in ")));
}

// Somebody looks after one that fires, and another one is silenced.
wire::Report handled() {
  SyntheticRun run;
  run.stop_from_s = run.trouble_from_s + 1;
  run.stop_to_s = run.trouble_to_s;
  auto r = synthetic_report(run, run.trouble_from_s + 3);
  auto* h = r.mutable_alerts(0)->mutable_handled();
  h->set_acknowledged(true);
  h->set_by("ann");
  h->set_comment("disk swap");
  h->set_at_ns(7);
  h->set_silence("s2");
  r.mutable_alerts(1)->mutable_handled()->set_silence("s1");
  return r;
}

TEST(RenderGolden, Handled) {
  const auto r = handled();
  ASSERT_EQ(r.alerts_size(), 2);
  expect_golden("handled_80x24", joined(render(r, view_of(80, 24), now_of(r))));
  expect_golden("handled_120x24", joined(render(r, view_of(120, 24), now_of(r))));
  const std::string small = joined(render(r, view_of(50, 24), now_of(r)));
  EXPECT_THAT(small, testing::HasSubstr(" s rank1"));
  EXPECT_THAT(small, testing::HasSubstr(" a rank"));
}
TEST(Render, WhoSaidWhatOfAnAlertIsInTheStatusToo) {
  const auto r = handled();
  const std::string text = status_text(r);
  EXPECT_THAT(text, testing::HasSubstr("alerts: 2 open (1 acknowledged, 2 silenced), 0 resolved\n"));
  EXPECT_THAT(text, testing::HasSubstr(" (acknowledged by ann: disk swap; silenced by s2)\n"));
  EXPECT_THAT(text, testing::HasSubstr(" (silenced by s1)\n"));
  EXPECT_THAT(text, testing::HasSubstr("margay alerts silences\n"));
  const auto j = nlohmann::json::parse(status_json(r));
  ASSERT_EQ(j["alerts"].size(), 2u);
  EXPECT_EQ(j["alerts"][0]["acknowledged"],
            nlohmann::json({{"by", "ann"}, {"at_ns", 7}, {"comment", "disk swap"}}));
  EXPECT_EQ(j["alerts"][0]["silenced_by"], "s2");
  EXPECT_FALSE(j["alerts"][1].contains("acknowledged"));
  EXPECT_EQ(j["alerts"][1]["silenced_by"], "s1");
  const auto none = synthetic_report({}, 28);
  EXPECT_THAT(status_text(none), testing::HasSubstr("alerts: 1 open, 0 resolved\n"));
  EXPECT_THAT(status_text(none), testing::Not(testing::HasSubstr("silence")));
}

TEST(RenderGolden, StoppedAscii80x24) {
  const auto r = synthetic_report({}, 47);
  View v = view_of(80, 24);
  v.unicode = false;
  expect_golden("stopped_ascii_80x24", joined(render(r, v, now_of(r))));
}
TEST(RenderGolden, LossSixtyFourRanks120x40) {
  const auto r = synthetic_report(large(), 62);
  expect_golden("loss_64_120x40", joined(render(r, view_of(120, 40), now_of(r))));
}
TEST(RenderGolden, SixtyFourRanksScrolled80x24) {
  const auto r = synthetic_report(large(), 28);
  View v = view_of(80, 24);
  v.depth = 2;
  v.scroll = 3;
  expect_golden("scrolled_64_80x24", joined(render(r, v, now_of(r))));
}
TEST(RenderGolden, CulpritsHaveARowOfTheirOwn) {
  const auto r = synthetic_report(large(), 28);
  expect_golden("culprit_64_80x24", joined(render(r, view_of(80, 24), now_of(r))));
}
TEST(RenderGolden, Smallest40x8) {
  const auto r = synthetic_report({}, 28);
  expect_golden("smallest_40x8", joined(render(r, view_of(40, 8), now_of(r))));
}
TEST(RenderGolden, Finished80x24) {
  SyntheticRun run;
  run.end_s = 70;
  const auto r = synthetic_report(run, 71);
  expect_golden("finished_80x24", joined(render(r, view_of(80, 24), now_of(r))));
}
TEST(RenderGolden, EmptyAndWaiting) {
  View v = view_of(80, 12);
  v.link = Link::kWaiting;
  expect_golden("empty_80x12", joined(render(wire::Report(), v, TimeNs(0))));
}
TEST(RenderGolden, Help80x24) {
  const auto r = synthetic_report({}, 20);
  View v = view_of(80, 24);
  v.help = true;
  expect_golden("help_80x24", joined(render(r, v, now_of(r))));
}
TEST(RenderGolden, DaemonGoneAndHeld) {
  const auto r = synthetic_report({}, 20);
  View v = view_of(80, 8);
  v.link = Link::kGone;
  v.gone_since = TimeNs(r.emitted_wall_ns());
  v.held = true;
  expect_golden("gone_held_80x8", joined(render(r, v, TimeNs(r.emitted_wall_ns() + 12'300'000'000))));
}
// Every share as bytes: the full bar is the one of the rank that moved most.
wire::Report measured_report() {
  auto r = synthetic_report({}, 20);
  auto* m = r.mutable_measured();
  m->set_operator_("bytes");
  m->set_unit("bytes");
  m->set_full(2.5e6);
  for (auto& node : *r.mutable_nodes())
    for (auto& share : *node.mutable_shares()) {
      share.set_share(share.share() / 2);
      share.set_value(static_cast<double>(share.share()) * 2.5e6 * node.leaves());
    }
  return r;
}
TEST(RenderGolden, Measured80x24) {
  const auto r = measured_report();
  expect_golden("measured_80x24", joined(render(r, view_of(80, 24), now_of(r))));
  View v = view_of(80, 24);
  v.help = true;
  EXPECT_NE(joined(render(r, v, now_of(r))).find("relative to the largest resource"), std::string::npos);
}
TEST(Render, WhatIsMeasuredIsSaidWhereThereIsNothing) {
  auto r = measured_report();
  r.mutable_measured()->set_operator_("mean:heat");
  r.mutable_measured()->set_note("no value of heat so far");
  r.clear_nodes();
  EXPECT_NE(joined(render(r, view_of(80, 24), now_of(r))).find("no value of heat so far"), std::string::npos);
  EXPECT_NE(status_text(r).find("!! no value of heat so far"), std::string::npos);
  EXPECT_NE(status_text(r).find("shown: mean:heat"), std::string::npos);
}
TEST(Render, AmountsTakeFourColumns) {
  const std::pair<double, const char*> amounts[] = {{0, "0"},
                                                    {0.001, "<.01"},
                                                    {0.123, "0.12"},
                                                    {0.999, "1.0"},
                                                    {7, "7"},
                                                    {7.25, "7.2"},
                                                    {12.5, "12"},
                                                    {999, "999"},
                                                    {999.6, "1.0k"},
                                                    {1234, "1.2k"},
                                                    {45'600, "46k"},
                                                    {999'499, "999k"},
                                                    {1e6, "1.0M"},
                                                    {2.5e9, "2.5G"},
                                                    {1e18, "1.0E"},
                                                    {3e21, "3e21"},
                                                    {1e200, "huge"},
                                                    {-1, "?"},
                                                    {std::numeric_limits<double>::quiet_NaN(), "?"}};
  for (const auto& [value, text] : amounts) {
    EXPECT_EQ(amount_text(value), text) << value;
    EXPECT_LE(amount_text(value).size(), 4u);
  }
}
TEST(RenderGolden, StatusText) {
  expect_golden("status", status_text(synthetic_report({}, 62)));
  wire::Report bad = synthetic_report({}, 62);
  auto* h = bad.mutable_health();
  h->set_state(wire::Health::DEGRADED);
  h->add_reasons("the archive cannot be written since 13:02:11 (/data/night: No space left on device)");
  h->add_reasons("4,321 records dropped by a probe whose ring was full (in the last minute)");
  h->mutable_counters(0)->set_remedy(
      "raise node.memory or shorten node.period; check that the node agent gets CPU time");
  auto* c = h->add_counters();
  c->set_name("memory_bytes");
  c->set_unit("bytes");
  c->set_value(123'456'789);
  c->set_help("memory in use (resident)");
  c = h->add_counters();
  c->set_name("archive_unwritable");
  c->set_kind(wire::Counter::CONDITION);
  c->set_severity(2);
  c->set_value(1);
  c->set_help("the archive cannot be written");
  c->set_detail("the archive cannot be written since 13:02:11 (/data/night: No space left on device)");
  expect_golden("status_degraded", status_text(bad));
}

TEST(Render, SizeHoldsForAllSizesAndColours) {
  const auto small = synthetic_report({}, 47);
  const auto big = synthetic_report(large(), 62);
  std::mt19937 rng(support::seed(11));
  for (int i = 0; i < 400; ++i) {
    View v = view_of(1 + static_cast<int>(rng() % 300), 1 + static_cast<int>(rng() % 100));
    v.colour = static_cast<Colour>(rng() % 4);
    v.unicode = rng() % 3 != 0;
    v.depth = static_cast<int>(rng() % 5) - 1;
    v.scroll = static_cast<int>(rng() % 80) - 5;
    v.help = rng() % 8 == 0;
    const auto& r = rng() % 2 == 0 ? small : big;
    SCOPED_TRACE("case " + std::to_string(i) + ": " + std::to_string(v.width) + "x" +
                 std::to_string(v.height));
    support::expect_frame(render(r, v, now_of(r)), v);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(Render, AbsurdSizesAreEmptyOrCut) {
  const auto r = synthetic_report({}, 20);
  EXPECT_TRUE(render(r, view_of(80, 0), TimeNs(0)).empty());
  EXPECT_TRUE(render(r, view_of(80, std::numeric_limits<int>::min()), TimeNs(0)).empty());
  EXPECT_EQ(render(r, view_of(-5, 3), TimeNs(0)), std::vector<std::string>(3));
}

TEST(Render, HostileReportsStayInsideTheFrame) {
  const auto first = support::seed(12);
  for (unsigned i = 0; i < 300; ++i) {
    std::mt19937 rng(first + i);
    const wire::Report r = support::hostile_report(rng);
    View v = view_of(1 + static_cast<int>(rng() % 300), 1 + static_cast<int>(rng() % 100));
    v.colour = static_cast<Colour>(rng() % 4);
    v.unicode = rng() % 3 != 0;
    v.depth = static_cast<int>(rng() % 6) - 1;
    v.scroll = static_cast<int>(rng());
    v.link = static_cast<Link>(rng() % 4);
    v.notice = rng() % 5 == 0 ? r.run() : "";
    v.utc_offset_s = static_cast<std::int64_t>(rng()) * 2'000'000'000 - 1;
    SCOPED_TRACE("seed " + std::to_string(first + i));
    support::expect_frame(render(r, v, TimeNs(static_cast<std::int64_t>(rng()) << 32)), v);
    if (testing::Test::HasFailure()) return;
  }
}

// Every place where a name or a sentence of a report is shown.
wire::Report injected(const std::string& evil) {
  wire::Report r = synthetic_report({}, 47);
  r.set_run(evil);
  r.set_command(evil);
  for (auto& s : *r.mutable_states()) s.set_name(evil);
  for (auto& n : *r.mutable_nodes()) n.set_path("/" + evil + n.path()), n.set_condition(evil);
  for (auto& p : *r.mutable_phases()) p.set_name(evil), p.set_label(evil);
  r.mutable_forecast()->set_phase(evil);
  r.mutable_forecast()->set_next(evil);
  auto& a = *r.add_alerts();
  a.set_id(evil);
  a.set_node(evil);
  a.set_message(evil);
  a.add_resources(evil);
  a.add_likely_cause(evil);
  a.add_states()->set_state(evil);
  auto& candidate = *a.add_candidates();
  candidate.set_name(evil);
  candidate.set_kind(evil);
  a.mutable_handled()->set_by(evil);
  a.mutable_handled()->set_silence(evil);
  auto* h = r.mutable_health();
  for (auto& s : *h->mutable_sources()) s.set_resource(evil), s.set_condition(evil);
  for (auto& c : *h->mutable_counters()) c.set_name(evil), c.set_help(evil), c.set_value(1);
  return r;
}

TEST(Render, NoEscapeSequenceOfANameReachesTheTerminal) {
  const std::string evils[] = {"\x1b]0;owned\x07",
                               "\x1b[2J\x1b[H",
                               "\x9b"
                               "31m",
                               "\xc2\x9b"
                               "31m",
                               "a\r\nb\tc\bd\x7f",
                               "\x1bP+q544e\x1b\\",
                               "\xe2\x80\xae"
                               "rtl",
                               "\xff\xfe\xc0\x80",
                               std::string("nul\0nul", 7)};
  for (const std::string& evil : evils) {
    const wire::Report r = injected(evil);
    for (const bool unicode : {true, false}) {
      View v = view_of(100, 40);
      v.unicode = unicode;
      v.colour = Colour::kTruecolour;
      v.notice = unicode ? evil : "";
      const auto lines = render(r, v, now_of(r));
      support::expect_frame(lines, v);
      for (const auto& line : lines) EXPECT_THAT(line, testing::Not(testing::HasSubstr("31mX")));
    }
    support::expect_plain(status_text(r));
    EXPECT_FALSE(status_json(r).empty());
  }
}

TEST(Render, OnlyColoursAreEscapesAndNoneWithoutColour) {
  const auto r = synthetic_report({}, 47);
  View v = view_of(100, 40);
  EXPECT_EQ(joined(render(r, v, now_of(r))).find('\x1b'), std::string::npos);
  v.colour = Colour::k256;
  EXPECT_NE(joined(render(r, v, now_of(r))).find("\x1b[0;"), std::string::npos);
}

TEST(Render, ScrollIsClampedAndEveryNodeCanBeReached) {
  const auto r = synthetic_report(large(), 20);
  View v = view_of(80, 24);
  v.depth = 2;
  std::string all;
  for (v.scroll = 0;; v.scroll += 1) {
    const Frame f = draw(r, v, now_of(r));
    all += joined(f.lines);
    if (v.scroll >= f.scroll_most) break;
    ASSERT_LT(v.scroll, 100);
  }
  for (int k = 0; k < 64; ++k) EXPECT_THAT(all, testing::HasSubstr("rank" + std::to_string(k) + " "));
  v.scroll = 1 << 30;
  const Frame f = draw(r, v, now_of(r));
  EXPECT_EQ(f.scroll, f.scroll_most);
  EXPECT_THAT(joined(f.lines), testing::HasSubstr("rank63"));
}

// Programs that only name their states are not all grey.
TEST(Palette, HuesAreByNameWhereTheSourceSaysNoFamily) {
  wire::Report report;
  for (const auto& [name, family] :
       {std::pair("decode", wire::FAMILY_OTHER), std::pair("Compute", wire::FAMILY_COMPUTE),
        std::pair("mutex wait", wire::FAMILY_OTHER), std::pair("frobnicate", wire::FAMILY_OTHER)}) {
    report.add_states()->set_name(name);
    report.mutable_states()->rbegin()->set_family(family);
  }
  const Palette palette(report, true);
  const Ink decode = palette.look(0).ink, compute = palette.look(1).ink;
  EXPECT_EQ(decode.basic % 8, compute.basic % 8) << "green, light or dark";
  EXPECT_NE(decode.rgb, compute.rgb) << "shades of it";
  EXPECT_NE(palette.look(2).ink.basic % 8, decode.basic % 8);
  EXPECT_EQ(palette.look(3).ink.rgb, 0x999999u);
}

}  // namespace render_test
}  // namespace margay::terminal
