// The picture of a stretch shows the alerts of that stretch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../../support/temporary_folder.h"
#include "margay/query/view_maker.h"
#include "margay/store/archive.h"
#include "support/job_archive.h"

namespace margay::daemon {
namespace {

constexpr std::uint32_t kRank = 5;

test::JobPlan plan() {
  test::JobPlan plan;
  plan.ranks = 16;
  plan.phases = {{20'000, {0.5, 0.05, 0.25, 0.1, 0.1}, ""}};
  plan.faults = {{test::JobFault::kStop, {kRank}, 10'000, 11'000}};
  plan.n_eff = 12;
  plan.common_noise = 0.1;
  plan.own_noise = 0.05;
  return plan;
}

std::string path_of(std::uint32_t rank) {
  return "/n" + std::to_string(rank / plan().ranks_per_host) + "/rank" + std::to_string(rank);
}

std::string alert_about(const std::string& resource, std::int64_t onset_ms, std::int64_t end_ms) {
  return R"({"id":"a","kind":"perturbation","status":"resolved","onset_ns":)" +
         std::to_string(test::job_time(plan(), onset_ms).value) + R"(,"end_ns":)" +
         std::to_string(test::job_time(plan(), end_ms).value) + R"(,"resources":[")" + resource + R"("]})";
}

// The run, archived; what was told is `json`, or nothing.
std::unique_ptr<store::Archive> archived(const std::string& path, const std::string& json) {
  const test::JobPlan plan = daemon::plan();
  const auto job = test::make_job(plan);
  store::RunMeta run = test::job_run(plan);
  run.levels.resize(1);
  auto archive = store::Archive::create(path, run);
  EXPECT_TRUE(archive) << archive.error().message;
  store::Cut cut = test::job_cut(plan, job);
  if (!json.empty()) cut.alerts.push_back({"a", json, "resolved"});
  EXPECT_TRUE((*archive)->commit(cut, false));
  return std::move(*archive);
}

bool always() {
  return true;
}

wire::ViewQuestion question() {
  wire::ViewQuestion q;
  q.set_from_ns(test::job_time(plan(), 0).value);
  q.set_to_ns(test::job_time(plan(), 20'000).value);
  q.set_slices(100);
  return q;
}

wire::ViewAnswer picture(const std::string& json) {
  const test::TemporaryFolder place;
  const auto archive = archived(place / "a", json);
  const SystemClock clock;
  ViewMaker maker(*archive, clock, {});
  const auto request = decode_view_untrusted(question());
  EXPECT_TRUE(request) << request.error().message;
  const auto answer = maker.answer(*request, always);
  EXPECT_EQ(answer->error(), "");
  return *answer;
}

// Whether it has a part of this rank alone, from 10 to 11 s: slices 50 to 54 of 200 ms.
bool shows(const wire::ViewAnswer& a, std::uint32_t rank) {
  for (int i = 0; i < a.part_node_size(); ++i)
    if (a.nodes(static_cast<int>(a.part_node(i))).name() == "rank" + std::to_string(rank) &&
        a.part_first(i) >= 49 && a.part_last(i) <= 55)
      return true;
  return false;
}

TEST(ToldAreas, ArePartsOfThePicture) {
  const wire::ViewAnswer untold = picture(""), told = picture(alert_about(path_of(kRank), 10'000, 11'000));
  EXPECT_FALSE(shows(untold, kRank)) << "p " << untold.p();
  EXPECT_TRUE(shows(told, kRank)) << "p " << told.p() << ", " << told.part_node_size() << " parts";
  EXPECT_LE(told.p(), untold.p());
  EXPECT_LE(told.part_node_size(), 60);
  EXPECT_LT(told.loss(), untold.loss()) << "evaluated";
}

TEST(ToldAreas, OfAnotherTimeOrPlaceHaveNoSay) {
  const int parts = picture("").part_node_size();
  EXPECT_EQ(picture(alert_about(path_of(kRank), 30'000, 31'000)).part_node_size(), parts);
  EXPECT_EQ(picture(alert_about("/elsewhere/rank77", 10'000, 11'000)).part_node_size(), parts);
  for (const char* damaged :
       {"no alert at all", "[]", R"({"id":"a","kind":7,"status":"resolved","onset_ns":1})",
        R"({"id":"a","kind":"stall","status":"firing","onset_ns":"x"})",
        R"({"id":"a","kind":"stall","status":"firing","onset_ns":1,"resources":[3]})"})
    EXPECT_EQ(picture(damaged).part_node_size(), parts) << damaged;
  EXPECT_EQ(picture(R"({"id":"a","kind":"loss","status":"firing","onset_ns":1,"resources":["/n1/rank5"]})")
                .part_node_size(),
            parts);
}

// An answer that is kept is that of what was told when it was made.
TEST(ToldAreas, ThatAreToldLaterAreInTheNextAnswer) {
  const test::TemporaryFolder place;
  const auto archive = archived(place / "a", "");
  const SystemClock clock;
  ViewMaker::Options options;
  options.live = true;
  ViewMaker maker(*archive, clock, options);
  const auto request = decode_view_untrusted(question());
  ASSERT_TRUE(request) << request.error().message;
  const auto before = maker.answer(*request, always), same = maker.answer(*request, always);
  EXPECT_EQ(before, same) << "kept";
  EXPECT_EQ(maker.solutions(), 1u);
  store::Cut cut;
  cut.sequence = 2;
  cut.alerts.push_back({"a", alert_about(path_of(kRank), 10'000, 11'000), "resolved"});
  ASSERT_TRUE(archive->commit(cut, false));
  const auto after = maker.answer(*request, always);
  EXPECT_FALSE(shows(*before, kRank));
  EXPECT_TRUE(shows(*after, kRank));
}

}  // namespace
}  // namespace margay::daemon
