// Replay of archives made slice by slice: without a journal, with one, cut short, with other wishes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <random>
#include <thread>

#include "archived_job.h"
#include "margay/analysis/detector_settings.h"
#include "margay/analysis/phase_records.h"
#include "margay/replay/player.h"
#include "margay/replay/replay.h"
#include "margay/store/archive.h"
#include "margay/wire/columns.h"
#include "margay/wire/control.pb.h"
#include "support/control_client.h"
#include "support/job_archive.h"
#include "support/runtime_place.h"

namespace margay::daemon {
namespace replay_test {

using namespace margay::test;

TEST(Replay, ArchiveWithoutAJournalIsShownAsItIs) {
  const Archived archived;
  const JobPlan& plan = archived.plan;
  const auto& job = archived.job;
  const Said said = replayed(archived.path);
  EXPECT_EQ(said.error, "");
  EXPECT_EQ(said.result.slices, job.size());
  EXPECT_FALSE(said.result.repeats);

  Options options;
  options.run = "r";
  options.levels = {plan.slice, plan.slice * 10};
  detect::Levels detector(detector_options(options), coarser_levels(options));
  detector.set_topology(job_topology(plan));
  std::vector<std::string> expected;
  for (const auto& c : job)
    for (const auto& a : detector.on_slice(c, slice_end(c.index, plan.slice)))
      expected.push_back(alert::to_json(a));
  EXPECT_GE(expected.size(), 6u) << "the job is disturbed four times";
  EXPECT_EQ(said.alerts, expected);
}

// What is said by t depends on nothing that happened later.
TEST(Replay, ATraceCutAtAnyTimeSaysWhatTheWholeHadSaidByThen) {
  const Archived archived;
  const JobPlan& plan = archived.plan;
  const auto& job = archived.job;
  const Said whole = replayed(archived.path);
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 20; ++i) {
    const auto count = static_cast<std::size_t>(1 + random() % job.size());
    SCOPED_TRACE("seed " + std::to_string(kSeed) + ", " + std::to_string(count) + " slices");
    const std::string path = archived.place.path + "/cut" + std::to_string(i);
    make_archive(path, plan, job, count);
    const Said cut = replayed(path);
    const std::int64_t end = slice_end(job[count - 1].index, plan.slice).value;
    std::vector<std::string> by_then;
    for (std::size_t k = 0; k < whole.alerts.size(); ++k)
      if (whole.detected[k] <= end) by_then.push_back(whole.alerts[k]);
    EXPECT_EQ(cut.alerts, by_then);
    ASSERT_LE(cut.reports.size(), whole.reports.size());
    EXPECT_EQ(cut.reports.back(), whole.reports[cut.reports.size() - 1]);
  }
}

TEST(Replay, CoarserSlicesAreSumsOfFinerOnes) {
  const Archived archived;
  const JobPlan& plan = archived.plan;
  const auto& job = archived.job;
  WhatIf what_if;
  what_if.slice = plan.slice * 2;
  const Said said = replayed(archived.path, what_if);
  EXPECT_EQ(said.error, "");
  EXPECT_EQ(said.result.slices, job.size() / 2);

  Options options;
  options.run = "r";
  options.levels = {plan.slice * 2, plan.slice * 10};
  detect::Levels detector(detector_options(options), coarser_levels(options));
  detector.set_topology(job_topology(plan));
  std::vector<std::string> expected;
  ASSERT_EQ(job.front().index.value % 2, 0);
  for (std::size_t i = 0; i + 1 < job.size(); i += 2) {
    model::SliceColumn c(LevelIndex(0), SliceIndex(job[i].index.value / 2), 0, 0);
    c.merge(job[i]);
    c.merge(job[i + 1]);
    for (const auto& a : detector.on_slice(c, slice_end(c.index, plan.slice * 2)))
      expected.push_back(alert::to_json(a));
  }
  EXPECT_EQ(said.alerts, expected);
}

TEST(Replay, WishesThatCannotBeAreRefused) {
  const test::RuntimePlace place;
  const JobPlan plan = disturbed_job();
  const auto job = make_job(plan);
  make_archive(place.path + "/a", plan, job, 20);
  WhatIf odd;
  odd.slice = plan.slice + milliseconds(50);
  EXPECT_THAT(replayed(place.path + "/a", odd).error, ::testing::HasSubstr("no level of it divides a slice"));
  WhatIf backwards;
  backwards.from = slice_end(job[10].index, plan.slice);
  backwards.to = slice_begin(job[3].index, plan.slice);
  EXPECT_EQ(replayed(place.path + "/a", backwards).error, "the range ends before it begins");
  WhatIf part;
  part.from = slice_begin(job[5].index, plan.slice);
  part.to = slice_begin(job[9].index, plan.slice);
  const Said said = replayed(place.path + "/a", part);
  EXPECT_EQ(said.result.slices, 4u);
  EXPECT_EQ(said.result.begin, *part.from);
  EXPECT_EQ(said.result.end, *part.to);
}

TEST(Replay, ADaemonThatBeganAgainWithAllThereWasChangesNothing) {
  const test::RuntimePlace place;
  const JobPlan plan = disturbed_job();
  const auto job = make_job(plan);
  make_archive(place.path + "/one", plan, job, job.size(), journal_of(plan, job, SIZE_MAX, true, {}));
  make_archive(place.path + "/two", plan, job, job.size(), journal_of(plan, job, 95, true, {}));
  const Said one = replayed(place.path + "/one"), two = replayed(place.path + "/two");
  EXPECT_TRUE(one.result.repeats);
  EXPECT_TRUE(two.result.repeats);
  EXPECT_EQ(one.result.starts, 1u);
  EXPECT_EQ(two.result.starts, 2u);
  EXPECT_GE(one.alerts.size(), 6u);
  EXPECT_EQ(one.alerts, two.alerts);
  // The number of a decision differs, and nothing else.
  wire::Report a, b;
  ASSERT_TRUE(a.ParseFromString(one.reports.back()));
  ASSERT_TRUE(b.ParseFromString(two.reports.back()));
  EXPECT_EQ(a.position() + 1, b.position());
  b.set_position(a.position());
  EXPECT_EQ(a.SerializeAsString(), b.SerializeAsString());
  EXPECT_EQ(a.phases(0).label(), "a") << "the journal tells the program's own names";
}

// What is weak and lasts is told at the coarser level, once, as by one daemon so by one after another. An
// older Margay watched the finest alone.
TEST(Replay, CoarserLevelsAreWatchedAndARestartChangesNothing) {
  const test::RuntimePlace place;
  JobPlan plan;
  plan.ranks = 16;
  plan.evidence = false;
  plan.phases = {{150'000, {0.70, 0.10, 0.10, 0.05, 0.05}, ""}};
  auto job = make_job(plan);
  for (std::size_t i = 800; i < job.size(); ++i) {
    auto row = job[i].duration_ns(LeafIndex(3));
    const std::int64_t moved = row[kCompute.value] / 15;
    row[kCompute.value] -= moved;
    row[kJobWait.value] += moved;
  }
  make_archive(place.path + "/one", plan, job, job.size(), journal_of(plan, job, SIZE_MAX, true, {}, true));
  make_archive(place.path + "/two", plan, job, job.size(), journal_of(plan, job, 1203, true, 0.5, true));
  const Said one = replayed(place.path + "/one"), two = replayed(place.path + "/two");
  ASSERT_GE(one.alerts.size(), 1u);
  for (const std::string& word : one.alerts) {
    EXPECT_EQ(alert::parse_untrusted(word)->id, alert::parse_untrusted(one.alerts[0])->id) << word;
    EXPECT_THAT(word, ::testing::HasSubstr("\"level_ns\":1000000000"));
  }
  EXPECT_EQ(one.alerts, two.alerts);
  wire::Report whole, after;
  ASSERT_TRUE(whole.ParseFromString(one.reports.back()));
  ASSERT_TRUE(after.ParseFromString(two.reports.back()));
  ASSERT_EQ(whole.levels_size(), 1);
  ASSERT_EQ(whole.levels(0).phases_size(), 1);
  EXPECT_EQ(whole.levels(0).slice_ns(), seconds(1).value);
  EXPECT_EQ(whole.levels(0).phases(0).name(), "1s:A");
  EXPECT_EQ(whole.levels(0).SerializeAsString(), after.levels(0).SerializeAsString());

  auto older = journal_of(plan, job, SIZE_MAX, true, {}, true);
  for (auto& e : older) e.settings.erase("watch_levels");
  make_archive(place.path + "/older", plan, job, job.size(), older);
  const Said at_one = replayed(place.path + "/older");
  EXPECT_TRUE(at_one.alerts.empty());
}

// With coarser levels: what is said by t depends on nothing later, a daemon that was killed and began again
// with all there was changes nothing, and one that could look back on a part is followed.
TEST(Replay, PhasesOfCoarserLevelsAreTheSameLiveCutShortAndAfterARestart) {
  const test::RuntimePlace place;
  JobPlan plan;
  plan.evidence = false;
  for (int i = 0; i < 80; ++i) {
    plan.phases.push_back({700, {0.70, 0.10, 0.10, 0.05, 0.05}, ""});
    plan.phases.push_back(i < 40 ? JobPhase{700, {0.20, 0.35, 0.35, 0.05, 0.05}, ""}
                                 : JobPhase{700, {0.35, 0.05, 0.05, 0.50, 0.05}, ""});
  }
  const auto job = make_job(plan);
  const auto journal = [&](std::size_t at, bool whole) { return journal_of(plan, job, at, whole, {}, true); };
  make_archive(place.path + "/one", plan, job, job.size(), journal(SIZE_MAX, true));
  make_archive(place.path + "/two", plan, job, job.size(), journal(903, true));
  make_archive(place.path + "/part", plan, job, job.size(), journal(903, false));
  const Said one = replayed(place.path + "/one"), two = replayed(place.path + "/two");
  const Said part = replayed(place.path + "/part");
  EXPECT_TRUE(one.result.repeats);
  EXPECT_TRUE(two.result.repeats);
  EXPECT_EQ(one.alerts, two.alerts);
  wire::Report a, b, c;
  ASSERT_TRUE(a.ParseFromString(one.reports.back()));
  ASSERT_TRUE(b.ParseFromString(two.reports.back()));
  ASSERT_TRUE(c.ParseFromString(part.reports.back()));
  b.set_position(a.position());
  EXPECT_EQ(a.SerializeAsString(), b.SerializeAsString());
  ASSERT_EQ(a.levels_size(), 1);
  ASSERT_EQ(a.levels(0).phases_size(), 2);
  EXPECT_EQ(a.levels(0).phases(1).name(), "1s:B");
  EXPECT_FALSE(a.levels(0).phases(1).told()) << "the finest has no long phase there";
  EXPECT_GE(a.levels(0).phases(1).made_of_size(), 2);
  ASSERT_EQ(c.levels(0).phases_size(), 2) << "from what it looked back on";
  EXPECT_NEAR(static_cast<double>(c.levels(0).phases(1).begin_ns() - a.levels(0).phases(1).begin_ns()), 0,
              1e8);
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 6; ++i) {
    const auto count = static_cast<std::size_t>(1 + random() % job.size());
    SCOPED_TRACE("seed " + std::to_string(kSeed) + ", " + std::to_string(count) + " slices");
    const std::string path = place.path + "/cut" + std::to_string(i);
    auto told = journal(SIZE_MAX, true);
    told.resize(2 + count);
    make_archive(path, plan, job, count, told);
    const Said cut = replayed(path);
    ASSERT_LE(cut.reports.size(), one.reports.size());
    EXPECT_EQ(cut.reports.back(), one.reports[cut.reports.size() - 1]);
  }
}

TEST(Replay, ADaemonWithOtherSettingsOrLessToLookBackOnIsFollowed) {
  const test::RuntimePlace place;
  const JobPlan plan = disturbed_job();
  const auto job = make_job(plan);
  make_archive(place.path + "/p", plan, job, job.size(), journal_of(plan, job, 95, true, 0.5));
  make_archive(place.path + "/part", plan, job, job.size(), journal_of(plan, job, 95, false, {}));
  wire::Report report;
  const Said with_p = replayed(place.path + "/p");
  ASSERT_TRUE(report.ParseFromString(with_p.reports.at(90)));
  EXPECT_NE(report.spatiotemporal().p(), 0.5);
  ASSERT_TRUE(report.ParseFromString(with_p.reports.back()));
  EXPECT_EQ(report.spatiotemporal().p(), 0.5);
  ASSERT_GT(report.phases_size(), 0);
  EXPECT_EQ(report.phases(0).begin_ns(), slice_begin(job.front().index, plan.slice).value);

  const Said part = replayed(place.path + "/part");
  ASSERT_TRUE(report.ParseFromString(part.reports.back()));
  ASSERT_GT(report.phases_size(), 0);
  EXPECT_GE(report.phases(0).begin_ns(), slice_begin(job[95 / 2].index, plan.slice).value)
      << "it did not know what was before";
  const auto kind_status_onset = [](const Said& of) {
    std::vector<std::string> out;
    for (const std::string& text : of.alerts) {
      const std::size_t from = text.find("\"kind\":"), to = text.find(",\"detected_ns\":");
      out.push_back(text.substr(from, to - from));
    }
    return out;
  };
  EXPECT_THAT(kind_status_onset(part), ::testing::IsSubsetOf(kind_status_onset(with_p)))
      << "who looks back on less knows less; nothing is said twice";
  EXPECT_GE(part.alerts.size(), 6u) << "two stops and a loss, begun and over";
}

TEST(Settings, ComeBackBitForBitAndNonsenseIsRefused) {
  Options options;
  options.p = 0.1 + 0.2;
  options.idle_states = {"MPI_Recv", "with \"quotes\" and, commas"};
  options.window_slices = 77;
  options.min_effect = 1.0 / 3;
  options.false_alarms_per_day = 2.0 / 3;
  Options back;
  ASSERT_TRUE(apply_settings(to_settings(options), back));
  EXPECT_EQ(back.p, options.p);
  EXPECT_EQ(back.idle_states, options.idle_states);
  EXPECT_EQ(back.window_slices, 77u);
  EXPECT_EQ(back.min_effect, options.min_effect);
  EXPECT_EQ(back.false_alarms_per_day, options.false_alarms_per_day);
  options.watch_levels = true;
  auto older = to_settings(options);
  ASSERT_TRUE(apply_settings(older, back));
  EXPECT_TRUE(back.watch_levels);
  older.erase("false_alarms_per_day");
  older.erase("watch_levels");
  ASSERT_TRUE(apply_settings(older, back));
  EXPECT_EQ(back.false_alarms_per_day, 0) << "an older Margay did not look for departures";
  EXPECT_FALSE(back.watch_levels) << "nor at coarser levels";
  options.watch_levels = false;
  back.watch_levels = true;
  ASSERT_TRUE(apply_settings(to_settings(options), back));
  EXPECT_FALSE(back.watch_levels);
  for (const auto& [name, value] : std::map<std::string, std::string>{{"p", "2"},
                                                                      {"p", "nan"},
                                                                      {"window_slices", "0"},
                                                                      {"window_slices", "12x"},
                                                                      {"idle_states", "[1]"},
                                                                      {"watch_levels", "2"},
                                                                      {"lost_after_ns", "-1"}}) {
    const auto refused = apply_settings({{name, value}}, back);
    ASSERT_FALSE(refused) << name << " " << value;
    EXPECT_THAT(refused.error().message, ::testing::HasSubstr(name));
  }
  EXPECT_TRUE(apply_settings({{"of a newer Margay", "x"}}, back));
}

// A viewer beside a replay, in lockstep: it asks, the replay answers between two slices.
class Viewer : public ControlClient {
 public:
  using ControlClient::ControlClient;
  // Until the replay has got there.
  wire::Report until(const std::function<bool(const wire::Report&)>& there) {
    for (;;) {
      const auto reply = ask(wire::ControlRequest::STATUS);
      if (reply && reply->has_report() && there(reply->report())) return reply->report();
      if (::testing::Test::HasFailure()) return {};
    }
  }
};

TEST(Player, PausesStepsJumpsAndEnds) {
  const test::RuntimePlace place;
  const JobPlan plan = disturbed_job();
  const auto job = make_job(plan);
  make_archive(place.path + "/a", plan, job, job.size());
  const auto archive = store::Archive::open(place.path + "/a", store::Mode::kReadOnly);
  ASSERT_TRUE(archive);
  const auto resume = (*archive)->load();
  ASSERT_TRUE(resume);
  auto directory = transport::make_run_directory("replay-r");
  ASSERT_TRUE(directory) << directory.error().message;
  Player::Options options;
  options.serve = true;
  options.directory = *directory;
  options.begin = resume->run.begin;
  options.end = slice_end(job.back().index, plan.slice);
  options.archive = archive->get();
  const SystemClock clock;
  std::atomic<bool> stop{false};
  auto player = Player::open(options, clock, stop);
  ASSERT_TRUE(player) << player.error().message;
  std::thread thread([&] {
    ReplayListener listener;
    listener.before = [&](TimeNs watermark) { return (*player)->before(watermark); };
    listener.after = [&](const Analyst& analyst) { (*player)->after(analyst); };
    for (;;) {
      Options settings;
      std::unique_ptr<Analyst> analyst;
      const auto result = replay(**archive, *resume, {}, settings, listener, analyst);
      ASSERT_TRUE(result) << result.error().message;
      if (result->stopped ? (*player)->rewind() : (*player)->at_end(*analyst)) continue;
      return;
    }
  });
  Viewer viewer(directory->control_endpoint());
  wire::Report r = viewer.until([](const wire::Report& x) { return x.replay().at_end(); });
  EXPECT_EQ(r.slice_index(), job.back().index.value);
  EXPECT_FALSE(r.final()) << "it can go back";

  viewer.ask(wire::ControlRequest::PAUSE);
  wire::ControlRequest jump;
  jump.set_kind(wire::ControlRequest::JUMP);
  jump.set_jump_ns(slice_end(job[70].index, plan.slice).value);
  viewer.ask(jump);
  r = viewer.until(
      [&](const wire::Report& x) { return x.slice_index() == job[70].index.value && !x.replay().seeking(); });
  EXPECT_TRUE(r.replay().paused());

  wire::ControlRequest step;
  step.set_kind(wire::ControlRequest::STEP);
  step.set_steps(3);
  viewer.ask(step);
  r = viewer.until([&](const wire::Report& x) { return x.slice_index() == job[73].index.value; });
  EXPECT_EQ(viewer.ask(wire::ControlRequest::STATUS).value().report().slice_index(), job[73].index.value)
      << "and no further";

  // Playing and pausing are reported where there is no slice to report: of so slow a play the first comes at
  // once, the next never.
  const std::uint64_t before = viewer.ask(wire::ControlRequest::STATUS).value().report().sequence();
  wire::ControlRequest play;
  play.set_kind(wire::ControlRequest::PLAY);
  play.set_speed(1e-9);
  viewer.ask(play);
  r = viewer.until([&](const wire::Report& x) { return x.sequence() > before; });
  EXPECT_FALSE(r.replay().paused());
  const std::uint64_t playing = r.sequence();
  viewer.ask(wire::ControlRequest::PAUSE);
  r = viewer.until([&](const wire::Report& x) { return x.sequence() > playing; });
  EXPECT_TRUE(r.replay().paused());
  EXPECT_EQ(r.slice_index(), job[74].index.value);

  wire::ControlRequest beyond;
  beyond.set_kind(wire::ControlRequest::JUMP);
  beyond.set_jump_ns(INT64_MAX);
  viewer.ask(beyond);
  viewer.until([](const wire::Report& x) { return x.replay().at_end(); });

  // Any stretch, wherever the replay is.
  wire::ControlRequest view;
  view.set_kind(wire::ControlRequest::VIEW);
  view.mutable_view()->set_token(9);
  view.mutable_view()->set_from_ns(options.begin.value);
  view.mutable_view()->set_to_ns(slice_end(job[39].index, plan.slice).value);
  view.mutable_view()->set_slices(40);
  wire::ViewAnswer stretch = viewer.ask(view).value().view();
  EXPECT_EQ(stretch.error(), "");
  EXPECT_EQ(stretch.token(), 9u);
  EXPECT_EQ(stretch.boundaries_size(), 41);
  EXPECT_GT(stretch.part_node_size(), 0);
  view.mutable_view()->set_p(2);
  stretch = viewer.ask(view).value().view();
  EXPECT_THAT(stretch.error(), ::testing::HasSubstr("p: expected a number from 0 to 1"));

  EXPECT_EQ(viewer.ask(wire::ControlRequest::NONE).value().error(), "the request's kind is unknown");
  for (const auto kind : {wire::ControlRequest::HANDLING, wire::ControlRequest::UNSILENCE})
    EXPECT_THAT(viewer.ask(kind).value().error(), testing::HasSubstr("margay alerts, with the archive"));
  viewer.ask(wire::ControlRequest::FINISH);
  thread.join();
  transport::remove_run_directory(*directory);
}

}  // namespace replay_test
}  // namespace margay::daemon
