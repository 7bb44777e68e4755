// Another operator than duration: what reports show, what stays as it is, and replays that measure anew.
#include <gtest/gtest.h>

#include "margay/analysis/analyst.h"
#include "margay/analysis/detector_settings.h"
#include "margay/replay/replay.h"
#include "margay/settings/command_options.h"
#include "margay/wire/alert_json.h"
#include "support/job_archive.h"
#include "support/temporary_folder.h"

namespace margay::daemon {
namespace operator_test {

using namespace margay::test;
using Measure = slicer::Operator::Measure;

JobPlan plan_of() {
  JobPlan plan;
  plan.phases = {{5000, {0.70, 0.10, 0.10, 0.05, 0.05}, ""}, {5000, {0.20, 0.35, 0.35, 0.05, 0.05}, ""}};
  plan.faults = {{JobFault::kStop, {3}, 3000, 3900}};
  return plan;
}

// Sends move bytes from 2 s to 7 s, across the phases; ranks 4 to 7 three times as many.
std::vector<model::SliceColumn> measured_job(const JobPlan& plan,
                                             model::Plane plane = model::Plane::kCounts) {
  auto job = make_job(plan);
  for (std::size_t i = 0; i < job.size(); ++i) {
    job[i].region.clear();
    job[i].measure(plane);
    for (std::uint32_t l = 0; l < plan.ranks && i >= 20 && i < 70; ++l) {
      if (plane == model::Plane::kCounts) {
        job[i].measured(LeafIndex(l))[3] = l < 4 ? 1000 : 3000;
      } else {
        job[i].measured(LeafIndex(l))[0] = 1'000'000;
        job[i].integral(LeafIndex(l)) = 1e6 * 0.25;
      }
    }
  }
  return job;
}

struct Seen {
  std::vector<std::string> alerts;
  wire::Report report;
  std::string contents;  // of every report
};

Seen analysed(const std::vector<model::SliceColumn>& job, const JobPlan& plan, const slicer::Operator& op) {
  Options options;
  options.run = "r";
  options.op = op;
  options.levels = {plan.slice, plan.slice * 10};
  Analyst analyst(options, slice_begin(job.front().index, plan.slice));
  ClosedSlice first;
  first.topology = job_topology(plan);
  static_cast<void>(analyst.take(first));
  Seen seen;
  for (const auto& c : job) {
    ClosedSlice m;
    m.column = std::make_shared<model::SliceColumn>(c);
    m.watermark = slice_end(c.index, plan.slice);
    for (const alert::Alert& a : analyst.take(m)) {
      seen.alerts.push_back(alert::to_json(a));
      analyst.remember(a);
    }
    seen.report = content_of(analyst.report());
    seen.contents += seen.report.SerializeAsString();
  }
  return seen;
}

TEST(Operators, WithDurationAPlaneChangesNotAByte) {
  const JobPlan plan = plan_of();
  auto plain = measured_job(plan);
  for (auto& c : plain) c.measure(model::Plane::kNone);
  const Seen with = analysed(measured_job(plan), plan, {}), without = analysed(plain, plan, {});
  EXPECT_EQ(with.contents, without.contents);
  EXPECT_FALSE(with.report.has_measured());
}

TEST(Operators, AlertsAndPhasesRestOnDurationsAndTheModelIsWhatIsMeasured) {
  const JobPlan plan = plan_of();
  const auto job = measured_job(plan);
  const Seen time = analysed(job, plan, {}), bytes = analysed(job, plan, {Measure::kBytes, {}});
  ASSERT_FALSE(time.alerts.empty());
  EXPECT_EQ(time.alerts, bytes.alerts);
  ASSERT_EQ(time.report.phases_size(), bytes.report.phases_size());
  for (int i = 0; i < time.report.phases_size(); ++i)
    EXPECT_EQ(time.report.phases(i).SerializeAsString(), bytes.report.phases(i).SerializeAsString());
  ASSERT_TRUE(bytes.report.has_measured());
  EXPECT_EQ(bytes.report.measured().operator_(), "bytes");
  EXPECT_EQ(bytes.report.measured().unit(), "bytes");
  EXPECT_EQ(bytes.report.measured().note(), "");
  // Cuts where bytes begin and end, not where phases do.
  std::set<std::uint32_t> begins;
  for (int i = 0; i + 2 < bytes.report.temporal().parts_size(); i += 3)
    begins.insert(bytes.report.temporal().parts(i + 1));
  EXPECT_TRUE(begins.contains(20)) << bytes.report.temporal().ShortDebugString();
  EXPECT_TRUE(begins.contains(70));
  EXPECT_FALSE(begins.contains(50));
}

// Whatever is measured: who is blamed, from onset to end, is a part of the picture.
TEST(Operators, AlertsArePartsOfThePictureOfWhatIsMeasured) {
  const JobPlan plan = plan_of();
  const Seen bytes = analysed(measured_job(plan), plan, {Measure::kBytes, {}});
  ASSERT_FALSE(bytes.alerts.empty());
  const auto alert = wire::read_alert_untrusted(bytes.alerts.back());
  ASSERT_TRUE(alert && alert->has_end_ns() && alert->resources_size() == 1) << bytes.alerts.back();
  const auto& picture = bytes.report.spatiotemporal();
  const auto slice = [&](std::int64_t ns) {
    return static_cast<std::uint32_t>(slice_of(TimeNs(ns), plan.slice).value - picture.first_slice());
  };
  bool found = false;
  for (int i = 0; i + 2 < picture.parts_size(); i += 3)
    found = found || (bytes.report.nodes(static_cast<int>(picture.parts(i))).path() == alert->resources(0) &&
                      picture.parts(i + 1) == slice(alert->onset_ns()) &&
                      picture.parts(i + 2) == slice(alert->end_ns() - 1));
  EXPECT_TRUE(found) << picture.ShortDebugString();
}

TEST(Operators, BarsAreSharesOfTheMostThatAResourceCameTo) {
  const JobPlan plan = plan_of();
  auto job = measured_job(plan);
  job.resize(65);  // while bytes move
  const wire::Report r = analysed(job, plan, {Measure::kBytes, {}}).report;
  EXPECT_DOUBLE_EQ(r.measured().full(), 30'000) << "3000 bytes a slice of 100 ms";
  double greatest = 0;
  for (const auto& node : r.nodes()) {
    ASSERT_EQ(node.shares_size(), 1) << node.path();
    const auto& share = node.shares(0);
    EXPECT_EQ(r.states(static_cast<int>(share.state())).name(), "MPI_Send");
    if (node.leaves() == 1) {
      EXPECT_TRUE(share.value() == 10'000 || share.value() == 30'000) << share.value();
    }
    if (node.depth() == 0) {
      EXPECT_DOUBLE_EQ(share.value(), 4 * 10'000 + 4 * 30'000);
    }
    EXPECT_NEAR(static_cast<double>(share.share()) * 30'000 * node.leaves(), share.value(), 1);
    greatest = std::max(greatest, static_cast<double>(share.share()));
  }
  EXPECT_FLOAT_EQ(static_cast<float>(greatest), 1);
}

TEST(Operators, AMeanIsShownByTheNameOfItsVariable) {
  const JobPlan plan = plan_of();
  auto job = measured_job(plan, model::Plane::kMean);
  job.resize(65);
  const slicer::Operator op{Measure::kMean, "heat"};
  const wire::Report r = analysed(job, plan, op).report;
  EXPECT_EQ(r.measured().operator_(), "mean:heat");
  EXPECT_DOUBLE_EQ(r.measured().full(), 0.25);
  ASSERT_EQ(r.nodes(0).shares_size(), 1);
  EXPECT_EQ(r.states(static_cast<int>(r.nodes(0).shares(0).state())).name(), "heat");
  EXPECT_DOUBLE_EQ(r.nodes(0).shares(0).value(), 0.25) << "a mean also of many";
  job.resize(10);
  EXPECT_EQ(analysed(job, plan, op).report.measured().note(), "no value of heat so far");
  EXPECT_EQ(analysed(job, plan, {Measure::kBytes, {}}).report.measured().note(), "nothing to measure so far");
}

TEST(Operators, TheJournalKeepsTheOperator) {
  Options o;
  EXPECT_FALSE(to_settings(o).contains(store::kOperatorSetting));
  o.op = {Measure::kMean, "a b"};
  const auto settings = to_settings(o);
  Options back;
  ASSERT_TRUE(apply_settings(settings, back));
  EXPECT_EQ(back.op, o.op);
  ASSERT_TRUE(apply_settings(to_settings(Options()), back));
  EXPECT_EQ(back.op, slicer::Operator{});
  EXPECT_FALSE(apply_settings({{store::kOperatorSetting, "median"}}, back));
}

TEST(Operators, TheFlagSetsTheKey) {
  Options options;
  CommonFlags flags;
  flags.op = "messages";
  ASSERT_TRUE(apply_flags(flags, options));
  EXPECT_EQ(options.op, (slicer::Operator{Measure::kMessages, {}}));
  EXPECT_TRUE(options.limits.measured);
  flags.op = "nothing";
  const auto wrong = apply_flags(flags, options);
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message.find("--operator nothing: expected \"duration\""), std::string::npos)
      << wrong.error().message;
}

void make_archive(const std::string& path, const JobPlan& plan, const std::vector<model::SliceColumn>& job,
                  const std::string& op) {
  store::RunMeta run = job_run(plan);
  if (!op.empty()) run.settings[store::kOperatorSetting] = op;
  auto archive = store::Archive::create(path, run);
  ASSERT_TRUE(archive) << archive.error().message;
  ASSERT_TRUE((*archive)->commit(job_cut(plan, job), false));
}

std::string replayed(const std::string& path, const WhatIf& what_if) {
  const auto archive = store::Archive::open(path, store::Mode::kReadOnly);
  EXPECT_TRUE(archive);
  const auto resume = (*archive)->load();
  EXPECT_TRUE(resume);
  std::string out;
  ReplayListener listener;
  listener.after = [&](const Analyst& a) { out += content_of(a.report()).SerializeAsString(); };
  Options options;
  std::unique_ptr<Analyst> analyst;
  const auto result = replay(**archive, *resume, what_if, options, listener, analyst);
  EXPECT_TRUE(result) << result.error().message;
  EXPECT_TRUE(!result || !result->repeats);
  return out;
}

// Measured on the way or by the run: the same reports.
TEST(Operators, PlanesOfAScratchArchiveArePutIntoTheSlices) {
  const TemporaryFolder place;
  const JobPlan plan = plan_of();
  const auto job = measured_job(plan);
  auto plain = job;
  for (auto& c : plain) c.measure(model::Plane::kNone);
  make_archive(place.path + "/measured", plan, job, "bytes");
  make_archive(place.path + "/plain", plan, plain, "");
  WhatIf what_if;
  what_if.op = slicer::Operator{Measure::kBytes, {}};
  auto planes = Planes::open(place.path + "/measured");
  ASSERT_TRUE(planes) << planes.error().message;
  what_if.planes = std::move(*planes);
  const std::string own = replayed(place.path + "/measured", {});
  EXPECT_EQ(replayed(place.path + "/plain", what_if), own);
  EXPECT_NE(replayed(place.path + "/plain", {}), own);
  // And the other way: what was measured is left alone.
  WhatIf time;
  time.op = slicer::Operator{};
  EXPECT_EQ(replayed(place.path + "/measured", time), replayed(place.path + "/plain", {}));
}

}  // namespace operator_test
}  // namespace margay::daemon
