#include "margay/terminal/live_lines.h"

#include "margay/terminal/status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "hostile_report.h"
#include "screen_text.h"
#include "synthetic_report.h"

namespace margay::terminal {
namespace live_lines_test {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> follow(LiveLines& lines, double from, double to) {
  std::vector<std::string> out;
  for (double t = from; t <= to; t += 0.1) {
    const auto r = support::synthetic_report({}, t);
    for (auto& line : lines.feed(r, TimeNs(r.watermark_ns()))) out.push_back(line);
  }
  return out;
}

TEST(LiveLines, ARunIsToldLineByLine) {
  LiveLines lines;
  EXPECT_THAT(
      follow(lines, 0.1, 62.35),
      ElementsAre(
          "margay: 0.0 s  phase A begins (new)", "margay: 2.0 s  phase B begins (new)",
          "margay: 16.0 s  phase C (checkpoint) begins (new)",
          "margay: 22.0 s  phase B begins (2nd time; usual 14.0 s)",
          HasSubstr("margay: 25.0 s  FIRING: rank3 on node1 departs from phase B: Compute 95 % (usual 68 %)"),
          HasSubstr("margay: 33.0 s  resolved after 8.0 s: rank3 on node1"),
          "margay: 36.0 s  phase C (checkpoint) begins (2nd time; usual 6.0 s)",
          "margay: 42.0 s  phase B begins (3rd time; usual 14.0 s)",
          HasSubstr("margay: 45.0 s  FIRING: rank1 on node1: rank1 is stopped"),
          HasSubstr("margay: 50.0 s  resolved after 5.0 s: rank1 on node1"),
          "margay: 56.0 s  phase C (checkpoint) begins (3rd time; usual 6.0 s)",
          HasSubstr("LOST 4,321 events, 4,321 in all: 4,321 dropped by probes"),
          "margay: 62.0 s  phase B begins (4th time; usual 14.0 s)"));
}

// Of several, the alert lists the most probable first, and the sentence names them in order.
TEST(LiveLines, WhomASentenceNamesIsNotNamedBeforeIt) {
  const auto told = [](int ranks, const std::string& message) {
    wire::Report r;
    wire::Alert& a = *r.add_alerts();
    a.set_id("a"), a.set_kind(wire::Alert::PERTURBATION), a.set_onset_ns(1), a.set_message(message);
    for (int i = ranks; i-- > 0;) a.add_resources("/vm/rank" + std::to_string(i));
    LiveLines lines;
    return lines.feed(r, TimeNs(0));
  };
  const std::string each = "rank0 on vm, rank1 on vm and rank2 on vm: compute takes 2.0 times as long";
  EXPECT_THAT(told(3, each), ElementsAre(HasSubstr("FIRING: " + each)));
  const std::string many = "17 resources below /vm: compute takes 2.0 times as long";
  EXPECT_THAT(told(17, many), ElementsAre(HasSubstr("FIRING: " + many)));
  EXPECT_THAT(told(3, "compute takes long"),
              ElementsAre(HasSubstr("FIRING: rank2 on vm, rank1 on vm and 1 more: compute takes long")));
}

TEST(LiveLines, ThatCallsAreSummedIsToldOnceAMinute) {
  LiveLines lines;
  wire::Report r;
  r.set_run_begin_ns(1);
  wire::Counter* summing = r.mutable_health()->add_counters();
  summing->set_name("sources_summing");
  const auto at = [&](std::int64_t s, std::uint64_t processes) {
    r.set_watermark_ns(1 + s * 1'000'000'000);
    summing->set_value(processes);
    return lines.feed(r, TimeNs(r.watermark_ns()));
  };
  EXPECT_THAT(at(1, 0), ElementsAre());
  EXPECT_THAT(at(2, 64),
              ElementsAre(HasSubstr("2.0 s  64 processes call so often that recording it would slow")));
  EXPECT_THAT(at(3, 60), ElementsAre());
  EXPECT_THAT(at(5, 0), ElementsAre());
  EXPECT_THAT(at(63, 0), ElementsAre(HasSubstr("every call is recorded again")));
  EXPECT_THAT(at(64, 0), ElementsAre());
}

TEST(LiveLines, ThatResourcesTakeTurnsOnTooFewCpusIsToldOnceWhenItHasLasted) {
  LiveLines lines;
  wire::Report r;
  r.set_run_begin_ns(1);
  wire::Counter* short_of = r.mutable_health()->add_counters();
  short_of->set_name("leaves_short_of_cpus");
  const auto at = [&](std::int64_t s, std::uint64_t leaves) {
    r.set_watermark_ns(1 + s * 1'000'000'000);
    short_of->set_value(leaves);
    return lines.feed(r, TimeNs(r.watermark_ns()));
  };
  EXPECT_THAT(at(1, 4), ElementsAre());
  EXPECT_THAT(at(3, 1), ElementsAre()) << "one takes turns with nobody";
  EXPECT_THAT(at(7, 4), ElementsAre());
  EXPECT_THAT(at(11, 4), ElementsAre());
  EXPECT_THAT(at(12, 4), ElementsAre(HasSubstr("12.0 s  4 resources take turns on too few CPUs")));
  EXPECT_THAT(at(13, 4), ElementsAre());
  EXPECT_THAT(at(14, 0), ElementsAre());
  EXPECT_THAT(at(15, 4), ElementsAre());
  EXPECT_THAT(at(30, 4), ElementsAre());
}

TEST(LiveLines, ABoundaryIsToldAtOneLevel) {
  LiveLines lines;
  wire::Report r;
  r.set_run_begin_ns(1);
  const auto add = [](wire::PhaseSpan* p, const char* name, std::int64_t from_s, std::int64_t to_s) {
    p->set_name(name);
    p->set_begin_ns(1 + from_s * 1'000'000'000);
    p->set_end_ns(1 + to_s * 1'000'000'000);
    p->set_occurrence(1);
    return p;
  };
  add(r.add_phases(), "A", 0, 100);
  add(r.add_phases(), "B", 100, 101);
  auto* level = r.add_levels();
  level->set_slice_ns(10'000'000'000);
  add(level->add_phases(), "10s:A", 0, 100)->set_told(true);
  auto* b = add(level->add_phases(), "10s:B", 100, 600);
  b->add_made_of()->set_name("B");
  b->add_made_of()->set_name("C");
  EXPECT_THAT(lines.feed(r, TimeNs(1)),
              ElementsAre("margay: 0.0 s  phase A begins (new)", "margay: 1 min 40 s  phase B begins (new)",
                          "margay: 1 min 40 s  phase 10s:B begins (new; made of B and C)"));
  auto* again = add(level->add_phases(), "10s:A", 600, 700);
  again->set_occurrence(2);
  EXPECT_THAT(lines.feed(r, TimeNs(2)),
              ElementsAre("margay: 10 min 0 s  phase 10s:A begins (2nd time; usual 1 min 40 s)"));
  EXPECT_THAT(lines.feed(r, TimeNs(3)), ElementsAre());
}

TEST(LiveLines, TheSameReportSaysNothingTwice) {
  LiveLines lines;
  const auto r = support::synthetic_report({}, 62);
  EXPECT_FALSE(lines.feed(r, TimeNs(1)).empty());
  for (int i = 0; i < 3; ++i) EXPECT_THAT(lines.feed(r, TimeNs(2)), ElementsAre());
}

TEST(LiveLines, EachLineOnceWhateverReportsAreMissed) {
  const unsigned s = support::seed(5);
  std::mt19937 rng(s);
  LiveLines lines;
  std::map<std::string, int> times;
  for (double t = 0.1; t < 300; t += 0.05 + rng() % 100 * 0.05) {
    const auto r = support::synthetic_report({}, t);
    for (auto& line : lines.feed(r, TimeNs(r.watermark_ns()))) ++times[line];
  }
  for (const auto& [line, n] : times) EXPECT_EQ(n, 1) << line;
}

TEST(LiveLines, LossIsToldAtOnceThenEveryTenSecondsThenAtTheEnd) {
  LiveLines lines;
  wire::Report r;
  std::vector<std::string> out;
  for (int i = 0; i <= 250; ++i) {
    r.mutable_health()->set_lost_events(static_cast<std::uint64_t>(10 * (i + 1)));
    r.set_final(i == 250);
    for (auto& line : lines.feed(r, TimeNs(i * 100'000'000LL))) out.push_back(line);
  }
  EXPECT_THAT(
      out,
      ElementsAre(HasSubstr("LOST 10 events, 10 in all"), HasSubstr("LOST 1,000 events, 1,010 in all"),
                  HasSubstr("LOST 1,000 events, 2,010 in all"), HasSubstr("LOST 500 events, 2,510 in all")));
}

TEST(LiveLines, ProcessesThatAreNotWatchedAreToldWhenThereAreMore) {
  LiveLines lines;
  wire::Report r;
  r.mutable_health()->set_processes(7);
  std::vector<std::string> out;
  for (const std::uint64_t n : {0, 1, 1, 0, 1, 3}) {
    r.mutable_health()->set_processes_unwatched(n);
    r.mutable_health()->set_unwatched_why(std::to_string(n) + " got no shared memory for events");
    for (auto& line : lines.feed(r, {})) out.push_back(line);
  }
  EXPECT_THAT(
      out, ElementsAre(HasSubstr("NOT WATCHED: 1 of 7 processes was not watched, or not to the end (1 got no "
                                 "shared memory for events)"),
                       HasSubstr("NOT WATCHED: 3 of 7 processes were not watched")));
}

TEST(LiveLines, RestartsAreTold) {
  LiveLines lines;
  wire::Report r;
  EXPECT_THAT(lines.feed(r, {}), ElementsAre());
  r.mutable_health()->set_restarts(1);
  EXPECT_THAT(lines.feed(r, {}), ElementsAre(HasSubstr("the daemon was restarted (1 time so far)")));
  EXPECT_THAT(lines.feed(r, {}), ElementsAre());
}

TEST(LiveLines, AnArchiveThatCannotBeWrittenIsToldOnceAndThatItIsWellAgain) {
  LiveLines lines;
  wire::Report r;
  r.mutable_health()->set_archive_trouble("/a: the disk is full");
  EXPECT_THAT(lines.feed(r, {}),
              ElementsAre(HasSubstr("the archive cannot be written: /a: the disk is full")));
  EXPECT_THAT(lines.feed(r, {}), ElementsAre());
  EXPECT_THAT(status_text(r), HasSubstr("!! THE ARCHIVE IS NOT WRITTEN since 0.0 s: /a: the disk is full\n"));
  EXPECT_THAT(status_json(r), HasSubstr("\"archive_trouble\": \"/a: the disk is full\""));
  r.mutable_health()->clear_archive_trouble();
  EXPECT_THAT(lines.feed(r, {}), ElementsAre(HasSubstr("the archive is written again")));
  EXPECT_THAT(lines.feed(r, {}), ElementsAre());
  EXPECT_THAT(status_text(r), testing::Not(HasSubstr("ARCHIVE")));
}

TEST(LiveLines, HostileReportsGiveBoundedPlainLines) {
  const unsigned first = support::seed(6);
  LiveLines lines, ascii(false);
  for (unsigned i = 0; i < 300; ++i) {
    std::mt19937 rng(first + i);
    const auto r = support::hostile_report(rng);
    SCOPED_TRACE("seed " + std::to_string(first + i));
    const auto out = lines.feed(r, TimeNs(0));
    EXPECT_LE(out.size(), LiveLines::kMostLinesAFeed + 1);
    for (const auto& line : out) support::expect_plain(line + "\n");
    for (const auto& line : ascii.feed(r, TimeNs(0)))
      for (const char c : line) ASSERT_LT(static_cast<unsigned char>(c), 0x80);
  }
}

TEST(LiveLines, MemoryStaysBoundedAndOldAlertsAreNotToldAgain) {
  LiveLines lines;
  std::map<std::string, int> times;
  const auto report = [](int from, int to) {
    wire::Report r;
    for (int k = from; k < to; ++k) {
      auto& a = *r.add_alerts();
      a.set_id("a" + std::to_string(k));
      a.set_kind(wire::Alert::STALL);
      a.set_message("m" + std::to_string(k) + ".");
      a.set_onset_ns(k + 1);
    }
    return r;
  };
  for (int k = 0; k < 6000; k += 20)
    for (auto& line : lines.feed(report(k, k + 20), {})) ++times[line];
  EXPECT_EQ(times.size(), 6000u);
  EXPECT_THAT(lines.feed(report(0, 40), {}), ElementsAre());  // forgotten by now, and not new
}

}  // namespace live_lines_test
}  // namespace margay::terminal
