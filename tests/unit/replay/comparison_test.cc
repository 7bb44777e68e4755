// What a replay finds beside what the archive has of what was reported live.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "archived_job.h"
#include "margay/analysis/phase_records.h"
#include "margay/replay/live_comparison.h"

namespace margay::daemon {
namespace replay_test {

// An archive with what its daemon reported: the alerts and phases that a replay finds in it, put beside the
// slices as the daemon does. `known`: slices after which the daemon was killed, and its last cut; SIZE_MAX:
// the run ended.
struct LiveRecord {
  std::vector<store::AlertRecord> alerts;
  std::vector<store::PhaseRecord> phases;
};
class ReportedLive {
 public:
  explicit ReportedLive(std::size_t known = SIZE_MAX) {
    make_archive(path, plan, job, job.size(), journal_of(plan, job, SIZE_MAX, true, {}));
    Options options;
    options.run = "r";
    options.levels = {plan.slice, plan.slice * 10};
    options.watch_levels = false;
    Analyst analyst(options, job_run(plan).begin);
    ClosedSlice everybody;
    everybody.topology = job_topology(plan);
    analyst.take(everybody);
    std::map<std::string, store::AlertRecord> last;
    PhaseRecords phases(LevelIndex(0));
    std::map<std::uint32_t, store::PhaseRecord> spans;
    for (std::size_t i = 0; i < std::min(known, job.size()); ++i) {
      ClosedSlice message;
      message.column = std::make_shared<model::SliceColumn>(job[i]);
      message.watermark = slice_end(job[i].index, plan.slice);
      for (alert::Alert& a : analyst.take(message)) {
        a.emitted_wall = TimeNs(4'000'000'000 + static_cast<std::int64_t>(i));
        last[a.id] = {a.id, alert::to_json(a), alert::to_string(a.status)};
      }
      Findings findings;
      phases.put_into(findings, analyst.detector().phases().spans());
      for (const auto& [level, end] : findings.phases_end) spans.erase(spans.lower_bound(end), spans.end());
      for (const auto& p : findings.phases) spans[p.index] = p;
    }
    for (const auto& [id, record] : last) live.alerts.push_back(record);
    for (const auto& [index, record] : spans) live.phases.push_back(record);
    ended = known == SIZE_MAX;
  }
  // Compared, after the archive was told of `live`.
  Comparison compared(const WhatIf& what_if = {}) const {
    store::Cut cut;
    cut.sequence = 2;
    cut.alerts = live.alerts;
    cut.phases = live.phases;
    if (ended) {
      cut.run = job_run(plan);
      cut.run->end = slice_end(job.back().index, plan.slice);
    }
    const std::string copy = place.path + "/copy" + std::to_string(++copies_);
    std::filesystem::copy(path, copy, std::filesystem::copy_options::recursive);
    auto archive = store::Archive::open(copy, store::Mode::kWrite);
    EXPECT_TRUE(archive) << archive.error().message;
    EXPECT_TRUE((*archive)->commit(cut, false));
    archive->reset();
    return replayed(copy, what_if).result.comparison;
  }

  const test::RuntimePlace place;
  const JobPlan plan = disturbed_job();
  const std::vector<model::SliceColumn> job = make_job(plan);
  const std::string path = place.path + "/a";
  LiveRecord live;
  bool ended = false;

 private:
  mutable int copies_ = 0;
};
constexpr auto kIdentical = Comparison::Outcome::kIdentical;
constexpr auto kDifferent = Comparison::Outcome::kDifferent;
constexpr auto kNotCompared = Comparison::Outcome::kNotCompared;

TEST(Comparison, WhatTheArchiveHasToTheByteIsIdentical) {
  const ReportedLive run;
  ASSERT_GE(run.live.alerts.size(), 3u);
  ASSERT_GE(run.live.phases.size(), 3u);
  const Comparison c = run.compared();
  EXPECT_EQ(c.outcome, kIdentical) << (c.first ? c.first->what + " " + c.first->how : "");
  EXPECT_EQ(c.alerts_live, run.live.alerts.size());
  EXPECT_EQ(c.alerts_now, run.live.alerts.size());
  EXPECT_EQ(c.phases_live, run.live.phases.size());
  EXPECT_THAT(comparison_lines(c, TimeNs()).at(0),
              ::testing::HasSubstr("identical to what was reported live: "));
}

TEST(Comparison, AlertsOfAnotherDetectionAreNotIdentical) {
  ReportedLive run;
  const std::size_t all = run.live.alerts.size();
  const auto lost = alert::parse_untrusted(run.live.alerts.back().json);
  ASSERT_TRUE(lost);
  // It did not find the last one.
  run.live.alerts.pop_back();
  Comparison c = run.compared();
  EXPECT_EQ(c.outcome, kDifferent);
  EXPECT_EQ(c.alerts_live, all - 1);
  EXPECT_EQ(c.alerts_now, all);
  EXPECT_EQ(c.alerts_different, 1u);
  ASSERT_TRUE(c.first);
  EXPECT_EQ(c.first->at, lost->onset);
  EXPECT_EQ(c.first->what, lost->node);
  EXPECT_EQ(c.first->how, "reported by this replay only");
  const auto lines = comparison_lines(c, job_run(run.plan).begin);
  EXPECT_THAT(lines.at(0),
              ::testing::HasSubstr("NOT identical to what was reported live: " + std::to_string(all - 1) +
                                   " alerts live, " + std::to_string(all) + " now, 1 different"));
  EXPECT_THAT(lines.at(1), ::testing::HasSubstr(lost->node + ": reported by this replay only"));
  EXPECT_THAT(lines.at(2), ::testing::HasSubstr("of detection"));
  // It found one that there is not any more, before all others.
  alert::Alert more = *lost;
  more.id = "r-perturbation-0-9";
  more.onset = job_run(run.plan).begin + milliseconds(100);
  run.live.alerts.push_back({more.id, alert::to_json(more), "resolved"});
  c = run.compared();
  EXPECT_EQ(c.alerts_different, 2u);
  ASSERT_TRUE(c.first);
  EXPECT_EQ(c.first->at, more.onset);
  EXPECT_EQ(c.first->how, "reported live only");
}

TEST(Comparison, AMemberOfAnAlertAndAnEdgeOfAPhaseCount) {
  ReportedLive run;
  store::AlertRecord& record = run.live.alerts.front();
  auto a = alert::parse_untrusted(record.json);
  ASSERT_TRUE(a);
  a->score_bits += 1e-3;
  const store::AlertRecord as_it_was = record;
  record.json = alert::to_json(*a);
  Comparison c = run.compared();
  EXPECT_EQ(c.outcome, kDifferent);
  EXPECT_EQ(c.alerts_different, 1u);
  ASSERT_TRUE(c.first);
  EXPECT_EQ(c.first->how, "differs in score_bits");
  record = as_it_was;
  run.live.phases.at(1).end = run.live.phases.at(1).end + run.plan.slice;
  c = run.compared();
  EXPECT_EQ(c.outcome, kDifferent);
  EXPECT_EQ(c.alerts_different, 0u);
  EXPECT_EQ(c.phases_different, 1u);
  ASSERT_TRUE(c.first);
  EXPECT_EQ(c.first->at, run.live.phases.at(1).begin);
  EXPECT_EQ(c.first->how, "differs in end");
}

// What the killed daemon had not yet reported is no difference; what it had not reported although it had come
// by, is.
TEST(Comparison, ARunThatDidNotEndIsComparedUpToItsNewestFindings) {
  for (const std::size_t known : {75u, 90u, 120u, 140u, 170u}) {
    SCOPED_TRACE(std::to_string(known) + " slices");
    ReportedLive run(known);
    ASSERT_FALSE(run.live.alerts.empty());
    Comparison c = run.compared();
    EXPECT_EQ(c.outcome, kIdentical) << (c.first ? c.first->what + " " + c.first->how : "");
    EXPECT_EQ(c.alerts_now, run.live.alerts.size());
    run.live.alerts.erase(run.live.alerts.begin());
    c = run.compared();
    EXPECT_EQ(c.outcome, kDifferent);
    EXPECT_EQ(c.alerts_different, 1u);
  }
}

TEST(Comparison, WhatIsNotComparedSaysWhy) {
  const ReportedLive run;
  const auto reasons = [](const Comparison& c) { return comparison_lines(c, TimeNs()).at(0); };
  WhatIf part;
  part.from = slice_begin(run.job[50].index, run.plan.slice);
  Comparison c = run.compared(part);
  EXPECT_EQ(c.outcome, kNotCompared);
  EXPECT_EQ(reasons(c), "not compared with what was reported live: a part of the run");
  WhatIf slice;
  slice.slice = run.plan.slice * 2;
  c = run.compared(slice);
  EXPECT_EQ(c.outcome, kNotCompared);
  EXPECT_EQ(reasons(c), "not compared with what was reported live: slices of another duration than live");
  c = replayed(run.path).result.comparison;
  EXPECT_EQ(c.outcome, kNotCompared)
      << "decisions and settings are the same, and nothing is known of what was found";
  EXPECT_THAT(reasons(c), ::testing::HasSubstr("no alerts and no phases of a live run"));
  // Other settings find something else, and that is what it may be.
  WhatIf idle;
  idle.idle_states = {"MPI_Wait", "MPI_Recv", "MPI_Send", "Compute"};
  c = run.compared(idle);
  EXPECT_EQ(c.outcome, kDifferent);
  EXPECT_THAT(c.reasons, ::testing::Contains("other settings than live"));
}

// The daemons of a run number phases behind one another, and so does the comparison.
TEST(Comparison, PhasesFromBeforeWhatADaemonLookedBackOnStay) {
  const ReportedLive run;
  const auto journal = journal_of(run.plan, run.job, 95, false, {});
  const std::string path = run.place.path + "/part";
  make_archive(path, run.plan, run.job, run.job.size(), journal);
  auto archive = store::Archive::open(path, store::Mode::kWrite);
  ASSERT_TRUE(archive) << archive.error().message;
  store::Cut cut;
  cut.sequence = 2;
  cut.alerts = run.live.alerts;
  cut.phases = run.live.phases;
  cut.run = job_run(run.plan);
  cut.run->end = slice_end(run.job.back().index, run.plan.slice);
  ASSERT_TRUE((*archive)->commit(cut, false));
  archive->reset();
  const Comparison c = replayed(path).result.comparison;
  EXPECT_EQ(c.outcome, kDifferent) << "the second daemon did not know what was before";
  ASSERT_TRUE(c.first);
  EXPECT_GE(c.first->at, slice_begin(run.job[95 / 2].index, run.plan.slice)) << c.first->what << c.first->how;
}

}  // namespace replay_test
}  // namespace margay::daemon
