// Runs a made-up job through a detector.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "margay/detect/detector.h"
#include "support/synthetic_job.h"

namespace margay::detect::test {

using namespace margay::test;

struct Watched {
  std::vector<alert::Alert> alerts;
  std::deque<PhaseSpan> spans;
  std::map<std::string, DurationStatistics> durations;
  std::size_t of(alert::Kind kind, alert::Status status) const {
    std::size_t n = 0;
    for (const auto& a : alerts) n += a.kind == kind && a.status == status ? 1 : 0;
    return n;
  }
  std::string names() const {
    std::string out;
    for (const auto& s : spans) out += (out.empty() ? "" : "-") + s.name;
    return out;
  }
};

// A job, slice by slice changed.
using Change = std::function<void(std::int64_t slice, model::SliceColumn&)>;
inline std::vector<model::SliceColumn> changed(const JobPlan& plan, const Change& change) {
  auto job = make_job(plan);
  for (std::size_t i = 0; i < job.size(); ++i) change(static_cast<std::int64_t>(i), job[i]);
  return job;
}

// Of `rank`, that share of the slice goes to `to` instead of whatever it was.
inline void spend(model::SliceColumn& c, std::uint32_t rank, StateId to, double share) {
  auto row = c.duration_ns(LeafIndex(rank));
  std::int64_t moved = 0;
  for (std::size_t x = kCompute.value; x < row.size(); ++x) {
    const auto part = static_cast<std::int64_t>(share * static_cast<double>(row[x]));
    row[x] -= part;
    moved += part;
  }
  row[to.value] += moved;
}

inline DetectorOptions job_options(const JobPlan& plan, std::size_t slices = 128) {
  DetectorOptions o;
  o.run = "r";
  o.window.slice = plan.slice;
  o.window.slices = slices;
  return o;
}

inline Watched watch(const JobPlan& plan, const std::vector<model::SliceColumn>& job,
                     std::shared_ptr<const Topology> topology = nullptr) {
  Detector d(job_options(plan));
  d.set_topology(topology != nullptr ? topology : job_topology(plan));
  Watched out;
  TimeNs end{};
  const auto take = [&](std::vector<alert::Alert> alerts) {
    out.alerts.insert(out.alerts.end(), alerts.begin(), alerts.end());
  };
  for (const auto& c : job) {
    end = slice_end(c.index, plan.slice);
    take(d.on_slice(c, end));
    EXPECT_EQ(d.error(), "");
  }
  take(d.finish(end, end));
  out.spans = d.phases().spans();
  out.durations = d.durations().statistics();
  return out;
}
inline Watched watch(const JobPlan& plan) {
  return watch(plan, make_job(plan));
}

// Compute, MPI_Send, MPI_Recv, MPI_Allreduce, MPI_Wait
inline const Shares kA = {0.70, 0.10, 0.10, 0.05, 0.05};
inline const Shares kB = {0.20, 0.35, 0.35, 0.05, 0.05};
inline const Shares kC = {0.35, 0.05, 0.05, 0.50, 0.05};

// Milliseconds by which the begin of each span misses the plan's; the spans must be as many as the phases.
inline std::vector<double> edge_errors(const JobPlan& plan, const Watched& w) {
  std::vector<double> out;
  std::int64_t at = 0;
  for (std::size_t i = 0; i < w.spans.size() && i < plan.phases.size(); ++i) {
    out.push_back(std::abs(static_cast<double>((w.spans[i].begin - job_time(plan, at)).value)) * 1e-6);
    at += plan.phases[i].ms;
  }
  return out;
}

}  // namespace margay::detect::test
