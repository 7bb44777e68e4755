// A disturbed job, archives of it, and what a replay of one says.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "margay/analysis/detector_settings.h"
#include "margay/replay/replay.h"
#include "margay/store/archive.h"
#include "margay/wire/columns.h"
#include "support/job_archive.h"
#include "support/runtime_place.h"

namespace margay::daemon::replay_test {

using namespace margay::test;
using Kind = store::JournalEntry::Kind;

constexpr std::uint64_t kSeed = 20261121;

inline JobPlan disturbed_job() {
  JobPlan plan;
  plan.phases = {{6000, {0.70, 0.10, 0.10, 0.05, 0.05}, "a"},
                 {6000, {0.20, 0.35, 0.35, 0.05, 0.05}, "b"},
                 {6000, {0.70, 0.10, 0.10, 0.05, 0.05}, "a"}};
  plan.faults = {{JobFault::kStop, {3}, 3000, 3900},
                 {JobFault::kStop, {6}, 8050, 8800},
                 {JobFault::kHang, {1}, 13'000, 14'200},
                 {JobFault::kLoss, {2}, 15'500, 15'800}};
  return plan;
}

// An archive of these slices and nothing else; the first `count`.
inline void make_archive(const std::string& path, const JobPlan& plan,
                         const std::vector<model::SliceColumn>& job, std::size_t count,
                         const std::vector<store::JournalEntry>& journal = {}) {
  auto archive = store::Archive::create(path, job_run(plan));
  ASSERT_TRUE(archive) << archive.error().message;
  store::Cut cut = job_cut(plan, std::span(job).first(count));
  cut.journal = journal;
  ASSERT_TRUE((*archive)->commit(cut, false));
}

struct Said {
  std::vector<std::string> alerts;  // as they were raised
  std::vector<std::int64_t> detected;
  std::vector<std::string> reports;  // content after each message
  ReplayResult result;
  std::string error;
};
inline Said replayed(const std::string& path, const WhatIf& what_if = {}) {
  Said out;
  const auto archive = store::Archive::open(path, store::Mode::kReadOnly);
  EXPECT_TRUE(archive) << archive.error().message;
  const auto resume = (*archive)->load();
  EXPECT_TRUE(resume) << resume.error().message;
  ReplayListener listener;
  listener.alert = [&](const alert::Alert& a) {
    out.alerts.push_back(alert::to_json(a));
    out.detected.push_back(a.detected.value);
  };
  listener.after = [&](const Analyst& analyst) {
    out.reports.push_back(content_of(analyst.report()).SerializeAsString());
  };
  Options options;
  std::unique_ptr<Analyst> analyst;
  const auto result = replay(**archive, *resume, what_if, options, listener, analyst);
  if (result)
    out.result = *result;
  else
    out.error = result.error().message;
  return out;
}

// Labels of sections are the journal's to tell.
inline std::vector<model::SliceColumn> job_without_regions(const JobPlan& plan) {
  auto job = make_job(plan);
  for (auto& c : job) c.region.clear();
  return job;
}

// The disturbed job, and an archive of it that has no journal.
struct Archived {
  Archived() { make_archive(path, plan, job, job.size()); }
  const test::RuntimePlace place;
  const JobPlan plan = disturbed_job();
  const std::vector<model::SliceColumn> job = job_without_regions(plan);
  const std::string path = place.path + "/a";
};

// The journal of a run of one daemon after another: `restart_at` slices in, with other settings if `p` is
// given.
inline std::vector<store::JournalEntry> journal_of(const JobPlan& plan,
                                                   const std::vector<model::SliceColumn>& job,
                                                   std::size_t restart_at, bool whole,
                                                   std::optional<double> p, bool watch_levels = false) {
  std::vector<store::JournalEntry> out;
  const auto add = [&](Kind kind, SliceIndex at) -> store::JournalEntry& {
    store::JournalEntry e;
    e.kind = kind;
    e.sequence = out.size() + 1;
    e.at = at;
    out.push_back(e);
    return out.back();
  };
  const auto everybody = [&](store::JournalEntry& e) {
    e.states = static_cast<std::uint32_t>(job_topology(plan)->states.size());
    e.leaves = plan.ranks;
    for (std::uint32_t l = 0; l < plan.ranks; ++l)
      e.changed.emplace_back(LeafIndex(l),
                             model::Attributes{{"host", "n" + std::to_string(l / plan.ranks_per_host)},
                                               {"rank", std::to_string(l)}});
  };
  Options options;
  options.watch_levels = watch_levels;
  const SliceIndex before = job.front().index - 1;
  auto& start = add(Kind::kStart, before);
  start.slice = job.front().index;
  start.whole = true;
  start.settings = to_settings(options);
  everybody(add(Kind::kTopology, before));
  for (std::size_t i = 0; i < job.size(); ++i) {
    if (i == restart_at) {
      auto& again = add(Kind::kStart, job[i - 1].index);
      again.slice = whole ? job.front().index : job[i / 2].index;
      again.whole = whole;
      if (p) options.p = p;
      again.settings = to_settings(options);
      everybody(again);
    }
    auto& e = add(Kind::kClosed, job[i].index);
    e.slice = job[i].index;
    e.watermark = slice_end(job[i].index, plan.slice);
    e.region = job[i].region;
  }
  return out;
}

}  // namespace margay::daemon::replay_test
