// The partition that a daemon keeps, from slice to slice, is one: what reports name, what pictures draw of
// them, and what the batch solver finds in the archive of the same window at the same p.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <tuple>

#include "../../support/temporary_folder.h"
#include "margay/analysis/analyst.h"
#include "margay/query/view_maker.h"
#include "margay/scene/live_view.h"
#include "margay/terminal/status.h"
#include "strips.h"
#include "support/job_archive.h"

namespace margay::daemon {
namespace live_picture_test {

// node, begin, end, and the states with their shares.
using Area = std::tuple<std::string, std::int64_t, std::int64_t>;
using Parts = std::map<Area, std::map<std::string, double>>;

Parts parts_of(const scene::ViewData& data) {
  Parts out;
  for (const scene::Part& part : data.parts) {
    auto& states = out[{data.nodes[part.node].path, data.boundaries[part.first].value,
                        data.boundaries[part.last].value}];
    for (const scene::StateShare& share : data.shares_of(part))
      states[data.states[share.state].name] = share.share;
  }
  return out;
}

// The same areas, and in each the same states, whatever they are called.
void expect_equal(const Parts& a, const Parts& b) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [area, states] : a) {
    const auto other = b.find(area);
    ASSERT_NE(other, b.end()) << std::get<0>(area) << " from " << std::get<1>(area);
    ASSERT_EQ(states.size(), other->second.size());
    for (const auto& [name, share] : states) {
      ASSERT_TRUE(other->second.contains(name)) << name;
      EXPECT_NEAR(share, other->second.at(name), 1e-6) << std::get<0>(area) << " " << name;
    }
  }
}

// Two phases, a rank that is stopped and two that compute longer; everybody is there all the time.
test::JobPlan plan_of() {
  test::JobPlan plan;
  plan.ranks = 16;
  plan.phases = {{12'000, {0.70, 0.10, 0.10, 0.05, 0.05}, ""}, {18'000, {0.20, 0.35, 0.35, 0.05, 0.05}, ""}};
  plan.faults = {{test::JobFault::kStop, {3}, 9'000, 9'900},
                 {test::JobFault::kSection, {6, 7}, 20'000, 24'000}};
  return plan;
}

// What a daemon reports at last that was shown the job.
wire::Report reported(const test::JobPlan& plan, const std::vector<model::SliceColumn>& job,
                      std::optional<double> p) {
  Options options;
  options.run = "r";
  options.levels = {plan.slice};
  options.p = p;
  Analyst analyst(options, slice_begin(job.front().index, plan.slice));
  ClosedSlice first;
  first.topology = test::job_topology(plan);
  static_cast<void>(analyst.take(first));
  for (const auto& column : job) {
    ClosedSlice message;
    message.column = std::make_shared<model::SliceColumn>(column);
    message.watermark = slice_end(column.index, plan.slice);
    static_cast<void>(analyst.take(message));
  }
  return analyst.report();
}

// The job as the daemon writes it.
std::unique_ptr<store::Archive> archived(const std::string& path, const test::JobPlan& plan,
                                         const std::vector<model::SliceColumn>& job) {
  store::RunMeta run = test::job_run(plan);
  run.levels.resize(1);
  auto archive = store::Archive::create(path, run);
  EXPECT_TRUE(archive) << archive.error().message;
  EXPECT_TRUE((*archive)->commit(test::job_cut(plan, job), false));
  return std::move(*archive);
}

// The batch solver on the archive, of the stretch that the picture shows, at its p.
scene::ViewData solved(ViewMaker& maker, const scene::ViewData& picture) {
  wire::ViewQuestion q;
  q.set_from_ns(picture.range().from.value);
  q.set_to_ns(picture.range().to.value);
  q.set_slices(static_cast<std::uint32_t>(picture.slices()));
  q.set_p(picture.p);
  if (picture.temporal) q.set_partition(wire::ViewQuestion::TEMPORAL);
  const auto request = decode_view_untrusted(q);
  EXPECT_TRUE(request) << request.error().message;
  const auto answer = maker.answer(*request, [] { return true; });
  auto data = scene::view_data_untrusted(*answer);
  EXPECT_TRUE(data) << data.error().message;
  return *data;
}

TEST(LivePicture, IsWhatTheBatchSolverFindsInTheArchiveAtTheSameP) {
  const SystemClock clock;
  // The daemon's own p, and others. At its own the picture has alerts as parts of their own: of a job
  // without.
  for (const std::optional<double> p : {std::optional<double>(), std::optional(0.02), std::optional(0.1)}) {
    test::JobPlan plan = plan_of();
    if (!p) plan.faults.clear();
    const auto job = test::make_job(plan);
    const test::TemporaryFolder dir;
    const auto archive = archived(dir / "archive", plan, job);
    ViewMaker maker(*archive, clock, {});
    SCOPED_TRACE("p " + std::to_string(p.value_or(-1)) + ", seed " + std::to_string(plan.seed));
    const wire::Report report = reported(plan, job, p);
    for (const scene::LivePart cuts : {scene::LivePart::kPicture, scene::LivePart::kTimeLine}) {
      const bool temporal = cuts == scene::LivePart::kTimeLine;
      SCOPED_TRACE(temporal ? "temporal" : "spatiotemporal");
      const auto picture = scene::live_view_untrusted(report, cuts);
      ASSERT_TRUE(picture) << picture.error().message;
      EXPECT_EQ(picture->slices(), 256u);
      EXPECT_GT(picture->parts.size(), 1u);
      EXPECT_EQ(picture->p, p.value_or((temporal ? report.temporal() : report.spatiotemporal()).p()));
      EXPECT_EQ(picture->parts.size(), (temporal ? report.temporal() : report.spatiotemporal()).part_count());
      const scene::ViewData batch = solved(maker, *picture);
      EXPECT_EQ(picture->zero, batch.zero);
      EXPECT_NEAR(picture->gain, batch.gain, 1e-6 * std::abs(batch.gain));
      EXPECT_NEAR(picture->loss, batch.loss, 1e-6 * std::abs(batch.loss));
      expect_equal(parts_of(*picture), parts_of(batch));
      if (temporal) continue;  // it knows of no node but the root
      ASSERT_EQ(picture->nodes.size(), batch.nodes.size());
      for (std::size_t i = 0; i < batch.nodes.size(); ++i)
        EXPECT_EQ(picture->nodes[i].path, batch.nodes[i].path);
    }
  }
}

// What the terminal draws, with a column for each slice: in each cell the mode of the part that has it, a
// mark where one begins; and its words are those of the status.
TEST(LivePicture, IsWhatTheTerminalDraws) {
  const test::JobPlan plan = plan_of();
  const wire::Report report = reported(plan, test::make_job(plan), 0.02);
  const auto picture = scene::live_view_untrusted(report);
  const auto strips = terminal::Strips::of(report);
  ASSERT_TRUE(picture && strips);
  const auto states = scene::states_of(report.spatiotemporal());
  for (std::uint32_t n = 0; n < picture->nodes.size(); ++n) {
    if (picture->nodes[n].leaf_count > 1) continue;
    const auto row = strips->row(n, static_cast<int>(picture->slices()));
    ASSERT_EQ(row.size(), picture->slices());
    std::uint32_t covered = 0;
    for (std::uint32_t above = n;; above = picture->nodes[above].parent) {
      for (const scene::Part& part : picture->parts_of(above))
        for (std::uint32_t k = part.first; k < part.last; ++k, ++covered) {
          EXPECT_EQ(row[k].state, states[static_cast<std::size_t>(part.mode)])
              << picture->nodes[n].path << " " << k;
          // Where there is one column only its letter is worth more.
          EXPECT_EQ(row[k].cut, k > 0 && k == part.first && part.last > part.first + 1);
        }
      if (above == 0) break;
    }
    EXPECT_EQ(covered, picture->slices());
  }
  const std::string words = std::to_string(picture->parts.size()) + " parts at p 0.02";
  EXPECT_NE(strips->title().find(words), std::string::npos) << strips->title();
  EXPECT_NE(terminal::status_text(report, 0).find(words), std::string::npos);
}

TEST(LivePictureBounds, WithoutRoomForItsPartsAReportSaysHowManyThereAre) {
  test::JobPlan plan;
  plan.ranks = 32;
  plan.phases = {{26'000, {0.4, 0.2, 0.2, 0.1, 0.1}, ""}};
  // Every cell differs from its neighbours, and is a part.
  const wire::Report report = reported(plan, test::make_job(plan), 0.0);
  const wire::PartitionView& view = report.spatiotemporal();
  EXPECT_EQ(view.part_count(), 32u * 256u) << "seed " << plan.seed;
  EXPECT_EQ(view.parts_size() + view.part_gain_size() + view.part_known_size() + view.share_size(), 0);
  const auto picture = scene::live_view_untrusted(report);
  ASSERT_FALSE(picture);
  EXPECT_EQ(picture.error().code, ErrorCode::kUnavailable);
  EXPECT_LT(report.ByteSizeLong(), std::size_t{1} << 20);
}

}  // namespace live_picture_test
}  // namespace margay::daemon
