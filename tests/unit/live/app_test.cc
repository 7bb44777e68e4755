// The daemon's pieces that need no socket and no thread of their own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "margay/analysis/bounded_queue.h"
#include "margay/analysis/report_builder.h"
#include "margay/live/retention_words.h"
#include "margay/serve/control.h"
#include "margay/settings/command_options.h"
#include "support/synthetic_job.h"

namespace margay::daemon {
namespace app_test {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(BoundedQueue, WhatDoesNotFitIsRefusedAndUntouched) {
  BoundedQueue<std::unique_ptr<int>> q(2);
  EXPECT_EQ(q.room(), 2u);
  EXPECT_TRUE(q.try_push(std::make_unique<int>(1)));
  EXPECT_TRUE(q.try_push(std::make_unique<int>(2)));
  auto third = std::make_unique<int>(3);
  EXPECT_FALSE(q.try_push(std::move(third)));
  ASSERT_NE(third, nullptr);
  EXPECT_EQ(q.room(), 0u);
  EXPECT_EQ(**q.try_pop(), 1);
  EXPECT_TRUE(q.try_push(std::move(third)));
  EXPECT_EQ(**q.try_pop(), 2);
  EXPECT_EQ(**q.try_pop(), 3);
  EXPECT_FALSE(q.try_pop());
  EXPECT_FALSE(q.pop(std::chrono::milliseconds(1)));
}

TEST(BoundedQueue, KeepsOrderBetweenTwoThreads) {
  BoundedQueue<int> q(8);
  std::thread sender([&] {
    for (int i = 0; i < 20'000;) {
      int value = i;
      if (q.try_push(std::move(value)))
        ++i;
      else
        std::this_thread::yield();
    }
  });
  for (int i = 0; i < 20'000; ++i) {
    std::optional<int> value;
    while (!(value = q.pop(std::chrono::milliseconds(100)))) {
    }
    ASSERT_EQ(*value, i);
  }
  sender.join();
}

TEST(Retention, TheFloorIsWhatARestartNeedsAndTheWindow) {
  Options o;
  const store::RetentionOptions k = retention_options(o);
  EXPECT_EQ(k.levels, o.levels);
  EXPECT_THAT(k.floor_slices, ElementsAre(600 + 2 * 64, 256, 256, 256)) << "a minute in slices of 100 ms";
  o.window_slices = 2048;
  EXPECT_EQ(retention_options(o).floor_slices[0], 2048 + 2 * 64);
  EXPECT_EQ(k.rules.budget, std::uint64_t{20} << 30);
  EXPECT_EQ(k.rules.keep_free, std::uint64_t{1} << 30);
}

TEST(Retention, WordsTellHowFarBackTheArchiveReachesAndWhy) {
  Options o;
  store::RetentionReport r;
  EXPECT_EQ(retention_sentence(r, o), "");
  r.times = 1;
  r.raw_bytes_dropped = 1;
  r.raw_kept = seconds(750);
  EXPECT_EQ(retention_sentence(r, o), "keeps the raw events of the last 12 min (limits.disk is 20GiB)");
  r.slices_dropped = 9;
  r.fine_kept = seconds(7300);
  EXPECT_THAT(retention_sentence(r, o), HasSubstr(" and the finest slices of the last 2 h (limits"));
  r.for_free_space = true;
  EXPECT_THAT(retention_sentence(r, o), HasSubstr("(store.keep_free is 1GiB)"));
  r.raw_kept.reset();
  EXPECT_THAT(retention_sentence(r, o), HasSubstr("keeps no raw events"));
  r.error = "a: the disk is full";
  EXPECT_THAT(retention_sentence(r, o), HasSubstr("; deleting failed: a: the disk is full"));
  r.full = true;
  EXPECT_THAT(retention_sentence(r, o), HasSubstr("raw events are not archived"));
}

TEST(Retention, WordsNameTheKeyThatAskedForIt) {
  Options o;
  o.keep = {seconds(7 * 86'400), seconds(86'400), {seconds(30 * 86'400)}};
  store::RetentionReport r;
  r.times = 1;
  r.reports_for_age = true;
  EXPECT_EQ(retention_sentence(r, o), "deletes old reports (store.keep_reports is 1d)");
  r.raw_for_age = true;
  r.raw_kept = seconds(7 * 86'400 + 3600);
  EXPECT_EQ(retention_sentence(r, o), "keeps the raw events of the last 7 d (store.keep_raw is 7d)");
  r.slices_dropped = 1;
  r.fine_kept = seconds(86'400 * 3);
  EXPECT_EQ(
      retention_sentence(r, o),
      "keeps the raw events of the last 7 d (store.keep_raw is 7d) and the finest slices of the last 3 d "
      "(limits.disk is 20GiB)");
  r.slices_for_age = true;
  EXPECT_THAT(retention_sentence(r, o), HasSubstr("last 3 d (store.keep_levels is 30d)"));
  EXPECT_THAT(retention_cause(r, o), HasSubstr("has reached its age limit"));
}

TEST(CommandOptions, AgesGoWithTheLevelsThatAreLeft) {
  const std::string path = testing::TempDir() + "/ages.toml";
  std::ofstream(path) << "[store]\nkeep_raw = \"1h\"\nkeep_levels = [\"1d\", \"2d\", \"3d\"]\n";
  CommonFlags f;
  f.config = path;
  const auto options = [&] {
    Options o;
    const auto applied = apply_flags(f, o);
    EXPECT_TRUE(applied) << applied.error().message;
    return o;
  };
  Options o = options();
  const auto day = [](std::int64_t n) { return std::optional(seconds(n * 86'400)); };
  EXPECT_EQ(o.keep.raw, seconds(3600));
  EXPECT_EQ(o.keep.reports, std::nullopt);
  EXPECT_THAT(o.keep.levels, ElementsAre(day(1), day(2), day(3)));
  f.slice = "2s";  // what is left is 10 s and 60 s
  o = options();
  EXPECT_THAT(o.levels, ElementsAre(seconds(2), seconds(10), seconds(60)));
  EXPECT_THAT(o.keep.levels, ElementsAre(day(2), day(3), std::nullopt));
  f.slice = "50ms";
  o = options();
  EXPECT_THAT(o.keep.levels, ElementsAre(day(1), day(2), day(3), std::nullopt));
}

TEST(CommandOptions, SinksOfAlertsAreLookedAtBeforeAnythingStarts) {
  const std::string path = testing::TempDir() + "/sinks.toml";
  CommonFlags f;
  f.config = path;
  Options o;
  ASSERT_TRUE(apply_flags({}, o));
  EXPECT_FALSE(o.sinks.any());
  std::ofstream(path)
      << "[alerts]\ncommand = [\"true\"]\nalertmanager = \"http://h:9093\"\ntime_limit = \"5s\"\n";
  ASSERT_TRUE(apply_flags(f, o));
  EXPECT_THAT(o.sinks.command, ElementsAre("true"));
  EXPECT_EQ(o.sinks.alertmanager, "http://h:9093");
  EXPECT_EQ(o.sinks.time_limit, seconds(5));
  std::ofstream(path) << "[alerts]\ncommand = [\"/no/such/program\"]\n";
  const auto status = apply_flags(f, o);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(status.error().message,
            path + ": alerts.command: '/no/such/program' is no program that may be run");
}

TEST(CommandOptions, FlagsBecomeOptionsAndArguments) {
  CommonFlags f;
  f.slice = "50ms";
  f.p = "0.25";
  f.archive = "dir";
  f.alerts = "a.jsonl";
  f.no_raw = true;
  f.set = {"slice.window=512", "alerts.file=b.jsonl", "http.hosts=[\"a\"]"};
  Options o;
  ASSERT_TRUE(apply_flags(f, o));
  EXPECT_EQ(o.levels.front(), milliseconds(50));
  for (std::size_t i = 1; i < o.levels.size(); ++i) EXPECT_EQ(o.levels[i].value % o.levels[i - 1].value, 0);
  EXPECT_EQ(o.p, 0.25);
  EXPECT_FALSE(o.raw_events);
  EXPECT_EQ(o.alerts_file, "a.jsonl") << "the flag of its own, not --set";
  EXPECT_EQ(o.window_slices, 512u);
  EXPECT_THAT(o.http_hosts, ElementsAre("a"));
  EXPECT_THAT(f.to_arguments(), ElementsAre("--set", "slice.window=512", "--set", "alerts.file=b.jsonl",
                                            "--set", "http.hosts=[\"a\"]", "--slice", "50ms", "--archive",
                                            "dir", "--alerts", "a.jsonl", "--p", "0.25", "--no-raw"));
  f.p = "auto";
  ASSERT_TRUE(apply_flags(f, o));
  EXPECT_FALSE(o.p);
}

TEST(CommandOptions, SlicesThatDivideNoLevelStillGiveLevelsThatDivide) {
  for (const char* slice : {"30ms", "70ms", "1500ms", "7s", "45s", "10min"}) {
    CommonFlags f;
    f.slice = slice;
    Options o;
    ASSERT_TRUE(apply_flags(f, o)) << slice;
    for (std::size_t i = 1; i < o.levels.size(); ++i) {
      EXPECT_EQ(o.levels[i].value % o.levels[i - 1].value, 0) << slice;
      EXPECT_GT(o.levels[i], o.levels[i - 1]) << slice;
    }
  }
}

TEST(CommandOptions, WhatMakesNoSenseIsSaid) {
  Options o;
  for (const char* slice : {"", "x", "1ms", "11min", "-5s"}) {
    CommonFlags f;
    f.slice = slice;
    EXPECT_FALSE(apply_flags(f, o)) << slice;
  }
  for (const char* p : {"", "2", "-0.1", "nan", "0.1x", "half"}) {
    CommonFlags f;
    f.p = p;
    const auto status = apply_flags(f, o);
    ASSERT_FALSE(status) << p;
    EXPECT_THAT(status.error().message, HasSubstr("--p"));
  }
  for (const auto& [text, sentence] :
       {std::pair("slice.window", "--set slice.window: expected KEY=VALUE"),
        {"slice.window=1", "--set slice.window=1: expected a whole number from 16 to 2048"},
        {"slice.duration=300ms",
         "slice.levels: 1s is not a multiple (2 times or more) of 300ms (slice.duration)"}}) {
    CommonFlags f;
    f.set = {text};
    Options fresh;
    EXPECT_EQ(apply_flags(f, fresh).error().message, sentence);
  }
  CommonFlags f;
  f.config = "/nonexistent/margay.toml";
  EXPECT_FALSE(apply_flags(f, o));
}

// A job of 8 ranks with one alert's worth of history.
struct Job {
  test::JobPlan plan;
  detect::Levels levels;
  std::shared_ptr<const detect::Topology> topology;
  RunStatus status;
  static detect::DetectorOptions options() {
    detect::DetectorOptions o;
    o.window.slices = 64;
    return o;
  }
  Job() : levels(options(), {}) {
    plan.phases = {{3'000, {0.7, 0.1, 0.1, 0.05, 0.05}, ""}, {3'000, {0.2, 0.35, 0.35, 0.05, 0.05}, ""}};
    topology = test::job_topology(plan);
    levels.set_topology(topology);
    for (const auto& c : test::make_job(plan)) levels.on_slice(c, slice_end(c.index, plan.slice));
    for (std::uint64_t i = 0; i < plan.ranks; ++i) {
      ingest::Account a;
      a.recorded = 100 + i;
      a.next = 90 + i;
      a.modelled = 80 + i;
      a.late_dropped = 4;
      a.wire_lost = 3;
      a.rejected = 3;
      a.probe_dropped = 5;
      a.produced = 105 + i;
      status.accounts.push_back(a);
      status.conditions.push_back(i == 3 ? "stopped" : "");
    }
    status.live = 7;
    status.ended = 1;
  }
};

TEST(ReportBuilder, AReportIsWholeAndSurvivesTheWire) {
  Job job;
  Options options;
  options.run = "r";
  const std::deque<alert::Alert> alerts(1);
  const TimeNs end = test::job_time(job.plan, 6'000);
  ReportInput in{options,
                 job.levels,
                 *job.topology,
                 &job.status,
                 alerts,
                 test::job_time(job.plan, 0),
                 end,
                 end + milliseconds(20),
                 end + milliseconds(120),
                 5,
                 false,
                 true};
  wire::Report r;
  ASSERT_TRUE(r.ParseFromString(build_report(in).SerializeAsString()));
  EXPECT_EQ(r.nodes_size(), 11);  // root, two hosts, eight ranks
  for (const auto& node : r.nodes()) {
    double sum = 0;
    for (const auto& s : node.shares()) sum += s.share();
    EXPECT_NEAR(sum, 1.0, 0.02) << node.path();
    for (int i = 1; i < node.shares_size(); ++i)
      EXPECT_LE(node.shares(i).share(), node.shares(i - 1).share());
  }
  ASSERT_EQ(r.phases_size(), 2);
  EXPECT_EQ(r.phases(0).end_ns(), r.phases(1).begin_ns());
  EXPECT_TRUE(r.phases(1).current());
  EXPECT_EQ(r.health().lag_ns(), milliseconds(120).value);
  EXPECT_EQ(r.health().lost_events(), 8u * 15u);
  ASSERT_EQ(r.health().sources_size(), 8);
  for (const auto& s : r.health().sources())
    EXPECT_EQ(s.produced(), s.modelled() + s.late_dropped() + s.probe_dropped() + s.wire_lost() +
                                s.rejected() + s.in_flight());
  // Parts of both partitions cover the window exactly.
  for (const auto* p : {&r.spatiotemporal(), &r.temporal()}) {
    ASSERT_EQ(p->parts_size() % 3, 0);
    std::uint64_t cells = 0;
    for (int i = 0; i < p->parts_size(); i += 3)
      cells += std::uint64_t{r.nodes(static_cast<int>(p->parts(i))).leaves()} *
               (p->parts(i + 2) - p->parts(i + 1) + 1);
    EXPECT_EQ(cells, 8 * job.levels.detector().window().size());
  }
  // With nothing known yet it is still a report.
  detect::Levels none(Job::options(), {});
  detect::Topology nothing;
  ReportInput empty{options,   none,      nothing,   nullptr, alerts, TimeNs(0),
                    TimeNs(0), TimeNs(0), TimeNs(0), 1,       false,  true};
  EXPECT_EQ(build_report(empty).nodes_size(), 0);
}

TEST(ReportBuilder, WhatIsUnknownIsNotShownAsAbsent) {
  Job job;
  const SliceIndex next = job.levels.detector().window().last() + 1;
  model::SliceColumn column(LevelIndex(0), next, static_cast<std::uint32_t>(job.plan.ranks), 3);
  for (std::uint32_t l = 0; l < column.leaves(); ++l)
    column.duration_ns(LeafIndex(l))[l == 0 ? kUnknown.value : kCompute.value] = job.plan.slice.value;
  job.levels.on_slice(column, slice_end(next, job.plan.slice));
  Options options;
  const std::deque<alert::Alert> alerts;
  const TimeNs end = slice_end(next, job.plan.slice);
  const ReportInput in{options, job.levels, *job.topology, &job.status, alerts, end,
                       end,     end,        end,           1,           false,  true};
  const wire::Report r = build_report(in);
  const auto node = job.topology->hierarchy.node_of(LeafIndex(0)).value;
  double unknown = 0, absent = 0;
  for (const auto& s : r.nodes(static_cast<int>(node)).shares()) {
    if (s.state() == kUnknown.value) unknown += s.share();
    if (s.state() == kAbsent.value) absent += s.share();
  }
  EXPECT_NEAR(unknown, 0.1, 1e-6);  // one slice of the ten that a bar pools
  EXPECT_EQ(absent, 0);
}

TEST(Summary, SumsWhatWasCounted) {
  Job job;
  const TimeNs begin = test::job_time(job.plan, 0), end = test::job_time(job.plan, 6'000);
  SummaryInput in{3, begin, end, *job.topology, &job.status, job.levels, 2};
  const auto j = nlohmann::ordered_json::parse(build_summary(in));
  EXPECT_EQ(j["exit_code"], 3);
  EXPECT_EQ(j["duration_ns"], seconds(6).value);
  EXPECT_EQ(j["alerts"], 2);
  EXPECT_EQ(j["phases"].size(), 2u);
  EXPECT_EQ(j["phases"][0]["name"], "A");
  EXPECT_EQ(j["sources"].size(), 8u);
  const auto& e = j["events"];
  const auto n = [&](const char* key) { return e[key].get<std::uint64_t>(); };
  EXPECT_EQ(n("produced"), n("modelled") + n("late_dropped") + n("probe_dropped") + n("wire_lost") +
                               n("rejected") + n("in_flight"));
  EXPECT_EQ(n("in_flight"), 80u);
  SummaryInput none{0, begin, end, *job.topology, nullptr, job.levels, 0};
  EXPECT_TRUE(nlohmann::json::parse(build_summary(none))["sources"].empty());
}

TEST(Control, RequestsAreDecodedAndBounded) {
  const auto ask = [](std::uint32_t version, wire::ControlRequest::Kind kind, std::int64_t timeout_ns) {
    wire::ControlRequest r;
    r.set_version(version);
    r.set_kind(kind);
    r.set_exit_code(3);
    r.set_timeout_ns(timeout_ns);
    return decode_control_untrusted(r.SerializeAsString());
  };
  EXPECT_TRUE(ask(1, wire::ControlRequest::STATUS, 0).status);
  const auto finish = ask(1, wire::ControlRequest::FINISH, INT64_MAX);
  ASSERT_TRUE(finish.finish);
  EXPECT_EQ(finish.finish->exit_code, 3);
  EXPECT_EQ(finish.finish->patience, seconds(60));
  EXPECT_EQ(ask(1, wire::ControlRequest::FINISH, INT64_MIN).finish->patience, seconds(0));
  EXPECT_THAT(ask(2, wire::ControlRequest::STATUS, 0).error, HasSubstr("version"));
  EXPECT_THAT(ask(1, wire::ControlRequest::NONE, 0).error, HasSubstr("kind"));
  EXPECT_THAT(decode_control_untrusted("\xff").error, HasSubstr("version"));
}

TEST(Report, ACommandOfAnyBytesLeavesItReadable) {
  Options options;
  options.run = "r";
  options.command = "./app \xff\xfe caf\xc3\xa9\n";
  const detect::Levels levels(detect::DetectorOptions{}, {});
  const detect::Topology topology;
  const std::deque<alert::Alert> alerts;
  const wire::Report report = build_report(
      {options, levels, topology, nullptr, alerts, TimeNs(), TimeNs(), TimeNs(), TimeNs(), 1, false, true});
  wire::Report back;
  ASSERT_TRUE(back.ParseFromString(report.SerializeAsString()));
  EXPECT_EQ(back.command(), "./app ?? caf\xc3\xa9?");
}

}  // namespace app_test
}  // namespace margay::daemon
